"""``python -m tests.golden``: whether the files are what the code makes now; with ``--write`` they are."""

import argparse
import sys

from tests.golden import hostile, telegram

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.golden")
    parser.add_argument("--write", action="store_true", help="write what the code makes now")
    write, all_same = parser.parse_args().write, True
    for file, made in ((hostile.FILE, hostile.rendered()), (telegram.FILE, telegram.rendered())):
        if write:
            file.write_text(made, "utf-8")
        same = file.exists() and file.read_text("utf-8") == made
        all_same = all_same and same
        sys.stdout.write(f"{file.name} is {'' if same else 'not '}what the code makes now\n")
    sys.exit(0 if all_same else 1)
