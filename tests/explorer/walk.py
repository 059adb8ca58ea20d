"""One random walk: the real loop over the real moves, while a world clicks, writes, stops, kills and steals.

The world acts before and after every change, so also between a plan and its lock. After the first part
of a walk its faults stop and a willing owner answers everything: then the task must come to an end.
"""

import random
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

from core.agents import Agent, Limits
from core.decisions import Desk
from core.errors import DecisionError, ModelBusy, NeedsConnect
from core.gate import Risk, Setting
from core.host import BaseHost
from core.ids import CallId, EventKey, OrgId, ParkId, PersonId, Run, TaskId, Token, WorkerId
from core.loop import TaskRun
from core.model import Finish, ModelReply, Request, Usage, WireCall
from core.moves.ends import stop
from core.moves.people import Click, Decision, Spare, decide
from core.moves.waits import expire
from core.moves.words import incoming
from core.parks import Choice, DecisionKind, Park, ParkKind, Slip
from core.people import Organization, Person, Role, Switch
from core.plan import RunState, Step
from core.ports import Store
from core.tasks import Message, MessageKind, Origin, Task, TaskState
from core.testing import CountingIds, ManualClock, check_history
from core.tools import Tool, ToolContext, tool
from core.work import Event, EventKind, Need
from tests.explorer.checks import Checks
from tests.explorer.rows import START, Rows

ORG, TASK = OrgId("org"), TaskId("task")
ADA = Person(org=ORG, id=PersonId("ada"), name="Ada", roles=frozenset({Role.OWNER}))
FAULTY_STEPS = 60
"""Changes after which the world's faults stop (the walk's first part)."""
PATIENCE = 400
"""Changes by which a walk must have ended."""


class Died(BaseException):
    """The process is gone; nothing of the product may catch it."""


class Violation(AssertionError):
    """An invariant of docs/states.md §6 does not hold."""


@dataclass(kw_only=True, slots=True)
class Walk:
    """A walk from *seed*; `run` raises Violation, naming the invariant, or comes to the walk's end."""

    seed: int
    rng: random.Random = field(init=False)
    rows: Rows = field(init=False)
    checks: Checks = field(init=False)
    ids: CountingIds = field(init=False)
    trace: list[str] = field(default_factory=list, init=False)
    changes: int = field(default=0, init=False)
    alive: bool = field(default=True, init=False)
    stepped: tuple[Step, int] | None = field(default=None, init=False)
    events: int = field(default=0, init=False)
    host: BaseHost = field(init=False)
    next_tools: Mapping[str, Tool] = field(default_factory=dict, init=False)
    epoch: int = field(default=0, init=False)
    written: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.ids = CountingIds()
        self.rows = self._rows()
        self.checks = Checks(rows=self.rows)
        self.rows.before, self.rows.after = self._before, self._after
        self.host = self._host()

    # ── what walks ───────────────────────────────────────────────────────────────────────────

    def _rows(self) -> Rows:
        task = Task(
            org=ORG,
            id=TASK,
            number=1,
            agent="lead",
            origin=self.rng.choice([Origin.OWNER, Origin.OWNER, Origin.SCHEDULE, Origin.EVENT]),
            surface=self.rng.choice(["console", "console", None]),
            goal="do it",
            schema=self.rng.choice([None, None, {"type": "object", "properties": {}}]),
            next_seq=2,
            created_at=START,
        )
        goal = Message(seq=1, episode=1, round=0, kind=MessageKind.GOAL, body={"text": "do it"}, at=START)
        return Rows(task=task, organization=Organization(id=ORG, name="shop"), people=(ADA,), messages=[goal])

    def _host(self) -> BaseHost:
        host = BaseHost()
        host.tools = dict(TOOLS)
        limits = Limits(rounds=self.rng.choice([3, 8, 30]), wrap_up=self.rng.random() < 0.7)
        host.agents = {
            "lead": Agent(
                key="lead",
                name="Sam",
                tools=tuple(host.tools),
                settings={"contact": self.rng.choice(list(Setting)), "spend": self.rng.choice(list(Setting))},
                limits=limits,
                interactive=self.rng.random() < 0.1,
            )
        }
        host.model = self
        return host

    def act(self, name: str, context: ToolContext, n: int) -> str:
        """The outside world: the call arrives, and may take its caller's process with it."""
        self._maybe_die("handler, before")
        call = self.rows.calls[context.call_id]
        self.checks.arrived(call, n, self.host.tools[name].digest)
        self.trace.append(f"  {name}({n}) arrives, call {call.number}")
        self._maybe_die("handler, after")
        match self.rng.randrange(8) if self.faulty else 0:
            case 1:
                raise ValueError("no such thing") if call.pure else ConnectionRefusedError("nobody there")
            case 2:
                raise TimeoutError
            case 3:
                raise NeedsConnect("Mail")
            case _:
                return f"{name} {n} done"

    @property
    def faulty(self) -> bool:
        return self.changes < FAULTY_STEPS

    # ── the model ────────────────────────────────────────────────────────────────────────────

    async def reply(self, request: Request) -> ModelReply:
        check_history(request.turns)
        self.checks.asked_model()
        self._maybe_die("model, before")
        self._world()
        if self.faulty and self.rng.random() < 0.05:
            raise ModelBusy
        return self._script(request)

    def _script(self, request: Request) -> ModelReply:
        usage = Usage(tokens_in=10, tokens_out=5)
        roll = self.rng.random()
        if not self.faulty or (roll < 0.25 and request.tools):
            return self._closing(request, usage)
        if roll < 0.75:
            n = self.rng.choice([1, 1, 2, 2, 3, 4, 18])
            wires = tuple(self._wire(i) for i in range(n))
            return ModelReply(text=None, calls=wires, finish=Finish.TOOL_CALLS, usage=usage)
        finish = self.rng.choice(list(Finish))
        return ModelReply(text=self.rng.choice([None, "", "so far"]), finish=finish, usage=usage)

    def _closing(self, request: Request, usage: Usage) -> ModelReply:
        if any(t.name == "finish" for t in request.tools):
            wires: tuple[WireCall, ...] = (WireCall(id="f", name="finish", arguments="{}"),)
            if self.faulty and self.rng.random() < 0.5:
                wires = (self._wire(0), *wires)
            return ModelReply(text=None, calls=wires, finish=Finish.TOOL_CALLS, usage=usage)
        return ModelReply(text="all done", usage=usage)

    def _wire(self, i: int) -> WireCall:
        name = self.rng.choice([*RISKS, *RISKS, "nonsense"])
        args = self.rng.choice(['{"n":1}', '{"n":2}', f'{{"n":{self.rng.randrange(9)}}}', "{", '{"n":"x"}'])
        return WireCall(id=f"w{i}", name=name, arguments=args if self.rng.random() < 0.3 else args[:7])

    # ── the world ────────────────────────────────────────────────────────────────────────────

    def _before(self, name: str) -> None:
        if not self.alive:
            raise Died("a dead process reached a port")
        self._maybe_die(f"{name}, before")
        self._world()
        self.written = self.rows.written

    def _after(self, name: str) -> None:
        self.changes += 1
        stale = self.rows.task.epoch != self.epoch and self.rows.written > self.written
        if stale and self.rows.entries[-1].rule != "late":
            raise Violation(f"I17: a run that lost its task wrote a {name}")
        self.trace.append(f"{name} → {self.rows.task.state}")
        self.checks.after()
        self._maybe_die(f"{name}, after")
        self._world()

    def _maybe_die(self, where: str) -> None:
        if self.alive and self.faulty and self.rng.random() < 0.01:
            self.trace.append(f"  killed at {where}")
            self.alive = False
            raise Died(where)

    def _world(self, chance: float = 0.12) -> None:
        """Now and then something happens outside the run."""
        if not self.faulty or self.rng.random() > chance:
            return
        acts: list[Any] = [self._click] * 6 + [self._write] * 2
        acts += [self._stop, self._pause, self._steal, self._expire, self._reconfigure]
        self._act_out(self.rng.choice(acts))

    def _act_out(self, act: Any) -> None:
        act()
        self.changes += 1
        self.checks.after()

    def _click(self, *, willing: bool = False) -> None:
        parks = [p for p in self.rows.parks.values() if p.open or (self.faulty and self.rng.random() < 0.2)]
        if not parks:
            return
        park = self.rng.choice(parks)
        decision = self._decision(park, willing=willing)
        self.events += 1
        again = self.faulty and self.rng.random() < 0.1
        click = Click(
            who=ADA,
            surface="console",
            event_id=f"e{self.events - 1 if again else self.events}",
            token=park.token,
            version=park.version,
            shown_hash=park.shown_hash,
        )
        self.trace.append(f"  click {decision.kind} {decision.choice or ''} on {park.kind} {park.call_id}")
        move = decide(click, decision, self.host.agents["lead"], self._spare())
        need = Need(token=park.token, event_id=click.event_id, roster=True)
        try:
            self.rows.apply(move, need)
        except DecisionError as refused:
            self.trace.append(f"    {type(refused).__name__}")

    def _decision(self, park: Park, *, willing: bool) -> Decision:
        if park.kind is ParkKind.UNKNOWN:
            choices = (Choice.WENT_OUT,) if willing else park.choices
            return Decision(kind=DecisionKind.CHOICE, choice=self.rng.choice(choices))
        if park.kind is ParkKind.CONNECT:
            answers = (DecisionKind.CONNECTED, DecisionKind.DECLINE)
            return Decision(kind=DecisionKind.CONNECTED if willing else self.rng.choice(answers))
        if park.kind is ParkKind.LIMIT:
            return Decision(
                kind=DecisionKind.CHOICE, choice=Choice.STOP if willing else self.rng.choice(park.choices)
            )
        kinds = [DecisionKind.APPROVE, DecisionKind.APPROVE, DecisionKind.EDIT, DecisionKind.DECLINE]
        kind = DecisionKind.APPROVE if willing else self.rng.choice([*kinds, DecisionKind.REVISE])
        stops = kind is DecisionKind.DECLINE and self.rng.random() < 0.2
        return Decision(kind=kind, args={"n": self.rng.randrange(4)}, reason="so", and_stop=stops)

    def _spare(self) -> Spare:
        slip = Slip(park_id=ParkId(self.ids.new()), token=Token(self.ids.nonce()))
        return Spare(slip=slip, call_id=CallId(self.ids.new()))

    def _write(self) -> None:
        self.events += 1
        event = Event(
            key=EventKey(source="console", event_id=f"m{self.events}"),
            kind=EventKind.MESSAGE,
            body={"text": "and this", "person": ADA.id},
        )
        self.trace.append("  owner writes")
        self.rows.new.append(event)
        for _ in range(self.rng.choice([1, 1, 2])):  # two processes may apply it
            self.rows.apply(incoming(event, self.host.agents["lead"]), Need(event=event.key, roster=True))

    def _stop(self) -> None:
        self.trace.append("  owner stops it")
        self.rows.apply(stop(ADA.id))

    def _pause(self) -> None:
        paused = not (self.rows.switch is not None and self.rows.switch.paused)
        self.trace.append(f"  paused: {paused}")
        self.rows.switch = Switch(agent="lead", paused=paused)

    def _steal(self) -> None:
        """The lease runs out under a run that goes on: a zombie from now on; a thief may have the task."""
        if self.rows.task.state is not TaskState.RUNNING:
            return
        self.trace.append("  lease lost")
        self._recover()
        if self.rng.random() < 0.5:
            epoch = self.rows.task.epoch + 1
            self.rows.task = replace(self.rows.task, state=TaskState.RUNNING, epoch=epoch)

    def _recover(self) -> None:
        task = self.rows.task
        lost = task.state is TaskState.RUNNING
        self.rows.task = replace(
            task, state=TaskState.QUEUED, worker=None, lease_until=None, attempts=task.attempts + lost
        )

    def _expire(self) -> None:
        self.trace.append("  a week goes by")
        self.rows.now += timedelta(days=8)
        self.rows.apply(expire(self.host.agents["lead"]))

    def _reconfigure(self) -> None:
        """A deploy changes a tool: the next process has it."""
        name = self.rng.choice(list(RISKS))
        self.trace.append(f"  {name} will be another tool")
        old = {**self.host.tools, **self.next_tools}[name]
        self.next_tools = {**self.next_tools, name: replace(old, description=old.description + "!")}

    # ── the walk ─────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """The task has come to an end with every invariant held all along; else Violation."""
        WALKING.set(self)
        idle = 0
        while self.changes < PATIENCE:
            self.checks.after()
            task = self.rows.task
            if task.ended and not self.faulty and not self._open_unknown():
                return
            if task.state is TaskState.QUEUED:
                self._world(0.3)
                await self._claim()
            elif task.state in (TaskState.RUNNING, TaskState.DELAYED):
                self._recover()
            elif task.state is TaskState.HELD:
                self._act_out(self._pause)
                self._recover()
            elif self.faulty:
                self._act_out(
                    self.rng.choice([self._click, self._click, self._write, self._stop, self._expire])
                )
            else:
                idle += 1
                self._act_out(lambda: self._click(willing=True))
                if idle > 50 and task.state is TaskState.WAITING and self._only_message():
                    return
            self.changes += 1
        raise Violation(f"I20: no end after {PATIENCE} changes ({self.rows.task.state})")

    def _open_unknown(self) -> bool:
        return any(p.open for p in self.rows.parks.values())

    def _only_message(self) -> bool:
        return all(p.kind is ParkKind.MESSAGE for p in self.rows.parks.values() if p.open)

    async def _claim(self) -> None:
        if self.rows.task.state is not TaskState.QUEUED:
            return
        if self.rows.switch is not None and self.rows.switch.paused:
            self.rows.task = replace(self.rows.task, state=TaskState.HELD)
            return
        epoch = self.rows.task.epoch + 1
        self.rows.task = replace(
            self.rows.task,
            state=TaskState.RUNNING,
            epoch=epoch,
            worker=WorkerId("w"),
            lease_until=self.rows.now,
        )
        self.alive, self.stepped, self.epoch = True, None, epoch
        self.host.tools, self.next_tools = {**self.host.tools, **self.next_tools}, {}
        self.trace.append(f"claimed, epoch {epoch}")
        run = Run(org=ORG, task_id=TASK, epoch=epoch, worker=WorkerId("w"))
        desk = Desk(store=cast(Store, _Store(self.rows)), host=self.host, ids=self.ids)
        clock = ManualClock(self.rows.now)
        try:
            await TaskRun(desk=desk, clock=clock, run=run, on_step=self._on_step).go()
        except Died:
            return
        self.checks.left(run)

    async def _on_step(self, step: Step, state: RunState) -> None:
        """The same step twice without a change in between is a spin."""
        self.trace.append(f" {type(step).__name__}")
        if self.stepped == (step, self.rows.written):
            raise Violation(f"the same step twice without a change: {step}")
        if self.changes > PATIENCE:
            raise Violation(f"I20: a run of {PATIENCE} changes does not end")
        self.stepped = (step, self.rows.written)


RISKS: Mapping[str, Risk] = {
    "look": Risk.READ,
    "sketch": Risk.DRAFT,
    "answer": Risk.ROUTINE,
    "mail": Risk.CONTACT,
    "refund": Risk.SPEND,
    "erase": Risk.REMOVE,
}

WALKING: ContextVar[Walk] = ContextVar("the walk whose tool is called")


def _tool(name: str, risk: Risk) -> Tool:
    async def act(n: int, context: ToolContext) -> str:
        return WALKING.get().act(name, context, n)

    act.__doc__ = f"Does {name}."
    return tool(risk=risk, name=name, timeout=None)(act)


TOOLS = {name: _tool(name, risk) for name, risk in RISKS.items()}
"""Of every walk, which would spend a fifth of its time on declaring them."""


class _Store:
    """A store of which a run uses `tasks` alone."""

    def __init__(self, rows: Rows) -> None:
        self.tasks = rows
