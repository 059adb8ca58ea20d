"""What a card shows of a park, free of any surface: who wants what, why it asks, every argument whole.

Everything that came from a model, a customer or a person is made visible before it is shown: control,
bidirectional, invisible and private characters appear as ``⟨U+202E⟩``, so that what is read is what
would run, and can be read back (`shown.read_back`). The raw value is what is hashed and run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from core import shown
from core.agents import Agent
from core.calls import Call, Outcome
from core.canonical import dump
from core.heard import Heard, heard, repeated, sources
from core.host import BaseHost
from core.ids import CallCode
from core.parks import Choice, Park, ParkKind
from core.people import Roster
from core.ports import Story
from core.redact import Redactor
from core.shown import Field, Room, beginnings, fields_of, share, shown_whole
from core.tasks import Json, MessageKind, Task
from core.visible import line, units, visible
from core.wording import (
    LONGEST_ASIDE,
    LONGEST_EARLIER,
    MORE,
    aside,
    asked,
    day,
    earlier,
    left_out,
    own_words,
    recipient,
    standing_in,
    status,
    title,
    warnings,
    why,
)

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_GOAL: Final = 160
"""Of the goal above a card: the card is about the call."""
ASIDE_IN_ROOM: Final = 600
"""Of what stands beside the arguments, where a message of a chat has to hold it all."""
EARLIER_IN_ROOM: Final = 200
MANY_DECLINES: Final = 3
"""Declines in one task after which a card offers to stop it first; never by itself (threats S7)."""


class Verb(StrEnum):
    """What a person may do at a card, beside the choices of its park."""

    APPROVE = "approve"
    EDIT = "edit"
    REVIEW = "review"  # opens the whole of what a card has no room for; approving is offered behind it
    DECLINE = "decline"  # don't do it
    REVISE = "revise"  # change it, and say how
    DECLINE_STOP = "decline_stop"  # don't do it, and stop the task
    ANSWER = "answer"
    CONNECTED = "connected"
    APPROVE_REST = "approve_rest"  # every row that waits and was shown, each decided on its own


LABELS: Final[dict[str, str]] = {
    Verb.APPROVE: "Approve",
    Verb.EDIT: "Edit",
    Verb.REVIEW: "Review",
    Verb.DECLINE: "Decline",
    Verb.REVISE: "Change it…",
    Verb.DECLINE_STOP: "Decline and stop the task",
    Verb.ANSWER: "Answer",
    Verb.CONNECTED: "It is connected",
    Choice.WENT_OUT: "It went out",
    Choice.DID_NOT: "It did not",
    Choice.SEND_AGAIN: "Send again",
    Choice.LOOK_UP: "Look it up",
    Choice.STOP: "Stop here",
    **{choice: words[0].upper() + words[1:] for choice, words in MORE.items()},
}
"""What a button of each choice says; of `APPROVE_REST`, see `Card.rest_label`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One park on a card, decided on its own."""

    code: str  # t-12.3, or t-12.3v2 from the second version on
    token: str
    kind: ParkKind
    title: str  # Sam wants to send_note to mara@example.test
    risk: str
    why: str  # the rule, in words
    fields: tuple[Field, ...]  # those that matter first; the beginning of each where there is no room for all
    choices: tuple[str, ...]  # the verbs a person may answer with, in the order shown; none once ended
    status: str | None  # who decided what and when, and what came of it; None while it waits
    expires_at: datetime | None
    short_hash: str
    asked_at: datetime | None = None
    together: int = 1  # how many asked at once, and share the room
    final: bool = False  # it is decided, and all that was to come of it has come
    to: str | None = None  # whom it is for, cut
    question: str | None = None  # what an agent asks
    suggestions: tuple[str, ...] = ()  # answers it suggests, to be said word for word
    seen: str | None = None  # what is so now, by the tool's precondition; a decision holds while it stays so
    preview: str | None = None  # what it would do, by its tool; the beginning, of this and what is seen
    url: str | None = None  # where an account is connected
    earlier: tuple[str, ...] = ()  # the same as other tasks sent it: who, when, where and what, newest first
    repeats: tuple[str, ...] = ()  # which arguments stand word for word in what the task read from outside
    warnings: tuple[str, ...] = ()  # what is not what it looks like
    whole: tuple[Field, ...] = ()  # all of the fields, where they show the beginnings alone

    @property
    def hidden(self) -> int:
        """How many characters of its arguments it does not show."""
        return sum(field.hidden for field in self.fields)


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A card: the parks of one round of one task, in call order."""

    task_code: str
    agent: str
    goal: str
    rows: tuple[Row, ...]
    unread: int
    asked: str = ""  # asked by Ada; started by a schedule
    said: str | None = None  # the agent's own words of this round, capped; never ours
    outside: str | None = None  # what the task has read from outside since its owner last wrote
    moved: str | None = None  # why it is not in its place

    @property
    def open(self) -> bool:
        return any(row.status is None for row in self.rows)

    @property
    def rest(self) -> tuple[Row, ...]:
        """The rows that wait and can be approved as they are shown here."""
        return tuple(row for row in self.rows if Verb.APPROVE in row.choices)

    @property
    def choices(self) -> tuple[str, ...]:
        """What may be answered to several rows at once: `APPROVE_REST`, where each that waits was shown."""
        waiting = [row for row in self.rows if row.status is None and row.kind is ParkKind.APPROVAL]
        all_shown = len(self.rest) == len(waiting)
        return (Verb.APPROVE_REST,) if all_shown and len(waiting) > 1 else ()

    @property
    def rest_token(self) -> str:
        """What the button for all of them carries: the newest one's, since it is of what is no newer."""
        return max(self.rest, key=lambda row: (row.asked_at or _LONG_AGO, row.code)).token

    @property
    def rest_label(self) -> str:
        """Approve all 3; once some row is decided, Approve the other 2."""
        n = len(self.rest)
        return f"Approve the other {n}" if n < len(self.rows) else f"Approve all {n}"


def pages(row: Row) -> tuple[str, ...]:
    """The whole of *row*'s arguments, for a review; who saw the last page has seen them (I32)."""
    return shown.pages(row.whole or row.fields)


def read_back(row: Row) -> dict[str, Json]:
    """The arguments that *row* shows, exactly. Raises ValueError where it shows their beginnings alone."""
    return shown.read_back(row.fields)


def reminder(task: Task, agent: Agent | None, park: Park, call: Call | None) -> str:
    """t-1.2 still waits: Sam wants to refund. It expires on 6 Dec, 13:04 UTC."""
    name = visible(agent.name if agent else task.agent)
    expires = f" It expires on {day(park.expires_at)}." if park.expires_at else ""
    return f"{_code(task, park, call)} still waits: {title(name, park, call)}.{expires}"


def _code(task: Task, park: Park, call: Call | None) -> str:
    """t-12.3, or t-12.3v2 from the second version on; t-12 of what is about the task itself."""
    if call is None:
        return task.code
    version = park.version if park.version > 1 else None
    return str(CallCode(task_number=task.number, call_number=call.number, version=version))


def card(
    story: Story,
    pairs: Sequence[tuple[Park, Call | None]],
    roster: Roster,
    host: BaseHost,
    room: Room | None = None,
    redactor: Redactor | None = None,
) -> Card:
    """The card of these parks of *story*'s task, the newest version of each call alone.

    *room*: how much of the arguments the surface shows; None: all, however long.
    *redactor*: takes the secrets out before anything is cut, so that no part of one stays (I33).
    """
    newest = list({(p.call_id, p.kind): (p, c) for p, c in sorted(pairs, key=_age)}.values())
    newest.sort(key=lambda pair: _order(pair[0], pair[1]))
    task, texts = story.task, heard(story.messages, story.calls)
    own = _said(story, [c for _, c in newest if c is not None])
    goal, said = (task.goal, own) if redactor is None else redactor.clean((task.goal, own))
    made = _Rows(story=story, roster=roster, host=host, room=room, texts=texts, redactor=redactor)
    since = "your last words" if task.requester else "it was started"
    outside = f"Read from outside since {since}: {', '.join(map(visible, sources(texts)))}."
    return Card(
        task_code=task.code,
        agent=made.name_of(task.agent),
        goal=line(" ".join(_goal(goal).split()), LONGEST_GOAL),
        rows=tuple(made.row(p, c) for p, c in newest),
        unread=task.unread,
        asked=asked(task, roster),
        said=own_words(said),
        outside=outside if texts else None,
    )


def _age(pair: tuple[Park, Call | None]) -> tuple[int, datetime]:
    return pair[0].version, pair[0].created_at


def _order(park: Park, call: Call | None) -> tuple[int, datetime]:
    return (call.number if call else 0), park.created_at


def _goal(goal: Json) -> str:
    return goal if isinstance(goal, str) else dump(goal)


def _said(story: Story, calls: Sequence[Call]) -> str | None:
    """The text of the model reply that *calls* came with; an owner's call came with none."""
    places = {(c.episode, c.round) for c in calls if c.round is not None}
    replies = (m for m in story.messages if m.kind is MessageKind.ASSISTANT)
    return next((m.body["text"] for m in replies if (m.episode, m.round) in places), None)


_CHOICES: Final[dict[ParkKind, tuple[str, ...]]] = {
    ParkKind.APPROVAL: (Verb.APPROVE, Verb.EDIT, Verb.DECLINE, Verb.REVISE, Verb.DECLINE_STOP),
    ParkKind.CONNECT: (Verb.CONNECTED, Verb.DECLINE),
    ParkKind.QUESTION: (Verb.ANSWER, Verb.DECLINE),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rows:
    """What every row of one card is made with."""

    story: Story
    roster: Roster
    host: BaseHost
    room: Room | None
    texts: tuple[Heard, ...]
    redactor: Redactor | None

    def name_of(self, agent: str) -> str:
        """The name that the agent of this key is shown by."""
        found = self.host.agents.get(agent)
        return visible(found.name if found else agent)

    def row(self, park: Park, call: Call | None) -> Row:
        room = None if self.room is None else self.room.of_each(park.together)
        whole = call is None or shown_whole(call.args, call.proposed_args, room)
        url = park.shown.get("url")  # is to be pressed: the view's own redaction leaves it whole
        runs = call.args if call else {}
        if self.redactor is not None:
            park, call = self.redactor.clean((park, call))
        task, args = self.story.task, call.args if call else {}
        question, suggestions = _question(park, args, room)
        fields = self._fields(call, () if question is None else ("question", "suggestions"))
        if question is not None:
            all_of_it = Field(name="question", value=visible(args["question"], lines=True))
            whole = room is None or units(all_of_it.value) <= room
            shown, fields = fields, fields if whole else (*fields, all_of_it)
        else:
            shown = fields if whole or room is None else beginnings(fields, room)
        most = LONGEST_ASIDE if room is None else share(ASIDE_IN_ROOM, park.together)
        each = LONGEST_EARLIER if room is None else share(EARLIER_IN_ROOM, park.together)
        return Row(
            code=_code(task, park, call),
            token=park.token,
            kind=park.kind,
            title=title(self.name_of(task.agent), park, call),
            risk=call.risk if call and question is None else "",
            why=why(park, call, most),
            fields=shown,
            choices=self._choices(park, whole=whole) if park.open else (),
            status=None if park.open else status(park, call, self.roster),
            expires_at=park.expires_at,
            short_hash=park.shown_hash[:4],
            asked_at=park.created_at,
            together=park.together,
            final=not park.open and (call is None or call.settled),
            to=recipient(args),
            question=question,
            suggestions=suggestions,
            seen=aside(park.shown["seen"], most) if "seen" in park.shown else None,
            preview=aside(park.shown["preview"], most) if "preview" in park.shown else None,
            url=visible(str(url)) if url else None,
            earlier=tuple(earlier(one, self.name_of, each) for one in park.shown.get("earlier", ())),
            repeats=standing_in(repeated(runs, self.texts)) if park.open else (),
            warnings=(*left_out(runs, args), *warnings(args)) if park.open else (),
            whole=() if whole else fields,
        )

    def _fields(self, call: Call | None, but: Sequence[str]) -> tuple[Field, ...]:
        if call is None:
            return ()
        tool = self.host.tools.get(call.tool)
        made = fields_of(call.args, call.proposed_args, None if tool is None else tool.editable)
        return tuple(field for field in made if field.name not in but)

    def _choices(self, park: Park, *, whole: bool) -> tuple[str, ...]:
        """In the order shown; what was not shown whole is reviewed before anything of it may run."""
        own = tuple(str(c) for c in park.choices) or _CHOICES.get(park.kind, ())
        if not whole:
            hasty = (Verb.APPROVE, Verb.EDIT, Choice.SEND_AGAIN)
            reviewed = set(own) & {*hasty, Verb.ANSWER}
            own = (Verb.REVIEW, *(c for c in own if c not in hasty)) if reviewed else own
        declined = sum(c.outcome is Outcome.DECLINED for c in self.story.calls)
        if declined >= MANY_DECLINES and Verb.DECLINE_STOP in own:
            own = (Verb.DECLINE_STOP, *(c for c in own if c != Verb.DECLINE_STOP))
        return own


def _question(park: Park, args: Json, room: int | None) -> tuple[str | None, tuple[str, ...]]:
    """What is asked, and the answers suggested; of an app's tool that asks otherwise, nothing."""
    if park.kind is not ParkKind.QUESTION or not isinstance(args.get("question"), str):
        return None, ()
    suggested = args.get("suggestions") or ()
    texts = suggested if all(isinstance(one, str) for one in suggested) else ()
    asked = aside(args["question"], LONGEST_ASIDE if room is None else room)
    return asked, tuple(visible(one) for one in texts)
