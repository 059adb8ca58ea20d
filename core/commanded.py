"""What a typed command does, for one person at one surface; whose it is to decide, the rows say again."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from core.agents import Agent
from core.answers import answer_to, code_of, edited_by, looked_up
from core.approvers import lets_run
from core.audit import AuditEntry
from core.cards import Card
from core.chat import LONGEST_WORDS, Answer, Table, Typed
from core.codes import code_digest
from core.commands import BY_NAME, Command, Line, listed, may, parse
from core.decisions import Answering, Desk
from core.errors import CommandError, DecisionError, NotYourDecision, RosterError, TaskNotFound
from core.host import chief_of, risks_of
from core.ids import CallCode, EventKey, PersonId, call_code, task_number
from core.intake import Intake, find_task, may_stop
from core.moves.ends import stop
from core.moves.people import Decision
from core.nearest import nearest
from core.parks import Choice, DecisionKind
from core.people import Account, OrgState, Person, Role, Roster, Switch, SwitchMode
from core.ports import BadCode, Clock, ParkView, Query
from core.proposals import storable
from core.rendering import card_with
from core.shown import Room
from core.standing import held_back
from core.switches import Pause, Practice, Resume, SwitchTo, holding
from core.tasks import Json, Task
from core.visible import line, visible
from core.work import Event, EventKind

MANY: Final = 50
"""Rows of a list at the most."""
CARDS: Final = 5
"""Cards that an answer shows at the most; the rest are named."""
LONGEST_GOAL: Final = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Commanded:
    """Does what *who* typed. Raises a GatepostError in words for its sender where it can't be done."""

    desk: Desk
    clock: Clock
    surface: str
    who: Person
    typed: Typed
    room: Room | None = None  # of the surface, for a card's arguments

    async def do(self, said: Line) -> Answer:
        """*said* is done. Raises NotYourDecision where the role does not reach so far."""
        if not may(self.who, said.command):
            raise NotYourDecision(f"only {_who_may(said.command)} may {said.command.name}")
        does: Mapping[str, Callable[[Line], Awaitable[Answer]]] = {
            "pending": self._pending,
            "show": self._show,
            "edit": self._edit,
            "settle": self._settle,
            "tasks": self._tasks,
            "new": self._new,
            "run": self._new,
            "stop": self._stop,
            "agents": self._agents,
            "rules": self._rules,
            "pause": self._pause,
            "resume": self._resume,
            "practice": self._practice,
            "audit": self._audit,
            "budget": self._budget,
            "help": self._help,
            "join": self._join,
        }
        return await does.get(said.command.name, self._decide)(said)

    # ── what waits ───────────────────────────────────────────────────────────────────────────

    async def _pending(self, said: Line) -> Answer:
        views = await self.desk.store.parks.waiting_for(self.who, MANY)
        if not views:
            return Answer(words="Nothing waits.")
        shown = tuple([await self._card(view) for view in views[:CARDS]])
        more = ", ".join(code_of(view) for view in views[CARDS:])
        return Answer(words=f"And {more}: `show` shows each." if more else "", views=shown)

    async def _card(self, view: ParkView) -> Card:
        return await card_with(self.desk, view.task.ref, {view.park.token}, self.room)

    async def _show(self, said: Line) -> Answer:
        code = call_code(said.values["CODE"])
        if code is not None:
            view = await self.desk.find(self.who, code)
            if await self.desk.store.outbox.show(view.park.token):
                return Answer(words=f"{code_of(view)} stands in a digest: its card is on its way there.")
            return Answer(views=(await self._card(view),))
        task = await self._task(said.values["CODE"])
        story = await self.desk.store.ledger.story(task.ref)
        rows = tuple(
            (f"{task.code}.{c.number}", visible(c.tool), str(c.outcome or c.state)) for c in story.calls
        )
        name = visible(self.desk.agent(task.agent).name)
        words = f"{task.code} {_state(task)}, {name}: {line(self.desk.redactor.redact(_goal(task)), 400)}"
        table = Table(headings=("Call", "Tool", "Outcome"), rows=rows) if rows else None
        return Answer(words=words, table=table, alone=True)

    # ── deciding ─────────────────────────────────────────────────────────────────────────────

    def _answering(self) -> Answering:
        return Answering(who=self.who, surface=self.surface, event_id=self.typed.event_id, room=self.room)

    async def _decide(self, said: Line) -> Answer:
        """approve, decline, revise, answer, connected."""
        view = await self.desk.find(self.who, _call(said))
        words = next((said.values[name] for name in ("WHY", "HOW", "WORDS") if name in said.values), None)
        told = None if words is None else storable(words, LONGEST_WORDS)
        kind = DecisionKind(said.command.name)
        await self._displayed(view, runs=lets_run(kind))
        decision = Decision(kind=kind, reason=told, and_stop="stop" in said.flags)
        decided = await self.desk.decide(self._answering(), view, decision)
        return Answer(words=await answer_to(self.desk, self.who.name, view, decided))

    async def _displayed(self, view: ParkView, *, runs: bool) -> None:
        """Raises DecisionError where a digest alone told of what is to run: its card is shown first (I32)."""
        if runs and view.park.open and await self.desk.store.outbox.show(view.park.token):
            raise DecisionError(
                f"{code_of(view)} stands in a digest: its card is on its way, decide when you have seen it"
            )

    async def _edit(self, said: Line) -> Answer:
        view = await self.desk.find(self.who, _call(said))
        await self._displayed(view, runs=True)
        changes = edited_by(self.desk, view, said.changes) if view.park.open else {}
        decision = Decision(kind=DecisionKind.EDIT)
        decided = await self.desk.decide(self._answering(), view, decision, changes=changes)
        return Answer(words=await answer_to(self.desk, self.who.name, view, decided))

    async def _settle(self, said: Line) -> Answer:
        view = await self.desk.find_named(self.who, said.values["CODE"])
        choice = Choice(said.values["CHOICE"].replace("-", "_"))
        if choice is Choice.LOOK_UP:
            return Answer(words=await looked_up(self.desk, self.clock, self._answering(), view))
        await self._displayed(view, runs=lets_run(None, choice))
        decision = Decision(kind=DecisionKind.CHOICE, choice=choice)
        decided = await self.desk.decide(self._answering(), view, decision)
        return Answer(words=await answer_to(self.desk, self.who.name, view, decided))

    # ── tasks ────────────────────────────────────────────────────────────────────────────────

    async def _task(self, code: str) -> Task:
        """Raises TaskNotFound."""
        number = task_number(code)
        task = None if number is None else await find_task(self.desk.store.ledger, self.who.org, number)
        if task is None:
            raise TaskNotFound(f"there is no task {code}")
        return task

    async def _tasks(self, said: Line) -> Answer:
        asked = said.values.get("N", "10")
        if not (asked.isascii() and asked.isdigit() and 1 <= int(asked) <= MANY):
            raise CommandError(f"say how many, from 1 to {MANY}: tasks 10")
        tasks = await self.desk.store.ledger.find(self.who.org, Query(limit=int(asked)))
        found = self.desk.redactor.clean(tasks)  # before a goal is cut (I33)
        if not found:
            return Answer(words="No tasks yet. Say what is to be done.")
        rows = tuple((t.code, _state(t), visible(t.agent), line(_goal(t), LONGEST_GOAL)) for t in found)
        return Answer(table=Table(headings=("Task", "State", "Agent", "Goal"), rows=rows))

    async def _new(self, said: Line) -> Answer:
        """new, run: a task by way of the inbox, under the command's own event, so that it is opened once."""
        agent = self._agent(said.values["AGENT"]) if "AGENT" in said.values else self._chief()
        place = self.typed.place
        body: dict[str, Json] = {
            "text": storable(said.values["GOAL"], LONGEST_WORDS),
            "agent": agent.key,
            "person": self.who.id,
            "surface": self.surface,
        }
        if place is not None:
            body |= {"thread": place.speaks, "chat": place.chat}
        key = EventKey(source=self.surface, event_id=self.typed.event_id)
        event = Event(key=key, org=self.who.org, kind=EventKind.MESSAGE, body=body)
        await self.desk.store.inbox.receive(event)
        # Applied again where it broke off; where it did not, what it opened.
        task = await Intake(desk=self.desk).apply(event)
        if task is None:
            raise CommandError("the task could not be opened; its inbox row says why")
        goal = line(self.desk.redactor.redact(_goal(task)), 200)
        opened = f"{task.code} opened for {visible(agent.name)}: {goal}"
        held = await held_back(self.desk.store.people, self.who.org, agent)
        return Answer(words=opened if held is None else f"{opened}\n{held}")

    async def _stop(self, said: Line) -> Answer:
        task = await self._task(said.values["TASK"])
        if not may_stop(self.who, task):
            raise NotYourDecision(f"{task.code} is not yours to stop")
        state = await self.desk.store.tasks.change(task.ref, stop(self.who.id, surface=self.surface))
        if task.ended:
            return Answer(words=f"{task.code} had ended already: {_state(task)}.")
        return Answer(
            words=f"{task.code} " + ("is stopped." if state == "stopped" else "stops after the step in hand.")
        )

    # ── agents ───────────────────────────────────────────────────────────────────────────────

    def _agent(self, name: str) -> Agent:
        """The agent of that key or name, in any case. Raises CommandError with the nearest."""
        agents, said = self.desk.host.agents, name.casefold()
        for agent in agents.values():
            if said in (agent.key.casefold(), agent.name.casefold()):
                return agent
        near, there = nearest(said, agents), ", ".join(sorted(agents))
        raise CommandError(f"there is no agent {line(name, 40)}{near}; there are {there}")

    def _chief(self) -> Agent:
        """Raises CommandError where nobody is."""
        try:
            return self.desk.agent(chief_of(self.desk.host))
        except LookupError as error:
            raise CommandError(str(error)) from error

    async def _agents(self, said: Line) -> Answer:
        people, host = self.desk.store.people, self.desk.host
        organization = (await people.of(self.who.org)).organization
        switches = {s.agent: s for s in await people.switches(self.who.org)}
        rows = tuple(
            (visible(agent.key), visible(agent.name), *self._holds(agent, switches.get(agent.key)))
            for agent in host.agents.values()
        )
        paused = f"{visible(organization.name)} is paused." if organization.state is OrgState.PAUSED else ""
        return Answer(words=paused, table=Table(headings=("Agent", "Name", "State", "Tools"), rows=rows))

    def _holds(self, agent: Agent, switch: Switch | None) -> tuple[str, str]:
        state = "works"
        if switch is not None and (switch.paused or switch.mode is SwitchMode.OBSERVE):
            state = "paused" if switch.paused else "practises"
        tools = (f"{visible(h.tool)} {h.verdict}s" for h in holding(agent, risks_of(self.desk.host), switch))
        return state, ", ".join(tools)

    async def _rules(self, said: Line) -> Answer:
        roster = await self.desk.store.people.of(self.who.org)
        rows = tuple(
            (
                visible(rule.what),
                "as usual" if rule.who is None else ", ".join(visible(_named(w, roster)) for w in rule.who),
                {None: "as usual", True: "yes", False: "no"}[rule.self_approval],
            )
            for rule in roster.organization.rules
        )
        usual = "Owners and approvers may approve whatever no rule says otherwise of."
        table = Table(headings=("What", "Who may approve", "Their own too"), rows=rows) if rows else None
        return Answer(words=usual, table=table)

    async def _pause(self, said: Line) -> Answer:
        return await self._turn(said, Pause(), "is paused: nothing new starts", "was paused already")

    async def _resume(self, said: Line) -> Answer:
        return await self._turn(
            said, Resume(), "works again, and goes on with what was held", "was not paused"
        )

    async def _practice(self, said: Line) -> Answer:
        on = said.values.get("STATE", "on") == "on"
        done = "practises: reads run, everything else is recorded" if on else "acts again"
        return await self._turn(said, Practice(on=on), done, "did so already")

    async def _turn(self, said: Line, to: SwitchTo, done: str, already: str) -> Answer:
        people, name = self.desk.store.people, said.values.get("AGENT")
        agent = None if name is None else self._agent(name)
        key = None if agent is None else agent.key
        turned = await people.switch(self.who, self.who.org, key, to, surface=self.surface)
        whose = (await people.of(self.who.org)).organization.name if agent is None else agent.name
        return Answer(words=f"{visible(whose)} {done if turned else already}.")

    # ── looking back ─────────────────────────────────────────────────────────────────────────

    async def _audit(self, said: Line) -> Answer:
        roster = await self.desk.store.people.of(self.who.org)
        entries = await self._entries(said.values.get("TASK"))
        if not entries:
            return Answer(words="Nothing is on record yet.")
        about = frozenset(e.task_id for e in entries if e.task_id is not None)
        found = await self.desk.store.ledger.find(self.who.org, Query(ids=about, limit=MANY))
        tasks = {task.id: task.code for task in found}
        rows = tuple(
            (
                _moment(e.at),
                tasks.get(e.task_id, "") if e.task_id else "",
                visible(_named(e.actor, roster)),
                e.move,
                visible(e.rule or ""),
            )
            for e in entries
        )
        return Answer(table=Table(headings=("When", "Task", "Who", "Move", "Rule"), rows=rows))

    async def _entries(self, code: str | None) -> list[AuditEntry]:
        """The newest, newest last."""
        ledger = self.desk.store.ledger
        if code is not None:
            return list((await ledger.story((await self._task(code)).ref)).audit)[-MANY:]
        return await ledger.newest(self.who.org, MANY)

    async def _budget(self, said: Line) -> Answer:
        used = await self.desk.store.ledger.usage(self.who.org)
        agents = self.desk.host.agents
        rows = tuple(
            (visible(key), f"{used.get(key, 0):,}", _limit(agents.get(key)))
            for key in [*agents, *(k for k in used if k not in agents)]
        )
        return Answer(table=Table(headings=("Agent", "Tokens in 24 h", "Of"), rows=rows))

    async def _join(self, said: Line) -> Answer:
        return await joined(self.desk, self.typed.account, said.values["CODE"])

    async def _help(self, said: Line) -> Answer:
        name = said.values.get("COMMAND")
        if name is None:
            mine = [command for command in BY_NAME.values() if may(self.who, command)]
            return Answer(table=Table(headings=("Command", "What it does"), rows=listed(mine)))
        command = BY_NAME.get(name.removeprefix("/")) or parse(name).command  # parse says what is near
        choices = [f"{a.name}: {', '.join(a.choices)}" for a in command.arguments if a.choices]
        lines = [command.usage, command.words, *choices, f"Like this: {command.example}"]
        return Answer(words="\n".join(lines))


async def joined(desk: Desk, account: Account, code: str) -> Answer:
    """*account* is its holder's from here on. The same answer for a wrong, a used and an old code."""
    try:
        person = await desk.store.people.join(code_digest(code), account)
    except RosterError as error:
        return Answer(words=str(error))
    if isinstance(person, BadCode):
        known = [visible(one.name) for one in await desk.store.people.everywhere(account)]
        here = f" You are known here as {', '.join(known)}." if known else " Ask an owner for another."
        return Answer(words=f"This code is wrong, was used, or has run out.{here}")
    return Answer(words=f"Welcome, {visible(person.name)}. `help` lists what you may say.")


def _who_may(command: Command) -> str:
    return "an owner" if command.right is Role.OWNER else "an owner or approver"


def _call(said: Line) -> CallCode:
    code = call_code(said.values["CALL"])
    assert code is not None  # parse let nothing else through
    return code


def _named(word: str, roster: Roster) -> str:
    """A person's name where *word* is their id; a role, a worker, a schedule as it is."""
    found = roster.person(PersonId(word))
    return word if found is None else found.name


def _state(task: Task) -> str:
    reason = task.reason if task.reason not in (None, "answered", "finished", task.stop_by) else None
    return str(task.state) if reason is None else f"{task.state} ({visible(reason)})"


def _goal(task: Task) -> str:
    return task.goal if isinstance(task.goal, str) else "(a value)"


def _moment(at: datetime) -> str:
    at = at.astimezone(UTC)
    return f"{at.day} {at:%b %H:%M:%S}"


def _limit(agent: Agent | None) -> str:
    limit = None if agent is None else agent.limits.daily_tokens
    return "any number" if limit is None else f"{limit:,}"
