"""Where the bot is installed: workspaces, their tokens, and how a new one is added."""
