"""One task's run: plan, perform, again, until it waits, ends or is given back. Resume is the same loop.

Every write is a move under the run's epoch; nothing slow happens inside one. Cut the run at any line
and the rows say what another run has to do.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import assert_never

from core.agents import Agent
from core.calls import Call, CallState, Outcome
from core.compaction import clearing, tokens
from core.decisions import Desk, slip
from core.errors import ModelBusy, ModelError, ModelOverflow, NeedsConnect
from core.fence import FENCE
from core.hooks import Addressed, Hooks, HostFailed
from core.host import BaseHost
from core.ids import CallId, Run
from core.lookups import context_of
from core.model import ModelReply, Request
from core.moves.common import Answer, Result, ToolFacts, error
from core.moves.effects import Marked, again, found_out, lost_result, mark, outcome, repeating, settle
from core.moves.ends import delay, end, fail, give_back
from core.moves.rounds import note, record_reply, reserve, take
from core.moves.waits import Asking, ask, rest
from core.parks import OUTSIDE
from core.people import Organization
from core.plan import (
    MISSING,
    OVERTIME,
    REFUSAL,
    TOO_LONG,
    Ask,
    AskModel,
    Compact,
    End,
    EndKind,
    GiveBack,
    Hold,
    Nudge,
    Recover,
    Rest,
    RunEffect,
    RunReads,
    RunState,
    Settle,
    Signals,
    Size,
    Step,
    Take,
    next_step,
    run_state,
)
from core.ports import Clock, Ids, Model, ParkView, Store, Transcript
from core.progress import step_words
from core.proposals import declined, offered, propose, storable, told, tools_of
from core.redact import Redactor
from core.repeats import reminded, repeated
from core.running import Seen, check, look, preview, went_out
from core.running import run as run_tool
from core.skills import listed
from core.tasks import Json, MessageKind, Task
from core.tools import Tool, ToolContext
from core.transcript import NUDGES, turns
from core.work import NOTHING, Change, Fenced, Lost, Move, Need, NewMessage, R, Spend, Work

READS_AT_ONCE = 10
SAME_TIME = timedelta(minutes=15)
"""How long a model is told the same time within a run."""
MODEL_AWAY = "The model is not answering; I go on as soon as it does."
APP_AWAY = "The app behind me is not answering; I go on as soon as it does."
REPLY_CAP = 200_000
"""Characters of a reply's text that are kept (bad-inputs.md 11)."""
_USAGE = Need(usage=True)

OnStep = Callable[[Step, RunState], Awaitable[None]]


async def nobody_looks_on(step: Step, state: RunState) -> None:
    """The default for on_step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ran:
    """What came of a handler. *taints*: words from outside; *private*: the business's own; *needs*: it failed
    for want of this account."""

    result: Result
    taints: bool = False
    private: bool = False
    needs: NeedsConnect | None = None


def _never() -> bool:
    return False


@dataclass(kw_only=True, slots=True)
class TaskRun:
    """A worker's stretch of work on one task, under *run*'s epoch.

    *on_step* is told each step before it is performed: progress, for whoever shows it. Once *leaving*
    says so, the task is given back before its next step.
    """

    desk: Desk
    clock: Clock
    run: Run
    default_model: Model | None = None
    on_step: OnStep = nobody_looks_on
    leaving: Callable[[], bool] = _never
    agent: Agent = field(init=False)
    _since: datetime = field(init=False)
    _organization: Organization = field(init=False)
    _failing: bool = field(default=False, init=False)  # the app did not say whether the task may go on
    _time: tuple[datetime, str] | None = field(default=None, init=False)  # as the model was told it, and when
    _reserved: Spend | None = field(default=None, init=False)
    _history: Transcript | None = field(default=None, init=False)  # as it was at this round's request

    async def go(self) -> None:
        """The task waits, has ended, is queued again, or belongs to another run."""
        work = await self.store.tasks.load(self.run)
        if isinstance(work, Fenced):
            return
        self._organization, self._since = work.organization, self.clock.now()
        if not await self._secrets_known():
            return
        working = await self.desk.working(work.task.org, work.task.agent, by=f"worker:{self.run.worker}")
        self.agent = await self._budgeted(work.task, working)
        state: Answer | None = run_state(work, self.agent)
        while isinstance(state, RunState):
            if self.leaving():
                await self._change(give_back(self.run, release=self._unused()))
                return
            state = await self._signalled(state)
            step = next_step(state)
            await self.on_step(step, state)
            await self.hooks.does(state.task, step_words(step, state))
            state = await self.perform(step, state)

    @property
    def store(self) -> Store:
        return self.desk.store

    @property
    def host(self) -> BaseHost:
        return self.desk.host

    @property
    def hooks(self) -> Hooks:
        return Hooks(host=self.host, clock=self.clock, redactor=self.redactor)

    @property
    def redactor(self) -> Redactor:
        return self.desk.redactor

    @property
    def ids(self) -> Ids:
        return self.desk.ids

    async def _signalled(self, state: RunState) -> RunState:
        """The state, with what its rows don't say: the host's refusal, and this run's time."""
        allowed, spent = self.agent.limits.seconds, (self.clock.now() - self._since).total_seconds()
        late = OVERTIME if allowed is not None and spent >= allowed else None
        return replace(state, refusal=await self._refusal(state), over=state.over or late)

    async def _refusal(self, state: RunState) -> str | None:
        """Why the host refuses the run. Unsaid, open calls get their results, and no model is asked."""
        try:
            return await self.hooks.refusal(state.task, self.agent)
        except HostFailed:
            self._failing = True
            return None

    async def _budgeted(self, task: Task, agent: Agent) -> Agent:
        """*agent* with the day's tokens the host grants it."""
        try:
            daily = await self.hooks.token_budget(task, agent)
        except HostFailed:
            self._failing = True
            return agent
        return replace(agent, limits=replace(agent.limits, daily_tokens=daily))

    async def _secrets_known(self) -> bool:
        """The app's secrets are known by their values; unsaid, nothing runs that might tell one (I33)."""
        try:
            await self.hooks.secrets()
        except HostFailed:
            await self._delay(APP_AWAY)
            return False
        return True

    async def perform(self, step: Step, state: RunState) -> Answer | None:
        """What *step* says is done; the state after it, Fenced, or None where the run is over."""
        match step:
            case Recover(calls=calls):
                return await self._recover(calls, state)
            case Settle(calls=calls, outcome=said):
                return await self._settle(calls, said, state)
            case RunReads(calls=calls):
                return await self._run_reads(calls, state)
            case RunEffect(call=call):
                return await self._run_effect(call, state)
            case Ask(calls=calls):
                return await self._ask(calls, state)
            case Rest():
                return await self._change(rest(self.run, self.agent, release=self._unused()))
            case Take():
                return await self._change(take(self.run, self.agent, self.ids.nonce()), Need(unread=True))
            case AskModel(wrap=wrap):
                return await self._ask_model(state, wrap=wrap)
            case Nudge(why=why):
                nudge = NewMessage(kind=MessageKind.NUDGE, body={"text": NUDGES[why]})
                return await self._change(note(self.run, self.agent, nudge))
            case Compact():
                return await self._compact(state)
            case Hold(kind=kind):
                signals, unused = self._signals(state), self._unused()
                names = slip(self.ids)
                move = rest(self.run, self.agent, hold=kind, slip=names, signals=signals, release=unused)
                return await self._change(move, _USAGE)
            case GiveBack():
                await self._change(give_back(self.run, release=self._unused()))
                return None
            case End():
                result = _end_result(step, state)
                signals, unused = self._signals(state), self._unused()
                move = end(self.run, self.agent, step, result, signals=signals, release=unused)
                return await self._change(move, _USAGE)
            case _:
                assert_never(step)

    # ── calls ────────────────────────────────────────────────────────────────────────────────

    async def _recover(self, calls: Sequence[Call], state: RunState) -> Answer:
        """What a dead run left executing: effects are unknown, pure ones may run again."""
        answer: Answer = Fenced(run=self.run)
        for call in calls:
            result = lost_result(call)
            if result is None:
                answer = await self._change(again(self.run, self.agent, call.id), Need(call=call.id))
            else:
                answer = await self._outcome(call, _Ran(result=result), self._tool(call, state))
            if isinstance(answer, Fenced):
                return answer
        return answer

    async def _settle(self, calls: Sequence[Call], said: Outcome | None, state: RunState) -> Answer:
        tools = tools_of(self.host, state.task, self.agent)
        results = {c.id: told(c, tools) if said is None else error(said, _SETTLED_WORDS[said]) for c in calls}
        return await self._settled(calls, self.redactor.clean(results), crashed=said is Outcome.FAILED)

    async def _settled(
        self,
        calls: Sequence[Call],
        results: dict[CallId, Result],
        *,
        taints: bool = False,
        private: bool = False,
        crashed: bool = False,
    ) -> Answer:
        """The calls have these results, those that came out so before with a reminder (I25)."""
        history = self._history or await self.store.tasks.transcript(self.run.ref)
        pairs = [(c, results[c.id]) for c in calls]
        counts = repeated(history.messages, history.calls, pairs)
        move = settle(
            self.run,
            self.agent,
            reminded(results, counts),
            taints=taints,
            private=private,
            crashed=crashed,
            repeats=max(counts.values(), default=0),
            reserve=self._to_reserve,
        )
        return self._keep(await self._change(move, _USAGE))

    async def _run_reads(self, calls: Sequence[Call], state: RunState) -> Answer:
        """Together, at most ten at once; each has its result, whatever its handler does.

        One that is not concurrent has those before it behind it, and those after it wait for it.
        """
        gate = asyncio.Semaphore(READS_AT_ONCE)

        async def one(call: Call) -> tuple[Call, _Ran]:
            async with gate:
                if (objected := await self._objected(call, state)) is not None:
                    return call, objected
                return call, await self._handler(call, state)

        together = self._groups(calls, state)[0]  # the next ones are a step of their own: a stop comes first
        done = await asyncio.gather(*(one(c) for c in together))
        answer: Answer = state
        if ended := [(c, ran) for c, ran in done if ran.needs is None]:
            results = {c.id: ran.result for c, ran in ended}
            taints, private = (any(ran.taints for _, ran in ended), any(ran.private for _, ran in ended))
            answer = await self._settled([c for c, _ in ended], results, taints=taints, private=private)
        wanting = [self._connecting(c, ran.needs) for c, ran in done if ran.needs is not None]
        if wanting and not isinstance(answer, Fenced):
            answer = await self._change(ask(self.run, self.agent, wanting))
        return answer

    async def _objected(self, call: Call, state: RunState) -> _Ran | None:
        """Why a read or draft must not run, by its tool's check or the host; None: it may."""
        tool = self._tool(call, state)
        found = None if tool is None else await self._check(tool, call, state)
        if isinstance(found, NeedsConnect) and tool is not None:
            return _Ran(result=error(Outcome.FAILED, _wants(found, tool)), needs=found)
        problem = (None if isinstance(found, NeedsConnect) else found) or await self.hooks.problem(
            state.task, call
        )
        return None if problem is None else _Ran(result=error(Outcome.FAILED, problem))

    def _groups(self, calls: Sequence[Call], state: RunState) -> list[list[Call]]:
        """*calls* in their order, those next to each other that may run together."""
        groups: list[list[Call]] = []
        alone = True
        for call in calls:
            tool = self._tool(call, state)
            if alone or (tool is not None and not tool.concurrent):
                groups.append([])
            groups[-1].append(call)
            alone = tool is not None and not tool.concurrent
        return groups

    def _connecting(self, call: Call, needs: NeedsConnect) -> Asking:
        """*call* waits until somebody has connected its account, or will not (C12)."""
        shown = {"url": needs.url, **_outside(self.host.tools.get(call.tool))}
        return Asking(call_id=call.id, slip=slip(self.ids), account=needs.account, shown=shown)

    async def _run_effect(self, call: Call, state: RunState) -> Answer:
        """Check, mark, handler, outcome. The handler starts only once the marker is committed (I2)."""
        tool = self._tool(call, state)
        problem, seen, would, addressed = None, Seen(), Seen(), Addressed()
        if tool is not None:
            found = await self._check(tool, call, state)
            seen = await self._look(tool, call, state)
            needs = found if isinstance(found, NeedsConnect) else seen.needs
            if needs is not None and call.state is CallState.PROPOSED:
                return await self._change(ask(self.run, self.agent, [self._connecting(call, needs)]))
            problem = _wants(found, tool) if isinstance(found, NeedsConnect) else found
            addressed = await self.hooks.addressed(state.task, tool, call)
            if seen.needs is not None:
                seen = replace(seen, problem=_wants(seen.needs, tool))
            problem = problem or seen.problem or addressed.problem
            problem = problem or await self.hooks.problem(state.task, call)
            would = await self._preview(tool, call, state)
        move = mark(
            self.run,
            self.agent,
            call.id,
            tool=None if tool is None else ToolFacts(digest=tool.digest, risk=tool.risk),
            sent_key=addressed.key,
            reached=addressed.reached,
            slip=slip(self.ids),
            problem=problem,
            seen=seen.value,
            preview=would.value,
        )
        own = call.effect_key or addressed.key or call.id
        sent_key = call.sent_key or addressed.key
        need = Need(call=call.id, effect_key=own, sent_key=sent_key, roster=True, starts=True)
        marked = await self._change(move, need)
        if not isinstance(marked, Marked):
            return await self._repeating(call.id, marked)
        ran = await self._handler(marked.call, marked.state)
        return await self._outcome(marked.call, ran, tool)

    async def _repeating(self, call_id: CallId, answer: Answer) -> Answer:
        """*answer*, with the count of how often the call it did not let run came out just so before (I25)."""
        if isinstance(answer, Fenced):
            return answer
        ended = next((c for c in answer.calls if c.id == call_id and c.settled), None)
        if ended is None or ended.outcome is None or ended.round is None:
            return answer
        history = self._history or await self.store.tasks.transcript(self.run.ref)
        same = (ended, Result(outcome=ended.outcome, result=ended.result))
        count = repeated(history.messages, history.calls, [same]).get(call_id, 0)
        if count == 0:
            return answer
        return await self._change(repeating(self.run, self.agent, count))

    async def _outcome(self, call: Call, ran: _Ran, tool: Tool | None) -> Answer:
        needs: Json = None
        if ran.needs is not None:
            needs = {"account": ran.needs.account, "url": ran.needs.url, **_outside(tool)}
        move = outcome(
            self.run,
            self.agent,
            call.id,
            ran.result,
            slip=slip(self.ids),
            taints=ran.taints,
            private=ran.private,
            looks=tool is not None and tool.reconcile is not None,
            needs=needs,
            reserve=self._to_reserve,
        )
        answer = self._keep(await self._change(move, Need(call=call.id, usage=True)))
        if ran.result.outcome is not Outcome.UNKNOWN or isinstance(answer, Fenced) or tool is None:
            return answer
        return await self._look_up(call, tool, answer)

    async def _look_up(self, call: Call, tool: Tool, state: RunState) -> Answer:
        """An unknown call is looked up at its destination, where its tool can (C22).

        Only that it went out is believed at once: what is not there may still be on its way, sent by a
        handler that outlived its time-out or its lease (K13, K15). That it did not is for a person to say.
        """
        if await went_out(tool, call.args, self._context(call, state), self.clock) is not True:
            return state
        return await self._change(found_out(self.run, self.agent, call.id), Need(call=call.id))

    async def _handler(self, call: Call, state: RunState) -> _Ran:
        """The call's result, and what else comes of it. Never raises but a cancellation."""
        tool = self._tool(call, state)
        if tool is None:
            return _Ran(result=error(Outcome.FAILED, f"The tool {call.tool} is gone."))
        done = await run_tool(tool, call.args, self._context(call, state), self.clock, self.redactor)
        result = Result(outcome=done.outcome, result=done.result)
        await self.hooks.ran(state.task, call, result)
        if tool.taints:
            result = replace(result, result={**result.result, FENCE: self.ids.nonce()})
        own = done.outcome is Outcome.SUCCEEDED and not tool.taints and tool.name in self.host.tools
        return _Ran(result=result, taints=tool.taints, private=own, needs=done.needs)

    async def _ask(self, calls: Sequence[Call], state: RunState) -> Answer:
        asks = [await self._asking(call, state) for call in calls]
        return await self._change(ask(self.run, self.agent, asks))

    async def _asking(self, call: Call, state: RunState) -> Asking:
        """What the tool's check says, looked at before a person is asked."""
        tool = self._tool(call, state)
        if tool is None:
            return Asking(call_id=call.id, slip=slip(self.ids), problem=f"The tool {call.tool} is gone.")
        found = await self._check(tool, call, state)
        if isinstance(found, NeedsConnect):
            return self._connecting(call, found)
        seen = await self._look(tool, call, state)
        if seen.needs is not None:
            return self._connecting(call, seen.needs)
        would = await self._preview(tool, call, state)
        if would.needs is not None:
            return self._connecting(call, would.needs)
        facts = (("seen", seen.value), ("preview", would.value))
        shown = {k: v for k, v in facts if v is not None}
        return Asking(call_id=call.id, slip=slip(self.ids), problem=found or seen.problem, shown=shown)

    async def _check(self, tool: Tool, call: Call, state: RunState) -> str | NeedsConnect | None:
        return await check(tool, call.args, self._context(call, state), self.clock, self.redactor)

    async def _look(self, tool: Tool, call: Call, state: RunState) -> Seen:
        return await look(tool, call.args, self._context(call, state), self.clock, self.redactor)

    async def _preview(self, tool: Tool, call: Call, state: RunState) -> Seen:
        return await preview(tool, call.args, self._context(call, state), self.clock, self.redactor)

    def _tool(self, call: Call, state: RunState) -> Tool | None:
        return tools_of(self.host, state.task, self.agent).get(call.tool)

    def _context(self, call: Call, state: RunState) -> ToolContext:
        return context_of(state.task, call)

    # ── the model ────────────────────────────────────────────────────────────────────────────

    async def _ask_model(self, state: RunState, *, wrap: bool) -> Answer | None:
        """Reserve, request, record. A busy service delays the task; one that refuses it ends it."""
        if self._reserved is None:
            move = reserve(self.run, self.agent, self._tokens, self._signals(state))
            answer = self._keep(await self._change(move, _USAGE))
            if self._reserved is None or isinstance(answer, Fenced):
                return answer
            state = answer
        try:
            model = await self.hooks.model(state.task, self.agent) or self.default_model
            system = await self.hooks.system_prompt(state.task, self.agent)
        except HostFailed:
            self._failing = True
        if self._failing:
            await self._delay(APP_AWAY)
            return None
        if model is None:
            words = "No model is set up: set MODEL and a model key, or give the host a model."
            return await self._fail("model", words)
        said = self._history = await self.store.tasks.transcript(self.run.ref)
        if said.messages and said.messages[-1].epoch > self.run.epoch:
            return Fenced(run=self.run)  # another run has gone on meanwhile; no request is spent on it
        tools = tools_of(self.host, state.task, self.agent)
        now = await self._now(state.task)
        request = Request(
            turns=turns(
                f"{system}{listed(self.agent.skills)}", said.messages, said.calls, now=now, wrap=wrap
            ),
            tools=() if wrap else offered(tools, state.task),
            max_tokens=self.agent.limits.reply_tokens,
            model=self.agent.model,
        )
        request = self.redactor.clean(request)
        if self._surely_too_long(request) and clearing(said.messages, said.calls) is not None:
            return replace(state, size=Size.CLEARABLE)
        try:
            reply = await model.reply(request)
        except ModelBusy as busy:
            await self._delay(MODEL_AWAY, busy.retry_after_seconds)
            return None
        except ModelOverflow:
            can_clear = clearing(said.messages, said.calls) is not None
            return replace(state, size=Size.CLEARABLE if can_clear else Size.TOO_BIG)
        except ModelError as refused:
            return await self._fail("model", self.redactor.redact(str(refused)))
        proposals = propose(reply.calls, tools, declined(said.messages, said.calls), self.ids)
        spent = self._spent(reply)
        move_reply = record_reply(self.run, self.agent, self._kept(reply), proposals, spent, wrap=wrap)
        answer = await self._change(move_reply)
        if reply.calls:
            await self.hooks.thinks(state.task, reply.text)
        return answer

    def _kept(self, reply: ModelReply) -> ModelReply:
        if reply.text is None:
            return reply
        return replace(reply, text=storable(self.redactor.redact(reply.text), REPLY_CAP))

    async def _now(self, task: Task) -> str:
        """The time as the host has it read; the same for a while, so that requests begin alike."""
        at = self.clock.now()
        if self._time is None or at - self._time[0] >= SAME_TIME:
            self._time = at, await self.hooks.time(task, self._organization)
        return self._time[1]

    def _surely_too_long(self, request: Request) -> bool:
        """The agent's window is known, and too small; where it isn't, the service says so."""
        window = self.agent.limits.window
        return window is not None and tokens(request) > window

    async def _compact(self, state: RunState) -> Answer:
        """One row more, which clears old results (K7); cut before its commit, it is all done again."""
        said = await self.store.tasks.transcript(self.run.ref)
        found = clearing(said.messages, said.calls)
        if found is None:
            return replace(state, size=Size.TOO_BIG)
        return await self._change(note(self.run, self.agent, found.row()))

    async def _delay(self, notice: str, seconds: float | None = None) -> None:
        """The task waits for the model's service or the app, with one notice (ports-and-tables.md §4.10)."""
        await self._change(delay(self.run, seconds=seconds, notice=notice, release=self._unused()))

    async def _fail(self, reason: str, words: str) -> Answer | None:
        move = fail(self.run, self.agent, reason, words, release=self._unused())
        answer = await self._change(move)
        if answer is None:
            self._reserved = None
        return answer

    def _unused(self) -> Spend | None:
        """What takes back the reservation held, if one is."""
        held = self._reserved
        return None if held is None else replace(held, reserved=-held.reserved)

    @property
    def _tokens(self) -> int:
        """What the next request may cost at the most in output; its input is settled when it is known."""
        return self.agent.limits.reply_tokens

    @property
    def _to_reserve(self) -> int | None:
        """What a change on the way to the next request reserves; None where that is held already."""
        return self._tokens if self._reserved is None else None

    def _spent(self, reply: ModelReply) -> tuple[Spend, ...]:
        """The reservation becomes what was used, in the hour it was reserved in.

        A service that doesn't say what was used is taken to have used what was reserved.
        """
        if self._reserved is None:
            return ()
        held, self._reserved = self._reserved, None
        return (Spend(hour=held.hour, reserved=-held.reserved, used=reply.usage.total or held.reserved),)

    def _keep(self, answer: tuple[RunState, Spend | None] | Fenced) -> Answer:
        if isinstance(answer, Fenced):
            return answer
        state, reserved = answer
        self._reserved = reserved or self._reserved
        return state

    def _signals(self, state: RunState) -> Signals:
        return Signals(refusal=state.refusal, size=state.size, overtime=state.over == OVERTIME)

    async def _change(self, move: Move[R], need: Need = NOTHING) -> R:
        """*move* is written, and the host has been told of the parks it opened."""
        opened: list[ParkView] = []

        def watched(work: Work, at: datetime) -> tuple[Change | Lost, R]:
            change, answer = move(work, at)
            opened[:] = [] if isinstance(change, Lost) else _opened(work.after(change, at), change)
            return change, answer

        watched.__qualname__ = move.__qualname__
        answer = await self.store.tasks.change(self.run.ref, watched, need)
        if opened:
            await self.hooks.parked(opened[0].task, opened)
        return answer


def _outside(tool: Tool | None) -> Json:
    """On a card that asks for an account: its name came from outside, and the model is not told it (I27)."""
    return {OUTSIDE: True} if tool is not None and tool.taints else {}


def _wants(needs: NeedsConnect, tool: Tool) -> str:
    return "its account is not connected" if tool.taints else str(needs)


def _opened(after: Work, change: Change) -> list[ParkView]:
    """The parks that *change* has opened, with what they are about."""
    return [ParkView(park=p, task=after.task, call=after.call(p.call_id)) for p in change.parks if p.open]


_SETTLED_WORDS = {
    Outcome.FAILED: "Not run: the process died again and again at this step.",
    Outcome.WITHDRAWN: "Not run: the task was stopped.",
    Outcome.SKIPPED: "Not run: an earlier action of this round did not go through.",
}


_WHY = {
    TOO_LONG: "The conversation no longer fits the model.",
    REFUSAL: "The model refused to answer, or its service held the answer back, without a reason.",
}
"""Why an episode failed, where the rows hold no words for it."""


def _end_result(step: End, state: RunState) -> Json:
    """What the episode ends with: the finish tool's value, the agent's words, or why there are none."""
    if state.finish is not MISSING:
        return {"value": state.finish}
    if step.outcome is EndKind.REFUSED:
        return {"error": step.reason}
    if step.reason in _WHY:
        return {"error": _WHY[step.reason]}
    text = state.reply.text if state.reply is not None else None
    return {"value": text} if text else None
