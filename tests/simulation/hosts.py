"""The apps of the simulation: a tool of every risk, two agents, and what a deploy changes."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from core.agents import Agent, Limits
from core.errors import ToolFailed
from core.gate import Risk, Setting
from core.host import BaseHost
from core.ports import Model, ParkView
from core.tasks import Json, Task
from core.tools import Tool, ToolContext, tool
from tests.simulation.faults import Faults
from tests.simulation.models import Adversary
from tests.simulation.outside import CANARY, ENCODED, INJECTED, Provider
from tests.simulation.process import WITHIN, Process
from tests.simulation.watching import Watch

RISKS: Mapping[str, Risk] = {
    "look": Risk.READ,
    "fetch": Risk.READ,
    "note": Risk.DRAFT,
    "greet": Risk.ROUTINE,
    "mail": Risk.CONTACT,
    "pay": Risk.SPEND,
    "alter": Risk.CHANGE,
    "drop": Risk.REMOVE,
    "grant": Risk.PROFILE,
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What one seed's apps are like; the same for every process of it."""

    settings: Mapping[str, Setting]
    keyed: bool  # mail has a sent_key: one mail a recipient and task
    looks_up: bool  # some can be looked up at the provider
    previews: bool  # alter shows what it would change, and holds while that is so
    checks: bool  # mail is checked before it asks and before it goes
    limits: Limits
    interactive: bool

    @classmethod
    def drawn(cls, rng: random.Random) -> "Plan":
        chosen = {risk: rng.choice((Setting.ALLOW, Setting.ASK)) for risk in ("contact", "spend", "change")}
        return cls(
            settings={**chosen, "remove": Setting.ALLOW, "profile": Setting.ALLOW},  # which changes nothing
            keyed=rng.random() < 0.5,
            looks_up=rng.random() < 0.8,
            previews=rng.random() < 0.5,
            checks=rng.random() < 0.4,
            limits=Limits(
                rounds=rng.choice((2, 5, 30)),
                strikes=rng.choice((3, 3, 10)),
                tokens=rng.choice((None, None, 300)),
                daily_tokens=rng.choice((None, None, 9000)),
                wrap_up=rng.random() < 0.7,
            ),
            interactive=rng.random() < 0.15,
        )


@dataclass(kw_only=True)
class App:
    """What its tools share: the world outside of one process."""

    plan: Plan
    rng: random.Random
    faults: Faults
    watch: Watch
    provider: Provider
    process: Process

    def host(self) -> BaseHost:
        return _Host(self)

    async def act(self, name: str, args: Mapping[str, Json], context: ToolContext) -> str:
        await self.provider.reach(self.process, context)
        self.watch.arrived(self.process, name, args, context)
        await self.provider.answer(self.process)
        return INJECTED if name == "fetch" else f"{name} done with {ENCODED if name == 'look' else CANARY}"


def _app() -> "App":
    """The app of the process whose code this is."""
    process = WITHIN.get()
    assert process is not None
    assert isinstance(process.host, _Host)
    return process.host.app


@cache
def tools_of(deployed: int, previews: bool, looks_up: bool, checks: bool) -> Mapping[str, Tool]:
    """The tools of a deploy; made once, since each seed has many processes."""
    made = [_tool(name, risk, deployed, previews, looks_up) for name, risk in RISKS.items() if name != "mail"]
    return {t.name: t for t in [*made, _mail(checks)]}


def _tool(name: str, risk: Risk, deployed: int, previews: bool, looks_up: bool) -> Tool:
    async def act(n: int, context: ToolContext) -> str:
        return await _app().act(name, {"n": n}, context)

    changed = " as it is done now" if deployed and name in ("pay", "drop") else ""
    act.__doc__ = f"Does {name}{changed}."
    return tool(
        risk=risk,
        name=name,
        timeout=2.0,
        taints=name == "fetch",
        precondition=_seen if name == "alter" and previews else None,
        reconcile=_look_up if name in ("pay", "greet", "alter") and looks_up else None,
    )(act)


def _mail(checks: bool) -> Tool:
    async def mail(n: int, to: str, context: ToolContext) -> str:
        """Writes to somebody."""
        return await _app().act("mail", {"n": n, "to": to}, context)

    return tool(risk=Risk.CONTACT, name="mail", timeout=2.0, check=_check if checks else None)(mail)


async def _check(n: int, to: str) -> None:
    if n == 2:
        raise ToolFailed(f"nobody writes number two, by {CANARY}", sent=False)


async def _seen(n: int) -> Json:
    app = _app()
    return {"stock": 0 if app.faults.healed else app.rng.choice((0, 0, 0, 1)), "by": CANARY}


async def _look_up(n: int, context: ToolContext) -> bool | None:
    """The provider is asked by the key it was given; what is still on its way can't be denied."""
    app = _app()
    found = app.provider.took(context.call_id) and (app.faults.healed or app.rng.random() < 0.5)
    return True if found else None


class _Host(BaseHost):
    def __init__(self, app: App) -> None:
        self.app = app
        plan = app.plan
        self.tools = tools_of(app.process.deployed, plan.previews, plan.looks_up, plan.checks)
        names = (*(n for n in RISKS if n != "grant" or not app.process.deployed), "ask_owner")
        common = {"settings": plan.settings, "limits": plan.limits}
        self.agents = {
            "lead": Agent(key="lead", name="Lea", chief=True, tools=names, **common),  # type: ignore[arg-type]
            "scout": Agent(
                key="scout",
                name="Sky",
                tools=("look", "fetch", "note", "mail"),
                interactive=plan.interactive,
                **common,  # type: ignore[arg-type]
            ),
        }

    async def secrets(self) -> Mapping[str, str]:
        return {"SHOP_KEY": CANARY}

    async def model_for(self, task: Task, agent: Agent) -> Model:
        app = self.app
        return Adversary(rng=app.rng, faults=app.faults, watch=app.watch, process=app.process, task=task)

    async def notify_parked(self, task: Task, parks: Sequence[ParkView], reason: str | None = None) -> None:
        if reason is not None:
            self.app.watch.told |= {view.park.id for view in parks}

    def sent_key(self, task: Task, tool: Tool, args: Mapping[str, Json]) -> str | None:
        return f"mail:{args['to']}" if tool.name == "mail" and self.app.plan.keyed else None
