"""approve, edit, decline, settle: a decision taken in this process, and the line that says what happened."""

from collections.abc import Mapping, Sequence

from rich.text import Text

from adapters.console import led
from bot.commands.session import SURFACE, Session, call_named, console, session, words
from core import answers
from core.answers import decided_words, edited_by
from core.decisions import Answering
from core.errors import BadArguments, DecisionError
from core.forms import Form, form
from core.moves.people import Decided, Decision
from core.parks import Choice, DecisionKind
from core.ports import ParkView
from core.tasks import Json
from core.visible import visible


async def approve(code: str, as_: str | None) -> None:
    """The call waits no more: it is approved as shown."""
    await _decide(code, Decision(kind=DecisionKind.APPROVE), as_)


async def edit(code: str, assignments: Sequence[str], as_: str | None) -> None:
    """The call is approved with other values. Raises BadArguments by field, the call still waiting."""
    async with session(as_) as here:
        view = await here.app.desk.find(here.who, call_named(code))
        changes = changes_of(here, view, assignments)
        await _say(here, view, Decision(kind=DecisionKind.EDIT), changes)


async def decline(code: str, reason: str | None, as_: str | None, *, stop: bool) -> None:
    """The call is declined, with the reason for the agent; its task stopped along with it if *stop*."""
    told = words(reason) if reason else None
    await _decide(code, Decision(kind=DecisionKind.DECLINE, reason=told, and_stop=stop), as_)


async def revise(code: str, how: str, as_: str | None) -> None:
    """The call is sent back with how it is to be changed: it does not run, and the agent proposes anew."""
    if not words(how):
        raise DecisionError('say how it is to be changed: revise t-1.2 "ask them first"')
    await _decide(code, Decision(kind=DecisionKind.REVISE, reason=words(how)), as_)


async def answer(code: str, said_: str, as_: str | None) -> None:
    """The question is answered with these words, which are its call's result."""
    await _decide(code, Decision(kind=DecisionKind.ANSWER, reason=words(said_)), as_)


async def connected(code: str, as_: str | None) -> None:
    """The account that the call waits for is connected: the agent may make the call again."""
    await _decide(code, Decision(kind=DecisionKind.CONNECTED), as_)


async def settle(code: str, choice: Choice, as_: str | None) -> None:
    """An unknown call or a limit is answered with one of its choices."""
    async with session(as_) as here:
        view = await here.app.desk.find_named(here.who, code)
        if choice is Choice.LOOK_UP:
            console().print(await looked_up(here, view), soft_wrap=True)
        else:
            await _say(here, view, Decision(kind=DecisionKind.CHOICE, choice=choice))


async def _decide(code: str, decision: Decision, as_: str | None) -> None:
    async with session(as_) as here:
        view = await here.app.desk.find(here.who, call_named(code))
        await _say(here, view, decision)


async def _say(
    here: Session, view: ParkView, decision: Decision, changes: Mapping[str, Json] | None = None
) -> None:
    decided = await decide(here, view, decision, changes)
    view, decided = here.app.desk.redactor.clean((view, decided))
    console().print(decided_line(here.who.name, view, decided), soft_wrap=True)


# ── shared with the chat ─────────────────────────────────────────────────────────────────────


async def looked_up(here: Session, view: ParkView) -> Text:
    """*view* is settled as the destination says; the line that tells it. Raises what look_up raises."""
    told = await answers.looked_up(here.app.desk, here.app.clock, _answering(here), view)
    return _led(here.app.desk.redactor.redact(told))


async def decide(
    here: Session, view: ParkView, decision: Decision, changes: Mapping[str, Json] | None = None
) -> Decided:
    """*view* is decided by the person at the terminal. Raises what Desk.decide raises."""
    return await here.app.desk.decide(_answering(here), view, decision, changes=changes)


def _answering(here: Session) -> Answering:
    event_id = f"{here.user}:{here.app.desk.ids.new()}"
    return Answering(who=here.who, surface=SURFACE, event_id=event_id)


def changes_of(here: Session, view: ParkView, assignments: Sequence[str]) -> dict[str, Json]:
    """What ``field=value`` texts mean for the call's tool. Raises BadArguments by field, all at once."""
    given: dict[str, str] = {}
    wrong: dict[str, str] = {}
    for assignment in assignments:
        field, equals, value = assignment.partition("=")
        if not equals:
            wrong[visible(field)] = "write it as field=value"
        given[field] = value
    changes: dict[str, Json] = {}
    try:
        changes = edited_by(here.app.desk, view, given)
    except BadArguments as error:
        wrong = {**error.problems, **wrong}
    if wrong:
        raise BadArguments(wrong)
    return changes


def form_of(here: Session, view: ParkView) -> Form | None:
    """The form of the call that *view* shows; None where its tool is gone, which the desk refuses."""
    tool = here.app.host.tools.get(view.call.tool) if view.call else None
    return None if tool is None or view.call is None else form(tool, view.call.args)


def decided_line(who: str, view: ParkView, decided: Decided) -> Text:
    """t-1.2 approved with changes by ada: amount 24.00 → 18.50. A worker runs it."""
    return _led(decided_words(who, view, decided))


def _led(told: str) -> Text:
    """*told*, led by the code it begins with."""
    code, _, rest = told.partition(" ")
    return led(f"{code} ", "bold").append(rest)
