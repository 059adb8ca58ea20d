"""A fake Telegram with Sam, a group of his and the bot, which is python-telegram-bot's own."""

from collections.abc import AsyncIterator

import pytest
import telegram as ptb

from core.testing import ManualClock
from tests.fakes.telegram import Chat, FakeTelegram, User, fake_telegram
from tests.fakes.telegram.listening import Listener, client, listening


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def telegram(clock: ManualClock) -> AsyncIterator[FakeTelegram]:
    async with fake_telegram(clock=clock) as telegram:
        yield telegram


@pytest.fixture
async def bot(telegram: FakeTelegram) -> AsyncIterator[ptb.Bot]:
    async with client(telegram) as bot:
        yield bot


@pytest.fixture
async def app(bot: ptb.Bot) -> AsyncIterator[Listener]:
    async with listening(bot) as app:
        yield app


@pytest.fixture
def sam(telegram: FakeTelegram) -> User:
    return telegram.add_user("Sam", started=True)


@pytest.fixture
def ops(telegram: FakeTelegram, sam: User) -> Chat:
    return telegram.add_group("ops", sam)
