"""`python bench/queue.py` and `python -m bench.queue`: claims a second, see claims.py.

Started by its path, this folder would be the first on sys.path, and this file would be taken for the
standard library's `queue` by whoever imports that.
"""

import os
import sys

if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from bench.claims import main

    main()
