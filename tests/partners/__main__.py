"""``python -m tests.partners``: the bot's two processes between an emulated Slack and a mocked model."""

import sys

from tests.partners.flow import main

if __name__ == "__main__":
    sys.exit(main())
