"""The fake chats of the clicks' benchmark, each a process of its own, and how a click gets to the bot."""

import json
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from slack_sdk.signature import SignatureVerifier

from bench.lines import LINE_BYTES
from bench.result import ROOT
from tests.fakes.slack import SIGNING_SECRET

TELEGRAM_SECRET: Final = "of-a-benchmark-not-of-an-installation"


class Surface(StrEnum):
    SLACK = "slack"
    TELEGRAM = "telegram"


Headers = Callable[[bytes, int], Mapping[str, str]]
"""Of a request with that body, sent at that second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chat:
    """*path*: where the bot hears it. *env*: the settings of its processes. *accounts*: all of one person."""

    name: str
    surface: Surface
    process: Process
    path: str
    env: Mapping[str, str]
    accounts: Sequence[str]
    headers: Headers

    async def says(self, texts: Sequence[str], url: str) -> int:
        """Ada wrote *texts* to the bot; how many were taken by *url*."""
        return int(await self._answer({"say": texts, "to": url}))

    async def cards(self) -> int:
        """How many cards there have a call that waits."""
        return int(await self._answer({"count": "cards"}))

    async def clicks(self, calls: Sequence[int]) -> list[tuple[str, bytes]]:
        """Of each click its token and its body."""
        return [(token, body.encode()) for token, body in await self._answer({"click": calls})]

    async def faults(self) -> list[str]:
        return [str(fault) for fault in await self._answer({"tell": "faults"})]

    async def _answer(self, told: Mapping[str, Any]) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(told).encode() + b"\n")
        await self.process.stdin.drain()
        return json.loads(await self.process.stdout.readline())


@asynccontextmanager
async def chat(surface: Surface, people: int) -> AsyncIterator[Chat]:
    """The fake of *surface* runs, with room for the cards of so many calls."""
    module = {Surface.SLACK: "bench.slack_server", Surface.TELEGRAM: "bench.telegram_server"}[surface]
    process = await create_subprocess_exec(
        *(sys.executable, "-m", module, str(people)), cwd=ROOT, stdin=PIPE, stdout=PIPE, limit=LINE_BYTES
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        made = {Surface.SLACK: _slack, Surface.TELEGRAM: _telegram}[surface]
        yield made(process, json.loads(await process.stdout.readline()))
    finally:
        process.stdin.close()
        await process.wait()


def _slack(process: Process, said: Mapping[str, Any]) -> Chat:
    signing = SignatureVerifier(SIGNING_SECRET)

    def headers(body: bytes, second: int) -> Mapping[str, str]:
        return {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": str(second),
            "X-Slack-Signature": signing.generate_signature(timestamp=str(second), body=body) or "",
        }

    return Chat(
        name="Slack",
        surface=Surface.SLACK,
        process=process,
        path="/slack/events",
        env={
            "SLACK_BOT_TOKEN": said["bot_token"],
            "SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "SLACK_API_URL": said["api_url"],
        },
        accounts=said["accounts"],
        headers=headers,
    )


def _telegram(process: Process, said: Mapping[str, Any]) -> Chat:
    def headers(body: bytes, second: int) -> Mapping[str, str]:
        return {"Content-Type": "application/json", "X-Telegram-Bot-Api-Secret-Token": TELEGRAM_SECRET}

    return Chat(
        name="Telegram",
        surface=Surface.TELEGRAM,
        process=process,
        path="/telegram/updates",
        env={
            "TELEGRAM_BOT_TOKEN": said["bot_token"],
            "TELEGRAM_SECRET": TELEGRAM_SECRET,
            "TELEGRAM_API_URL": said["api_url"],
            "PUBLIC_URL": "https://bench.example",  # updates are sent by the generator
        },
        accounts=said["accounts"],
        headers=headers,
    )
