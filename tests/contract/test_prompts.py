"""Prompts: what a surface asked somebody, whose answer is taken for a while, once."""

import asyncio
from dataclasses import replace

from core.ids import Token
from core.ports import Prompt
from tests.contract.planted import BORN_AT, Planted

ASKED = Prompt("telegram", "-100:77", "4711", Token("t1"), "edit", "amount")


async def test_a_prompt_is_open_for_its_time_and_found_by_its_message_and_by_who_is_asked_where(
    planted: Planted,
) -> None:
    prompts = planted.store.prompts
    await prompts.ask(ASKED, 900)
    assert await prompts.asked("telegram", "-100:77") == ASKED
    assert await prompts.open_in("telegram", "-100", "4711") == ASKED
    assert await prompts.asked("slack", "-100:77") is None
    for surface, chat, account in (("slack", "-100", "4711"), ("telegram", "4711", "4711")):
        assert await prompts.open_in(surface, chat, account) is None
    assert await prompts.open_in("telegram", "-100", "4712") is None
    whole = replace(ASKED, chat_ref="9:1", field=None)
    await prompts.ask(whole, 900)
    assert await prompts.asked("telegram", "9:1") == whole


async def test_a_prompt_past_its_time_is_over_and_its_row_goes_with_the_next_one(planted: Planted) -> None:
    prompts = planted.store.prompts
    await prompts.ask(ASKED, -1)
    assert await prompts.asked("telegram", "-100:77") is None
    assert await prompts.open_in("telegram", "-100", "4711") is None
    assert not await prompts.close("telegram", "-100:77")
    await prompts.ask(ASKED, 900)
    await planted.update("prompts", {"expires_at": BORN_AT})
    other = replace(ASKED, chat_ref="9:1")
    await prompts.ask(other, 900)
    assert await planted.count("prompts") == 1


async def test_somebody_is_asked_one_thing_at_a_time_in_a_chat(planted: Planted) -> None:
    prompts = planted.store.prompts
    others = [replace(ASKED, chat_ref="-100:78", account="9"), replace(ASKED, chat_ref="4711:1")]
    for prompt in (ASKED, *others):
        await prompts.ask(prompt, 900)
    again = replace(ASKED, chat_ref="-100:79", field="note")
    await prompts.ask(again, 900)
    assert await prompts.asked("telegram", "-100:77") is None
    assert await prompts.open_in("telegram", "-100", "4711") == again
    assert [await prompts.asked("telegram", one.chat_ref) for one in others] == others


async def test_a_message_asks_one_thing(planted: Planted) -> None:
    prompts = planted.store.prompts
    await prompts.ask(ASKED, 900)
    await prompts.ask(replace(ASKED, verb="revise", field=None), 900)
    await prompts.ask(replace(ASKED, account="9"), 900)
    assert await prompts.asked("telegram", "-100:77") == replace(ASKED, account="9")
    assert await prompts.open_in("telegram", "-100", "4711") is None


async def test_of_several_who_close_a_prompt_at_once_one_had_it_open(planted: Planted) -> None:
    prompts = planted.store.prompts
    await prompts.ask(ASKED, 900)
    closed = await asyncio.gather(*(prompts.close("telegram", "-100:77") for _ in range(5)))
    assert sorted(closed) == [False] * 4 + [True]
    assert await prompts.asked("telegram", "-100:77") is None
    assert await planted.count("prompts") == 0


async def test_of_two_things_asked_at_once_one_is_open(planted: Planted) -> None:
    prompts = planted.store.prompts
    both = [replace(ASKED, chat_ref=f"-100:{n}") for n in (1, 2)]
    await asyncio.gather(*(prompts.ask(one, 900) for one in both))
    assert await prompts.open_in("telegram", "-100", "4711") in both
    assert await planted.count("prompts") == 1
