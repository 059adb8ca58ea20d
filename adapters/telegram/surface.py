"""Telegram as a place for posts: a view is a message there, edited in place; what it cuts is a document."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from adapters.telegram.places import Spot, spot
from adapters.telegram.sending import Sending
from adapters.telegram.shown.posts import files_of, in_words, message_of
from core.errors import ChatError
from core.rendering import Progress, View
from core.report import Report

log = logging.getLogger(__name__)

FILES_SECONDS: Final = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TelegramSurface:
    """core.poster.Surface. *agent_name*: what the agent of a key is called."""

    sending: Sending
    agent_name: Callable[[str], str]

    async def post(self, view: View, route: str) -> str:
        where = spot(route)
        await self.sending.may_go(where, goes_by=isinstance(view, Progress))
        message = message_of(view, self._agent(view))
        there = await self.sending.send(where, message, in_words(view))
        await self._beside(view, where, there)
        return str(there)

    async def update(self, view: View, route: str, chat_ref: str) -> str:
        there = spot(chat_ref)
        await self.sending.may_go(there, goes_by=isinstance(view, Progress))
        await self.sending.edit(there, message_of(view, self._agent(view)), in_words(view))
        return chat_ref

    def _agent(self, view: View) -> str:
        return self.agent_name(view.task.agent) if isinstance(view, Report) else ""

    async def _beside(self, view: View, where: Spot, there: Spot) -> None:
        """What a message cuts is a document under it. A copy: the message stands, whatever becomes of it.

        For some seconds at most: others wait to be posted, and until then nobody knows that this one is.
        """
        until = asyncio.get_running_loop().time() + FILES_SECONDS
        for name, words in files_of(view):
            try:
                async with asyncio.timeout_at(until):
                    await self.sending.may_go(there)
                    await self.sending.file(there, where.topic, f"{name}.txt", words)
            except (ChatError, TimeoutError) as error:
                log.warning("the file %s could not be put beside its message: %s", name, error)
