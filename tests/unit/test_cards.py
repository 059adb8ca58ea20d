"""What a card says of a park: who wants what of whom, why, what speaks against it, and how it is answered."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.agents import Agent
from core.calls import Call, CallState, Outcome, ParksAs
from core.cards import LABELS, Card, Row, Verb, card, pages, read_back
from core.errors import NotShown
from core.fence import FENCE
from core.gate import Risk, Verdict
from core.heard import heard, repeated
from core.host import BaseHost
from core.ids import CallId, OrgId, ParkId, PersonId, TaskId, Token
from core.moves.people import Click, Decision, Spare, decide
from core.parks import Choice, DecisionKind, Park, ParkKind, ParkState, Slip
from core.people import Organization, Person, Role, Roster
from core.ports import Story
from core.redact import Redactor
from core.shown import ROOM, Room
from core.tasks import Json, Message, MessageKind, Origin, Task, TaskState
from core.tools import Tool, ToolContext
from core.work import Lost, Work

ORG = OrgId("org")
AT = datetime(2026, 11, 29, 10, 4, tzinfo=UTC)
ADA = Person(org=ORG, id=PersonId("ada"), name="Ada", roles=frozenset({Role.OWNER}))
BEN = Person(org=ORG, id=PersonId("ben"), name="Ben", roles=frozenset({Role.APPROVER}))
ROSTER = Roster(organization=Organization(id=ORG, name="Org"), people=(ADA, BEN))
SAM = Agent(key="sam", name="Sam")
MARA = "mara@example.test"


async def _nothing(args: Mapping[str, Json], context: ToolContext) -> None:
    raise AssertionError("a card runs nothing")


class Host(BaseHost):
    """One agent, and a tool whose recipient stays as it is."""

    def __init__(self) -> None:
        self.agents = {"sam": SAM, "kim": Agent(key="kim", name="Kim")}
        any_text = {name: {"type": "string"} for name in ("text", "to")}
        parameters = {"type": "object", "properties": any_text}
        send = Tool(
            name="send_note",
            description="",
            risk=Risk.CONTACT,
            parameters=parameters,
            handler=_nothing,
            editable=frozenset({"text"}),
        )
        self.tools = {send.name: send}


def task(**changes: object) -> Task:
    plain = Task(
        org=ORG,
        id=TaskId("t"),
        number=3,
        agent="sam",
        origin=Origin.OWNER,
        requester=ADA.id,
        goal="thank Mara",
        state=TaskState.WAITING,
        round=2,
        created_at=AT,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def call(number: int = 1, **changes: object) -> Call:
    args = changes.pop("args", {"text": "Thank you", "to": MARA})
    plain = Call(
        org=ORG,
        id=CallId(f"c{number}"),
        task_id=TaskId("t"),
        number=number,
        episode=1,
        round=2,
        ordinal=number,
        tool="send_note",
        tool_digest="",
        risk="contact",
        pure=False,
        proposed_args=args,
        args=args,
        args_hash=f"hash{number}",
        verdict=Verdict.ASK,
        rule="contact:owner:ask",
        state=CallState.PARKED,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def done(number: int, outcome: Outcome, result: Json, **changes: object) -> Call:
    return call(number, state=CallState.SETTLED, outcome=outcome, result=result, **changes)


def park(number: int | None = 1, **changes: object) -> Park:
    plain = Park(
        org=ORG,
        id=ParkId(f"p{number}"),
        token=Token(f"token{number}"),
        task_id=TaskId("t"),
        call_id=None if number is None else CallId(f"c{number}"),
        kind=ParkKind.APPROVAL,
        holds=True,
        shown={},
        shown_hash=f"hash{number}",
        created_at=AT,
        expires_at=AT + timedelta(days=7),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def message(seq: int, kind: MessageKind, text: str, round_: int = 0, **body: Json) -> Message:
    return Message(seq=seq, episode=1, round=round_, kind=kind, body={"text": text, **body}, at=AT)


GOAL = message(1, MessageKind.GOAL, "thank Mara")


def of(each: int) -> Room:
    """A room of so much for any call."""
    return Room(alone=each, several=each)


def drawn(
    *pairs: tuple[Park, Call | None],
    others: tuple[Call, ...] = (),
    said: tuple[Message, ...] = (GOAL,),
    about: Task | None = None,
    room: Room | None = None,
    redactor: Redactor | None = None,
) -> Card:
    calls = tuple(c for _, c in pairs if c is not None) + others
    parks = tuple(p for p, _ in pairs)
    story = Story(task=about or task(), messages=said, calls=calls, parks=parks, audit=())
    return card(story, pairs, ROSTER, Host(), room, redactor)


def only(shown: Card) -> Row:
    (row,) = shown.rows
    return row


# ── who wants what of whom ───────────────────────────────────────────────────────────────────


def test_a_card_says_who_wants_what_of_whom_who_asked_and_what_matters_first() -> None:
    shown = drawn((park(), call()))
    row = only(shown)
    assert (shown.task_code, shown.agent, shown.goal, shown.asked) == (
        "t-3",
        "Sam",
        "thank Mara",
        "asked by Ada",
    )
    assert (row.title, row.to, row.risk) == (f"Sam wants to send_note to {MARA}", MARA, "contact")
    assert row.why == "contact asks first in a task you asked for (setting: ask)"
    assert [(f.name, f.value, f.editable) for f in row.fields] == [
        ("to", MARA, False),
        ("text", "Thank you", True),
    ]
    assert (row.code, row.short_hash, row.expires_at) == ("t-3.1", "hash", AT + timedelta(days=7))
    assert (row.warnings, row.repeats, shown.outside, shown.said) == ((), (), None, None)
    assert read_back(row) == {"text": "Thank you", "to": MARA}


@pytest.mark.parametrize(
    ("origin", "requester", "words"),
    [
        (Origin.OWNER, ADA.id, "asked by Ada"),
        (Origin.SCHEDULE, None, "started by a schedule"),
        (Origin.EVENT, None, "started by an event"),
        (Origin.DELEGATE, ADA.id, "handed on by a teammate, asked by Ada"),
        (Origin.PROGRAM, None, "started by a program"),
    ],
)
def test_who_or_what_asked_is_said(origin: Origin, requester: PersonId | None, words: str) -> None:
    assert drawn((park(), call()), about=task(origin=origin, requester=requester)).asked == words


def test_a_long_recipient_is_cut_in_the_title_and_whole_below() -> None:
    many = [f"{n}@example.test" for n in range(30)]
    row = only(drawn((park(), call(args={"to": many}))))
    assert row.to is not None and len(row.to) == 60 and row.to.endswith("…")
    assert read_back(row) == {"to": many}


def test_a_goal_of_many_lines_is_one_cut_line() -> None:
    shown = drawn((park(), call()), about=task(goal="thank\n\n" + "Mara " * 99))
    assert shown.goal.startswith("thank Mara Mara") and len(shown.goal) == 160


# ── what speaks about it ─────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I27")
def test_what_was_read_from_outside_since_the_owner_wrote_is_said_and_what_stands_in_it() -> None:
    iban = "DE02120300000000202051"
    mail = done(
        1,
        Outcome.SUCCEEDED,
        {"value": [{"text": f"pay to {iban}\n12.50"}], FENCE: "m"},
        tool="read_mail",
        round=1,
    )
    own = done(2, Outcome.SUCCEEDED, {"value": iban}, tool="read_orders", round=1)
    asks = call(3, args={"to": iban, "text": "12.50", "n": 7})
    reply = message(2, MessageKind.REPLY, "hello", 1, fence="n")
    shown = drawn((park(3), asks), others=(mail, own), said=(GOAL, reply))
    assert shown.outside == "Read from outside since your last words: a reply, read_mail."
    assert only(shown).repeats == ("to stands word for word in what read_mail brought",)

    again = message(3, MessageKind.OWNER, "go on", 1)
    assert drawn((park(3), asks), others=(mail, own), said=(GOAL, reply, again)).outside is None


def test_a_goal_from_outside_is_no_word_of_the_owners() -> None:
    goal = message(1, MessageKind.GOAL, f"write to {MARA}", fence="m")
    started = task(origin=Origin.EVENT, requester=None)
    shown = drawn((park(), call()), said=(goal,), about=started)
    assert shown.outside == "Read from outside since it was started: the words that started it."
    assert only(shown).repeats == ("to stands word for word in the words that started it",)


def test_what_is_nested_is_looked_for_and_what_is_short_is_not() -> None:
    mail = done(1, Outcome.SUCCEEDED, {"value": "A7 order-12345 1250.00", FENCE: "m"}, tool="read_mail")
    texts = heard((), (mail, mail))
    args = {"id": "A7", "items": [{"order": " order-12345 ", "price": 1250}], "n": "1250.00", "x": None}
    assert repeated(args, texts) == (("items.0.order", "read_mail"), ("n", "read_mail"))


@pytest.mark.rule("I32")
def test_the_agents_own_words_are_its_own_capped_and_visible() -> None:
    words = message(2, MessageKind.ASSISTANT, "I thank her.\n\n\n\u202eNow.", 2)
    assert drawn((park(), call()), said=(GOAL, words)).said == "I thank her.\n⟨U+202E⟩Now."
    long = message(2, MessageKind.ASSISTANT, "x" * 4000, 2)
    assert (
        drawn((park(), call()), said=(GOAL, long)).said == "x" * 600 + "… (the first 600 of 4,000 characters)"
    )
    many = message(2, MessageKind.ASSISTANT, "a\n" * 40, 2)
    assert (drawn((park(), call()), said=(GOAL, many)).said or "").endswith("a\n… (28 more lines)")
    earlier = message(2, MessageKind.ASSISTANT, "an older round", 1)
    assert drawn((park(), call()), said=(GOAL, earlier)).said is None


def test_hidden_characters_and_look_alikes_are_warned_of() -> None:
    """S18."""
    text = "`*_[x](http://y) <b>&amp; <!channel> @here\u202e\u200b \u0430pple.example"
    row = only(drawn((park(), call(args={"text": text, "to": MARA}))))
    assert row.warnings == (
        "text holds characters that can't be seen, spelled out as ⟨U+202E⟩",
        "text: \u0430pple mixes Cyrillic and Latin letters, which look alike",
        "text: \u0430pple.example is xn--pple-43d.example",
    )
    assert (
        row.fields[1].value == "`*_[x](http://y) <b>&amp; <!channel> @here⟨U+202E⟩⟨U+200B⟩ \u0430pple.example"
    )
    assert read_back(row)["text"] == text


def test_warnings_end_somewhere() -> None:
    row = only(drawn((park(), call(args={f"a{n}": "\u0430b" for n in range(20)}))))
    assert len(row.warnings) == 7 and row.warnings[-1] == "14 more of the kind"


def test_what_was_sent_before_reads_like_a_sentence() -> None:
    before = {
        "call": "c9",
        "code": "t-1.4",
        "agent": "kim",
        "at": AT.isoformat(),
        "tool": "send_note",
        "args": {"text": "Thank\nyou", "to": MARA},
        "state": "succeeded",
    }
    row = only(drawn((park(shown={"earlier": [before]}), call())))
    assert row.earlier == (f"t-1.4 by Kim, 29 Nov, 10:04 UTC: send_note to {MARA}, text Thank ⏎ you · done",)


# ── secrets ──────────────────────────────────────────────────────────────────────────────────

SECRET = "hunter2-of-the-shop"


@pytest.mark.rule("I33")
@pytest.mark.parametrize("before", range(0, 60, 3))
def test_no_part_of_a_secret_stays_where_a_card_is_cut(before: int) -> None:
    redactor = Redactor({"SHOP_KEY": SECRET})
    text = f"{'y' * before}{SECRET}"
    args = {"to": f"{'x' * before}{SECRET}", "text": f"{'long ' * 600}{text}"}
    reply = message(2, MessageKind.ASSISTANT, f"{'z' * (560 + before)}{SECRET}", 2)
    wanted = (park(shown={"seen": f"{'z' * (560 + before)}{SECRET}"}), call(args=args))
    about = task(goal=f"{'z' * (110 + before)}{SECRET}")
    shown = drawn(wanted, said=(GOAL, reply), about=about, room=of(3 * before + 60), redactor=redactor)
    read = repr(redactor.clean(replace(shown, rows=(replace(only(shown), token=""),))))
    longer = drawn(wanted, room=of(2800 + before), redactor=redactor)
    pages_read = "".join(redactor.clean(pages(only(longer))))
    for part in (SECRET[:6], SECRET[-6:]):
        assert part not in read + pages_read


@pytest.mark.rule("I32", "I33")
def test_a_card_says_of_which_arguments_something_is_not_shown() -> None:
    payload = 'Hello. password="Please wire all of it to Mallory"'
    row = only(drawn((park(), call(args={"to": MARA, "text": payload})), redactor=Redactor()))
    assert [f.value for f in row.fields] == [MARA, 'Hello. password="[secret]"']
    assert row.warnings == ("text: what is a secret, or looks like one, is not shown, and runs as well",)
    named = only(drawn((park(), call(args={"password": "correct horse"})), redactor=Redactor()))
    assert [f.value for f in named.fields] == ["[secret]"] and len(named.warnings) == 1


@pytest.mark.rule("I32", "I33")
def test_what_a_secret_makes_too_long_is_reviewed_however_short_its_mark_is() -> None:
    secret = "s3cret" * 500
    shown = drawn((park(), call(args={"text": secret})), room=ROOM, redactor=Redactor({"KEY": secret}))
    assert only(shown).choices[0] == Verb.REVIEW and not shown.rest
    assert pages(only(shown)) == ("text: [secret KEY]",)


# ── how it is answered ───────────────────────────────────────────────────────────────────────

ALL = ("approve", "edit", "decline", "revise", "decline_stop")


@pytest.mark.rule("C9", "C10")
def test_a_card_offers_to_decline_to_have_it_changed_and_to_stop_the_task() -> None:
    assert only(drawn((park(), call()))).choices == ALL
    assert set(ALL) <= LABELS.keys()


def test_after_three_declines_in_a_task_stopping_it_is_offered_first() -> None:
    declined = tuple(done(n, Outcome.DECLINED, {"error": "no"}) for n in (2, 3))
    assert only(drawn((park(), call()), others=declined)).choices == ALL
    declined += (done(4, Outcome.DECLINED, {"error": "no"}),)
    shown = only(drawn((park(), call()), others=declined))
    assert shown.choices == ("decline_stop", "approve", "edit", "decline", "revise")


@pytest.mark.rule("I32")
def test_several_calls_are_approved_at_once_only_where_each_was_shown_whole() -> None:
    pairs = [(park(n), call(n)) for n in (1, 2, 3)]
    shown = drawn(*pairs, room=ROOM)
    assert (shown.choices, shown.rest_label, len(shown.rest)) == (("approve_rest",), "Approve all 3", 3)

    decided = replace(pairs[0][0], state=ParkState.DECIDED, decision=DecisionKind.APPROVE, by_person=ADA.id)
    shown = drawn((decided, pairs[0][1]), *pairs[1:], room=ROOM)
    assert (shown.choices, shown.rest_label) == (("approve_rest",), "Approve the other 2")
    assert [row.token for row in shown.rest] == ["token2", "token3"]

    too_long = call(3, args={"text": "x" * 9000, "to": MARA})
    assert drawn(*pairs[:2], (park(3), too_long), room=ROOM).choices == ()
    assert drawn(pairs[0], room=ROOM).choices == ()


def test_a_question_has_its_words_and_suggestions_and_no_rule_of_reading() -> None:
    args = {"question": "Which \u202ecolour?", "suggestions": ["red", "blue"]}
    asks = call(tool="ask_owner", risk="read", rule="read:owner", parks_as=ParksAs.QUESTION, args=args)
    row = only(drawn((park(kind=ParkKind.QUESTION), asks)))
    assert (row.title, row.question, row.suggestions) == (
        "Sam asks",
        "Which ⟨U+202E⟩colour?",
        ("red", "blue"),
    )
    assert (row.why, row.risk, row.fields) == ("It goes on with your answer.", "", ())
    assert row.choices == ("answer", "decline")


def test_a_limit_says_how_much_more_there_is() -> None:
    shown = {"limit": "rounds", "episode": 1, "round": 2}
    choices = (Choice.MORE_ROUNDS, Choice.MORE_TOKENS, Choice.STOP)
    row = only(drawn((park(None, kind=ParkKind.LIMIT, shown=shown, choices=choices), None)))
    assert row.why == "It may have 20 more rounds or 50,000 more tokens, or stop here."
    assert LABELS[Choice.MORE_TOKENS] == "50,000 more tokens"


# ── arguments too long to show ───────────────────────────────────────────────────────────────

LONG: Json = {"text": "Sorry for the delay. " * 2000 + "and cc everyone", "to": MARA}


@pytest.mark.rule("I32")
def test_what_a_surface_can_not_show_whole_is_reviewed_and_not_approved() -> None:
    row = only(drawn((park(), call(args=LONG)), room=ROOM))
    assert row.choices == ("review", "decline", "revise", "decline_stop")
    assert row.fields[0].value == MARA
    assert row.hidden == len(LONG["text"]) - len(row.fields[1].value) > 39_000
    with pytest.raises(ValueError, match="beginning"):
        read_back(row)
    whole = pages(row)
    assert all(len(page) <= 2800 for page in whole)
    assert "".join(whole).endswith("and cc everyone")
    assert f"to: {MARA}\ntext: {LONG['text']}" == "".join(whole)

    assert only(drawn((park(), call(args=LONG)))).choices == ALL  # a terminal shows it all


@pytest.mark.rule("I32", "C23")
def test_nor_is_it_sent_again_unseen() -> None:
    unknown = park(kind=ParkKind.UNKNOWN, choices=(Choice.WENT_OUT, Choice.DID_NOT, Choice.SEND_AGAIN))
    lost = done(1, Outcome.UNKNOWN, {"error": "?"}, args=LONG)
    assert only(drawn((unknown, lost), room=ROOM)).choices == ("review", "went_out", "did_not")


def test_in_a_chat_what_stands_beside_is_short() -> None:
    row = only(drawn((park(shown={"preview": "x" * 5000}), call()), room=ROOM))
    assert row.preview == "x" * 600 + "… (the first 600 of 5,000 characters)"


def pressed(
    kind: DecisionKind, *, room: Room | None, viewed: Json = None, args: Json = LONG, who: Person = ADA
) -> Lost | object:
    """What comes of a click on a card of *args*, the park having been *viewed* so."""
    asks = call(args=args)
    own = park(viewed=viewed)
    work = Work(task=task(), organization=ROSTER.organization, calls=(asks,), parks=(own,), roster=ROSTER)
    click = Click(
        who=who,
        surface="chat",
        event_id="e",
        token=own.token,
        version=own.version,
        shown_hash=own.shown_hash,
        room=room,
    )
    spare = Spare(slip=Slip(park_id=ParkId("p"), token=Token("new")), call_id=CallId("new"))
    decision = Decision(kind=kind, args={**args, "text": "short"}, reason="no")
    change, _ = decide(click, decision, SAM, spare)(work, AT)
    return change


@pytest.mark.rule("I32")
@pytest.mark.parametrize("kind", [DecisionKind.APPROVE, DecisionKind.EDIT])
@pytest.mark.parametrize(
    "viewed",
    [
        None,
        [{"person": "ben", "digest": "hash1"}],  # somebody else read it
        [{"person": "ada", "digest": "hash0"}],  # an older version of it
    ],
    ids=["unseen", "another person", "another version"],
)
def test_nothing_runs_by_a_click_that_did_not_see_it_whole(kind: DecisionKind, viewed: Json) -> None:
    with pytest.raises(NotShown, match="open Review first"):
        pressed(kind, room=ROOM, viewed=viewed)


@pytest.mark.rule("I32")
def test_who_read_it_to_the_end_or_saw_it_whole_decides() -> None:
    read = [{"person": "ada", "digest": "hash1"}]
    assert not isinstance(pressed(DecisionKind.APPROVE, room=ROOM, viewed=read), Lost)
    assert not isinstance(pressed(DecisionKind.APPROVE, room=None), Lost)
    assert not isinstance(pressed(DecisionKind.APPROVE, room=ROOM, args={"text": "hi"}), Lost)
    for kind in (DecisionKind.DECLINE, DecisionKind.REVISE):
        assert not isinstance(pressed(kind, room=ROOM), Lost)


# ── what came of it ──────────────────────────────────────────────────────────────────────────


def test_a_decided_row_says_who_when_and_what_came_of_it() -> None:
    decided = park(
        state=ParkState.DECIDED,
        decision=DecisionKind.REVISE,
        by_person=BEN.id,
        decided_at=AT,
        reason="kinder",
    )
    row = only(drawn((decided, done(1, Outcome.REVISED, {"error": "…"}))))
    assert (row.status, row.choices, row.final) == ("✔ Sent back by Ben, 10:04 UTC: kinder", (), True)
    talks = replace(decided, reason="no\n" * 9000)
    row = only(drawn((talks, done(1, Outcome.REVISED, {"error": "…"}))))
    assert len(row.status or "") < 700 and "\n" not in (row.status or "")
    approved = replace(decided, decision=DecisionKind.APPROVE, reason=None)
    row = only(drawn((approved, call(state=CallState.APPROVED))))
    assert (row.status, row.final) == ("✔ Approved by Ben, 10:04 UTC · not run yet", False)
    assert Verb.APPROVE not in row.choices


@pytest.mark.rule("C11")
def test_a_question_is_measured_as_it_is_shown_line_breaks_and_all() -> None:
    asks = call(tool="ask_owner", args={"question": "a\n" * 40})
    row = only(drawn((park(kind=ParkKind.QUESTION), asks), room=of(80)))
    assert Verb.REVIEW not in row.choices
    longer = call(tool="ask_owner", args={"question": "a\n" * 41})
    row = only(drawn((park(kind=ParkKind.QUESTION), longer), room=of(80)))
    assert row.choices[0] == Verb.REVIEW
    assert "".join(pages(row)).count("| a") == 41
