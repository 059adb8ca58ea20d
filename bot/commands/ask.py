"""new, stop: a task opened by a person's words, and one that they end."""

from adapters.console import led, text
from bot.commands.session import SURFACE, Session, console, session, task_named, words
from core.errors import ConfigError, NotYourDecision
from core.ids import EventKey
from core.intake import Intake
from core.moves.ends import stop as stopping
from core.tasks import Json, Task
from core.visible import visible
from core.work import Event, EventKind


async def new(goal: str, agent: str | None, as_: str | None) -> None:
    """A task with that goal is queued."""
    async with session(as_) as here:
        task = await open_task(here, goal, agent)
        name = here.app.desk.agent(task.agent).name
    line = led(f"{task.code} ", "bold").append(f"opened for {visible(name)}: ")
    goal_ = here.app.desk.redactor.clean(task.goal)
    console().print(line.append_text(text(str(goal_))), soft_wrap=True)


async def open_task(here: Session, goal: str, agent: str | None = None) -> Task:
    """A task with that *goal*, opened by way of the inbox. Raises ConfigError."""
    if not words(goal):
        raise ConfigError('a task needs a goal: new "refund the mug that arrived broken"')
    agents = here.app.host.agents
    if agent is not None and agent not in agents:
        raise ConfigError(f"there is no agent {visible(agent)}; there are {', '.join(sorted(agents))}")
    task = await say(here, words(goal), {} if agent is None else {"agent": agent})
    if task is None:
        raise ConfigError("the task could not be opened; its inbox row says why")
    return task


async def say(here: Session, said: str, more: dict[str, Json]) -> Task | None:
    """The words are in the inbox, and applied: they open a task, or join the one *more* names."""
    body = {"text": said, "person": here.who.id, "surface": SURFACE, "thread": here.user, **more}
    event = Event(
        key=EventKey(source=SURFACE, event_id=here.app.desk.ids.new()),
        org=here.who.org,
        kind=EventKind.MESSAGE,
        body=body,
    )
    await here.app.store.inbox.receive(event)
    return await Intake(desk=here.app.desk).apply(event)


async def stop(code: str, as_: str | None) -> None:
    """Nothing of the task starts from now on. Raises NotYourDecision."""
    async with session(as_) as here:
        task = await task_named(here, code)
        if not here.who.may_decide and task.requester != here.who.id:
            raise NotYourDecision(f"{task.code} is not yours to stop")
        before = task.state
        state = await here.app.store.tasks.change(task.ref, stopping(here.who.id, surface=SURFACE))
    if task.ended:
        said = f"had ended already: {before}."
    else:
        said = "is stopped." if state == "stopped" else "stops after the step in hand."
    console().print(led(f"{task.code} ", "bold").append(said))
