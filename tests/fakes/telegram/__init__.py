"""A Telegram on this machine: its Bot API with Telegram's own limits, and people who use it.

``async with fake_telegram() as telegram`` serves it on a free port. The app under test takes
``telegram.api_url`` for ``https://api.telegram.org`` (python-telegram-bot: ``base_url=f"{api_url}/bot"``) and
``telegram.token``; updates reach it by webhook, at the address that setWebhook told (``telegram.bot_url``
says where requests really go), or by getUpdates.

What there is: ``add_user`` (``started=True``: pressed start long ago) ``add_group`` (``basic=True``: one that
can migrate) ``add_topic`` ``add_channel``; ``private(user)`` ``said(chat)`` ``message(chat, id)``
``button(message, label)`` ``called(method)`` ``calls`` ``updates`` ``deliveries`` ``refused`` ``pending``
``webhook`` ``polled`` ``commands`` ``privacy`` ``bot_to_bot``. Wherever a chat is asked for, a user means
their private chat. A message tells its ``text entities found marked(kind) buttons labels markup forces_reply
versions file topic reply_to silent link_preview deleted``.

What people do: ``says`` ``replies`` ``edits`` ``deletes`` ``presses`` ``starts`` ``blocks`` ``unblocks``
``joins`` ``leaves`` ``promotes`` ``promotes_anonymous`` ``migrates`` ``kicks`` ``adds_bot`` ``promotes_bot``;
each returns when the webhook has answered. To a poller nothing is delivered: wait with ``wait_for``, which
looks again at each change.

What goes wrong: ``breaks(method, refusal(...) | too_many() | html() | lost() | cut() | hangs(event))``
``mends`` ``limits_posts`` ``query_age``; ``held`` with ``releases``, ``delivers_again(update)``,
``redelivers`` (what the webhook did not take is tried again only then), ``delivers(body, headers)``.

What the app did that it never should, whatever the state of the world, is in ``faults``: a test asserts that
there are none. A text that pings nobody and links nowhere has ``message.found == []``.

``listening`` has ptb's own bot (``client``) and a webhook that writes down what it is told (``listening``).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from adapters.clock import SystemClock
from core.ports import Clock
from tests.fakes.telegram.belonging import Belonging
from tests.fakes.telegram.delivery import SECRET_HEADER
from tests.fakes.telegram.people import Said
from tests.fakes.telegram.pressing import Pressed
from tests.fakes.telegram.server import Api, application
from tests.fakes.telegram.things import (
    Answer,
    Call,
    Chat,
    Delivery,
    Fault,
    File,
    Found,
    Json,
    Message,
    Query,
    Topic,
    Update,
    User,
    Version,
    Webhook,
)
from tests.fakes.telegram.trouble import (
    Planned,
    Trouble,
    Troubles,
    cut,
    hangs,
    html,
    lost,
    refusal,
    too_many,
)
from tests.fakes.telegram.world import BOT_ID, TOKEN, USERNAME


@dataclass(kw_only=True, eq=False)
class FakeTelegram(Belonging):
    """All of it: the state (World), what the bot is told (Delivering), and the people who do things."""

    troubles: Troubles = field(init=False)

    def __post_init__(self) -> None:
        self.troubles = Troubles(now=self.clock.now)

    def breaks(
        self,
        method: str,
        trouble: Trouble,
        *,
        chat: Chat | User | int | None = None,
        times: int | None = 1,
    ) -> None:
        """The next *times* requests to *method* ("*": any) in *chat* (None: any) come to *trouble*."""
        chat_id = chat if isinstance(chat, int) or chat is None else chat.id
        self.troubles.planned.append(Planned(method=method, trouble=trouble, chat=chat_id, times=times))

    def mends(self) -> None:
        """No trouble is to come any more."""
        self.troubles.planned.clear()

    def limits_posts(self, limited: bool = True) -> None:
        """30 posts a second overall, one a second in a private chat (3 at once), 20 a minute in a group."""
        self.troubles.limited = limited


@asynccontextmanager
async def fake_telegram(*, clock: Clock | None = None, port: int = 0) -> AsyncIterator[FakeTelegram]:
    """A Telegram with one bot, on a free port of this machine (or *port*) until the block ends."""
    telegram = FakeTelegram(clock=clock or SystemClock())
    api = Api(telegram, telegram.troubles)
    runner = web.AppRunner(application(api), access_log=None, shutdown_timeout=1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    host, bound = runner.addresses[0][:2]
    telegram.address = f"http://{host}:{bound}"
    try:
        yield telegram
    finally:
        api.close()
        await telegram.close()
        await runner.cleanup()


__all__ = [
    "BOT_ID",
    "SECRET_HEADER",
    "TOKEN",
    "USERNAME",
    "Answer",
    "Call",
    "Chat",
    "Delivery",
    "FakeTelegram",
    "Fault",
    "File",
    "Found",
    "Json",
    "Message",
    "Pressed",
    "Query",
    "Said",
    "Topic",
    "Trouble",
    "Update",
    "User",
    "Version",
    "Webhook",
    "cut",
    "fake_telegram",
    "hangs",
    "html",
    "lost",
    "refusal",
    "too_many",
]
