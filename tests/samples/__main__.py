"""``python -m tests.samples``: docs/cards/*.json and its page are what the code makes now."""

import sys

from tests.samples.slack_cards import written

if __name__ == "__main__":
    for path in written():
        sys.stdout.write(f"wrote docs/cards/{path.name}\n")
