"""What a person may answer to a park, from any surface: looked up, checked in the request, then decided.

The schema and the editable fields of an edit are checked here, in the request, so that a form can
answer at its fields; `check` and `precondition` run in the worker, right before the marker.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from core.agents import Agent
from core.approvers import why_not
from core.errors import (
    AlreadyDecided,
    BadArguments,
    DecisionError,
    NothingToChange,
    NotYourDecision,
    ParkExpired,
    ParkNotFound,
    ParkWithdrawn,
)
from core.host import BaseHost, risks_of
from core.ids import CallCode, CallId, OrgId, ParkId, Token, call_code, task_number
from core.moves.people import Click, Decided, Decision, Spare, amend, decide
from core.parks import DecisionKind, Park, ParkKind, Slip
from core.people import Person
from core.plan import LimitKind
from core.ports import Ids, NotFound, ParkView, Query, Store
from core.redact import Redactor
from core.rights import differences, effective, rights_of, with_rights
from core.shown import Room
from core.tasks import Json
from core.tools import patch
from core.visible import line
from core.work import Need

CONNECT_SECONDS: Final = 900.0
"""How long a sign-in may take from its start to its return."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answering:
    """A person at a surface, and the surface's own id of what they pressed or typed.

    *room*: how much of the arguments its cards show; None: all, however long.
    """

    who: Person
    surface: str
    event_id: str
    room: Room | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """Where decisions are taken: the store, the app's host, and a source of names.

    *redactor*: what nobody is to read; the store's own, too.
    """

    store: Store
    host: BaseHost
    ids: Ids
    redactor: Redactor = field(default_factory=Redactor)

    async def find(self, who: Person, key: Token | CallCode) -> ParkView:
        """The park of *key* in the organization of *who*. A foreign one is ParkNotFound too (I18)."""
        found = await self.store.parks.find(who, key)
        if isinstance(found, NotFound):
            raise ParkNotFound(f"nothing waits under {key}" if isinstance(key, CallCode) else None)
        if isinstance(key, CallCode) and key.version is None and found.park.open and found.park.version > 1:
            raise DecisionError(f"it was changed since: say {key}v{found.park.version}")
        return found

    async def find_named(self, who: Person, text: str) -> ParkView:
        """The park of the call whose code *text* is; of a task's code, the limit that the task waits at.

        Raises ParkNotFound.
        """
        said = text.strip().lower()
        if (code := call_code(said)) is not None:
            return await self.find(who, code)
        number = task_number(said)
        tasks = [] if number is None else await self.store.ledger.find(who.org, Query(number=number, limit=1))
        for task in tasks:
            limits = [p for p in (await self.store.ledger.story(task.ref)).parks if p.open]
            for park in (p for p in limits if p.kind is ParkKind.LIMIT):
                return ParkView(park=park, task=task, call=None)
            raise ParkNotFound(f"nothing waits under {task.code}; an unknown call is settled by its own code")
        raise ParkNotFound(f"there is no task {line(said, 40)}")

    async def decide(
        self,
        by: Answering,
        view: ParkView,
        decision: Decision,
        *,
        changes: Mapping[str, Json] | None = None,
    ) -> Decided:
        """The park *view* showed is decided with *decision*, so that nobody else can (C6).

        *changes*: an edit's fields, by name. The agent's own arguments with them in are checked against
        the tool here. Raises BadArguments by field, NothingToChange, and what `moves.people.decide`
        raises: AlreadyDecided (who and when), ParkExpired, NotYourDecision (on record, too), OutOfDate,
        NotShown.
        Source: states.md C6; whoever clicked waits, so no I/O but the store.
        """
        if decision.kind is DecisionKind.EDIT and view.park.open:  # else the move says what became of it
            decision = self._edit(view, decision, changes or {})
        click = Click(
            who=by.who,
            surface=by.surface,
            event_id=by.event_id,
            token=view.park.token,
            version=view.park.version,
            shown_hash=view.park.shown_hash,
            room=by.room,
        )
        spare = Spare(slip=slip(self.ids), call_id=CallId(self.ids.new()))
        of_budget = view.park.kind is ParkKind.LIMIT and view.park.shown.get("limit") == LimitKind.BUDGET
        need = Need(token=view.park.token, event_id=by.event_id, roster=True, usage=of_budget)
        move = decide(click, decision, self.agent(view.task.agent), spare)
        try:
            return await self.store.tasks.change(view.task.ref, move, need)
        except NotYourDecision as error:
            await self.store.parks.refused(click.token, by.who.id, by.surface, str(error))
            raise

    async def amend(self, by: Answering, view: ParkView, changes: Mapping[str, Json]) -> Park:
        """The call *view* showed asks with *changes* in from now on: its newest park, still to be decided.

        The same park where nothing is another. Checked as an edit is (C8), and raises what `decide` raises.
        """
        edited = self._edit(view, Decision(kind=DecisionKind.EDIT), changes)
        assert view.call is not None
        if edited.args == view.call.args:
            return view.park
        move = amend(view.park.token, edited.args, slip(self.ids), by=by.who.id, surface=by.surface)
        try:
            return await self.store.tasks.change(
                view.task.ref, move, Need(token=view.park.token, roster=True)
            )
        except NotYourDecision as error:
            await self.store.parks.refused(view.park.token, by.who.id, by.surface, str(error))
            raise

    async def reviewed(self, who: Person, view: ParkView) -> None:
        """It is recorded that *who* read the whole of what *view* shows, to its last page (I32).

        Raises NotYourDecision: nobody's look counts but that of one who may decide.
        """
        await self.may_decide(who, view)
        await self.store.parks.viewed(who, view.park.token, view.park.shown_hash)

    async def connect_state(self, who: Person, view: ParkView) -> str:
        """What a sign-in carries to its return, so that it connects what *view* waits for, once (C12).

        Raises NotYourDecision for whoever may not, DecisionError where nothing waits for an account.
        """
        await self.may_decide(who, view)
        if view.park.kind is not ParkKind.CONNECT or not view.park.open:
            raise DecisionError("this does not wait for an account")
        state = self.ids.nonce()
        await self.store.parks.link(who, view.park.token, _digest_of(state), CONNECT_SECONDS)
        return state

    async def connected(self, by: Answering, state: str) -> Decided | None:
        """The account is connected and the task goes on; None where its card was answered otherwise.

        The host has stored the account by then: one that nobody waits for any more wakes nothing. Raises
        ParkNotFound where *state* was used, ran out, or is another person's; NotYourDecision.
        """
        token = await self.store.parks.linked(by.who, _digest_of(state))
        if isinstance(token, NotFound):
            raise ParkNotFound("this sign-in was used already, has run out, or is not yours")
        view = await self.find(by.who, token)
        try:
            return await self.decide(by, view, Decision(kind=DecisionKind.CONNECTED))
        except (AlreadyDecided, ParkExpired, ParkWithdrawn):
            return None

    async def may_decide(self, who: Person, view: ParkView) -> None:
        """Raises NotYourDecision unless *who* may decide what *view* shows, as the rows say now.

        For what comes before a decision and can be seen outside; the decision itself looks again.
        """
        roster = await self.store.people.of(who.org)
        if (why := why_not(roster, who.id, view.task, view.park, view.call)) is not None:
            await self.store.parks.refused(view.park.token, who.id, None, why)
            raise NotYourDecision(why)

    def _edit(self, view: ParkView, decision: Decision, changes: Mapping[str, Json]) -> Decision:
        if view.park.kind is not ParkKind.APPROVAL or view.call is None:
            raise DecisionError(f"a {view.park.kind} has nothing to edit")
        if not changes:
            raise NothingToChange
        tool = self.host.tools.get(view.call.tool)
        if tool is None:
            raise BadArguments({"": f"the tool {view.call.tool} is gone; decline it"})
        args = patch(tool, view.call.args, changes)
        return Decision(kind=DecisionKind.EDIT, args=args, reason=decision.reason, and_stop=decision.and_stop)

    def agent(self, key: str) -> Agent:
        """The agent as it is today; a bare one, which has no tools, if it is gone."""
        return self.host.agents.get(key) or Agent(key=key, name=key)

    async def working(self, org: OrgId, key: str, by: str) -> Agent:
        """The agent as it may work for *org* now: a folder that widens its rights waits for an owner.

        What the folder takes away is recorded as *by*'s finding and gone from now on, also from folders to
        come; first seen, a folder is taken as it is.
        """
        agent = self.agent(key)
        if not agent.digest:
            return agent
        folder, people, risks = rights_of(agent), self.store.people, risks_of(self.host)
        while True:
            was = await people.rights(org, key)
            now = folder if was is None else effective(was, folder, risks)
            same = was is not None and not differences(was, now, risks)
            if same or await people.keep_rights(org, key, was, now, digest=agent.digest, actor=by):
                return with_rights(agent, now)


def _digest_of(state: str) -> str:
    """What is kept of a state: who reads the database can't use it."""
    return hashlib.sha256(state.encode()).hexdigest()


def slip(ids: Ids) -> Slip:
    return Slip(park_id=ParkId(ids.new()), token=Token(ids.nonce()))
