"""tasks, show, pending: what is on record, for a person to read."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from adapters.console import (
    STATE_STYLES,
    Answers,
    CardView,
    arguments,
    led,
    moment,
    outcome_text,
    text,
)
from bot.commands import table as commands
from bot.commands.session import console, session, task_named
from core.calls import Call, Outcome
from core.canonical import dump
from core.gate import Ruling
from core.gate import words as rule_words
from core.ids import call_code
from core.moves.past import said
from core.parks import Park, ParkState
from core.people import Roster
from core.ports import ParkView, Query, Story
from core.rendering import card_with, place
from core.standing import broke_off, notice, stands_still
from core.tasks import Json, Message, MessageKind, Task
from core.transcript import edited, result_text
from core.visible import visible

MANY = 200
"""How much a list shows at the most."""
LINE = 100
"""Characters of a goal in a list."""
WIDE = 80
"""Columns of a terminal from which on a list says when, and by whom."""


# ── lists ────────────────────────────────────────────────────────────────────────────────────


async def tasks(as_: str | None, limit: int) -> None:
    """The newest tasks, a line each."""
    async with session(as_) as here:
        app, org = here.app, here.who.org
        found = app.desk.redactor.clean(await app.store.ledger.find(org, Query(limit=limit)))
        notes: dict[str, list[str]] = defaultdict(list)
        for view in await app.store.parks.waiting_for(here.who, MANY):
            notes[view.task.id].append(str(view.park.kind))
        organization, switches = (
            (await app.store.people.of(org)).organization,
            await app.store.people.switches(org),
        )
        for task in found:
            name = app.desk.agent(task.agent).name
            if (why := stands_still(task, name, organization, switches, app.clock.now())) is not None:
                notes[task.id].append(why)
    if not found:
        console().print('No tasks yet. Open one: python -m bot new "refund the mug that arrived broken"')
        return
    screen = console()
    screen.print(_tasks_table(found, notes, wide=screen.width >= WIDE))


def _tasks_table(found: Iterable[Task], notes: dict[str, list[str]], *, wide: bool) -> Table:
    """A line each; a narrow terminal has no room for who works on it since when."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Task", no_wrap=True)
    table.add_column("State", no_wrap=wide)
    table.add_column("Waits for", overflow="fold")
    if wide:
        table.add_column("Agent", no_wrap=True)
        table.add_column("Opened", no_wrap=True)
    table.add_column("Goal", overflow="fold", ratio=None if wide else 1)
    for task in found:
        own = [text(task.agent), Text(f"{task.created_at:%d %b %H:%M}", style="dim")] if wide else []
        table.add_row(
            Text(task.code, style="bold"),
            state_text(task),
            text(", ".join(dict.fromkeys(notes.get(task.id, ())))),
            *own,
            text(shortened(goal_words(task.goal))),
        )
    return table


async def pending(as_: str | None) -> None:
    """A card for each call that waits, oldest first."""
    screen = console()
    async with session(as_) as here:
        app, views = here.app, await here.app.store.parks.waiting_for(here.who, MANY)
        together: dict[tuple[object, ...], list[ParkView]] = defaultdict(list)
        for view in views:
            together[place(view)].append(view)
        for group in together.values():
            shown = await card_with(app.desk, group[0].task.ref, {view.park.token for view in group})
            screen.print(CardView(app.desk.redactor.clean(shown), Answers.COMMANDS))
    if not views:
        screen.print("Nothing waits.")


# ── one task ─────────────────────────────────────────────────────────────────────────────────


async def show(code: str, as_: str | None) -> None:
    """The whole story of one task; of a call's code, its card."""
    if call_code(code.strip().lower()) is not None:
        return await commands.do("show", {"CODE": code.strip().lower()}, as_)
    async with session(as_) as here:
        task = await task_named(here, code)
        story = here.app.desk.redactor.clean(await here.app.store.ledger.story(task.ref))
        roster = await here.app.store.people.of(here.who.org)
        agent = here.app.desk.agent(task.agent).name
        switches = await here.app.store.people.switches(here.who.org)
        still = stands_still(story.task, agent, roster.organization, switches, here.app.clock.now())
    notes = (still, notice(story.task, story.audit), broke_off(story.task))
    print_story(console(), story, roster, agent, [note for note in notes if note is not None])


def print_story(screen: Console, story: Story, roster: Roster, agent: str, notes: Sequence[str] = ()) -> None:
    """Goal and state, with *notes* on it; then everything said, called, decided and run, in its order."""
    task = story.task
    screen.print(led(f"{task.code}  ", "bold").append_text(text(goal_words(task.goal), lines=True)))
    screen.print(_facts(task, roster, agent))
    for note in notes:
        screen.print(Text("      ").append_text(text(note, "yellow")))
    for message in story.messages:
        screen.print()
        screen.print(_said(message, roster, agent))
        for call in _calls_of(story.calls, message):
            screen.print(_call(task, call, _parks_of(story.parks, call), roster))
    for call in (c for c in story.calls if c.round is None):
        screen.print()
        screen.print(Text("Sent again by the owner", style="dim"))
        screen.print(_call(task, call, _parks_of(story.parks, call), roster))
    for park in (p for p in story.parks if p.call_id is None):
        screen.print()
        screen.print(_limit(park, roster))
    screen.print()
    entries = "1 audit entry" if len(story.audit) == 1 else f"{len(story.audit)} audit entries"
    screen.print(Text(entries, style="dim"))


def state_text(task: Task) -> Text:
    """The task's state, with why it ended where that says more."""
    line = Text(str(task.state), style=STATE_STYLES.get(task.state, ""))
    plain = task.reason in (None, "answered", "finished", task.stop_by)
    return line if plain else line.append_text(text(f" ({task.reason})"))


def goal_words(goal: Json) -> str:
    return goal if isinstance(goal, str) else dump(goal)


def shortened(words: str) -> str:
    return words if len(words) <= LINE else f"{words[:LINE].rstrip()}…"


def _facts(task: Task, roster: Roster, agent: str) -> Text:
    asked = [f"asked by {visible(roster.name(task.requester))}"] if task.requester else [str(task.origin)]
    parts = [visible(agent), *asked, moment(task.created_at)]
    if task.ended_at is not None:
        parts.append(f"ended {moment(task.ended_at)}")
    rounds = "1 round" if task.round == 1 else f"{task.round} rounds"
    parts.append(f"{rounds}, {task.tokens_in + task.tokens_out:,} tokens")
    return Text("      ").append_text(state_text(task)).append(f" · {' · '.join(parts)}", "dim")


def _said(message: Message, roster: Roster, agent: str) -> RenderableType:
    body = message.body
    words = body.get("text") if isinstance(body, dict) else None
    if message.kind is MessageKind.ASSISTANT:
        head = led(f"Round {message.round}  ", "bold").append(visible(agent), "cyan")
        return head.append(": ").append_text(text(words, lines=True)) if words else head
    names = {MessageKind.GOAL: "Goal", MessageKind.OWNER: "Owner", MessageKind.NOTE: "Note"}
    who = names.get(message.kind, str(message.kind).capitalize())
    person = body.get("person") if isinstance(body, dict) else None
    named = f"{who} ({visible(roster.name(person))})" if person else who
    shown = words if words is not None else dump(body)
    return led(f"{named}: ", "cyan").append_text(text(str(shown), lines=True))


def _calls_of(calls: Sequence[Call], message: Message) -> list[Call]:
    if message.kind is not MessageKind.ASSISTANT:
        return []
    return [c for c in calls if (c.episode, c.round) == (message.episode, message.round)]


def _parks_of(parks: Sequence[Park], call: Call) -> list[Park]:
    return [p for p in parks if p.call_id == call.id]


def _call(task: Task, call: Call, parks: Sequence[Park], roster: Roster) -> RenderableType:
    head = led(f"{task.code}.{call.number}  ", "bold").append(visible(call.tool), "bold")
    head.append("  ").append_text(outcome_text(call))
    rule = rule_words(Ruling(verdict=call.verdict, rule=call.rule))
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, args in _stages(call, parks):
        table.add_row(name, arguments(args))
    table.add_row("rule", text(rule))
    for park in parks:
        if (line := _decision(park, roster)) is not None:
            table.add_row(str(park.kind), line)
    if call.result is not None:
        table.add_row("result", text(result_text(call.result), lines=True))
    if edited(call):
        table.add_row("told", text(edited(call)))
    if call.late_note:
        table.add_row("late", text(call.late_note))
    return Padding(Group(head, Padding(table, (0, 0, 0, 2))), (0, 0, 0, 2))


def _stages(call: Call, parks: Sequence[Park]) -> list[tuple[str, Json]]:
    """What the model proposed; what a person decided on; what ran. One line where all are the same."""
    ran = call.outcome in (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.UNKNOWN) and call.marked_at is not None
    decided = any(p.state is ParkState.DECIDED and p.call_id == call.id for p in parks)
    stages = [("proposed", call.proposed_args)]
    if decided and not call.pure:
        stages.append(("decided", call.args))
    if ran:
        stages.append(("ran", call.args))
    return stages


def _decision(park: Park, roster: Roster) -> Text | None:
    if park.state is ParkState.DECIDED:
        at = f", {moment(park.decided_at)}" if park.decided_at else ""
        line = text(f"{said(park)} by {roster.name(park.by_person)}{at}")
        return line.append_text(text(f": {park.reason}")) if park.reason else line
    if park.state is ParkState.SUPERSEDED:
        return None
    words = {ParkState.OPEN: "waits for a decision", ParkState.EXPIRED: "expired: nobody decided in time"}
    return Text(words.get(park.state, "withdrawn"), style="yellow" if park.open else "dim")


def _limit(park: Park, roster: Roster) -> Text:
    what = led(f"{park.kind}: {park.shown.get('limit', '')} ", "bold")
    return what.append_text(_decision(park, roster) or Text(str(park.state)))
