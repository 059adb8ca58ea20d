"""The suite's fake Slack as a process of its own: its work is not the load generator's.

Clicks are made by the fake from what it shows, as Slack would, and handed over unsent: the generator sends
them.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from bench.lines import answered, nobody, say
from core.cards import Verb
from tests.fakes.slack import Channel, FakeSlack, Message, User, fake_slack

RETRY_WAITS = (0.5, 2.0, 5.0)
"""Sooner than Slack's: what is asked for before the load is not what is measured."""


async def serve() -> None:
    """Answers until its input ends. All that is asked is asked in one channel."""
    async with fake_slack() as slack, nobody() as unsent:
        slack.retry_waits = RETRY_WAITS
        ada = slack.add_user("ada")
        ops = slack.add_channel("ops", ada)
        account = f"{ada.team_id}/{ada.id}"
        say({"api_url": slack.api_url, "bot_token": slack.team.bot_token, "accounts": [account]})
        await answered(lambda told: _done(slack, ada, ops, unsent, told))


async def _done(slack: FakeSlack, ada: User, ops: Channel, unsent: str, told: Mapping[str, Any]) -> Any:
    match told:
        case {"say": [*texts], "to": url}:
            slack.bot_url = url
            said = await asyncio.gather(*(slack.says(ada, ops, text, mention=True) for text in texts))
            return sum(one.answered.accepted for one in said)
        case {"count": "cards"}:
            return len(_cards(slack, ops))
        case {"click": calls_clicked}:
            slack.bot_url = unsent
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


if __name__ == "__main__":
    asyncio.run(serve())
