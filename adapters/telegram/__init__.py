"""Telegram: a bot's messages, buttons and commands, over its Bot API."""
