"""``python -m bot doctor`` on the chats in Telegram where cards go."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from core.checkup import Finding, State
from core.people import Route
from core.roster import SetRoute
from tests.acceptance.telegram_deployment import JSON, Deployment, answering, standing
from tests.acceptance.test_doctor import changed_by_ada
from tests.conftest import Templates
from tests.fakes.telegram import (
    USERNAME,
    Trouble,
)
from tests.postgres import Server


@pytest.fixture
async def here(
    tmp_path: Path, postgres_server: Server, templates: Templates, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Deployment]:
    """A deployment; nothing answers at its address."""
    async with standing(tmp_path, postgres_server, templates, monkeypatch) as made:
        yield made


@pytest.fixture
async def up(here: Deployment) -> AsyncIterator[Deployment]:
    """The same, its web process up."""
    async with answering(here):
        yield here


# ── where cards go ───────────────────────────────────────────────────────────────────────────


async def routed(here: Deployment, ref: str) -> Finding:
    """What is found where the cards of lead go to *ref*."""
    await changed_by_ada(here.settings, SetRoute("lead", Route(surface="telegram", ref=ref)))
    found = await here.looked()
    assert found["people"].state is State.WELL
    return found["telegram groups"]


async def test_where_no_cards_go_to_a_group_it_is_said_how_they_would(up: Deployment) -> None:
    found = (await up.looked())["telegram groups"]
    assert found.state is State.UNCHECKED
    assert f"/start@{USERNAME}" in found.mend


async def test_a_group_and_a_topic_and_somebodys_own_chat_where_cards_go_are_named(up: Deployment) -> None:
    ops = up.telegram.add_group("Ops", up.ada)
    assert await routed(up, str(ops.id)) == Finding(
        name="telegram groups", state=State.WELL, said="the bot is where cards go: Ops"
    )
    topic = up.telegram.add_topic(ops, "Money")
    assert (await routed(up, f"{ops.id}:t{topic.id}")).state is State.WELL
    assert (await routed(up, f"@{up.ada.id}")).said == "the bot is where cards go: ada"


async def test_a_topic_of_a_group_without_topics_is_told(up: Deployment) -> None:
    ops = up.telegram.add_group("Ops", up.ada)
    found = await routed(up, f"{ops.id}:t4")
    assert found.said == f"the cards of lead go to {ops.id}:t4: it has no topics"
    assert f"python -m bot org route lead telegram:{ops.id}" in found.mend


@pytest.mark.parametrize(
    ("status", "said"),
    [("kicked", "bot was kicked"), ("left", "not a member"), ("restricted", "enough rights")],
)
async def test_a_group_where_the_bot_is_not_or_may_not_write_is_told(
    status: str, said: str, up: Deployment
) -> None:
    ops = up.telegram.add_group("Ops", up.ada)
    ops.bot_status = status
    found = await routed(up, str(ops.id))
    assert found.state is State.WRONG
    assert said in found.said
    assert f"add @{USERNAME} to the group" in found.mend
    assert "python -m bot org route lead thread" in found.mend


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ({"status": "left"}, "the bot is not there"),
        ({"status": "restricted", "can_send_messages": False}, "the bot may not write there"),
    ],
)
async def test_what_telegram_says_of_the_bot_in_a_group_counts(
    member: dict[str, Any], said: str, up: Deployment
) -> None:
    ops = up.telegram.add_group("Ops", up.ada)
    told = {"user": up.telegram.bot.to_json(), "is_member": True, "until_date": 0, **rights(), **member}
    body = json.dumps({"ok": True, "result": told}).encode()
    up.telegram.breaks("getChatMember", Trouble(body=body, headers=JSON))
    assert (await routed(up, str(ops.id))).said == f"the cards of lead go to {ops.id}: {said}"


async def test_a_group_whose_members_may_not_write_is_told(up: Deployment) -> None:
    ops = up.telegram.add_group("Ops", up.ada)
    told = {
        **ops.to_json(),
        "accent_color_id": 0,
        "max_reaction_count": 11,
        "accepted_gift_types": dict.fromkeys(GIFTS, False),
        "permissions": rights(),
    }
    body = json.dumps({"ok": True, "result": told}).encode()
    up.telegram.breaks("getChat", Trouble(body=body, headers=JSON))
    assert (await routed(up, str(ops.id))).said.endswith("the bot may not write there")


GIFTS = ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels")
RIGHTS = (
    "can_send_messages can_send_audios can_send_documents can_send_photos can_send_videos "
    "can_send_video_notes can_send_voice_notes can_send_polls can_send_other_messages "
    "can_add_web_page_previews can_change_info can_invite_users can_pin_messages "
    "can_manage_topics can_edit_tag can_react_to_messages"
).split()


def rights() -> dict[str, bool]:
    """None at all."""
    return dict.fromkeys(RIGHTS, False)


async def test_a_group_that_is_a_supergroup_now_is_told_with_its_new_name(up: Deployment) -> None:
    ops = up.telegram.add_group("Ops", up.ada, basic=True)
    up.telegram.held = True  # that the web process follows by itself is another test's
    new = await up.telegram.migrates(ops)
    found = await routed(up, str(ops.id))
    assert found.said == f"the cards of lead go to {ops.id}: the group is a supergroup now, {new.id}"
    assert found.mend == f"python -m bot org route lead telegram:{new.id}"


async def test_a_place_that_is_none_and_one_that_nobody_knows_are_told(up: Deployment) -> None:
    found = await routed(up, "ops")
    assert "ops is no place in Telegram" in found.said
    assert found.mend == "python -m bot org route lead telegram:-100…"
    assert "Chat not found" in (await routed(up, "-1009")).said
    unknown = await routed(up, "@99")
    assert "presses Start" in unknown.mend and USERNAME in unknown.mend
