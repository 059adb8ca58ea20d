"""What the inbox holds is applied to tasks: a message opens a task, or joins the one it belongs to.

Each event is applied in its task's own transaction; a crash in between leaves it in the inbox (K22,
K23). A message that says nothing of its task belongs where `route` says, as the rows are by then.
"""

from dataclasses import dataclass
from typing import assert_never

from core.around import routed
from core.decisions import Desk
from core.errors import TaskNotFound
from core.host import chief_of
from core.ids import OrgId, PersonId, TaskId, TaskRef
from core.moves.common import origin_after
from core.moves.ends import stop
from core.moves.words import incoming
from core.people import Person
from core.ports import Dead, Ignored, Ledger, Query, Store
from core.route import Blank, Join, Open, Stop, Unaddressed, Unclear
from core.tasks import Origin, Prio, Task
from core.work import Cause, Duplicate, Event, EventKind, Need, NewTask

TRIES = 10
"""After so many looks, half a minute apart, an event that always breaks is kept for people to see."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Intake:
    """Applies inbox events with the desk's store and host."""

    desk: Desk

    @property
    def store(self) -> Store:
        return self.desk.store

    async def sweep(self, n: int = 20) -> int:
        """Up to *n* events that nobody has applied yet are; how many there were.

        Taken one at a time: one that breaks is hidden from the next look, holds nobody up, and is dead
        after its tries.
        """
        for done in range(n):
            events = await self.store.inbox.take(1)
            if not events:
                return done
            if events[0].attempts > TRIES and not await self._has_to_wait(events[0]):
                await self._dead(events[0], "tried too often")
            else:
                await self.apply(events[0])
        return n

    async def _has_to_wait(self, event: Event) -> bool:
        """Its task is being stopped, which takes as long as the call in hand: no fault of the event's."""
        said = event.body if isinstance(event.body, dict) else {}
        number = said.get("task") or said.get("named")
        if event.org is None or not isinstance(number, int):
            return False
        task = await find_task(self.store.ledger, event.org, number)
        return task is not None and task.stop_by is not None and not task.ended

    async def apply(self, event: Event) -> Task | None:
        """The task *event* opened or joined; None where it can't be applied, which its row then says."""
        if isinstance(event.body, dict) and "nothing" in event.body:  # its writer was told so at once
            await self._ignored(event)
            return None
        if event.kind is not EventKind.MESSAGE or event.org is None:
            await self._dead(event, f"nothing takes {event.kind} events yet")
            return None
        if not isinstance(event.body, dict) or not isinstance(event.body.get("text"), str):
            await self._dead(event, "a message has a text")
            return None
        body = event.body
        if (number := body.get("task")) is not None:
            return await self._join_numbered(event, event.org, number)
        if body.get("kind") is not None:  # of a chat: what it belongs to is not said
            return await self._routed(event, event.org)
        return await self._open(event, event.org, body.get("agent") or self._chief(), body["text"])

    async def _dead(self, event: Event, why: str) -> None:
        await self.store.inbox.settle(event.key, Dead(error=self.desk.redactor.redact(why)))

    async def _routed(self, event: Event, org: OrgId) -> Task | None:
        """A chat's message is where it belongs; one that belongs nowhere is done with."""
        by = (await self.store.people.of(org)).person(PersonId(event.body["person"]))
        if by is None or by.left:
            await self._ignored(event)
            return None
        assert event.received_at is not None
        try:
            meant = await routed(self.desk, org, event.key.source, event.body, event.received_at)
        except LookupError as error:
            await self._dead(event, str(error))
            return None
        match meant:
            case Join(task=task):
                return await self._join(event, task)
            case Open(agent=agent, goal=goal):
                return await self._open(event, org, agent, goal)
            case Stop(task=task):
                return await self._stop(event, task, by)
            case Unclear(tasks=tasks):  # another task began since its writer was told; it is read by one
                return await self._join(event, max(tasks, key=lambda t: t.number))
            case Unaddressed() | Blank():
                await self._ignored(event)
                return None
            case never:
                assert_never(never)

    async def _ignored(self, event: Event) -> None:
        await self.store.inbox.settle(event.key, Ignored())

    async def _stop(self, event: Event, task: Task, by: Person) -> Task | None:
        """*task* ends at its next step, if *by* may say so; a second look at the event changes nothing."""
        if may_stop(by, task):
            await self.store.tasks.change(task.ref, stop(by.id, surface=event.key.source))
        await self._ignored(event)
        return None

    async def _join_numbered(self, event: Event, org: OrgId, number: int) -> Task | None:
        task = await find_task(self.store.ledger, org, number)
        if task is None:
            await self._dead(event, f"there is no task t-{number}")
            return None
        return await self._join(event, task)

    async def _join(self, event: Event, task: Task) -> Task | None:
        move = incoming(event, self.desk.agent(task.agent))
        return await self.store.tasks.change(task.ref, move, Need(event=event.key, roster=True))

    def _chief(self) -> str | None:
        try:
            return chief_of(self.desk.host)
        except LookupError:
            return None

    async def _open(self, event: Event, org: OrgId, agent: str | None, goal: str) -> Task | None:
        if agent is None or agent not in self.desk.host.agents:
            await self._dead(event, f"there is no agent {agent or 'who is the chief'}")
            return None
        person = event.body.get("person")
        who = None if person is None else await self._person(org, PersonId(person))
        new = NewTask(
            org=org,
            id=TaskId(self.desk.ids.new()),
            agent=agent,
            origin=origin_after(Origin.OWNER, who),
            goal=goal,
            requester=None if person is None else PersonId(person),
            prio=Prio.PERSON,
            surface=event.body.get("surface"),
            chat=event.body.get("chat"),
            thread_ref=event.body.get("thread") or event.body.get("opens") or event.body.get("chat"),
        )
        opened = await self.store.tasks.open(new, Cause(key=event.key, actor=person or event.key.source))
        if isinstance(opened, Duplicate):
            return None if opened.ref is None else await _task(self.store.ledger, opened.ref)
        return opened

    async def _person(self, org: OrgId, person: PersonId) -> Person | None:
        """As the organization has them today; None also where there is no such organization."""
        try:
            return (await self.store.people.of(org)).person(person)
        except LookupError:
            return None


def may_stop(who: Person, task: Task) -> bool:
    """Whoever may decide anything, and the one who asked for *task*."""
    return who.may_decide or (task.requester == who.id and not who.left)


async def find_task(ledger: Ledger, org: OrgId, number: int) -> Task | None:
    """The task people call ``t-<number>`` in *org*, or None."""
    found = await ledger.find(org, Query(number=number, limit=1))
    return found[0] if found else None


async def _task(ledger: Ledger, ref: TaskRef) -> Task | None:
    try:
        return (await ledger.story(ref)).task
    except TaskNotFound:
        return None
