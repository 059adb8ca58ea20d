"""The run: a message becomes a card, a click becomes one refund, an edit another, and both are reported.

Everything between is real: our two processes over a SQLite file, an emulated Slack, a mocked model that
refuses (`--strict`) whatever its fixtures don't hold. Each step prints what was seen; one ✖ makes the exit
status 1.
"""

import asyncio
import json
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import aiohttp

from bot.demo.shop import Books
from bot.settings import Settings
from tests.node import NodeMissing, installed
from tests.partners.between import Between, Passed, between
from tests.partners.processes import CACHE, FOLDER, ROOT, Failed, Processes, free_port, ran
from tests.partners.workspace import (
    BOT_TOKEN,
    BOT_USER,
    Answered,
    Message,
    Workspace,
    input_named,
    labels,
)

OWNER = "ada"
MODEL, MODEL_KEY = "partner-1", "partners-key"
"""The only ones that fixtures/refunds.json and the mocked service take."""
PATIENCE_SECONDS = 30.0
LOOK_SECONDS = 0.2
ROUNDS = 6
"""The model's: for each of the two tasks it reads, proposes and reports."""

T = TypeVar("T")


@dataclass(kw_only=True, slots=True)
class Steps:
    """The lines that were printed; *failed*: how many of them are a ✖."""

    passed: int = 0
    failed: int = 0

    def saw(self, step: str, seen: object) -> None:
        self.passed += 1
        _say(f"✔ {step}: {_line(seen)}")

    def missed(self, step: str, seen: object) -> None:
        self.failed += 1
        _say(f"✖ {step}: {_line(seen, 2000)}")

    def holds(self, step: str, seen: object, *, true: bool) -> None:
        """The step is done, and was seen to be *true* or not."""
        (self.saw if true else self.missed)(step, seen)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """A part of the run: what fails in it ends it, and not the parts after it."""
        _say(f"\n{name}")
        try:
            yield
        except Failed as error:
            self.missed("this part went no further", error)


@dataclass(kw_only=True, slots=True)
class Stage:
    """All that takes part in one run."""

    steps: Steps
    processes: Processes
    between: Between
    ada: Workspace
    books: Books
    env: dict[str, str]
    model_url: str

    async def until(self, what: str, look: Callable[[], Awaitable[T | None]]) -> T:
        """What *look* answers once that is something. Raises Failed after a while, or when the bot left."""
        deadline = monotonic() + PATIENCE_SECONDS
        while (found := await look()) is None:
            for name in ("web", "worker"):
                self.processes.alive(name)
            if monotonic() > deadline:
                raise Failed(f"waited {PATIENCE_SECONDS:g} s for {what}; {await self._seen()}")
            await asyncio.sleep(LOOK_SECONDS)
        return found

    async def _seen(self) -> str:
        messages = await self.ada.messages()
        texts = [f"{message.get('user')}: {_line(message.get('text'), 80)}" for message in messages]
        calls = ", ".join(f"{c.method} {c.answer.get('error', 'ok')}" for c in self.between.passed[-6:])
        return f"there stands: {' | '.join(texts) or 'nothing'}; the bot's last calls: {calls or 'none'}"

    async def bot(self, *arguments: str) -> str:
        """What a command of ours printed."""
        return await ran([sys.executable, "-m", "bot", *arguments], self.env)

    async def refunds(self) -> list[tuple[str, Decimal]]:
        """What the shop paid back, in order."""
        if not self.books.path.exists():
            return []
        self.books.stock()
        return [(refund.order_id, refund.amount) for refund in self.books.refunds()]


# ── the parts ────────────────────────────────────────────────────────────────────────────────


async def approving(stage: Stage) -> None:
    """A direct message starts a task; its call waits for a click, and one click makes one refund."""
    steps, ada = stage.steps, stage.ada
    text = "refund the mug that arrived broken"
    ts = await ada.writes(ada.direct, text)
    forged = await ada.tells(ada.direct, ts, text, secret="somebody else's")
    steps.holds("a message that Slack did not sign is refused", forged, true=forged.status == 401)
    _took(steps, "a message is taken", await ada.tells(ada.direct, ts, text))
    card = await _card(stage, "its card is posted", "A7")
    forged = await ada.presses(card, "Approve", secret="somebody else's")
    steps.holds("a click that Slack did not sign is refused", forged, true=forged.status == 401)
    nothing = await stage.refunds()
    steps.holds("nothing was refunded so far", nothing or "no refund", true=not nothing)

    _took(steps, "a click on Approve is taken", await ada.presses(card, "Approve"))
    await _refunded(stage, ("A7", Decimal("24.00")))
    await _decided(stage, card)
    await _reported(stage, "I refunded 24.00 EUR on A7.")
    before = len(_private(stage))
    again = await ada.presses(card, "Approve")
    _took(steps, "a second click is taken", again)

    async def told() -> str | None:
        return again.text or next(iter(_private(stage)[before:]), None)

    steps.saw("and its sender alone is told", await stage.until("an answer to who came too late", told))


async def editing(stage: Stage) -> None:
    """The bot is named in a channel; Edit opens a modal that keeps to the tool's limits, and is run."""
    steps, ada = stage.steps, stage.ada
    text = f"<@{BOT_USER}> refund the poster that arrived creased"
    ts = await ada.writes(ada.orders, text)
    _took(steps, "a message that names the bot is taken", await ada.tells(ada.orders, ts, text))
    card = await _card(stage, "its card is posted", "B2")
    steps.holds("in the message's thread", card.get("thread_ts"), true=card.get("thread_ts") == ts)

    _took(steps, "a click on Edit is taken", await ada.presses(card, "Edit"))
    view = await stage.until("a modal", _opened(stage))
    amount = input_named(view, "amount")["element"].get("initial_value")
    steps.holds("a modal is open with the amount", amount, true=Decimal(str(amount)) == 12)
    refused = await ada.submits(view, {"amount": "250"})
    at_field = refused.body.get("response_action") == "errors"
    steps.holds("an amount over the tool's limit is refused at its field", refused, true=at_field)

    sent = await ada.submits(view, {"amount": "7.50"})
    if sent.body.get("response_action") == "errors":
        raise Failed(f"the modal refuses 7.50: {sent}")
    _took(steps, "another amount is taken", sent)
    await _refunded(stage, ("B2", Decimal("7.50")))
    await _decided(stage, card)
    await _reported(stage, "I refunded 7.50 EUR on B2; you changed it from 12.00.")


async def closing(stage: Stage) -> None:
    """Nothing happened twice, nobody refused anything, the trail holds, both processes leave when told."""
    steps = stage.steps
    made = await stage.refunds()
    once = [("A7", Decimal("24.00")), ("B2", Decimal("7.50"))]
    steps.holds("each refund was made once", _paid(made), true=made == once)
    await _asked_the_model(stage)
    _asked_slack(steps, stage.between.passed)
    tasks = await stage.bot("tasks")
    steps.holds("there are two tasks", tasks.replace("\n", " / "), true="t-2" in tasks and "t-3" not in tasks)
    steps.saw("the audit trail holds", await stage.bot("audit", "verify"))
    for name in ("web", "worker"):
        status = await stage.processes.leave(name)
        steps.holds(f"{name} leaves on SIGTERM", f"status {status}", true=status == 0)


async def _asked_the_model(stage: Stage) -> None:
    """The mocked model had an answer to each request, and was asked no more often than that."""
    headers = {"Authorization": f"Bearer {MODEL_KEY}"}
    async with stage.ada.session.get(f"{stage.model_url}/__aimock/journal", headers=headers) as response:
        journal = await response.json()
    strange = [_unmatched(entry) for entry in journal if entry["response"]["status"] != 200]
    seen = "; ".join(strange) or f"{len(journal)} requests, a fixture for each"
    stage.steps.holds("the model knew each request", seen, true=not strange and len(journal) == ROUNDS)


def _unmatched(entry: Any) -> str:
    turns = [f"{m['role']}: {_line(m.get('content'), 100)}" for m in entry["body"]["messages"][-2:]]
    return f"{entry['response']['status']} to {' | '.join(turns)}"


def _asked_slack(steps: Steps, passed: list[Passed]) -> None:
    """The emulated Slack took each call; a method that it lacks is named, and is no fault of ours."""
    refused = [f"{c.method}: {c.answer.get('error', c.status)}" for c in passed if not (c.ok or c.unknown)]
    lacking = sorted({call.method for call in passed if call.unknown})
    methods = sorted({call.method for call in passed if call.ok})
    seen = f"{len(passed)} calls of {', '.join(methods)}"
    seen += f"; it has no {', '.join(lacking)}" if lacking else ""
    steps.holds("the emulated Slack took each call", "; ".join(refused) or seen, true=not refused)


# ── what is looked for ───────────────────────────────────────────────────────────────────────


def _took(steps: Steps, step: str, answered: Answered) -> None:
    """Raises Failed where the bot did not answer 200."""
    if answered.status != 200:
        raise Failed(f"{step}: the bot answered {answered}")
    steps.saw(step, answered)


async def _card(stage: Stage, step: str, order: str) -> Message:
    """The message with an Approve button that is about *order*."""

    async def look() -> Message | None:
        for message in await stage.ada.messages():
            if any("Approve" in label for label in labels(message)) and order in _words(message):
                return message
        return None

    card = await stage.until(f"a card about {order}", look)
    stage.steps.saw(step, f"{card.get('text')} [{' · '.join(labels(card))}]")
    return card


async def _decided(stage: Stage, card: Message) -> None:
    """The same message has no Approve any more."""

    async def look() -> Message | None:
        for message in await stage.ada.messages():
            if message["ts"] == card["ts"] and not any("Approve" in label for label in labels(message)):
                return message
        return None

    now = await stage.until("the card without its buttons", look)
    said = "pproved" in _words(now)
    stage.steps.holds("the card says that it is decided, without its buttons", now.get("text"), true=said)


async def _refunded(stage: Stage, wanted: tuple[str, Decimal]) -> None:
    async def look() -> bool | None:
        return wanted in await stage.refunds() or None

    await stage.until(f"the refund of {wanted[1]} on {wanted[0]}", look)
    stage.steps.saw("the refund is made", _paid([wanted]))


async def _reported(stage: Stage, words: str) -> None:
    """The bot said *words* where the task was asked for."""

    async def look() -> Message | None:
        said = (m for m in await stage.ada.messages() if m.get("user") == BOT_USER)
        return next((message for message in said if words in _words(message)), None)

    report = await stage.until(f"a report that says: {words}", look)
    stage.steps.saw("the report is posted", report.get("text") or words)


def _opened(stage: Stage) -> Callable[[], Awaitable[Any | None]]:
    """The newest modal as it stands, once it has an input: as it was opened, or as it was updated since."""

    async def look() -> Any | None:
        opened = stage.between.of("views.open")
        if not opened:
            return None
        view = opened[-1].answer["view"]
        updated = [c.answer["view"] for c in stage.between.of("views.update")]
        view = next((v for v in reversed(updated) if v["id"] == view["id"]), view)
        return view if any(block["type"] == "input" for block in view["blocks"]) else None

    return look


def _private(stage: Stage) -> list[str]:
    """What one person alone was told so far: at a response_url, by a message only they see, or in a modal."""
    calls = [c for c in stage.between.passed if c.ok and c.method in ("chat.postEphemeral", "views.open")]
    said = [*stage.between.replies, *(dict(call.sent) for call in calls)]
    return [json.dumps(each, ensure_ascii=False) for each in said]


def _words(message: Message) -> str:
    """All text of a message, as one string."""
    return json.dumps(message, ensure_ascii=False)


def _paid(refunds: list[tuple[str, Decimal]]) -> str:
    return ", ".join(f"{amount} on {order}" for order, amount in refunds) or "none"


def _line(seen: object, most: int = 240) -> str:
    text = " ".join(str(seen).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


# ── the stage ────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def staged(packages: Path, steps: Steps) -> AsyncIterator[Stage]:
    """Partners and bot are running and know each other; none of it is left afterwards. Raises Failed."""
    async with AsyncExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="gatepost-partners-")))
        processes = Processes(folder=folder)
        closing.push_async_callback(processes.end)
        session = await closing.enter_async_context(aiohttp.ClientSession())
        slack_url = await _start_slack(processes, packages)
        model_url = await _start_model(processes, packages)
        steps.saw("the partners are running", f"emulate at {slack_url}, aimock at {model_url}")
        watched = await closing.enter_async_context(between(slack_url))
        secret, port = secrets.token_hex(16), free_port()
        env = _environment(folder, watched.api_url, f"{model_url}/v1", secret, port)
        ada = Workspace(
            session=session,
            slack_url=slack_url,
            bot_url=f"http://127.0.0.1:{port}",
            secret=secret,
            response_url=watched.response_url,
        )
        await ada.enter()
        stage = Stage(
            steps=steps,
            processes=processes,
            between=watched,
            ada=ada,
            books=Books(folder / "shop.db"),
            env=env,
            model_url=model_url,
        )
        try:
            await _start_bot(stage, port)
            yield stage
        finally:
            if steps.failed or sys.exception() is not None:
                _show_logs(processes)


async def _start_slack(processes: Processes, packages: Path) -> str:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    seed = str(FOLDER / "emulate.config.json")
    program = str(packages / "emulate" / "dist" / "index.js")
    options = ["--service", "slack", "--port", str(port), "--base-url", url, "--seed", seed]
    await processes.start("emulate", ["node", program, "start", *options], dict(os.environ))
    await processes.listening("emulate", port)
    return url


async def _start_model(processes: Processes, packages: Path) -> str:
    port = free_port()
    program = str(packages / "@copilotkit" / "aimock" / "dist" / "cli.js")
    options = ["--port", str(port), "--fixtures", str(FOLDER / "fixtures"), "--strict", "--validate-on-load"]
    # Without the first of these a fixture of another turn is served with a warning, which is not strict.
    env = {**os.environ, "AIMOCK_STRICT_TURN_INDEX": "1", "AIMOCK_API_KEYS": MODEL_KEY}
    await processes.start("aimock", ["node", program, *options], env)
    await processes.listening("aimock", port)
    return f"http://127.0.0.1:{port}"


def _environment(folder: Path, slack: str, model: str, secret: str, port: int) -> dict[str, str]:
    """What the bot runs with: nothing of its settings is inherited. HOST_APP stays unset, since the example's
    own scripted model gives way to a real one only where it is the default."""
    ours = {name.upper() for name in Settings.model_fields} | {"DYNO", "SHOP_SLOW_ORDERS"}
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    return {
        **inherited,
        "DATABASE_URL": f"sqlite+aiosqlite:///{folder / 'gatepost.db'}",
        "SHOP_DB": str(folder / "shop.db"),
        "AGENTS_DIR": str(ROOT / "agents"),
        "AUDIT_KEY": secrets.token_hex(32),
        "SECRET_KEY": secrets.token_hex(32),
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "SLACK_SIGNING_SECRET": secret,
        "SLACK_API_URL": slack,
        "PORT": str(port),
        "OPENAI_API_KEY": MODEL_KEY,
        "OPENAI_BASE_URL": model,
        "MODEL": MODEL,
        "LOGNAME": OWNER,  # who the terminal's user is, in every process
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }


async def _start_bot(stage: Stage, port: int) -> None:
    """Ada owns the organization, in her terminal and in Slack; a web process and a worker are running."""
    await stage.bot("people", "list")  # the first to say anything founds it
    linked = await stage.bot("people", "link", OWNER, f"slack:{stage.ada.team}/{stage.ada.ada}")
    stage.steps.saw("Ada's Slack account is hers", linked)
    for name in ("web", "worker"):
        await stage.processes.start(name, [sys.executable, "-m", "bot", name], stage.env)
    await stage.processes.listening("web", port)
    await stage.until("the web process to be ready", lambda: _ready(stage))
    stage.steps.saw("the bot is running", f"web at port {port}, and a worker")


async def _ready(stage: Stage) -> bool | None:
    async with stage.ada.session.get(f"{stage.ada.bot_url}/readyz") as response:
        return response.status == 200 or None


def _show_logs(processes: Processes) -> None:
    for name in processes.running:
        if tail := processes.tail(name):
            _say(f"\n{name} said last:\n{tail}")


async def run(packages: Path, steps: Steps) -> None:
    """The whole of it, told by *steps*; told to stop, it ends what it started first."""
    task = asyncio.current_task()
    assert task is not None
    for told in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(told, task.cancel)
    with steps.part("Before"):
        async with staged(packages, steps) as stage:
            for name, part in (
                ("A message, a card, a click", approving),
                ("A mention, a modal, another amount", editing),
                ("Afterwards", closing),
            ):
                with steps.part(name):
                    await part(stage)


def main() -> int:
    """The exit status: 0 where every step was seen."""
    steps = Steps()
    try:
        asyncio.run(run(installed(FOLDER, CACHE), steps))
    except NodeMissing as error:
        _say(f"✖ {error}")
        return 1
    except asyncio.CancelledError:
        _say("✖ stopped")
        return 1
    _say(f"\n{steps.passed} seen, {steps.failed} missed")
    return 1 if steps.failed else 0
