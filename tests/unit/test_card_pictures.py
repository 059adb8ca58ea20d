"""The pictures in docs/cards are of what the code makes now, one of each kind there is, for each surface."""

import re
import struct
import zlib
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from random import Random
from typing import Final, TypeAlias, get_args

import pytest

from adapters.slack.shown.modals import NEW_TASK
from adapters.telegram.shown.menus import Menu
from core.cards import Card, Verb
from core.chat import Answer
from core.home import Home
from core.parks import ParkKind
from core.rendering import View
from tests.fakes.telegram.entities import formatted
from tests.fakes.telegram.markup import markups
from tests.palette import MOST, SIGNATURE, chunk, chunks, in_few_colours
from tests.pictures import LOOKS, changed, digest_in, digest_of, with_digest
from tests.samples.galleries import GALLERIES
from tests.samples.gallery import Gallery, Sample
from tests.samples.slack_cards import GALLERY as SLACK
from tests.samples.telegram_cards import GALLERY as TELEGRAM
from tests.samples.telegram_reading import blamed

FORMS: Final = frozenset({Verb.EDIT, Verb.DECLINE, Verb.REVISE, Verb.ANSWER, Verb.REVIEW, NEW_TASK})
"""What opens a form in Slack; everything else is pressed and done."""
MENUS: Final = frozenset(Menu) - {Menu.DECLINE_NOW, Menu.BACK}
"""What opens a menu or asks a question in Telegram; these two close one."""
ASKED: Final = frozenset({Verb.REVISE, Verb.ANSWER, Verb.REVIEW})
"""What is answered by a question or a text there."""
BOTH: Final = frozenset({*get_args(View), *ParkKind, Answer})

KINDS: Final[Mapping[str, frozenset[object]]] = {
    "cards": BOTH | FORMS | {Home},
    "telegram": BOTH | MENUS | ASKED,
}
BY_NAME: Final = {
    f"{gallery.folder.name}/{one.name}": (gallery, one) for gallery in GALLERIES for one in gallery.samples
}

each_surface = pytest.mark.parametrize("gallery", GALLERIES, ids=lambda one: one.folder.name)


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_drawn_is_what_the_code_makes_now(name: str) -> None:
    gallery, sample = BY_NAME[name]
    there = gallery.file(sample).read_text("utf-8")
    assert there == sample.text(), "python -m tests.samples, then tests.pictures"


@each_surface
def test_each_picture_is_of_the_file_beside_it(gallery: Gallery) -> None:
    assert len(gallery.samples) > 30
    assert gallery.folder in LOOKS
    assert changed([gallery.folder]) == [], "python -m tests.pictures"
    assert None not in [digest_in(_picture(gallery, sample)) for sample in gallery.samples]


def _picture(gallery: Gallery, sample: Sample) -> Path:
    return gallery.file(sample).with_suffix(".png")


@each_surface
def test_there_is_no_file_and_no_picture_but_of_a_sample(gallery: Gallery) -> None:
    names = sorted(sample.name for sample in gallery.samples)
    assert sorted(path.stem for path in gallery.folder.glob("*.json")) == names
    assert sorted(path.stem for path in gallery.folder.glob("*.png")) == names


@each_surface
def test_two_samples_made_one_after_the_other_are_the_same(gallery: Gallery) -> None:
    assert gallery.files() == gallery.files()


@each_surface
def test_every_kind_of_what_people_see_has_a_sample(gallery: Gallery) -> None:
    kinds = {kind for sample in gallery.samples for kind in sample.of}
    assert kinds == KINDS[gallery.folder.name]


@each_surface
@pytest.mark.parametrize("kind", ParkKind)
def test_a_sample_of_a_kind_of_card_is_one_of_it(kind: ParkKind, gallery: Gallery) -> None:
    of: list[Sample] = [sample for sample in gallery.samples if kind in sample.of]
    assert of and all(Card in sample.of for sample in of)


@each_surface
def test_the_page_shows_every_picture_with_a_line_of_what_it_is(gallery: Gallery) -> None:
    text = gallery.page.read_text("utf-8")
    assert text == gallery.files()[gallery.page], "python -m tests.samples"
    shown = re.findall(r"^\*\*(.+)\*\*: (.+)\n\n!\[\1\]\(\1\.png\)$", text, re.MULTILINE)
    assert shown == [(sample.name, sample.words) for sample in gallery.samples]


def test_a_card_of_both_surfaces_has_one_name() -> None:
    """So that whoever knows it in one finds it in the other."""
    names = [{one.name for one in gallery.samples if Card in one.of} for gallery in (SLACK, TELEGRAM)]
    assert names[0] <= names[1]


# ── what Telegram is sent ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("sample", TELEGRAM.samples, ids=lambda one: one.name)
def test_telegram_takes_what_is_drawn_as_it_is(sample: Sample) -> None:
    for item in sample.made():
        if item.get("method") == "sendMessage":
            entities = item.get("entities", [])
            made = formatted(item["text"], entities, too_long="message is too long", blame=blamed)
            assert made.text == item["text"]
            markups(item.get("reply_markup"), blamed)


@pytest.mark.parametrize("sample", TELEGRAM.samples, ids=lambda one: one.name)
def test_a_reply_names_what_stands_before_it(sample: Sample) -> None:
    for place, item in enumerate(sample.made(), 1):
        assert item.get("reply_parameters", {"message_id": 0})["message_id"] < place


# ── pictures ─────────────────────────────────────────────────────────────────────────────────

Picture: TypeAlias = list[list[tuple[int, int, int]]]


def _png(rows: Picture) -> bytes:
    """A picture as a browser has it: each row by another of the five ways in which a PNG stores one."""
    stored, above = b"", bytes(len(rows[0]) * 4)
    for how, row in enumerate(rows):
        line = bytes(chain.from_iterable((*colour, 255) for colour in row))
        befores, corners = bytes(4) + line, bytes(4) + above
        stored += bytes([how % 5])
        for one, *near in zip(line, befores, above, corners, strict=False):
            stored += bytes([(one - _guess(how % 5, *near)) & 255])
        above = line
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 6, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(stored)), chunk(b"IEND", b""))
    return SIGNATURE + b"".join(parts)


def _guess(how: int, left: int, up: int, corner: int) -> int:
    nearest = min((left, up, corner), key=lambda one: abs(left + up - corner - one))
    return (0, left, up, (left + up) // 2, nearest)[how]


def _drawn(png: bytes) -> Picture:
    """The colours of a picture that has a palette."""
    parts = dict(chunks(png))
    width = struct.unpack_from(">I", parts[b"IHDR"])[0] + 1
    red, green, blue = (parts[b"PLTE"][n::3] for n in range(3))
    lines = zlib.decompress(parts[b"IDAT"])
    rows = (lines[at + 1 : at + width] for at in range(0, len(lines), width))
    return [[(red[n], green[n], blue[n]) for n in row] for row in rows]


def _random(rng: Random, colours: int) -> Picture:
    some = [(rng.randrange(256), rng.randrange(256), rng.randrange(256)) for _ in range(colours)]
    return [rng.choices(some, k=40) for _ in range(25)]


@pytest.mark.parametrize("seed", range(5))
def test_a_picture_of_few_colours_stays_the_same(seed: int) -> None:
    rows = _random(Random(seed), MOST)
    assert _drawn(in_few_colours(_png(rows))) == rows


def test_of_many_colours_those_that_are_there_most_stay_and_the_others_are_near() -> None:
    rows = _random(Random(1), 900)
    rows[0][:2] = (1, 2, 4), (2, 2, 3)
    rows[3:20] = [[(1, 2, 3)] * 40] * 17
    made = _drawn(in_few_colours(_png(rows)))
    assert len({colour for row in made for colour in row}) == MOST
    assert made[3:20] == rows[3:20]
    pairs = [pair for two in zip(chain(*rows), chain(*made), strict=True) for pair in zip(*two, strict=True)]
    assert max(abs(one - other) for one, other in pairs) < 128


def test_a_picture_says_what_it_was_drawn_of() -> None:
    gallery, sample = BY_NAME["telegram/refund"]
    blocks = gallery.file(sample)
    old = with_digest(blocks.with_suffix(".png").read_bytes(), "0" * 64)
    assert with_digest(old, digest_of(blocks)) == blocks.with_suffix(".png").read_bytes()
