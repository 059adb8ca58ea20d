"""The samples that every surface shows: how each is called, what it is, and its view."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.cards import Card
from core.parks import ParkKind
from core.rendering import Digest, Notice, Progress, View
from core.report import Report
from core.shown import Room
from tests.samples import views
from tests.samples.gallery import Sample


@dataclass(frozen=True, slots=True)
class Seen:
    """*made*: the view, of a surface with room for so many characters of a card's arguments."""

    name: str
    words: str
    of: frozenset[object]
    made: Callable[[Room | None], View]


def samples(seen: Sequence[Seen], room: Room, sent: Callable[[View], Any]) -> tuple[Sample, ...]:
    """Those of a surface with that *room*, which is *sent* their views."""
    return tuple(
        Sample(name=one.name, words=one.words, of=one.of, made=lambda one=one: sent(one.made(room)))  # type: ignore[misc]
        for one in seen
    )


def _card(name: str, words: str, made: Callable[[Room | None], Card], *of: ParkKind) -> Seen:
    return Seen(name, words, frozenset({Card, *of}), made)


def _approval(name: str, words: str, made: Callable[[Room | None], Card]) -> Seen:
    return _card(name, words, made, ParkKind.APPROVAL)


def _waits(name: str, words: str, kind: ParkKind) -> Seen:
    return _card(name, words, lambda room: views.waits(kind, room), kind)


def _post(name: str, words: str, of: type, made: Callable[[], Report | Notice | Progress]) -> Seen:
    return Seen(name, words, frozenset({of}), lambda _: made())


WAITING: Final = (
    _approval("refund", "A refund waits: one card, one click.", views.refund),
    _approval("note", "A note to a customer, whole, and why its agent writes it.", views.note),
    _approval("removal", "A contact is to be removed: Approve asks once more.", views.removal),
    _approval(
        "long-post",
        "10,000 characters: the beginning, and Review, behind which it may be approved.",
        views.long_post,
    ),
    _approval(
        "asks-again",
        "Approved with changes, it no longer fitted the world: it asks again, old and new beside.",
        views.asks_again,
    ),
    _approval("sent-before", "Another task sent the same a while ago.", views.sent_before),
    _approval(
        "warnings",
        "Hidden characters, letters that look alike, and what a stranger's mail says word for word.",
        views.warned,
    ),
    _approval("group", "Five calls of one round, each decided by itself.", views.group),
    _approval("group-decided", "Two of three are decided; the third still waits.", views.group_decided),
    _approval("stop-first", "After three declines in a task, to stop it is offered first.", views.stop_first),
    _card("question", "A question, with answers to press.", views.question, ParkKind.QUESTION),
    _card("connect", "An account has to be connected.", views.connect, ParkKind.CONNECT),
    _card(
        "unknown", "It may have gone out, and only a person can find out.", views.unknown, ParkKind.UNKNOWN
    ),
    _card("limit", "A task has reached a limit.", views.limit, ParkKind.LIMIT),
    _waits(
        "waits-for-reply", "It waits for an answer from outside; nothing is to be pressed.", ParkKind.REPLY
    ),
    _waits("waits-for-teammate", "It waits for a teammate.", ParkKind.CHILD),
    _waits(
        "waits-for-message",
        "It waits for its owner's next message; `pending` lists it.",
        ParkKind.MESSAGE,
    ),
)
DECIDED: Final = (
    _card("approved", "Approved, not run yet.", views.approved),
    _card("edited", "Approved with changes, and done.", views.edited),
    _card("declined", "Declined, with the reason.", views.declined),
    _card("expired", "Nobody decided in time.", views.expired),
)
POSTS: Final = (
    _post("progress", "How a task goes, while it does.", Progress, views.progress),
    _post("progress-over", "The same message once it has ended.", Progress, views.progress_over),
    _post(
        "report-done",
        "The report: what the ledger says first, the agent's words last.",
        Report,
        views.report_done,
    ),
    _post(
        "report-failed", "A report of what failed, is unknown and still waits.", Report, views.report_failed
    ),
    _post("notice", "A card is recalled.", Notice, views.notice),
    Seen("digest", "Cards that were too many for their hour.", frozenset({Digest}), views.digest),
)
