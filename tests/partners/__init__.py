"""The bot beside programs that nobody here wrote: a Slack Web API (emulate) and an OpenAI API (aimock)."""
