"""Where the tests put their files: in memory, on a machine that has room for them there.

Half of what a database costs is its files. None of the tests needs a disk: those that kill a process leave
its machine running, so what it wrote is there all the same.
"""

import os
import shutil
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 4 * 2**30
"""Bytes that must be free there: several times what a whole run has there at once."""


def in_memory(environ: MutableMapping[str, str], folder: Path = MEMORY, room: int = ROOM) -> bool:
    """Temporary files of this process, and of those that it starts, are made in *folder* from here on.

    False, with nothing changed, where somebody chose another place, or *folder* has no *room*, may not be
    written to or runs no programs.
    """
    if environ.get("TMPDIR") or not _is_fit(folder, room):
        return False
    environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None  # it is looked for again
    return True


def _is_fit(folder: Path, room: int) -> bool:
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return False
    runs_programs = not os.statvfs(folder).f_flag & os.ST_NOEXEC
    return runs_programs and shutil.disk_usage(folder).free >= room
