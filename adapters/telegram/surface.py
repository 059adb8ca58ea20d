"""Telegram as a place for posts: a view is a message there, edited in place; what it cuts is a document."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from adapters.telegram.places import Spot, spot
from adapters.telegram.sending import Sending
from adapters.telegram.shown.posts import file_of, in_words, message_of
from core.errors import ChatBusy, ChatError, StoreError
from core.ports import Clock
from core.rendering import Progress, View
from core.report import Report

log = logging.getLogger(__name__)

FILE_SECONDS: Final = 8.0
"""How long a message's file may take, what it waits for the chat with it; other posts wait meanwhile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TelegramSurface:
    """core.poster.Surface. *agent_name*: what the agent of a key is called."""

    sending: Sending
    agent_name: Callable[[str], str]
    clock: Clock

    async def post(self, view: View, route: str) -> str:
        where = spot(route)
        file = file_of(view)
        await self.sending.may_go(
            where, goes_by=isinstance(view, Progress), followed_by=0 if file is None else 1
        )
        message = message_of(view, self._agent(view))
        there = await self.sending.send(where, message, in_words(view))
        if file is not None:
            await self._beside(*file, where, there)
        return str(there)

    async def update(self, view: View, route: str, chat_ref: str) -> str:
        there = spot(chat_ref)
        await self.sending.may_go(there, goes_by=isinstance(view, Progress))
        await self.sending.edit(there, message_of(view, self._agent(view)), in_words(view))
        return chat_ref

    def _agent(self, view: View) -> str:
        return self.agent_name(view.task.agent) if isinstance(view, Report) else ""

    async def _beside(self, name: str, words: str, where: Spot, there: Spot) -> None:
        """What a message cuts is a document under it. A copy: the message stands, whatever becomes of it.

        For some seconds at most: others wait to be posted, and until then nobody knows that this one is.
        """
        try:
            async with asyncio.timeout(FILE_SECONDS):
                await self._filed(f"{name}.txt", words, where, there)
        except (ChatError, StoreError, TimeoutError) as error:
            log.warning("the file %s could not be put beside its message: %s", name, error)

    async def _filed(self, name: str, words: str, where: Spot, there: Spot) -> None:
        """Raises ChatBusy where the chat is busy for longer than a file may take."""
        left = FILE_SECONDS
        while True:
            try:
                await self.sending.may_go(there)
                await self.sending.file(there, where.topic, name, words)
                return
            except ChatBusy as busy:
                left -= busy.retry_after_seconds
                if left < 0:
                    raise
                await self.clock.sleep(busy.retry_after_seconds)
