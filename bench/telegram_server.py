"""The suite's fake Telegram as a process of its own: its work is not the load generator's.

A chat of Telegram's takes about one message a second, so each call is asked for in a private chat of its own.
Presses are made by the fake from what it shows, and handed over unsent: the generator sends them.
"""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bench.lines import answered, nobody, say
from core.cards import Verb
from tests.fakes.telegram import FakeTelegram, Message, User, fake_telegram


async def serve(people: int) -> None:
    """Answers until its input ends. Presses are good as long as the run takes."""
    async with fake_telegram() as telegram, nobody() as unsent:
        telegram.query_age = 3600.0
        users = [telegram.add_user(f"ada{n}", started=True) for n in range(people)]
        accounts = [str(user.id) for user in users]
        say({"api_url": telegram.api_url, "bot_token": telegram.token, "accounts": accounts})
        asking = iter(users)
        asked: list[User] = []

        async def done(told: Mapping[str, Any]) -> Any:
            match told:
                case {"say": [*texts], "to": url}:
                    await telegram.wait_for(lambda: telegram.webhook, seconds=30)
                    telegram.bot_url = url
                    who = [next(asking) for _ in texts]
                    asked.extend(who)
                    said = await asyncio.gather(
                        *(telegram.says(user, user, text) for user, text in zip(who, texts, strict=True))
                    )
                    return sum(one.answered.accepted for one in said)
                case {"count": "cards"}:
                    return len(_cards(telegram, asked))
                case {"click": calls_clicked}:
                    telegram.bot_url = unsent
                    return await _presses(telegram, _cards(telegram, asked), calls_clicked)
                case {"tell": "faults"}:
                    return [f"{fault.where}: {fault.error}" for fault in telegram.faults]
            raise ValueError(f"nobody does {sorted(told)}")

        await answered(done)


async def _presses(
    telegram: FakeTelegram, cards: Sequence[tuple[str, User, Message]], order: Sequence[int]
) -> list[Any]:
    """Of each press its token and its body: on the cards by number, in the order they were asked for."""
    made = []
    for number in order:
        token, user, card = cards[number]
        pressed = await telegram.presses(user, card, f"{Verb.APPROVE}:{token}")
        made.append([token, json.dumps(pressed.deliveries[0].update.payload)])
    return made


def _cards(telegram: FakeTelegram, users: Sequence[User]) -> list[tuple[str, User, Message]]:
    """Each message with an Approve button, whose chat it is in, and the button's token."""
    return [
        (button["callback_data"].partition(":")[2], user, message)
        for user in users
        for message in telegram.said(user)
        for row in (message.markup or {}).get("inline_keyboard", ())
        for button in row
        if button.get("callback_data", "").startswith(f"{Verb.APPROVE}:")
    ]


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
