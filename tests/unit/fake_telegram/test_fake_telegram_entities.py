"""The fake Telegram's entities: refused where they make no sense, dropped with a fault where they clash."""

import pytest
import telegram as ptb
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.telegram import FakeTelegram, Json, User
from tests.fakes.telegram.entities import formatted
from tests.fakes.telegram.listening import error_of, shown
from tests.fakes.telegram.text import units

SMILE = "😀"


def mark(kind: str, offset: int, length: int, **more: str) -> Json:
    return {"type": kind, "offset": offset, "length": length, **more}


def kept(text: str, *entities: Json) -> tuple[list[Json], list[str]]:
    """The entities that are kept of those, and what is blamed."""
    blamed: list[str] = []
    result = formatted(
        text, list(entities), too_long="message is too long", blame=lambda error, detail: blamed.append(error)
    )
    return result.entities, blamed


async def test_offsets_count_utf_16_units(telegram: FakeTelegram, bot: ptb.Bot, sam: User) -> None:
    bold = ptb.MessageEntity(ptb.MessageEntity.BOLD, offset=3, length=4)
    sent = await bot.send_message(sam.id, f"{SMILE} {SMILE}up", entities=[bold])
    assert sent.parse_entities() == {sent.entities[0]: f"{SMILE}up"}
    assert shown(telegram, sent).marked("bold") == [f"{SMILE}up"]
    assert telegram.faults == []


@pytest.mark.parametrize(
    ("offset", "length", "said"),
    [
        (1, 1, "Entity begins in a middle of a utf-16 symbol at byte offset 4"),
        (0, 1, "Entity beginning at utf-16 offset 0 ends in a middle of a utf-16 symbol at byte offset 4"),
        (2, 9, "Entity beginning at utf-16 offset 2 ends after the end of the text at utf-16 offset 11"),
        (9, 1, "Entity begins after the end of the text at utf-16 offset 9"),
        (-1, 1, "Receive an entity with incorrect offset -1"),
        (0, -1, "Receive an entity with incorrect length -1"),
    ],
)
async def test_an_entity_that_marks_no_characters_of_the_text_is_refused_and_a_fault(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, offset: int, length: int, said: str
) -> None:
    entity = ptb.MessageEntity(ptb.MessageEntity.BOLD, offset, length)
    assert await error_of(bot.send_message(sam.id, f"{SMILE}abc", entities=[entity])) == said
    assert [fault.where for fault in telegram.faults] == ["sendMessage"]


@pytest.mark.parametrize(
    "entity", [mark("blink", 0, 1), mark("text_link", 0, 1), {"type": "bold"}, {"offset": 0, "length": 1}]
)
async def test_an_entity_that_is_none_cannot_be_parsed(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, entity: Json
) -> None:
    said = await error_of(bot.send_message(sam.id, "abc", api_kwargs={"entities": [entity]}))
    assert said.startswith("Can't parse entities")
    assert len(telegram.faults) == 1


async def test_a_parse_mode_is_a_fault(telegram: FakeTelegram, bot: ptb.Bot, sam: User) -> None:
    said = await error_of(bot.send_message(sam.id, "*abc*", parse_mode="MarkdownV2"))
    assert said.startswith("Can't parse entities")
    assert len(telegram.faults) == 1


FINE: list[list[Json]] = [
    [mark("bold", 0, 9), mark("italic", 2, 3)],
    [mark("blockquote", 0, 9), mark("pre", 1, 3, language="json"), mark("bold", 5, 2)],
    [mark("expandable_blockquote", 0, 9), mark("code", 1, 3), mark("text_link", 5, 2, url="https://a.com")],
    [mark("bold", 0, 4), mark("code", 4, 3)],
    [mark("underline", 0, 3), mark("strikethrough", 0, 3), mark("spoiler", 0, 3)],
]


@pytest.mark.parametrize("entities", FINE)
def test_entities_lie_beside_or_in_each_other(entities: list[Json]) -> None:
    assert kept("abcdefghi", *entities) == (entities, [])


BAD: list[tuple[list[Json], str]] = [
    ([mark("bold", 0, 4), mark("italic", 2, 4)], "entities overlap"),
    ([mark("code", 0, 4), mark("bold", 1, 2)], "code holds nothing and lies in nothing but a quote"),
    ([mark("bold", 0, 4), mark("code", 1, 2)], "code holds nothing and lies in nothing but a quote"),
    ([mark("bold", 0, 4), mark("pre", 0, 4)], "code holds nothing and lies in nothing but a quote"),
    ([mark("pre", 0, 4), mark("blockquote", 1, 2)], "code holds nothing and lies in nothing but a quote"),
    ([mark("blockquote", 0, 4), mark("expandable_blockquote", 1, 2)], "quotes do not nest"),
    (
        [mark("text_link", 0, 4, url="a.com"), mark("text_link", 1, 2, url="b.com")],
        "links hold no links and no quotes",
    ),
]


@pytest.mark.parametrize(("entities", "blamed"), BAD)
def test_what_lies_wrong_is_dropped_without_a_word_and_a_fault(entities: list[Json], blamed: str) -> None:
    assert kept("abcdefghi", *entities) == (entities[:1], [blamed])


def test_what_telegram_finds_by_itself_is_not_given_and_a_link_to_nowhere_is_none() -> None:
    assert kept("abcdefghi", mark("mention", 0, 3)) == ([], ["an entity that only Telegram finds"])
    nowhere = mark("text_link", 0, 3, url="javascript:alert(1)")
    assert kept("abcdefghi", nowhere) == ([], ["a link to nowhere is dropped"])


def test_the_same_mark_twice_is_one() -> None:
    assert kept("abcdefghi", mark("bold", 0, 4), mark("bold", 1, 2)) == ([mark("bold", 0, 4)], [])


def test_white_space_around_a_text_goes_and_entities_move_with_it() -> None:
    entities, blamed = kept(" \n ab cd \n", mark("bold", 3, 2), mark("italic", 5, 4))
    assert entities == [mark("bold", 0, 2), mark("italic", 3, 2)]
    assert kept("  ab", mark("code", 1, 3))[0] == [mark("code", 0, 3)]  # white space in code stays
    assert kept("ab   cd", mark("bold", 2, 3))[0] == []
    assert blamed == []


def test_what_is_taken_out_of_a_text_shortens_the_entities_over_it() -> None:
    entities, _ = kept(f"{SMILE}\r\n\u202eab", mark("bold", 0, 7), mark("italic", 5, 2))
    assert entities == [mark("bold", 0, 5), mark("italic", 3, 2)]


async def test_of_more_than_a_hundred_entities_the_plain_marks_go_first(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    kinds = [ptb.MessageEntity.BOLD] * 60 + [ptb.MessageEntity.CODE] * 60
    entities = [ptb.MessageEntity(kind, 2 * place, 1) for place, kind in enumerate(kinds)]
    sent = await bot.send_message(sam.id, "x " * 120, entities=entities)
    assert [len(shown(telegram, sent).marked(kind)) for kind in ("bold", "code")] == [40, 60]
    assert [fault.error for fault in telegram.faults] == ["more than 100 entities: the rest is dropped"]


async def test_entities_that_weigh_too_much_are_refused(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    def links(count: int) -> list[ptb.MessageEntity]:
        url = "https://example.com/" + "x" * 180
        return [ptb.MessageEntity(ptb.MessageEntity.TEXT_LINK, 2 * n, 1, url=url) for n in range(count)]

    await bot.send_message(sam.id, "x " * 60, entities=links(40))
    assert telegram.faults == []
    said = await error_of(bot.send_message(sam.id, "x " * 60, entities=links(50)))
    assert said == "Entities_too_long"
    assert len(telegram.faults) == 1


TEXTS = st.text(st.sampled_from(f"ab \n\r\t{SMILE}\u202e\u2060@."), min_size=1, max_size=30)


@given(TEXTS, st.data())
def test_whatever_is_kept_marks_whole_characters_of_the_text(text: str, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, len(text)))
    entity = mark("bold", units(text[:begin]), units(text[begin:end]))
    result = formatted(
        text, [entity], empty=True, too_long="", blame=lambda error, detail: pytest.fail(error)
    )
    written = result.text.encode("utf-16-le")
    for one in [*result.entities, *(found.to_json() for found in result.found)]:
        part = written[2 * one["offset"] : 2 * (one["offset"] + one["length"])].decode("utf-16-le")
        assert part and units(part) == one["length"]
    assert result.text == result.text.strip(" \n") or result.entities
