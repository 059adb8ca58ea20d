"""The people of one organization, and what they do: ask, click, click wrongly, stop, switch, leave."""

import asyncio
import contextlib
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from core.canonical import digest
from core.chat import ChatMessage, Place, Press
from core.decisions import Answering
from core.errors import GatepostError, RosterError
from core.front import Front
from core.gate import Setting
from core.ids import EventKey, OrgId, PersonId, Run, TaskId, TaskRef
from core.lookups import look_up
from core.moves.ends import stop
from core.moves.people import Decision
from core.parks import Choice, DecisionKind, ParkKind
from core.people import Account, Person, Role
from core.ports import NotFound, ParkView
from core.roster import KEPT, SetRoles, SetRule
from core.route import ChatKind
from core.switches import Choose, Pause, Practice, Resume, SwitchTo
from core.tasks import Json, Mode, Origin, Prio, TaskState
from core.testing import MemoryStore
from core.testing.chat import MemoryChat, Seat
from core.work import Cause, Event, EventKind, NewTask
from tests.simulation.faults import Fault, Faults
from tests.simulation.outside import CANARY, Provider
from tests.simulation.process import NO_ROOM, SURFACE, Died, Process
from tests.simulation.rules import demand
from tests.simulation.watching import Pressed, Watch, Written

_COMMANDS = ("approve", "/approve t-1.1", "yes, approved!", "edit t-1.2 n=7", "decline all")


@dataclass(kw_only=True)
class People:
    """Everybody of *org*. *processes* are those alive, which serve their clicks."""

    org: OrgId
    other: OrgId
    rng: random.Random
    faults: Faults
    store: MemoryStore
    watch: Watch
    provider: Provider
    processes: list[Process]
    chat: MemoryChat
    asked: int = 0
    clicks: int = 0
    views: list[ParkView] = field(default_factory=list)  # what they have on their screens, some of it old

    def __post_init__(self) -> None:
        owner, approver, member = (
            frozenset({Role.OWNER}),
            frozenset({Role.APPROVER}),
            frozenset({Role.MEMBER}),
        )
        self.ada = Person(org=self.org, id=PersonId(f"ada-{self.org}"), name="Ada", roles=owner)
        self.ben = Person(org=self.org, id=PersonId(f"ben-{self.org}"), name="Ben", roles=approver)
        self.eve = Person(org=self.org, id=PersonId(f"eve-{self.org}"), name="Eve", roles=member)

    # ── asking ───────────────────────────────────────────────────────────────────────────────

    async def ask(self) -> None:
        """A new task: by message, or started by something else."""
        if self.rng.random() < 0.6:
            await self.write(None)
        else:
            await self._start()

    async def write(self, task: int | None) -> None:
        """A message, sent until it is taken; it opens a task, joins the one it names, or is routed."""
        self.asked += 1
        command = self.faults.strikes(Fault.WROTE_COMMANDS, 0.5)
        words = self.rng.choice(_COMMANDS) if command else "see to it"
        who = self.rng.choice((self.ada, self.ada, self.ben, self.eve))
        event_id = f"words-{self.org}-{self.asked}"
        text = f"{words} ({self.org} {self.asked} {CANARY})"
        self.watch.written[event_id] = Written(by=who.id, text=text)
        if self.rng.random() < 0.9:
            agent = self.rng.choice(("lead", "lead", "scout"))
            text = f"/new {agent}: {text}" if task is None else f"t-{task}: {text}"
        message = ChatMessage(
            account=Account(surface=SURFACE, ref=who.id),
            event_id=event_id,
            place=self._place(who),
            text=text,
            addressed=True,
            edited=self.faults.strikes(Fault.EDITED, 0.05),
        )
        taken = await self._said(message)
        while not taken:  # a surface that gets no answer sends it again
            await asyncio.sleep(0.5)
            taken = await self._said(message)
        if self.faults.strikes(Fault.SENT_TWICE, 0.4):
            await self._said(message)

    def _seat(self, front: Front, does: ChatMessage | Press) -> Seat:
        """Whoever *does* it sits at the chat, before a process."""
        place = does.place if isinstance(does, ChatMessage) else Place(chat="C1", kind=ChatKind.CHANNEL)
        return Seat(chat=self.chat, front=front, account=does.account, place=place)

    def _place(self, who: Person) -> Place:
        """Where *who* writes: to us alone, or in a channel of all."""
        if self.rng.random() < 0.5:
            return Place(chat=f"D-{who.id}", kind=ChatKind.DIRECT)
        return Place(chat="C1", kind=ChatKind.CHANNEL, opens=f"C1:{self.asked}")

    async def _said(self, message: ChatMessage) -> bool:
        process = self._process()
        with process.inside():
            try:
                await self._seat(process.front, message).brings(message)
            except (Died, GatepostError):
                return False
        return True

    async def _start(self) -> None:
        """A task that a schedule, an event or a program started; its cause is an inbox row as well."""
        self.asked += 1
        key = EventKey(source="clock", event_id=f"{self.org}-{self.asked}")
        await self.store.inbox.receive(Event(key=key, org=self.org, kind=EventKind.FIRE, body={}))
        mode = self.rng.choice((Mode.NORMAL, Mode.NORMAL, Mode.NORMAL, Mode.OBSERVE, Mode.WATCH))
        new = NewTask(
            org=self.org,
            id=TaskId(f"{self.org}-started-{self.asked}"),
            agent=self.rng.choice(("lead", "scout")),
            origin=self.rng.choice((Origin.SCHEDULE, Origin.EVENT, Origin.PROGRAM)),
            goal=f"as ever ({self.org} {self.asked})",
            schema=self.rng.choice((None, {"type": "object", "properties": {}})),
            mode=mode,
            prio=Prio.SELF_STARTED,
            surface=self.rng.choice((SURFACE, None)),
        )
        await self.store.tasks.open(new, Cause(key=key, actor="schedule"))

    # ── the faulty half ──────────────────────────────────────────────────────────────────────

    async def act(self) -> None:
        """One thing that somebody does."""
        roll = self.rng.random()
        if roll < 0.25:
            await self._refresh()
        elif roll < 0.75:
            await self._click_something()
        elif roll < 0.83:
            await self._write_to_some()
        elif roll < 0.87:
            await self.ask()
        else:
            await self._interfere()

    async def _refresh(self) -> None:
        try:
            found = await self._process().desk.store.parks.waiting_for(self.ada, 20)
        except (Died, GatepostError):
            return
        self.views = [*self.views, *found][-12:]
        if self.rng.random() < 0.3:
            await self._show(found)
        unknown = [view for view in found if view.park.kind is ParkKind.UNKNOWN]
        if unknown and self.rng.random() < 0.5:
            await self._look_up(self.rng.choice(unknown))

    async def _show(self, found: Sequence[ParkView]) -> None:
        """Who reads of cards in a digest wants to see one."""
        for view in found[-3:]:
            with suppress(Died, GatepostError):
                if await self._process().desk.store.outbox.show(view.park.token):
                    self.watch.seen["folded card asked for"] += 1
                    return

    async def _click_something(self) -> None:
        if not self.views:
            return await self._refresh()
        await self._peep(self.rng.choice(self.views))
        stale = self.faults.strikes(Fault.CLICKED_STALE, 0.3)
        view = self.rng.choice(self.views if stale else self.views[-3:])
        if view.park.kind is ParkKind.UNKNOWN and self.rng.random() < 0.75:
            await self._look_up(view)
        else:
            await self._press(self._who(), view, *self._decision(view))
        return None

    async def _peep(self, view: ParkView) -> None:
        """An owner of another organization looks behind a button that leaked: nothing is there (I18)."""
        found = await self.store.parks.find(self._abroad(), view.park.token)
        self.watch.look(lambda: demand(isinstance(found, NotFound), "I18: a foreign park was shown"))

    def _abroad(self) -> Person:
        owner = frozenset({Role.OWNER})
        return Person(org=self.other, id=PersonId(f"ada-{self.other}"), name="Ada", roles=owner)

    def _who(self) -> Person:
        if self.faults.strikes(Fault.CLICKED_BY_STRANGER, 0.15):
            liar = replace(self.eve, roles=frozenset({Role.OWNER}))
            return self.rng.choice((self._abroad(), self.eve, liar))
        return self.rng.choice((self.ada, self.ada, self.ben))

    def _decision(self, view: ParkView) -> tuple[Decision, dict[str, Json]]:
        park, rng = view.park, self.rng
        if park.kind is ParkKind.QUESTION:
            return Decision(kind=DecisionKind.ANSWER, reason="this one"), {}
        if park.kind is ParkKind.CONNECT:
            kind = rng.choice((DecisionKind.CONNECTED, DecisionKind.CONNECTED, DecisionKind.DECLINE))
            return Decision(kind=kind), {}
        if park.kind in (ParkKind.LIMIT, ParkKind.UNKNOWN):
            return Decision(kind=DecisionKind.CHOICE, choice=self._choice(view)), {}
        kinds = (DecisionKind.APPROVE,) * 5 + (DecisionKind.EDIT, DecisionKind.DECLINE, DecisionKind.REVISE)
        kind = rng.choice(kinds)
        changes: dict[str, Json] = {"n": rng.choice((1, 5, 6, "x"))} if kind is DecisionKind.EDIT else {}
        and_stop = kind is DecisionKind.DECLINE and rng.random() < 0.2
        return Decision(kind=kind, reason="so be it", and_stop=and_stop), changes

    def _choice(self, view: ParkView) -> Choice:
        """Of an unknown, the truth; nobody says it did not go out while it may be on its way (K13)."""
        if view.park.kind is ParkKind.LIMIT:
            return self.rng.choice(view.park.choices)
        assert view.call is not None
        call = view.call
        if self.provider.took(call.id):
            return self.rng.choice((Choice.WENT_OUT, Choice.WENT_OUT, Choice.SEND_AGAIN))
        if self._on_its_way(view):
            return Choice.WENT_OUT if self.rng.random() < 0.1 else Choice.SEND_AGAIN
        return self.rng.choice((Choice.DID_NOT, Choice.SEND_AGAIN))

    def _on_its_way(self, view: ParkView) -> bool:
        call = view.call
        assert call is not None
        if call.epoch is None:
            return False
        of = (
            Run(org=call.org, task_id=call.task_id, epoch=call.epoch, worker=p.worker.worker_id)
            for p in self.processes
        )
        return any(p.runs(run) for p, run in zip(self.processes, of, strict=True))

    async def _look_up(self, view: ParkView) -> None:
        """Somebody has an unknown call looked up at its destination."""
        self.clicks += 1
        event_id = f"look-{self.org}-{self.clicks}"
        args = None if view.call is None else view.call.args
        pressed = Pressed(by=self.ada.id, token=view.park.token, args=args, approves=False)
        self.watch.pressed[event_id] = pressed
        by = Answering(who=self.ada, surface=SURFACE, event_id=event_id)
        process = self._process()
        with process.inside():
            for _ in range(4):  # what could not be told may be told at the next look
                try:
                    found = await look_up(process.desk, process.clock, by, view)
                except (Died, GatepostError):
                    return
                self.watch.seen["looked up" if found else "looked up in vain"] += 1
                if found:
                    return

    async def _press(self, who: Person, view: ParkView, decision: Decision, changes: dict[str, Json]) -> None:
        self.clicks += 1
        event_id = f"click-{self.org}-{self.clicks}"
        shown = None if view.call is None else {**view.call.args, **changes}
        approves = decision.kind in (DecisionKind.APPROVE, DecisionKind.EDIT) or (
            decision.choice is Choice.SEND_AGAIN
        )
        small = self.clicks % 4 == 0  # a screen that has no room for arguments
        self.watch.pressed[event_id] = Pressed(
            by=who.id, token=view.park.token, args=shown, approves=approves, whole=not small
        )
        by = Answering(who=who, surface=SURFACE, event_id=event_id, room=NO_ROOM if small else None)
        if small and self.clicks % 8 == 0:
            await self._read(who, view)
        press = _pressed(by, view, decision, changes) if self.rng.random() < 0.5 else None
        for _ in range(3 if not self.faults.strikes(Fault.CLICKED_TWICE, 0.2) else 4):
            process = self._process()
            front = process.small_front if small else process.front
            try:
                if press is not None:
                    await self._seat(front, press).brings(press)
                else:
                    await process.desk.decide(by, view, decision, changes=changes)
            except (Died, GatepostError) as error:
                if type(error).__name__ in ("Died", "StoreError"):
                    continue  # nothing was answered: pressed again
                self.watch.seen[f"click {type(error).__name__}"] += 1
                return
            if self.rng.random() < 0.9:
                return

    async def _read(self, who: Person, view: ParkView) -> None:
        """They open the whole of what a small screen has no room for."""
        self.watch.read.add(
            (who.id, view.park.token)
        )  # also where the store's answer is lost: it may be on record
        with contextlib.suppress(Died, GatepostError):
            await self._process().desk.reviewed(who, view)
            self.watch.seen["read to its end"] += 1

    async def _write_to_some(self) -> None:
        tasks = self.store.rows.tasks_of(self.org)
        if tasks:
            await self.write(self.rng.choice(tasks).number)

    async def _interfere(self) -> None:
        faults, rng = self.faults, self.rng
        tasks = [t for t in self.store.rows.tasks_of(self.org) if not t.ended]
        if tasks and faults.strikes(Fault.STOPPED, 0.3):
            task = rng.choice(tasks)
            try:
                await self._process().desk.store.tasks.change(task.ref, stop(self.ada.id, surface=SURFACE))
            except (Died, GatepostError):
                return
        if faults.strikes(Fault.SWITCHED, 0.4):
            await self._switch()
        if faults.strikes(Fault.ORG_PAUSED, 0.2):
            await self._pause_org(paused=rng.random() < 0.5)
        if faults.strikes(Fault.LEFT, 0.2):
            await self._leave(left=rng.random() < 0.6)
        if faults.strikes(Fault.RULED, 0.4):
            await self._rule()

    async def interrupt(self, ref: TaskRef) -> None:
        """Just before an effect of *ref* is marked: a stop, a pause, a switch, or others who decide."""
        if self.faults.strikes(Fault.STOPPED, 0.04):
            await self.store.tasks.change(ref, stop(self.ada.id, surface=SURFACE))
        if self.faults.strikes(Fault.ORG_PAUSED, 0.04):
            await self._pause_org(paused=True)
        if self.faults.strikes(Fault.SWITCHED, 0.04):
            await self._switch()
        if self.faults.strikes(Fault.LEFT, 0.08):
            await self._leave(left=True)
        if self.faults.strikes(Fault.RULED, 0.08):
            await self._rule()

    async def _switch(self, *, plain: bool = False) -> None:
        turns: list[tuple[str, SwitchTo]] = []
        for agent in ("lead", "scout") if plain else (self.rng.choice(("lead", "scout")),):
            if plain or self.rng.random() < 0.4:
                turns += [(agent, Resume()), (agent, Practice(on=False))]
                continue
            key = self.rng.choice(("contact", "pay", "change"))
            chosen = Choose(key, self.rng.choice((*Setting, None)))
            turns.append((agent, self.rng.choice((Pause(), Practice(on=True), chosen, chosen))))
        for agent, to in turns:
            await self.store.people.switch(self.ada, self.org, agent, to, surface=SURFACE)

    async def _pause_org(self, *, paused: bool) -> None:
        to = Pause() if paused else Resume()
        await self.store.people.switch(self.ada, self.org, None, to, surface=SURFACE)

    async def _leave(self, *, left: bool) -> None:
        """Ben leaves, or is a member only; or he is back, an approver."""
        with self.store.rows.transaction():
            self.store.rows.people.update(replace(self.ben, left=left and self.rng.random() < 0.6))
        if left:
            with contextlib.suppress(RosterError):  # he is not there to be a member
                member = SetRoles(self.ben.id, frozenset({Role.MEMBER}))
                await self.store.people.save(self.ada, self.org, member, surface=SURFACE)

    async def _rule(self) -> None:
        """Ada says otherwise who approves what."""
        who = self.rng.choice((None, (self.ben.id,), (self.ada.id,), ("owner",), ("approver",)))
        own = self.rng.choice((KEPT, True, False, False))
        rule = SetRule(what=self.rng.choice(("spend", "mail", "any", "any")), who=who, self_approval=own)
        with contextlib.suppress(RosterError):  # a rule can't name Ben while he may not decide
            await self.store.people.save(self.ada, self.org, rule, surface=SURFACE)

    # ── the healed half ──────────────────────────────────────────────────────────────────────

    async def heal(self) -> None:
        """Nothing is paused or in practice any more, everybody is there, and Ada may decide everything."""
        await self._switch(plain=True)
        await self._pause_org(paused=False)
        await self._leave(left=False)
        for what in ("spend", "mail", "any"):
            plain = SetRule(what=what, who=None, self_approval=None)
            await self.store.people.save(self.ada, self.org, plain, surface=SURFACE)

    async def answer_all(self) -> int:
        """A willing owner answers everything that waits; how much that was."""
        found = await self._process().desk.store.parks.waiting_for(self.ada, 50)
        answered = 0
        for view in found:
            if Choice.LOOK_UP in view.park.choices and self.rng.random() < 0.5:
                await self._look_up(view)
            decision = self._willing(view)
            if decision is not None:
                await self._press(self.ada, view, decision, {})
                answered += 1
        return answered

    def _willing(self, view: ParkView) -> Decision | None:
        match view.park.kind:
            case ParkKind.APPROVAL:
                return Decision(kind=DecisionKind.APPROVE)
            case ParkKind.QUESTION:
                return Decision(kind=DecisionKind.ANSWER, reason="this one")
            case ParkKind.CONNECT:
                return Decision(kind=DecisionKind.CONNECTED)
            case ParkKind.LIMIT:
                return Decision(kind=DecisionKind.CHOICE, choice=Choice.STOP)
            case ParkKind.UNKNOWN:
                assert view.call is not None
                if self.provider.took(view.call.id):
                    return Decision(kind=DecisionKind.CHOICE, choice=Choice.WENT_OUT)
                if self._on_its_way(view):
                    return None
                return Decision(kind=DecisionKind.CHOICE, choice=Choice.DID_NOT)
            case _:
                return None

    def tamper(self) -> None:
        """Somebody with the database's password edits a call that was approved."""
        calls = [
            c for c in self.store.rows.calls if c.org == self.org and c.state == "approved" and not c.pure
        ]
        if not calls or not self.faults.strikes(Fault.TAMPERED, 0.5):
            return
        call = self.rng.choice(sorted(calls, key=lambda c: c.id))
        args = {**call.args, "n": 77}
        self.watch.tampered.add(call.id)
        changed = replace(call, args=args)
        if self.rng.random() < 0.5:
            changed = replace(changed, args_hash=digest(args))
        self.store.rows.calls.update(changed)

    def waits_for_nobody(self) -> bool:
        """Every task has ended, or waits for words that nobody owes it."""
        tasks = self.store.rows.tasks_of(self.org)
        return all(t.ended or (t.state is TaskState.WAITING and self._for_words(t.id)) for t in tasks)

    def _for_words(self, task_id: TaskId) -> bool:
        parks = self.store.rows.parks.under("task", self.org, task_id)
        return all(p.kind in (ParkKind.MESSAGE, ParkKind.UNKNOWN) for p in parks if p.open)

    def _process(self) -> Process:
        alive = [p for p in self.processes if p.alive]
        if not alive:
            raise Died
        return self.rng.choice(alive)


def _pressed(by: Answering, view: ParkView, decision: Decision, changes: dict[str, Json]) -> Press:
    """The button that says *decision*, pressed by whoever has the account; a form's fields as typed."""
    verb = decision.choice or ("decline_stop" if decision.and_stop else decision.kind)
    return Press(
        account=Account(surface=SURFACE, ref=by.who.id),
        event_id=by.event_id,
        verb=str(verb),
        token=view.park.token,
        words=decision.reason,
        fields={name: str(value) for name, value in changes.items()} or None,
    )
