"""Who is listened to in Slack, whatever they do there: people of this workspace whom the organization knows.

In a channel that is shared with another company anybody may press a button. Whoever is refused is told so
alone, nothing is decided by it, and what they pressed is in the trail (I14).
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from adapters.slack.heard.actors import STRANGER, SURFACE
from core.canonical import load
from core.front import UNKNOWN
from core.parks import ParkState
from core.people import Account
from core.ports import Query
from core.testing import says
from tests.acceptance.shop import ORG, REFUND_SCRIPT, REFUNDED, U1
from tests.acceptance.slack_office import SlackOffice, answered, slack_office, words_of
from tests.contract.planted_memory import MemoryPlanted
from tests.fakes.slack import Channel, Message, User

GRID, ELSEWHERE = "E0GRID", "E0ELSEWHERE"


@pytest.fixture
async def office() -> AsyncIterator[SlackOffice]:
    async with slack_office(MemoryPlanted()) as made:
        yield made
        assert await made.is_whole()


async def links(office: SlackOffice, *names: str) -> None:
    """Each account is linked to U1, who may decide everything."""
    for name in names:
        await office.planted.account(U1, Account(surface=SURFACE, ref=name))


# ── who there is ─────────────────────────────────────────────────────────────────────────────


async def whom_nobody_knows(office: SlackOffice) -> User:
    return office.slack.add_user("zed")


async def a_guest_of_one_channel(office: SlackOffice) -> User:
    return office.slack.add_user("guest", is_restricted=True)


async def of_another_workspace(office: SlackOffice) -> User:
    return office.slack.add_user("mallory", is_stranger=True)


async def of_another_workspace_and_linked(office: SlackOffice) -> User:
    """By a name of there, and by one as if they were of here."""
    user = office.slack.add_user("mallory", is_stranger=True)
    await links(office, f"{user.team_id}/{user.id}", f"{office.slack.team.id}/{user.id}")
    return user


async def of_another_enterprise_and_linked(office: SlackOffice) -> User:
    user = office.slack.add_user("mallory", is_stranger=True)
    user.team_id = ELSEWHERE
    await links(office, f"{ELSEWHERE}/{user.id}", f"{office.slack.team.id}/{user.id}")
    return user


async def of_another_workspace_of_the_enterprise(office: SlackOffice) -> User:
    """The bot is in one workspace of an enterprise, and a channel is shared within that."""
    office.slack.team.enterprise_id = GRID
    user = office.slack.add_user("grid", is_stranger=True)
    await links(office, f"{user.team_id}/{user.id}")
    return user


async def of_an_enterprise_that_nobody_knows(office: SlackOffice) -> User:
    """The bot is in the whole of an enterprise."""
    grid(office)
    return office.slack.add_user("zed")


async def of_another_company_where_the_bot_is_in_a_whole_enterprise(office: SlackOffice) -> User:
    grid(office)
    user = office.slack.add_user("mallory", is_stranger=True)
    await links(office, f"{user.team_id}/{user.id}")
    return user


def grid(office: SlackOffice) -> None:
    """The bot is installed in an enterprise as a whole: no workspace is named any more."""
    office.slack.team.enterprise_id = GRID
    office.slack.team.is_enterprise_install = True


# ── what they do ─────────────────────────────────────────────────────────────────────────────


@dataclass(kw_only=True, slots=True)
class Scene:
    """*user* in *room*, where there is a *card* of somebody else's task, and a form that ada has open."""

    office: SlackOffice
    user: User
    room: Channel
    card: Message

    async def told(self) -> list[str]:
        """What they alone were told since the last look."""
        await asyncio.gather(
            *self.office.background.going, return_exceptions=True
        )  # what Slack does not show
        self.office.background.going.clear()
        words = self.office.told(self.user)
        self.office.slack.ephemerals.clear()
        return words

    async def replies(self) -> list[str]:
        await self.office.slack.says(self.user, self.room, "approve", thread_ts=self.card.thread_ts)
        return await self.told()

    async def replies_and_slack_does_not_say_whose_they_are(self) -> list[str]:
        """As events of a shared channel once came: without user_team, source_team and team."""
        message = await self._event("message", thread_ts=self.card.thread_ts, text="approve")
        assert message == [200]
        return await self.told()

    async def mentions(self) -> list[str]:
        await self.office.slack.says(self.user, self.room, "refund everything", mention=True)
        return await self.told()

    async def clicks(self) -> list[str]:
        await self.office.slack.clicks(self.user, self.card, "approve")
        return await self.told()

    async def declines(self) -> list[str]:
        await self.office.slack.clicks(self.user, self.card, "decline")
        return await self.told()

    async def submits(self) -> list[str]:
        """Ada's form, which they can't have got from us."""
        slack = self.office.slack
        view = slack.modal(self.office.ada).to_json()
        values = {
            "field:1": {"field:1": {"type": "number_input", "value": "5"}},
        }
        payload = slack.about(self.user, slack.team) | {
            "type": "view_submission",
            "trigger_id": slack.new_trigger(self.user, slack.team, modal=True),
            "view": view | {"state": {"values": values}},
        }
        said = answered(await slack.delivers_interaction(payload))
        return [words_of(said["view"]["blocks"])]

    async def commands(self) -> list[str]:
        """In a workspace of theirs: Slack offers a command to nobody of another company."""
        slack = self.office.slack
        said = await slack.commands(self.office.ada, self.room, "/gatepost", "help")
        mine = {"user_id": self.user.id, "text": "approve t-1.1", "trigger_id": slack.new_id("trigger-")}
        if self.user.is_stranger:
            mine["team_id"] = self.user.team_id
        body = (await slack.delivers_command(said.payload | mine)).body
        return [words_of(json.loads(body)["blocks"]) if body.startswith("{") else body]

    async def makes_a_task_of_a_message(self) -> list[str]:
        await self.office.slack.uses_shortcut(self.user, self.card, "make_a_task")
        view = self.office.slack.modal(self.user)
        return ["a form"] if "submit" in view.body else [words_of(view.blocks)]

    async def comes_home(self) -> list[str]:
        slack = self.office.slack
        assert await self._event("app_home_opened", tab="home") == [200]
        await self.told()
        (published,) = slack.called("views.publish")
        view = published.payload["view"]
        return [words_of((json.loads(view) if isinstance(view, str) else view)["blocks"]).partition("\n")[2]]

    async def _event(self, kind: str, **more: Any) -> list[int | None]:
        at = self.office.slack.new_ts()
        event = {
            "type": kind,
            "user": self.user.id,
            "channel": self.room.id,
            "ts": at,
            "event_ts": at,
            **more,
        }
        tries = await self.office.slack.delivers_event(event, self.office.slack.team, self.room)
        return [delivery.status for delivery in tries]


async def scene(office: SlackOffice, who: Callable[[SlackOffice], Awaitable[User]]) -> Scene:
    user = await who(office)
    room = office.slack.add_channel("shared", office.ada, user)
    if office.slack.team.is_enterprise_install:
        await links(office, f"{GRID}/{office.ada.id}")
    office.opens([*REFUND_SCRIPT])
    await office.slack.says(office.ada, room, "refund the mug", mention=True)
    await office.last.works()
    made = Scene(office=office, user=user, room=room, card=office.card)
    await office.slack.clicks(office.ada, made.card, "edit")
    return made


KNOWN_NOWHERE: dict[str, list[str]] = {
    "replies": [],
    "replies_and_slack_does_not_say_whose_they_are": [],
    "mentions": [UNKNOWN],
    "clicks": [UNKNOWN],
    "declines": [UNKNOWN],
    "submits": [UNKNOWN],
    "commands": [UNKNOWN],
    "makes_a_task_of_a_message": ["a form"],  # their own words: what they send is refused
    "comes_home": [UNKNOWN],
}
FOREIGN = {what: [STRANGER] if words else [] for what, words in KNOWN_NOWHERE.items()}
FOREIGN["commands"] = [UNKNOWN]


@pytest.mark.rule("I14", "I15")
@pytest.mark.parametrize(
    ("who", "words"),
    [
        (whom_nobody_knows, KNOWN_NOWHERE),
        (a_guest_of_one_channel, KNOWN_NOWHERE),
        (of_another_workspace, FOREIGN),
        (of_another_workspace_and_linked, FOREIGN),
        (of_another_enterprise_and_linked, FOREIGN),
        (of_another_workspace_of_the_enterprise, FOREIGN),
        (of_an_enterprise_that_nobody_knows, KNOWN_NOWHERE),
    ],
)
async def test_who_is_none_of_ours_decides_nothing_and_is_told_so_alone(
    office: SlackOffice, who: Callable[[SlackOffice], Awaitable[User]], words: dict[str, list[str]]
) -> None:
    there = await scene(office, who)
    assert {what: await getattr(there, what)() for what in words} == words
    await office.last.works()
    story = await office.story()
    assert ([p.state for p in story.parks], office.world.effects) == ([ParkState.OPEN], [])
    assert len(await office.store.ledger.find(ORG, Query())) == 1
    refused = [e for e in story.audit if e.move == "refused"]
    assert [e.actor.startswith(f"{SURFACE}:") and e.actor.endswith(there.user.id) for e in refused] == [
        True
    ] * 3
    assert {load(e.entry)["why"] for e in refused} == {"nobody here knows them"}
    assert await there.told() == []
    await office.slack.clicks(office.ada, there.card, "approve")  # and for who is ours it stands as it stood
    await office.last.works()
    assert office.world.effects == [REFUNDED]


@pytest.mark.rule("I14")
async def test_in_a_whole_enterprise_another_company_decides_nothing(office: SlackOffice) -> None:
    there = await scene(office, of_another_company_where_the_bot_is_in_a_whole_enterprise)
    for what in ("replies", "mentions", "clicks", "declines", "submits", "commands"):
        words = await getattr(there, what)()
        assert set(words) <= {STRANGER, UNKNOWN} and bool(words) is (what != "replies")
    story = await office.story()
    assert [p.state for p in story.parks] == [ParkState.OPEN]
    assert len([e for e in story.audit if e.move == "refused"]) == 3


# ── bots ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I21")
@pytest.mark.parametrize("kind", ["classic", "user", "app in somebody's name", "our own"])
async def test_what_a_bot_says_starts_nothing_and_answers_nothing_whoever_it_is_linked_to(
    office: SlackOffice, kind: str
) -> None:
    office.opens([])
    slack, event = office.slack, {"type": "message", "channel": office.ops.id, "text": ""}
    event["text"] = f"<@{slack.team.bot_user_id}> refund everything"
    match kind:
        case "classic" | "user":
            await slack.other_bot_says(office.ops, event["text"], classic=kind == "classic")
            (bot,) = [u for u in slack.users.values() if u.name == "otherbot"]
            await links(office, f"{bot.team_id}/{bot.id}")
            await slack.other_bot_says(office.ops, event["text"], classic=kind == "classic")
        case "app in somebody's name":
            event |= {"user": office.ada.id, "bot_id": "B0OTHER", "app_id": "A0OTHER", "ts": slack.new_ts()}
            for one in (event, event | {"type": "app_mention"}):
                await slack.delivers_event(one, slack.team, office.ops)
        case _:
            event |= {"user": slack.team.bot_user_id, "bot_id": slack.team.bot_id, "ts": slack.new_ts()}
            await links(office, f"{slack.team.id}/{slack.team.bot_user_id}")
            await slack.delivers_event(event, slack.team, office.ops)
    await office.shown()
    assert {d.status for d in slack.deliveries} == {200}
    assert await office.planted.count("inbox") == 0
    assert slack.ephemerals == []


# ── who is ours ──────────────────────────────────────────────────────────────────────────────


async def works_for(office: SlackOffice, user: User, room: Channel) -> None:
    """What *user* asks for is done, once they have approved it."""
    office.opens([*REFUND_SCRIPT, says("Done.")])
    await office.slack.says(user, room, "refund the mug", mention=True)
    await office.last.works()
    await office.slack.clicks(user, office.card, "approve")
    await office.slack.commands(user, room, "/gatepost", "tasks")
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert "refund the mug" in office.told(user)[-1]


@pytest.mark.rule("I14")
async def test_who_is_of_here_is_listened_to_in_a_shared_channel_too(office: SlackOffice) -> None:
    guest = office.slack.add_user("guest", is_stranger=True)
    await works_for(office, office.ada, office.slack.add_channel("shared", office.ada, guest))


@pytest.mark.rule("I14")
async def test_a_guest_whom_the_organization_knows_is_one_of_its_people(office: SlackOffice) -> None:
    guest = office.slack.add_user("guest", is_restricted=True)
    await links(office, f"{guest.team_id}/{guest.id}")
    await works_for(office, guest, office.slack.add_channel("one", guest))


@pytest.mark.rule("I14")
@pytest.mark.parametrize("said", ["its workspace", "another one of the enterprise", "the enterprise"])
async def test_in_a_whole_enterprise_its_people_are_listened_to_wherever_they_are(
    office: SlackOffice, said: str
) -> None:
    """One account for each person, whichever of its workspaces Slack names."""
    grid(office)
    user = office.slack.add_user("grid")
    user.team_id = {"its workspace": user.team_id, "the enterprise": GRID}.get(said, "T0OTHER")
    await links(office, f"{GRID}/{user.id}")
    await works_for(office, user, office.slack.add_channel("ours", user))


@pytest.mark.rule("I14")
async def test_where_the_bot_is_not_installed_nobody_is_listened_to(office: SlackOffice) -> None:
    """What is of a workspace whose installation is gone decides nothing, whoever does it."""
    there = await scene(office, whom_nobody_knows)
    gone = {"id": "T0GONE", "domain": "gone"}
    click = await office.slack.clicks(office.ada, there.card, "decline")
    for payload in (
        click.payload | {"team": gone},
        click.payload | {"team": None, "enterprise": {"id": ELSEWHERE}, "is_enterprise_install": True},
    ):
        action = click.payload["actions"][0] | {"action_id": "approve", "action_ts": office.slack.new_ts()}
        assert (await office.slack.delivers_interaction(payload | {"actions": [action]})).status == 200
    await office.shown()
    assert [p.state for p in (await office.story()).parks] == [ParkState.OPEN]
