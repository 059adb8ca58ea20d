"""Where every surface brings what people did there: messages, pressed buttons, typed commands.

A message is stored before it is acknowledged and applied later, once; a click or a command is decided in the
request, and answered to its sender alone. Nothing here knows a platform: what an adapter has verified and
parsed comes in, and words or views go out. Prose never decides (rule 6).
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from core.answers import answer_to, code_of, decided_words, edited_by, looked_up, shown_form
from core.approvers import may_decide, why_not
from core.around import routed
from core.cards import Verb, pages
from core.chat import LONGEST_WORDS, SILENCE, Answer, ChatMessage, Press, Typed
from core.commanded import Commanded, joined
from core.commands import joining, parse
from core.decisions import Answering, Desk
from core.errors import (
    BadArguments,
    DecisionError,
    GatepostError,
    InSeveral,
    ParkNotFound,
    StoreError,
)
from core.forms import Form, form
from core.ids import EventKey, Token
from core.intake import find_task, may_stop
from core.meant import (
    decision_of,
    is_chatter,
    is_to_us,
    looks_decided,
    still_asked,
    suggested,
    told_unread,
    words_of,
)
from core.moves.people import Decision
from core.parks import Choice, DecisionKind, Park, ParkKind, ParkState
from core.people import Account, Person
from core.ports import Clock, Dead, Ignored, NotFound, ParkView
from core.proposals import storable
from core.rendering import Rendering, View, card_with, pairs_of, place
from core.route import (
    Blank,
    Join,
    Open,
    Routed,
    Stop,
    Unaddressed,
    Unclear,
    number_named,
    words_for,
)
from core.shown import ROOM, Room
from core.standing import held_back
from core.tasks import Json, Task
from core.visible import line
from core.wording import sentence
from core.work import Duplicate, Event, EventKind

Does: TypeAlias = Callable[[Press, Person, ParkView], Awaitable[Answer]]
"""What a button does for somebody, on the park it is of."""

APPROVE: Final = Decision(kind=DecisionKind.APPROVE)
UNKNOWN = "I don't know you here. Ask an owner for an invitation, and say `join` with its code."
GONE = "This button is no longer valid. `pending` shows what waits."
NOT_OURS: Final = "it is not for us"


@dataclass(frozen=True, kw_only=True, slots=True)
class Front:
    """One surface's way in. *surface*: its name. *room*: how much of the arguments its cards show."""

    desk: Desk
    clock: Clock
    surface: str
    room: Room | None = ROOM

    async def knows(self, account: Account) -> bool:
        """Whether some organization has somebody who is linked to *account*."""
        return bool(await self.desk.store.people.everywhere(account))

    # ── messages ─────────────────────────────────────────────────────────────────────────────

    async def said(self, message: ChatMessage) -> Answer:
        """The message is in the inbox, once; the answer says what its writer should know at once.

        What no person wrote, an older message's new text, and chatter that is not for us start nothing.
        Raises StoreError, the message unstored: its surface must not acknowledge it.
        """
        if message.by_bot or message.edited or is_chatter(message):
            return SILENCE
        try:
            who = await self.desk.store.people.by_account(message.account)
        except InSeveral as error:
            return Answer(words=sentence(str(error))) if is_to_us(message) else SILENCE
        return await self.said_by(who, message)

    async def said_by(self, who: Person | None, message: ChatMessage) -> Answer:
        """The same, its writer known to be *who*; None: nobody the organizations know."""
        body = await self._body(message, who)
        if who is not None:
            told, nothing = await self._heard(body, who)
        else:  # whoever talks in a thread that may not be ours is left in peace
            told, nothing = UNKNOWN if is_to_us(message) else "", "nobody here knows its writer"
        if nothing is not None:
            body["nothing"] = nothing
        # what people say to each other is not ours to keep, nor what somebody says whom nobody knows
        if nothing is not None and (who is None or not told):
            body["text"] = ""
        key = EventKey(source=self.surface, event_id=message.event_id)
        org = None if who is None else who.org
        event = Event(key=key, org=org, kind=EventKind.MESSAGE, body=body)
        stored = await self.desk.store.inbox.receive(event)
        if isinstance(stored, Duplicate) and (nothing is None or stored.ref is not None):
            return SILENCE  # else nobody may have told its writer, and nothing comes of it
        if nothing is not None:
            with suppress(StoreError):  # whoever looks into the inbox next does the same
                await self.desk.store.inbox.settle(key, Ignored())
        heard = who is not None and nothing != NOT_OURS
        unread = told_unread(message.attachments) if heard else ""
        return self._shown(Answer(words=f"{unread} {told}".strip(), unknown=who is None and bool(told)))

    async def _body(self, message: ChatMessage, who: Person | None) -> dict[str, Json]:
        """The inbox row's: what `around` and `intake` read. A task's code that it begins with is apart."""
        place, text, number = message.place, words_of(message), number_named(message.text)
        named = None
        if who is not None and number is not None:
            named = await find_task(self.desk.store.ledger, who.org, number)
        return {
            "text": text if named is None else words_for(text),
            "named": None if named is None else named.number,
            "surface": self.surface,
            "chat": place.chat,
            "kind": str(place.kind),
            "thread": place.thread,
            "opens": place.opens,
            "reply": message.reply_to,
            "addressed": message.addressed,
            "person": None if who is None else who.id,
        }

    async def _heard(self, body: dict[str, Json], who: Person) -> tuple[str, str | None]:
        """What its writer should know at once, and why nothing else comes of it; None: something does."""
        try:
            meant = await routed(self.desk, who.org, self.surface, body, self.clock.now())
        except LookupError as error:
            return str(error), "nobody is the chief"
        if isinstance(meant, Join | Stop):  # what its writer is told holds, whatever begins or ends meanwhile
            body["named"] = meant.task.number
        return await self._told(body["text"], meant, who)

    async def _told(self, text: str, meant: Routed, who: Person) -> tuple[str, str | None]:
        match meant:
            case Unclear(tasks=tasks):
                clean = self.desk.redactor.redact  # before it is cut (I33)
                listed = "; ".join(f"{t.code}: {line(clean(_goal(t)), 60)}" for t in tasks)
                return (
                    f"Which one? {listed}. Begin with its code, or with /new.",
                    "it may be about several tasks",
                )
            case Blank(words=words):
                return words, "nothing is to be done"
            case Unaddressed():
                return "", NOT_OURS
            case Stop(task=task) if not may_stop(who, task):
                return f"{task.code} is not yours to stop.", "it is not theirs to stop"
            case Stop(task=task):
                return f"{task.code} has ended already." if task.ended else f"{task.code} stops.", None
            case Join(task=task) if looks_decided(text):
                return await self._pointed(task, who), None
            case Open(agent=agent):
                return await held_back(self.desk.store.people, who.org, self.desk.agent(agent)) or "", None
        return "", None

    async def _pointed(self, task: Task, who: Person) -> str:
        """Where the buttons are, where words looked like a decision and no question takes them."""
        roster = await self.desk.store.people.of(who.org)
        waiting = [(p, c) for p, c in pairs_of(await self.desk.store.ledger.story(task.ref)) if p.open]
        questions = [(p, c) for p, c in waiting if p.kind is ParkKind.QUESTION]
        if any(may_decide(roster, who.id, task, park, call) for park, call in questions):
            return ""
        approvals = [(p, c) for p, c in waiting if p.kind is ParkKind.APPROVAL]
        whys = {
            code_of(ParkView(park=p, task=task, call=c)): why_not(roster, who.id, task, p, c, to_run=True)
            for p, c in approvals
        }
        if not whys:
            return ""
        mine = next((code for code, why in whys.items() if why is None), None)
        if mine is None:
            return f"Words decide nothing. {next(iter(whys.values()))}"
        return f"Words decide nothing. Press a button on the card, or give the command `approve {mine}`."

    async def kept(self, event_id: str, raw: str, why: str) -> None:
        """What came and is of no use is in the inbox, dead, for people to see. Raises StoreError."""
        key = EventKey(source=self.surface, event_id=f"unread:{event_id}")
        body: dict[str, Json] = {"text": "", "nothing": why, "raw": storable(raw, LONGEST_WORDS)}
        stored = await self.desk.store.inbox.receive(Event(key=key, kind=EventKind.MESSAGE, body=body))
        if not isinstance(stored, Duplicate):
            await self.desk.store.inbox.settle(key, Dead(error=why))

    # ── buttons ──────────────────────────────────────────────────────────────────────────────

    async def pressed(self, press: Press) -> Answer:
        """What was pressed is decided, or its sender told why not; the same answer twice for one click.

        Raises BadArguments by field where a form's fields are wrong: nothing is decided, the form stays.
        Raises StoreError: nothing is decided, and the click may be tried again.
        """
        await self._learn(press)
        return await self.pressed_by(await self._presser(press), press)

    async def begins(self, press: Press) -> Answer:
        """What stands against *press* before anybody writes what goes with it; without words nothing does."""
        await self._learn(press)
        return await self._for(await self._presser(press), press, self._begun)

    async def _learn(self, press: Press) -> None:
        if press.chat_ref is not None:
            await self.desk.store.outbox.learn(press.token, self.surface, press.chat_ref)

    async def _presser(self, press: Press) -> Person | None:
        """Who pressed: of somebody in several organizations, the person of the one that the button is of."""
        there = await self.desk.store.people.everywhere(press.account)
        if len(there) > 1:
            for one in there:
                if not isinstance(await self.desk.store.parks.find(one, press.token), NotFound):
                    return one
        return there[0] if there else None

    async def pressed_by(self, who: Person | None, press: Press) -> Answer:
        """The same, whoever pressed it known to be *who*."""
        return await self._for(who, press, self._pressed)

    async def _for(self, who: Person | None, press: Press, does: Does) -> Answer:
        """What *does* answers for *who* on the park of *press*, or why it is not for them."""
        if who is None:
            await self._refused(press.token, press.account, None, "nobody here knows them")
            return Answer(words=UNKNOWN, unknown=True)
        try:
            view = await self.desk.find(who, press.token)
            return self._shown(await does(press, who, view))
        except ParkNotFound:
            await self._refused(press.token, press.account, who, "it is not of their organization")
            return Answer(words=GONE)
        except BadArguments as error:
            told = {name: self.desk.redactor.redact(words) for name, words in error.problems.items()}
            raise BadArguments(told) from None
        except DecisionError as error:
            return self._shown(Answer(words=sentence(str(error))))

    def _shown(self, answer: Answer) -> Answer:
        """*answer*, no secret in it (I33); a form was made so already."""
        return replace(self.desk.redactor.clean(replace(answer, form=None)), form=answer.form)

    async def _refused(self, token: Token, account: Account, who: Person | None, why: str) -> None:
        actor = f"{account.surface}:{account.ref}" if who is None else who.id
        await self.desk.store.parks.refused(token, actor, self.surface, why)

    def _by(self, press: Press, who: Person) -> Answering:
        return Answering(who=who, surface=self.surface, event_id=press.event_id, room=self.room)

    async def _begun(self, press: Press, who: Person, view: ParkView) -> Answer:
        await self._may_begin(self._by(press, who), view, press)
        return Answer(about=code_of(view))

    async def _pressed(self, press: Press, who: Person, view: ParkView) -> Answer:
        by = self._by(press, who)
        match press.verb:
            case Choice.LOOK_UP:
                return Answer(words=await looked_up(self.desk, self.clock, by, view))
            case Verb.REVIEW:
                return await self._whole(who, view)
            case Verb.APPROVE_REST:
                return await self._approved_rest(by, view)
            case Verb.ANSWER if press.suggestion is not None:
                press = replace(press, words=suggested(view, press.suggestion))
            case Verb.EDIT if press.fields is None:
                await self._may_begin(by, view, press)
                return Answer(form=shown_form(self.desk, self._form(view)), about=code_of(view))
        if (asks := still_asked(press)) is not None:
            await self._may_begin(by, view, press)
            return Answer(asks=asks, about=code_of(view))
        changes = None
        if press.fields is not None and view.park.open:  # else what became of it is said, not what is wrong
            changes = edited_by(self.desk, view, press.fields)
        decided = await self.desk.decide(by, view, decision_of(press), changes=changes)
        told = await answer_to(self.desk, who.name, view, decided)
        return Answer(words=told, done=told == decided_words(who.name, view, decided))

    async def amended(self, press: Press) -> Answer:
        """The call asks with what *press* changes from now on, and the answer has its card, to be decided on.

        For surfaces where an edit is looked at once more. Raises BadArguments by field, StoreError: then
        nothing is changed.
        """
        return await self._for(await self._presser(press), press, self._amended)

    async def _amended(self, press: Press, who: Person, view: ParkView) -> Answer:
        by = self._by(press, who)
        newest = await self._newest(view)
        if newest is None or not _says(self.desk, view, press):
            await self._may_begin(by, view, press)
            newest = await self.desk.amend(by, view, edited_by(self.desk, view, press.fields or {}))
        return Answer(views=(await card_with(self.desk, view.task.ref, {newest.token}, self.room),))

    async def _newest(self, view: ParkView) -> Park | None:
        """The park that has replaced the one of *view*, and waits; None where that one is not replaced."""
        if view.park.state is not ParkState.SUPERSEDED or view.call is None:
            return None
        story = await self.desk.store.ledger.story(view.task.ref)
        return next((p for p in story.parks if p.call_id == view.call.id and p.open), None)

    async def _may_begin(self, by: Answering, view: ParkView, press: Press) -> None:
        """Raises what became of the park, or whose it is, before anybody fills in what would be in vain."""
        if not view.park.open:
            await self.desk.decide(by, view, decision_of(press))
        await self.desk.may_decide(by.who, view)

    async def saw(self, press: Press) -> None:
        """What a Review was answered with was shown to who pressed it, to its end: on record (I32).

        Not the look of somebody who may not decide it any more by now.
        """
        who = await self._presser(press)
        if who is None:
            return
        with suppress(DecisionError):
            await self.desk.reviewed(who, await self.desk.find(who, press.token))

    async def is_posted(self, chat_ref: str) -> bool:
        """Whether what stands in that message is revised by itself as its rows change."""
        return await self.desk.store.outbox.at(self.surface, chat_ref) is not None

    async def view_of(self, press: Press) -> View | None:
        """What the message that was pressed is to show now; None where that is nothing, or not for them."""
        who = await self._presser(press)
        try:
            found = None if who is None else await self.desk.find(who, press.token)
        except ParkNotFound:
            found = None
        if who is None or found is None:
            return None
        post = await self.desk.store.outbox.at(self.surface, press.chat_ref or "")
        if post is not None and post.org == who.org:
            return await Rendering(desk=self.desk, room=self.room).view(post)
        story = await self.desk.store.ledger.story(found.task.ref)
        newest = [p.token for p in story.parks if found.call is not None and p.call_id == found.call.id]
        return await card_with(self.desk, found.task.ref, {*newest, press.token}, self.room)

    async def waits(self, press: Press) -> bool:
        """Whether what was pressed is still to be decided."""
        who = await self._presser(press)
        found = None if who is None else await self.desk.store.parks.find(who, press.token)
        return isinstance(found, ParkView) and found.park.open

    async def _whole(self, who: Person, view: ParkView) -> Answer:
        """The whole of the call's arguments. Raises NotYourDecision."""
        await self.desk.may_decide(who, view)
        card = await card_with(self.desk, view.task.ref, {view.park.token}, self.room)
        return Answer(views=(card,), pages=tuple(page for row in card.rows for page in pages(row)))

    async def _approved_rest(self, by: Answering, view: ParkView) -> Answer:
        """Each call of the card that waits is approved by itself; one that can't be keeps no other back.

        What was asked anew since the button was made is not: nobody has pressed that. A click that arrives
        again is answered as it was.
        """
        story = await self.desk.store.ledger.story(view.task.ref)
        there = [ParkView(park=park, task=story.task, call=call) for park, call in pairs_of(story)]
        there = [v for v in there if place(v) == place(view) and v.park.kind is ParkKind.APPROVAL]
        waiting = [v for v in there if v.park.open and v.park.created_at <= view.park.created_at]
        these = [v for v in there if v in waiting or v.park.event_id == _one_of(by, v)]
        if not these:  # what became of the row that the button stands for is said
            await self.desk.decide(by, view, APPROVE)
        card = await card_with(self.desk, view.task.ref, {v.park.token for v in waiting}, self.room)
        if len(card.rest) < len(waiting):
            raise DecisionError("press each call's own button: not all of them are shown whole")
        told, done = [], True
        for one in these:
            try:
                decided = await self.desk.decide(replace(by, event_id=_one_of(by, one)), one, APPROVE)
                told.append(await answer_to(self.desk, by.who.name, one, decided))
                done = done and told[-1] == decided_words(by.who.name, one, decided)
            except DecisionError as error:
                told.append(f"{code_of(one)}: {error}")
                done = False
        return Answer(words="\n".join(told), done=done)

    def _form(self, view: ParkView) -> Form:
        """Raises DecisionError where there is nothing to edit."""
        tool = None if view.call is None else self.desk.host.tools.get(view.call.tool)
        if tool is None or view.call is None or view.park.kind is not ParkKind.APPROVAL or not view.park.open:
            raise DecisionError(f"{code_of(view)} has nothing to edit")
        return form(tool, view.call.args)

    # ── commands ─────────────────────────────────────────────────────────────────────────────

    async def typed(self, typed: Typed) -> Answer:
        """The command is done, or its sender told why not. Raises StoreError: nothing is done."""
        if (code := joining(typed.text)) is not None:  # of whom nobody knows yet, too
            return self._shown(await joined(self.desk, typed.account, code))
        try:
            who = await self.desk.store.people.by_account(typed.account)
        except InSeveral as error:
            return Answer(words=sentence(str(error)))
        return await self.typed_by(who, typed)

    async def typed_by(self, who: Person | None, typed: Typed) -> Answer:
        """The same, whoever typed it known to be *who*."""
        if who is None:
            return Answer(words=UNKNOWN, unknown=True)
        if len(typed.text) > LONGEST_WORDS:  # cut, it would say something else
            return Answer(words=f"A command has at most {LONGEST_WORDS:,} characters; nothing is done.")
        commanded = Commanded(
            desk=self.desk, clock=self.clock, surface=self.surface, who=who, typed=typed, room=self.room
        )
        try:
            return self._shown(await commanded.do(parse(typed.text)))
        except StoreError:
            raise
        except BadArguments as error:
            return self._shown(Answer(words=error.lines))
        except GatepostError as error:
            return self._shown(Answer(words=sentence(str(error))))


def _says(desk: Desk, view: ParkView, press: Press) -> bool:
    """Whether the call says already what *press* asks for: it came again."""
    assert view.call is not None
    try:
        changes = edited_by(desk, view, press.fields or {})
    except BadArguments:
        return False
    return all(name in view.call.args and view.call.args[name] == new for name, new in changes.items())


def _one_of(by: Answering, view: ParkView) -> str:
    """The event of one of the decisions that a click takes together."""
    return f"{by.event_id}:{view.park.token}"


def _goal(task: Task) -> str:
    return task.goal if isinstance(task.goal, str) else "…"
