"""The pictures in docs/cards are of what the code makes now, one of each kind there is."""

import re
from typing import Final, get_args

import pytest

from adapters.slack.shown.modals import NEW_TASK
from core.cards import Card, Verb
from core.chat import Answer
from core.home import Home
from core.parks import ParkKind
from core.rendering import View
from tests.pictures import CARDS, changed, digest_in
from tests.samples.slack_cards import PAGE, SAMPLES, Sample, files

FORMS: Final = frozenset({Verb.EDIT, Verb.DECLINE, Verb.REVISE, Verb.ANSWER, Verb.REVIEW, NEW_TASK})
"""What opens a form; everything else is pressed and done."""

BY_NAME: Final = {sample.name: sample for sample in SAMPLES}


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_drawn_is_what_the_code_makes_now(name: str) -> None:
    sample = BY_NAME[name]
    assert sample.file.read_text("utf-8") == sample.text(), "python -m tests.samples, then tests.pictures"


def test_each_picture_is_of_the_file_beside_it() -> None:
    assert len(SAMPLES) > 30
    assert changed() == [], "python -m tests.pictures"
    assert None not in [digest_in(sample.file.with_suffix(".png")) for sample in SAMPLES]


def test_there_is_no_file_and_no_picture_but_of_a_sample() -> None:
    assert {path.stem for path in CARDS.glob("*.json")} == set(BY_NAME)
    assert {path.stem for path in CARDS.glob("*.png")} == set(BY_NAME)


def test_two_samples_made_one_after_the_other_are_the_same() -> None:
    assert files() == files()


def test_every_kind_of_message_card_form_and_page_has_a_sample() -> None:
    kinds = {kind for sample in SAMPLES for kind in sample.of}
    assert kinds == {*get_args(View), *ParkKind, *FORMS, Home, Answer}


@pytest.mark.parametrize("kind", ParkKind)
def test_a_sample_of_a_kind_of_card_is_one_of_it(kind: ParkKind) -> None:
    of: list[Sample] = [sample for sample in SAMPLES if kind in sample.of]
    assert of and all(Card in sample.of for sample in of)


def test_the_page_shows_every_picture_with_a_line_of_what_it_is() -> None:
    text = PAGE.read_text("utf-8")
    assert text == files()[PAGE], "python -m tests.samples"
    shown = re.findall(r"^\*\*(.+)\*\*: (.+)\n\n!\[\1\]\(\1\.png\)$", text, re.MULTILINE)
    assert shown == [(sample.name, sample.words) for sample in SAMPLES]
