"""What happens in the demo, and what is checked when it is over."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from time import monotonic

from rich import box
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from adapters.console import ConsoleSurface, Terminal, led, text
from bot.commands import audit
from bot.commands.ask import open_task
from bot.commands.session import SURFACE, Session, person_for, terminal
from bot.demo.shop import CURRENCY, Books
from bot.demo.stage import OWNER, DemoFailed, Stage
from bot.settings import Settings, audit_key
from bot.wiring import opened
from core.calls import Call, CallState, Outcome
from core.parks import Park, ParkKind
from core.ports import Query, Story
from core.poster import Poster
from core.tasks import Task, TaskState

MUG, POSTER = "A7", "B2"
ASKED, GIVEN, WHOLE = Decimal("24.00"), Decimal("18.50"), Decimal("12.00")
WANTED = {MUG: GIVEN, POSTER: WHOLE}
FIRST = "refund the mug that arrived broken"
SECOND = "and refund the poster, it came creased"

_EVERY = Query()

INTRO = (
    "The model's words are scripted; nothing else is. The orders, tasks and approvals are rows of two SQLite "
    "files, every worker and every command is a process of its own, kill -9 is the real one, and a refund is "
    "a row the shop's tool writes. No network, no key."
)


@dataclass(kw_only=True, slots=True)
class Acts:
    """The play on one *stage*; *kept*: the folder that stays, *kill_at*: the point at which a worker dies."""

    stage: Stage
    kept: Path | None
    kill_at: int | None
    started: float
    screen: Terminal = field(default_factory=terminal)
    here: Session = field(init=False)
    poster: Poster = field(init=False)
    books: Books = field(init=False)

    async def play(self, first: Process) -> None:
        """Both acts, then the check. Raises DemoFailed."""
        self.screen.print(Panel(Text(INTRO), title="Gatepost demo", title_align="left", border_style="cyan"))
        self.books = Books(self.stage.folder / "shop.db")
        self.books.stock()
        async with AsyncExitStack() as closing:
            settings = Settings.from_env(self.stage.env)
            app = await closing.enter_async_context(opened(settings))
            self.here = Session(app=app, who=await person_for(app, OWNER, None), user=OWNER)
            surface = ConsoleSurface(self.screen, lambda key: app.desk.agent(key).name)
            self.poster = Poster(desk=app.desk, clock=app.clock, name=SURFACE, surface=surface)
            self._print_refunds("Refunds before")
            if self.kill_at is None:
                await self._fixed(first)
            else:
                await self._anywhere()
            await self._posts()
            await self.stage.leave()
            await self._check(settings)

    # ── the two fixed kills ──────────────────────────────────────────────────────────────────

    async def _fixed(self, first: Process) -> None:
        self._heading("Act one: a refund waits, and its worker dies")
        task = await self._ask(FIRST)
        call = await self._parked(task)
        await self._posts()
        await self.stage.kill(first)
        self._note(
            f"kill -9 {first.pid}: the worker is gone. What waits is a row, and its card is a view of it."
        )
        second, _ = await asyncio.gather(
            self.stage.start_worker(slow=True), self._command("edit", call, f"amount={GIVEN}")
        )
        self._note(f"Worker {second.pid}, a new process, finds the approved call and runs it.")
        await self._ended(task)
        await self._posts()

        self._heading("Act two: a worker dies in the middle of a refund")
        task = await self._ask(SECOND)
        call = await self._parked(task)
        await self._posts()
        await self._command("approve", call)
        await self.stage.until(f"the refund of {POSTER}", self._paid_back)
        await self.stage.kill(second)
        self._note(
            f"kill -9 {second.pid}: the refund's row is written, the provider had not answered yet. "
            "Did it go out? No process knows, so none repeats it."
        )
        third = await self.stage.start_worker()
        self._note(f"Worker {third.pid} waits for the dead one's lease to run out, and finds the call.")
        await self.stage.until("the unknown call", lambda: self._open(task, ParkKind.UNKNOWN))
        await self._ended(task)
        await self._posts()
        self._note(f"{OWNER} looks at the provider's own list: one refund on {POSTER}. It went out.")
        await self._command("settle", call, "went-out")

    async def _paid_back(self) -> bool | None:
        return any(r.order_id == POSTER for r in self.books.refunds()) or None

    # ── a kill at any point ──────────────────────────────────────────────────────────────────

    async def _anywhere(self) -> None:
        """Both requests, one after the other, with whatever a death at the N-th point leaves behind."""
        self._note(f"The first worker dies at point {self.kill_at} of its runs.")
        for title, goal in (("Act one", FIRST), ("Act two", SECOND)):
            self._heading(title)
            task = await self._ask(goal)
            while (stop := await self._next_stop(task)).open:
                await self._posts()
                await self._answer(stop.open[0], stop.story)
            await self._posts()

    async def _next_stop(self, task: Task) -> "Stop":
        """Where the task stands once it waits for a person or is over."""

        async def look() -> Stop | None:
            return await self._stop(task)

        return await self.stage.until(f"the next stop of {task.code}", look)

    async def _stop(self, task: Task) -> "Stop | None":
        """None while a worker can go on; where the last one has died, another is started."""
        if self.stage.found_dead():
            worker = await self.stage.start_worker()
            self._note(f"The worker has died. Worker {worker.pid}, a new process, goes on from the rows.")
        story = await self._story(task)
        waiting = [p for p in story.parks if p.open]
        executing = any(c.state is CallState.EXECUTING for c in story.calls)
        return Stop(story=story, open=waiting) if (waiting or story.task.ended) and not executing else None

    async def _answer(self, park: Park, story: Story) -> None:
        """What the owner of the fixed play would say; of an unknown call the truth, by the shop's rows."""
        call = next(c for c in story.calls if c.id == park.call_id)
        code = f"{story.task.code}.{call.number}"
        if park.kind is ParkKind.UNKNOWN:
            there = any(r.call_id == call.id for r in self.books.refunds())
            self._note(f"{OWNER} looks at the provider's own list: it {'is' if there else 'is not'} there.")
            await self._command("settle", code, "went-out" if there else "did-not")
        elif call.args["order_id"] == MUG:
            await self._command("edit", code, f"amount={GIVEN}")
        else:
            await self._command("approve", code)

    # ── rows ─────────────────────────────────────────────────────────────────────────────────

    async def _ask(self, goal: str) -> Task:
        self.screen.print(led(f"{OWNER}: ", "bold cyan").append(goal))
        return await open_task(self.here, goal)

    async def _story(self, task: Task) -> Story:
        return await self.here.app.store.ledger.story(task.ref)

    async def _open(self, task: Task, kind: ParkKind) -> Call | None:
        story = await self._story(task)
        about = {p.call_id for p in story.parks if p.open and p.kind is kind}
        return next((c for c in story.calls if c.id in about), None)

    async def _parked(self, task: Task) -> str:
        """The code of the call that waits, once the task rests on it."""

        async def look() -> str | None:
            call = await self._open(task, ParkKind.APPROVAL)
            resting = (await self._story(task)).task.state is TaskState.WAITING
            return f"{task.code}.{call.number}" if call and resting else None

        return await self.stage.until("a call that asks", look)

    async def _ended(self, task: Task) -> Task:
        async def look() -> Task | None:
            now = (await self._story(task)).task
            return now if now.ended else None

        return await self.stage.until(f"the end of {task.code}", look)

    # ── what is shown ────────────────────────────────────────────────────────────────────────

    async def _posts(self) -> None:
        await self.poster.deliver_all()

    async def _command(self, *arguments: str) -> None:
        line = led("$ ", "bold green").append(f"python -m bot {' '.join(arguments)}", "bold")
        self.screen.print(line)
        self.screen.print(Padding(text(await self.stage.command(*arguments), lines=True), (0, 0, 0, 2)))

    def _heading(self, words: str) -> None:
        self.screen.print()
        self.screen.print(Rule(Text(words, style="bold"), align="left", style="cyan"))

    def _note(self, words: str) -> None:
        self.screen.print(Text(words, style="dim"))

    def _print_refunds(self, title: str) -> None:
        table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
        for name in ("Order", "Item", "Customer", "Paid", "Refunded", "Refunds"):
            table.add_column(name, justify="right" if name in ("Paid", "Refunded", "Refunds") else "left")
        refunds = self.books.refunds()
        for order in self.books.orders():
            rows = [r for r in refunds if r.order_id == order["id"]]
            style = "bold" if rows else "dim"
            cells = (
                order["id"],
                order["item"],
                order["customer"],
                f"{order['paid']} {CURRENCY}",
                f"{order['refunded']} {CURRENCY}" if rows else "–",
                str(len(rows)),
            )
            table.add_row(*(Text(str(cell), style=style) for cell in cells))
        self.screen.print(table)

    # ── the check ────────────────────────────────────────────────────────────────────────────

    async def _check(self, settings: Settings) -> None:
        """Everything is as promised. Raises DemoFailed with the first thing that is not."""
        self._heading("The check")
        self._print_refunds("Refunds after")
        store, org = self.here.app.store, self.here.who.org
        stories = [await self._story(task) for task in await store.ledger.find(org, _EVERY)]
        wrong = [*self._wrong_refunds(stories), *_wrong_stories(stories)]
        while await store.ledger.unsealed(org, 1):
            await store.ledger.seal(org, audit.PAGE)
        trail = await audit.check(store.ledger, org, audit_key(settings))
        wrong += [audit.finding_words(f) for f in trail.findings]
        if wrong:
            raise DemoFailed(f"not as promised: {'; '.join(wrong)}")
        self.screen.print(text(f"Audit: {audit.whole_words(trail)}.", "green"))
        took = f"{monotonic() - self.started:.1f} s"
        if self.kept:
            self.screen.print(text(f"Kept in {self.kept}: shop.db, gatepost.db and its key."))
        if self.kill_at is None:
            words = f"Two refunds, each once, after {self.stage.kills} kills, in {took}."
        else:
            words = f"Killed {_times(self.stage.kills)} at point {self.kill_at}; no refund twice, in {took}."
        self.screen.print(Text(words, style="bold green"))

    def _wrong_refunds(self, stories: Sequence[Story]) -> list[str]:
        """At most one row an order, of the right sum; none only where the ledger says it did not go out."""
        wrong = []
        refunds = self.books.refunds()
        for order_id, amount in WANTED.items():
            paid = [r.amount for r in refunds if r.order_id == order_id]
            calls = [c for s in stories for c in s.calls if c.args.get("order_id") == order_id]
            did_not = bool(calls) and all(c.outcome is Outcome.FAILED for c in calls)
            if paid != [amount] and not (not paid and did_not and self.kill_at is not None):
                wrong.append(f"{order_id} has refunds of {', '.join(map(str, paid)) or 'nothing'}")
        if len(refunds) > len(WANTED):
            wrong.append(f"there are {len(refunds)} refunds")
        return wrong


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """A task that waits for a person, *open* being what for, or has ended."""

    story: Story
    open: list[Park]


def _wrong_stories(stories: Sequence[Story]) -> list[str]:
    """Both tasks are done; each refund was started once, and the edited one ran as it was decided."""
    wrong = [f"{s.task.code} is {s.task.state}" for s in stories if s.task.state is not TaskState.DONE]
    if len(stories) != len(WANTED):
        wrong.append(f"there are {len(stories)} tasks")
    for story in stories:
        for call in (c for c in story.calls if c.tool == "refund"):
            starts = sum(e.move == "mark" and e.call_id == call.id for e in story.audit)
            if starts > 1:
                wrong.append(f"{story.task.code}.{call.number} was started {starts} times")
            if call.args["order_id"] == MUG:
                if (call.proposed_args["amount"], call.args["amount"]) != (ASKED, GIVEN):
                    wrong.append(f"{story.task.code}.{call.number} ran with {call.args['amount']}")
    return wrong


def _times(n: int) -> str:
    return {0: "never (its runs have fewer points)", 1: "once"}.get(n, f"{n} times")
