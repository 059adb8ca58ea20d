"""The suite's fake Slack as a process of its own: its work is not the load generator's.

Told by lines of JSON on stdin, it answers each by one on stdout; the first line out says where it is. Clicks
are made by the fake from what it shows, as Slack would, and handed over unsent: the generator sends them.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from core.cards import Verb
from tests.fakes.slack import Channel, FakeSlack, Message, User, fake_slack

LINE_BYTES = 2**28
RETRY_WAITS = (0.5, 2.0, 5.0)
"""Sooner than Slack's: what is asked for before the load is not what is measured."""


async def serve() -> None:
    """Answers until its input ends."""
    async with fake_slack() as slack, _nobody() as nobody:
        slack.retry_waits = RETRY_WAITS
        ada = slack.add_user("ada")
        ops = slack.add_channel("ops", ada)
        _answer(
            {
                "api_url": slack.api_url,
                "bot_token": slack.team.bot_token,
                "account": f"{ada.team_id}/{ada.id}",
            }
        )
        reader = asyncio.StreamReader(limit=LINE_BYTES)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        while line := await reader.readline():
            _answer(await _done(slack, ada, ops, nobody, json.loads(line)))


async def _done(slack: FakeSlack, ada: User, ops: Channel, nobody: str, told: Mapping[str, Any]) -> Any:
    match told:
        case {"say": [*texts], "to": url}:
            slack.bot_url = url
            said = await asyncio.gather(*(slack.says(ada, ops, text, mention=True) for text in texts))
            return sum(one.answered.accepted for one in said)
        case {"count": "cards"}:
            return len(_cards(slack, ops))
        case {"click": calls_clicked}:
            slack.bot_url = nobody
            return await _clicks(slack, ada, ops, calls_clicked)
        case {"tell": "faults"}:
            return [f"{fault.where}: {fault.error}" for fault in slack.faults]
    raise ValueError(f"nobody does {sorted(told)}")


async def _clicks(slack: FakeSlack, ada: User, ops: Channel, order: Sequence[int]) -> list[Any]:
    """Of each click its token and its body: on the cards by number, in the order they were posted."""
    cards, made = _cards(slack, ops), []
    for number in order:
        token, card = cards[number]
        delivery = await slack.clicks(ada, card, Verb.APPROVE, token)
        made.append([token, delivery.sent.decode()])
    return made


def _cards(slack: FakeSlack, ops: Channel) -> list[tuple[str, Message]]:
    """Each message with an Approve button, and the button's value."""
    return [
        (element["value"], message)
        for message in slack.said(ops)
        for block in message.blocks
        for element in block.get("elements", ())
        if block["type"] == "actions" and element["action_id"] == Verb.APPROVE
    ]


@asynccontextmanager
async def _nobody() -> AsyncIterator[str]:
    """An address that takes everything: what is sent there is looked at here."""

    async def take(request: web.Request) -> web.Response:
        await request.read()
        return web.Response()

    app = web.Application(client_max_size=2**24)
    app.router.add_post("/", take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}/"
    await runner.cleanup()


def _answer(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve())
