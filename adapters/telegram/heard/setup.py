"""What Telegram is told of this bot as it starts: where updates go, and which commands people are offered."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from telegram import (
    BotCommand,
    BotCommandScope,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeDefault,
)

from adapters.telegram.client import BotClient
from adapters.telegram.errors import called
from adapters.telegram.heard.updates import ALLOWED
from core.commands import COMMANDS
from core.errors import ChatBusy, ChatError
from core.ports import Clock

log = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 10.0
MOST_CONNECTIONS: Final = 20
"""That Telegram opens to us at once; it would open 40."""

IN_GROUPS: Final = frozenset(
    {"pending", "show", "approve", "edit", "decline", "revise", "answer", "tasks", "run", "stop", "help"}
)
"""What is offered where others read along; all the others are understood there, too."""
CANCEL: Final = BotCommand("cancel", "End the question that you were asked.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """*url*: where Telegram sends updates, and *secret* with each; None: it is asked for them.

    Every process that starts tells the same, which changes nothing the second time.
    """

    client: BotClient
    clock: Clock
    url: str | None
    secret: str

    async def done(self) -> None:
        """Telegram knows all of it; tried until it does."""
        while True:
            try:
                return await self._told()
            except ChatBusy as busy:
                pause = busy.retry_after_seconds
            except ChatError as error:
                log.warning("Telegram is not set up yet: %s", error)
                pause = PAUSE_SECONDS
            await self.clock.sleep(pause)

    async def _told(self) -> None:
        api = self.client.api
        if self.url is not None:
            await called(
                api.set_webhook(
                    self.url,
                    secret_token=self.secret,
                    allowed_updates=list(ALLOWED),
                    max_connections=MOST_CONNECTIONS,
                    drop_pending_updates=False,  # what came during a deploy is somebody's click
                )
            )
            log.info("Telegram sends updates to %s", self.url)
        for scope, commands in offered():
            await called(api.set_my_commands(commands, scope=scope))


def offered() -> Sequence[tuple[BotCommandScope, Sequence[BotCommand]]]:
    """The commands that a chat of each kind offers."""
    every = [BotCommand(command.name, command.words) for command in COMMANDS]
    in_groups = [command for command in every if command.command in IN_GROUPS]
    return (
        (BotCommandScopeDefault(), in_groups),
        (BotCommandScopeAllGroupChats(), [*in_groups, CANCEL]),
        (BotCommandScopeAllPrivateChats(), [*every, CANCEL]),
    )
