"""What the bot may do in a workspace, and why it has to: nothing that it does not need is asked for."""

from typing import Final

SCOPES: Final = (
    "app_mentions:read",  # hears that it is spoken to in a channel
    "channels:history",  # hears answers in its threads of public channels
    "groups:history",  # the same in private channels that it was invited to
    "im:history",  # hears what it is told directly
    "mpim:history",  # hears answers in its threads of group conversations
    "chat:write",  # posts cards and answers, to an owner directly too, and edits its own
    "commands",  # /gatepost, and shortcuts
    "files:write",  # hands over what is too long for a message
)
"""Of the bot; nobody's own account is asked for any."""
