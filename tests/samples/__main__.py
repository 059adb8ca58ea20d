"""``python -m tests.samples``: the JSON of docs/cards and its pages are what the code makes now."""

import sys

from tests.samples.galleries import GALLERIES
from tests.samples.gallery import CARDS

if __name__ == "__main__":
    for gallery in GALLERIES:
        for path in gallery.written():
            sys.stdout.write(f"wrote {path.relative_to(CARDS.parents[1])}\n")
