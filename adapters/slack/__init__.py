"""Slack: what people do there brought to the front, and what should exist there shown."""
