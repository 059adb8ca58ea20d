"""agents list, set, pause, resume, practice, accept; org: what an owner switches, and what holds."""

from collections.abc import Mapping, Sequence

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from adapters.console import text
from bot.commands.session import SURFACE, Session, console, say_of, session
from core.agents import Agent
from core.errors import SwitchError
from core.gate import Setting, Verdict
from core.host import risks_of
from core.nearest import nearest
from core.people import Organization, OrgState, Switch, SwitchMode
from core.rights import Difference, differences, effective, rights_of, with_rights
from core.switches import (
    Choose,
    Holds,
    Limit,
    Pause,
    Practice,
    Resume,
    SwitchTo,
    check_choice,
    holding,
    verdict_of,
)
from core.visible import visible

DOES: Mapping[Verdict, tuple[str, str]] = {
    Verdict.RUN: ("runs", "green"),
    Verdict.ASK: ("asks", "yellow"),
    Verdict.OBSERVE: ("observes", "cyan"),
    Verdict.REFUSE: ("is refused", "red"),
}
"""What a call does, in a word and its style."""


# ── turning ──────────────────────────────────────────────────────────────────────────────────


async def choose(key: str, what: str, setting: Setting | None, as_: str | None) -> None:
    """For a risk or a tool of the agent, *setting* holds from now on; None: its folder's again."""
    async with session(as_) as here:
        agent, before = await _named(here, key)
        to = Choose(what.strip(), setting)
        check_choice(agent, risks_of(here.app.host), before, to)
        await _turn(here, agent.key, to)
        after = await _switch(here, agent.key)
    now, was = _word(agent, after, to.key), _word(agent, before, to.key)
    say_of(agent.name, f": {to.key}: {now}" + (" already." if now == was else f"; before: {was}."))


async def pause(key: str, as_: str | None) -> None:
    """Nothing of the agent starts any more."""
    more = f"what waits is held until: python -m bot agents resume {key}"
    await _said(key, Pause(), as_, f"is paused: nothing new starts, {more}", "was paused already.")


async def resume(key: str, as_: str | None) -> None:
    """The agent goes on, with what was held."""
    await _said(key, Resume(), as_, "works again, and goes on with what was held.", "was not paused.")


async def practice(key: str, as_: str | None, *, on: bool) -> None:
    """The agent's reads run and the rest is only recorded; or it acts again."""
    starts = "practises: reads run, everything else is recorded and not run."
    done, was = (starts, "was practising already.") if on else ("acts again.", "was not practising.")
    await _said(key, Practice(on=on), as_, done, was)


async def pause_all(as_: str | None) -> None:
    """Nothing of the organization starts any more."""
    said = "is paused: nothing new starts until: python -m bot org resume"
    await _said_of_all(Pause(), as_, said, "was paused already.")


async def resume_all(as_: str | None) -> None:
    """The organization's agents go on, but those paused by themselves."""
    said = "works again; an agent that was paused by itself still is."
    await _said_of_all(Resume(), as_, said, "was not paused.")


async def limit(max_running: int | None, as_: str | None) -> None:
    """So many tasks of the organization run at once from now on; None: as many as MAX_RUNNING says."""
    async with session(as_) as here:
        people, org, usual = here.app.store.people, here.who.org, here.app.settings.max_running
        before = (await people.of(org)).organization
        turned = await _turn(here, None, Limit(max_running))
    now, was = _at_once(max_running, usual), _at_once(before.max_running, usual)
    say_of(before.name, f" runs {now} already." if not turned else f" runs {now}; before: {was}.")


def _at_once(max_running: int | None, usual: int) -> str:
    if max_running is None:
        return f"up to {usual} tasks at once (MAX_RUNNING)"
    return f"up to {max_running} {'task' if max_running == 1 else 'tasks'} at once"


async def _said(key: str, to: SwitchTo, as_: str | None, done: str, already: str) -> None:
    async with session(as_) as here:
        agent, _ = await _named(here, key)
        turned = await _turn(here, agent.key, to)
    say_of(agent.name, f" {done if turned else already}")


async def _said_of_all(to: SwitchTo, as_: str | None, done: str, already: str) -> None:
    async with session(as_) as here:
        turned = await _turn(here, None, to)
        organization = (await here.app.store.people.of(here.who.org)).organization
    say_of(organization.name, f" {done if turned else already}")


async def _turn(here: Session, agent: str | None, to: SwitchTo) -> int:
    return await here.app.store.people.switch(here.who, here.who.org, agent, to, surface=SURFACE)


async def _named(here: Session, key: str) -> tuple[Agent, Switch | None]:
    """The agent of that folder, and its switch. Raises SwitchError with the nearest name."""
    agents = here.app.host.agents
    agent = agents.get(key.strip())
    if agent is None:
        there = ", ".join(sorted(agents))
        raise SwitchError(f"there is no agent {visible(key)}{nearest(key, agents)}; there are {there}")
    return agent, await _switch(here, agent.key)


async def _switch(here: Session, key: str) -> Switch | None:
    found = await here.app.store.people.switches(here.who.org)
    return next((switch for switch in found if switch.agent == key), None)


def _word(agent: Agent, switch: Switch | None, key: str) -> str:
    """What is said for *key* itself, and by whom."""
    chosen = dict(switch.settings) if switch else {}
    if key in chosen:
        return f"{chosen[key]} (switch)"
    return f"{agent.settings[key]} (folder)" if key in agent.settings else "not set"


# ── accepting ────────────────────────────────────────────────────────────────────────────────


async def accept(key: str, as_: str | None, *, yes: bool) -> None:
    """The agent has the rights its folder asks for, once the owner has seen what is new and said yes."""
    async with session(as_) as here:
        agent, _ = await _named(here, key)
        people, org, risks = here.app.store.people, here.who.org, risks_of(here.app.host)
        was, now = await people.rights(org, agent.key), rights_of(agent)
        waits = () if was is None else differences(was, now, risks)
        if was is None or not any(d.widens for d in waits):
            say_of(agent.name, " has all that its folder asks for.")
            return
        say_of(agent.name, ", by its folder:")
        for line in (_difference(of, risks) for of in waits):
            console().print(text(f"  {line}"))
        if not yes and not typer.confirm("Accept?"):
            say_of(agent.name, " works with what it had.")
            return
        if not await people.accept(here.who, org, agent.key, was, now, digest=agent.digest, surface=SURFACE):
            raise SwitchError(f"the rights of {agent.name} were changed meanwhile: look again")
    say_of(agent.name, " has them from its next run on.")


def _difference(of: Difference, risks: Mapping[str, str]) -> str:
    """What it does before and after, in the words of the list of agents."""

    def does(setting: Setting | None) -> str:
        if of.is_host:
            return "asks" if setting is None else "runs"
        if setting is None:
            return "not among its tools"
        return DOES[verdict_of(risks.get(of.tool, ""), setting)][0]

    return f"{'going to ' if of.is_host else ''}{of.tool}: {does(of.before)} → {does(of.after)}"


# ── looking ──────────────────────────────────────────────────────────────────────────────────


async def list_agents(as_: str | None) -> None:
    """Every agent with its switches, and what a call of each of its tools does today."""
    async with session(as_) as here:
        people, org, risks = here.app.store.people, here.who.org, risks_of(here.app.host)
        organization = (await people.of(org)).organization
        switches = {s.agent: s for s in await people.switches(org)}
        agents: list[Agent] = []
        waiting: list[str] = []
        for agent in here.app.host.agents.values():
            was, folder = await people.rights(org, agent.key), rights_of(agent)
            now = folder if was is None or not agent.digest else effective(was, folder, risks)
            agents.append(with_rights(agent, now))
            if differences(now, folder, risks):
                more = "asks for more than it has; see it with: python -m bot agents accept"
                waiting.append(f"The folder of {agent.name} {more} {agent.key}")
    screen = console()
    screen.print(_table(agents, switches, risks, organization))
    screen.print("What a tool does is meant for a task that you ask for.", style="dim")
    for line in waiting:
        screen.print(text(line, "yellow"), soft_wrap=True)


def _table(
    agents: Sequence[Agent], switches: Mapping[str, Switch], risks: Mapping[str, str], of: Organization
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Agent", no_wrap=True)
    for heading in ("Name", "State", "Mode", "Settings", "Tools"):
        table.add_column(heading, overflow="fold")
    for agent in agents:
        switch = switches.get(agent.key)
        practice = switch is not None and switch.mode is SwitchMode.OBSERVE
        table.add_row(
            text(agent.key, "bold"),
            Text("\n").join([text(agent.name), *([text(agent.title, "dim")] if agent.title else [])]),
            _state(switch, of),
            Text("practice", style="cyan") if practice else Text("normal"),
            _settings(agent, switch),
            _tools(holding(agent, risks, switch)),
        )
    return table


def _state(switch: Switch | None, of: Organization) -> Text:
    if of.state is OrgState.PAUSED:
        return Text("paused (all)", style="red")
    return Text("paused", style="red") if switch is not None and switch.paused else Text("works")


def _settings(agent: Agent, switch: Switch | None) -> Text:
    """Each setting in force with who says it; nothing for what is said by nobody, which asks."""
    keys = dict.fromkeys((*agent.settings, *(dict(switch.settings) if switch else {})))
    return Text("\n").join(text(f"{key}: {_word(agent, switch, key)}") for key in keys)


def _tools(holds: Sequence[Holds]) -> Text:
    lines = []
    for one in holds:
        word, style = DOES[one.verdict]
        lines.append(text(f"{one.tool} ({one.risk}) ").append(word, style))
    return Text("\n").join(lines)
