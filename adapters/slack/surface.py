"""Slack as a place for posts: a view is a message there, edited in place; what it cuts is a file."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from adapters.slack.client import Clients
from adapters.slack.errors import ChatUnshowable, called
from adapters.slack.installed.workspaces import Installation, Workspaces
from adapters.slack.places import Spot, spot
from adapters.slack.shown.posts import LONGEST_WORDS, Message, message_of
from adapters.slack.words import escaped
from core.cards import Card, pages
from core.errors import ChatError
from core.headlines import card_in_words, report_text, report_words
from core.rendering import View
from core.report import Report

log = logging.getLogger(__name__)

FILES_SECONDS: Final = 5.0
LONGEST_TEXT: Final = 39_000
"""Of a message without blocks; Slack cuts what is longer than 40,000."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SlackSurface:
    """core.poster.Surface. *agent_name*: what the agent of a key is called."""

    workspaces: Workspaces
    clients: Clients
    agent_name: Callable[[str], str]

    async def post(self, view: View, route: str) -> str:
        where = spot(route)
        installation = await self.workspaces.named(where.workspace)
        sent = await self._shown(view, installation, where, None)
        there = Spot(workspace=installation.name, channel=sent["channel"], ts=sent["ts"])
        await self._beside(view, installation, there, where.ts)
        return str(there)

    async def update(self, view: View, route: str, chat_ref: str) -> str:
        there = spot(chat_ref)
        installation = await self.workspaces.named(there.workspace)
        await self._shown(view, installation, there, there.ts)
        return chat_ref

    async def _shown(
        self, view: View, installation: Installation, where: Spot, ts: str | None
    ) -> Mapping[str, Any]:
        """The message is there; in plain words, once, where Slack does not take its blocks."""
        message = message_of(view, self._agent(view))
        try:
            return await self._sent(message, installation, where, ts)
        except ChatUnshowable as error:
            log.warning("a message to %s is shown in plain words: %s", where, error)
            return await self._sent(_in_words(view, message), installation, where, ts)

    async def _sent(
        self, message: Message, installation: Installation, where: Spot, ts: str | None
    ) -> Mapping[str, Any]:
        client = self.clients.of(installation)
        if ts is not None:
            return await called(
                client.chat_update(channel=where.channel, ts=ts, text=message.text, blocks=message.blocks)
            )
        return await called(
            client.chat_postMessage(
                channel=where.channel,
                thread_ts=where.ts,
                text=message.text,
                blocks=message.blocks,
                unfurl_links=False,
                unfurl_media=False,
                mrkdwn=bool(message.blocks),  # of plain words nothing is markup
            )
        )

    def _agent(self, view: View) -> str:
        return self.agent_name(view.task.agent) if isinstance(view, Report) else ""

    # ── files ────────────────────────────────────────────────────────────────────────────────

    async def _beside(self, view: View, installation: Installation, there: Spot, thread: str | None) -> None:
        """What a message cuts is a file in its thread. A copy: the message stands, whatever becomes of it.

        For some seconds at most: others wait to be posted, and until then nobody knows that this one is.
        """
        until = asyncio.get_running_loop().time() + FILES_SECONDS
        client = self.clients.of(installation)
        for name, words in _files(view):
            file: dict[str, Any] = {"filename": f"{name}.txt", "title": name, "content": words}
            try:
                async with asyncio.timeout_at(until):
                    await called(
                        client.files_upload_v2(channel=there.channel, thread_ts=thread or there.ts, **file)
                    )
            except (ChatError, TimeoutError) as error:
                log.warning("the file %s could not be put beside its message: %s", name, error)


def _files(view: View) -> list[tuple[str, str]]:
    """By name, what a message of *view* shows the beginning of alone."""
    if isinstance(view, Card):
        return [(row.code, "".join(pages(row))) for row in view.rows if row.whole and row.status is None]
    if isinstance(view, Report) and len(report_words(view)) > LONGEST_WORDS:
        return [(f"{view.task.code} report", view.words)]
    return []


def _in_words(view: View, message: Message) -> Message:
    """The same without blocks."""
    if isinstance(view, Card):
        return Message(text=_whole(card_in_words(view)), blocks=[])
    if isinstance(view, Report):
        return Message(text=_whole(report_text(view)), blocks=[])
    return Message(text=message.text, blocks=[])


def _whole(words: str) -> str:
    """*words* escaped, as many as Slack takes, none of them cut within."""
    while len(made := escaped(words)) > LONGEST_TEXT:
        words = words[: len(words) - max((len(made) - LONGEST_TEXT) // 5, 1)]
    return made
