"""``python -m tests.golden``: whether hostile.json is what the code makes now; with ``--write`` it is."""

import argparse
import sys

from tests.golden.hostile import FILE, rendered

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.golden")
    parser.add_argument("--write", action="store_true", help="write what the code makes now")
    if parser.parse_args().write:
        FILE.write_text(rendered(), "utf-8")
    same = FILE.exists() and FILE.read_text("utf-8") == rendered()
    sys.stdout.write(f"{FILE.name} is {'' if same else 'not '}what the code makes now\n")
    sys.exit(0 if same else 1)
