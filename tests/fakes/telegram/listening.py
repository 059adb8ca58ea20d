"""python-telegram-bot as it comes, and a webhook that writes down what it is told: for tests of the fake."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import telegram as ptb
from aiohttp import web
from telegram.request import HTTPXRequest

from tests.fakes.telegram import FakeTelegram, Message

Answer = Callable[[ptb.Update], Awaitable[web.Response]]


@dataclass(kw_only=True)
class Listener:
    """An app that answers with *answers* in order, then 200, and keeps what it was told, as ptb parses it."""

    bot: ptb.Bot
    answers: list[web.Response | Answer] = field(default_factory=list)
    updates: list[ptb.Update] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def last(self) -> ptb.Update:
        return self.updates[-1]

    @property
    def texts(self) -> list[str | None]:
        """What was written, in the order it came."""
        return [u.effective_message.text if u.effective_message else None for u in self.updates]

    async def serve(self, request: web.Request) -> web.Response:
        update = ptb.Update.de_json(await request.json(), self.bot)
        self.updates.append(update)
        self.headers.append(dict(request.headers))
        answer = self.answers.pop(0) if self.answers else web.Response()
        return answer if isinstance(answer, web.Response) else await answer(update)


@asynccontextmanager
async def client(telegram: FakeTelegram, token: str = "") -> AsyncIterator[ptb.Bot]:
    """ptb's own bot, started, until the block ends."""
    requests = [HTTPXRequest(httpx_kwargs={"verify": False}) for _ in range(2)]  # reads no certificates
    bot = ptb.Bot(
        token or telegram.token,
        base_url=f"{telegram.api_url}/bot",
        request=requests[0],
        get_updates_request=requests[1],
    )
    async with bot:
        yield bot


@asynccontextmanager
async def listening(bot: ptb.Bot, **webhook: Any) -> AsyncIterator[Listener]:
    """The webhook of *bot*, until the block ends; *webhook* is what setWebhook says beside the address."""
    listener = Listener(bot=bot)
    app = web.Application()
    app.router.add_post("/telegram/events", listener.serve)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await bot.set_webhook(f"http://127.0.0.1:{runner.addresses[0][1]}/telegram/events", **webhook)
    try:
        yield listener
    finally:
        await runner.cleanup()


def shown(telegram: FakeTelegram, sent: ptb.Message) -> Message:
    """What people see of what was *sent*."""
    return telegram.message(telegram.chats[sent.chat_id], sent.message_id)


async def error_of(call: Awaitable[Any], kind: type[ptb.error.TelegramError] = ptb.error.BadRequest) -> str:
    """What ptb says of the refusal, which is of that *kind*."""
    try:
        await call
    except ptb.error.TelegramError as refused:
        assert type(refused) is kind, refused
        return refused.message
    raise AssertionError("that was not refused")
