"""The bot: wires core and adapters together. The only package that reads the environment.

In a checkout ``core`` and ``adapters`` sit beside this folder; in an installed wheel they ride in
``bot/_app``, so that the wheel claims the one top-level name ``bot``. Either way they are imported by their
plain names, never as ``bot._app.core``, which would be a second copy of every class.
"""

import sys
from pathlib import Path

_APP = Path(__file__).with_name("_app")
if _APP.is_dir():
    sys.path.insert(0, str(_APP))
