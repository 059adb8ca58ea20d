"""``python -m bot doctor`` on Telegram: what can be wrong with it is one line each, with its mend."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as StarletteMessage

from adapters.telegram.checkup import token as tokens
from bot.checkup import slack, telegram
from bot.commands.doctor import ORDER, look
from bot.commands.session import person_for
from bot.settings import Settings
from bot.wiring import opened
from core.checkup import State
from core.ids import OrgId
from core.people import Account, Role
from core.ports import Query
from core.roster import Add, Link
from tests.acceptance.telegram_deployment import (
    ALL_BUT_GROUPS,
    BENEATH,
    JSON,
    OTHERS_TOKEN,
    SECRET,
    Deployment,
    answering,
    asking,
    deployment,
    instead,
    standing,
    unchecked,
)
from tests.acceptance.test_doctor import changed_by_ada, only_wrong, printed, states
from tests.acceptance.test_web_process import BOT, running
from tests.conftest import Templates, migrated
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.slack import SIGNING_SECRET, fake_slack
from tests.fakes.telegram import (
    USERNAME,
    Trouble,
    html,
    lost,
    refusal,
    too_many,
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


# ── the command, and a real web process ──────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_where_all_is_well_each_line_says_so_and_the_card_was_pressed_in_the_real_web_process(
    kind: str, tmp_path: Path, postgres_server: Server, templates: Templates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_DB", str(tmp_path / "shop.db"))
    async with (
        migrated(kind, tmp_path, postgres_server, templates) as url,
        deployment(url, tmp_path) as here,
    ):
        env = {name: value for name, value in here.env.items() if name.isupper()}
        async with running(url, tmp_path, module=BOT, **env) as web:
            await web.tells("web is open")
            await here.telegram.wait_for(lambda: here.telegram.commands.get("all_private_chats"))
            status, out, err = await printed(here.env, here.folder)
            _, found, _ = await printed(here.env, here.folder, "--json")
            web.stop()
            _, _, log = await web.ends()
    assert (status, err) == (0, "")
    marks = [words[0] for line in out.splitlines() if (words := line.split()) and words[0] in "✔✖–"]
    assert marks == ["✔"] * 3 + ["–"] + ["✔"] * 5 + ["–"] + ["✔"] * 3
    assert "slack Slack is not set up" in " ".join(out.split())
    read = {each["name"]: each["state"] for each in json.loads(found)}
    assert read == ALL_BUT_GROUPS | dict.fromkeys(slack.NAMES, State.UNCHECKED)
    said = here.telegram.said(here.ada)
    assert [(m.text, m.markup, len(m.versions)) for m in said] == [("Gatepost works here", None, 2)] * 2
    assert "WARNING" not in log and "ERROR" not in log  # what it was asked leaves no trace there
    assert [secret for secret in here.all_secrets if secret in out + found + log] == []


async def test_a_press_of_doctors_is_answered_as_anybodys_and_leaves_nothing_behind(up: Deployment) -> None:
    assert (await up.looked())["telegram click"].state is State.WELL
    assert len(up.telegram.called("answerCallbackQuery")) == 1
    planted = SqlPlanted(up.env["DATABASE_URL"])
    assert await planted.table("inbox") == []
    await planted.close()


async def test_a_token_that_telegram_does_not_know_is_marked_with_its_mend_and_the_status_is_1(
    up: Deployment,
) -> None:
    status, out, err = await printed({**up.env, "TELEGRAM_BOT_TOKEN": OTHERS_TOKEN}, up.folder)
    assert (status, err) == (1, "error: telegram token is not well\n")
    (line,) = (line for line in out.splitlines() if "✖" in line)
    assert line.split() == "✖ telegram token Telegram does not know this bot's token".split()
    assert "@BotFather" in out and OTHERS_TOKEN not in out


# ── settings ─────────────────────────────────────────────────────────────────────────────────


async def test_without_a_chat_it_is_said_how_each_is_set_up(here: Deployment) -> None:
    found = await here.looked(TELEGRAM_BOT_TOKEN=None, TELEGRAM_SECRET=None)
    assert states(found) == dict.fromkeys(telegram.NAMES, State.UNCHECKED) | dict.fromkeys(
        BENEATH, State.WELL
    )
    assert {found[name].said for name in telegram.NAMES} == {telegram.NOT_SET_UP}
    assert "for Telegram TELEGRAM_BOT_TOKEN" in found["settings"].mend


async def test_a_secret_without_a_token_is_wrong(here: Deployment) -> None:
    found = only_wrong(await here.looked(TELEGRAM_BOT_TOKEN=None))
    assert (found.name, found.said) == ("settings", "TELEGRAM_BOT_TOKEN can't be used")
    assert "TELEGRAM_SECRET is" in found.mend


async def test_telegram_itself_sends_to_no_address_but_https(here: Deployment) -> None:
    settings = Settings.from_env({**here.env, "TELEGRAM_API_URL": "https://api.telegram.org"})
    ((said, mend),) = telegram.of_settings(settings)
    assert said == "PUBLIC_URL can't be used"
    assert "https alone" in mend


async def test_which_chats_are_set_up_and_how_is_said_in_one_line(up: Deployment) -> None:
    found = await up.looked()
    assert found["settings"].said == (
        "PUBLIC_URL, TELEGRAM_BOT_TOKEN and TELEGRAM_SECRET are set: Telegram by webhook; "
        "the keys can be used"
    )


# ── the token, privacy, commands ─────────────────────────────────────────────────────────────


async def test_all_is_well_and_the_card_says_so_without_its_button(up: Deployment) -> None:
    found = await up.looked()
    assert states(found) == ALL_BUT_GROUPS
    assert found["telegram token"].said == f"it is of the bot Gatepost (@{USERNAME})"
    assert found["telegram privacy"].said.startswith("on: ")
    assert found["telegram updates"].said == f"Telegram sends them to {up.url}"
    assert found["people"].said == "ada is an owner in Telegram"
    assert (up.card.text, up.card.markup) == ("Gatepost works here", None)
    assert ["Approve" in str(v.markup) for v in up.card.versions] == [True, True]  # as sent, and as pressed
    assert up.telegram.called("deleteMessage") == []
    assert up.telegram.said(up.ada) == [up.card]  # the press was answered without a word


@pytest.mark.parametrize(
    ("trouble", "mend"),
    [
        (refusal(401, "Unauthorized"), tokens.TOKEN),
        (html(), "see that this machine reaches Telegram"),
        (lost(), "see that this machine reaches Telegram"),
        (too_many(7), "try again then"),
        (Trouble(body=b"{", headers=JSON), "see that this machine reaches"),
        (
            Trouble(body=b'{"ok": true}', headers=JSON),
            "see that this machine",
        ),
    ],
)
async def test_where_telegram_does_not_say_who_the_bot_is_all_else_is_looked_at(
    trouble: Trouble, mend: str, up: Deployment
) -> None:
    up.telegram.breaks("getMe", trouble)
    found = await up.looked()
    assert only_wrong(found).name == "telegram token"
    assert found["telegram token"].mend.startswith(mend)
    assert unchecked(found) == {*telegram.OF_TOKEN, "telegram card", "telegram click"} - {"telegram groups"}
    assert found["telegram secret"].state is State.WELL


async def test_where_telegram_cannot_be_reached_the_mend_is_not_the_token(up: Deployment) -> None:
    found = only_wrong(await up.looked(TELEGRAM_API_URL="http://127.0.0.1:1"))
    assert found.name == "telegram token"
    assert "TELEGRAM_API_URL" in found.mend


async def test_with_privacy_off_it_is_said_that_it_hears_all_and_how_to_turn_it_on(up: Deployment) -> None:
    up.telegram.privacy = False
    found = await up.looked()
    assert states(found) == ALL_BUT_GROUPS
    assert "leaves alone what is not for it" in found["telegram privacy"].said
    assert "Group Privacy" in found["telegram privacy"].mend


async def test_menus_of_another_version_are_told_by_what_differs(up: Deployment) -> None:
    offered = up.telegram.commands
    offered["all_private_chats"] = [
        each for each in offered["all_private_chats"] if each["command"] not in ("pause", "rules")
    ]
    offered["all_group_chats"].append({"command": "dance", "description": "Dance."})
    del offered["default"]
    found = only_wrong(await up.looked())
    assert found.name == "telegram commands"
    assert found.said == (
        "the menus are not this version's: elsewhere there are none; in groups dance too many; "
        "in private chats rules, pause missing"
    )
    assert "restart" in found.mend


async def test_menus_that_nobody_told_telegram_of_are_empty(up: Deployment) -> None:
    up.telegram.commands.clear()
    found = only_wrong(await up.looked())
    assert (found.name, found.said) == ("telegram commands", "the menus are empty")


async def test_a_command_that_is_described_otherwise_is_not_this_versions(up: Deployment) -> None:
    up.telegram.commands["all_private_chats"][0]["description"] = "Something else."
    assert "in private chats they say or stand otherwise" in only_wrong(await up.looked()).said


# ── the card ─────────────────────────────────────────────────────────────────────────────────


async def test_whoever_never_pressed_start_is_told_where_to(up: Deployment) -> None:
    del up.telegram.chats[up.ada.id]
    found = await up.looked()
    assert only_wrong(found).name == "telegram card"
    assert "can't initiate conversation" in found["telegram card"].said
    assert found["telegram card"].mend.startswith(f"open https://t.me/{USERNAME} in Telegram and press Start")
    assert unchecked(found) == {"telegram click"}


async def test_whoever_blocked_the_bot_is_told_to_unblock_it(up: Deployment) -> None:
    up.ada.blocked = True
    found = only_wrong(await up.looked())
    assert (found.name, found.mend.partition(",")[0]) == ("telegram card", f"unblock @{USERNAME}")


async def test_a_card_that_cannot_be_edited_is_not_well_and_is_pressed_all_the_same(up: Deployment) -> None:
    up.telegram.breaks("editMessageText", refusal(400, "Bad Request: message can't be edited"), times=None)
    found = await up.looked()
    assert only_wrong(found).name == "telegram card"
    assert found["telegram card"].said == "it can't be edited: Telegram says Message can't be edited"
    assert found["telegram click"].state is State.WELL


async def test_a_card_that_can_be_edited_once_and_not_at_its_end_is_not_well(up: Deployment) -> None:
    async def closes() -> None:
        await up.telegram.wait_for(lambda: up.telegram.called("editMessageText"))
        up.telegram.breaks("editMessageText", refusal(400, "Bad Request: message can't be edited"))

    found, _ = await asyncio.gather(up.looked(), closes())
    assert len(up.card.versions) == 1
    assert only_wrong(found).name == "telegram card"


async def test_a_press_that_breaks_is_a_line_of_its_own(here: Deployment) -> None:
    async def breaks(request: Request) -> Response:
        if request.headers.get("x-telegram-bot-api-secret-token") != SECRET:
            return PlainTextResponse("not from Telegram", 401)
        return Response(status_code=500 if "callback_query" in await request.json() else 200)

    async with instead(here, breaks):
        found = only_wrong(await here.looked())
    assert (found.name, found.mend) == ("telegram click", "its log says what broke")
    assert here.card.text.startswith("Gatepost does not work here yet\n\n✖ telegram click: ")


@dataclass
class Recording:
    """Hands every request on to *app*, and keeps the updates with which something happened."""

    app: ASGIApp
    updates: list[dict[str, Any]] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body()
        if len(update := json.loads(body)) > 1:
            self.updates.append(update)

        async def again() -> StarletteMessage:
            return {"type": "http.request", "body": body}

        await self.app(scope, again, send)


async def test_the_press_is_made_as_telegram_makes_its_own_on_that_message(here: Deployment) -> None:
    recordings: list[Recording] = []

    def recorded(app: ASGIApp) -> ASGIApp:
        recordings.append(Recording(app))
        return recordings[-1]

    async with answering(here, recorded):
        assert states(await here.looked()) == ALL_BUT_GROUPS
        data = here.card.versions[-1].markup["inline_keyboard"][0][0]["callback_data"]  # type: ignore[index]
        await here.telegram.presses(here.ada, here.card, data, stale=True)
    (recording,) = recordings
    ours, telegrams = (update["callback_query"] for update in recording.updates)
    assert ours.keys() == telegrams.keys()
    assert ours["data"] == telegrams["data"]
    assert ours["from"]["id"] == telegrams["from"]["id"]
    said, there = ours["message"], telegrams["message"]
    assert said.keys() - there.keys() == {"reply_markup"}  # which the card's end took away
    assert there.keys() <= said.keys()
    assert said["message_id"] == there["message_id"]
    assert said["from"]["id"] == there["from"]["id"]
    assert {k: said["chat"][k] for k in ("id", "type")} == {k: there["chat"][k] for k in ("id", "type")}
    before = here.card.versions[-1]
    assert (said["text"], said["reply_markup"]) == (before.text, before.markup)
    assert 2**40 <= recording.updates[0]["update_id"] < 2**62


async def test_a_press_decides_nothing_and_leaves_nothing_in_the_database(up: Deployment) -> None:
    async with opened(up.settings) as app:
        before = await app.store.ledger.unsealed(OrgId("local"), 100)
        assert states(await up.looked()) == ALL_BUT_GROUPS
        assert await app.store.ledger.unsealed(OrgId("local"), 100) == before
        assert await app.store.ledger.find(OrgId("local"), Query()) == []


# ── people ───────────────────────────────────────────────────────────────────────────────────


async def test_who_is_linked_to_nobody_is_told_of_the_link_and_gets_no_card(up: Deployment) -> None:
    await changed_by_ada(up.settings, Add(name="Eve", roles=frozenset({Role.MEMBER})))
    found = await up.looked("Eve")
    assert all(each.state is not State.WRONG for each in found.values())
    assert unchecked(found) == {"telegram card", "telegram click"}
    assert found["telegram card"].said == "Eve has no account in Telegram"
    assert found["telegram card"].mend.startswith(
        f"python -m bot people invite Eve shows a link, https://t.me/{USERNAME}?start=…"
    )
    assert "python -m bot people link Eve telegram:4711" in found["telegram card"].mend
    assert up.telegram.called("sendMessage") == []


async def test_somebody_else_is_looked_at_by_as(up: Deployment) -> None:
    ben = up.telegram.add_user("ben", started=True)
    account = Account(surface="telegram", ref=str(ben.id))
    await changed_by_ada(up.settings, Add(name="Ben", roles=frozenset({Role.MEMBER}), accounts=(account,)))
    assert states(await up.looked("Ben")) == ALL_BUT_GROUPS
    assert [message.text for message in up.telegram.said(ben)] == ["Gatepost works here"]


async def test_an_account_that_is_no_number_is_told_with_how_to_link_the_right_one(up: Deployment) -> None:
    account = Account(surface="telegram", ref="@ben")
    await changed_by_ada(up.settings, Add(name="Ben", roles=frozenset({Role.MEMBER}), accounts=(account,)))
    found = only_wrong(await up.looked())
    assert (found.name, found.said) == ("people", "Ben's account telegram:@ben is no number")
    assert "people invite Ben" in found.mend
    async with opened(up.settings) as app:
        ada = await person_for(app, "ada", None)
        ben = next(p for p in (await app.store.people.of(ada.org)).people if p.name == "Ben")
        await app.store.people.save(ada, ada.org, Link(ben.id, Account(surface="telegram", ref="4799")))
    assert states(await up.looked()) == ALL_BUT_GROUPS


async def test_an_owner_without_an_account_there_is_wrong(up: Deployment, tmp_path: Path) -> None:
    new = f"sqlite+aiosqlite:///{tmp_path / 'new.db'}"
    found = await up.looked(DATABASE_URL=new)
    assert found["people"].said == found["telegram card"].said == "there is nobody yet"
    async with opened(Settings.from_env({**up.env, "DATABASE_URL": new})) as app:
        await person_for(app, "ada", None)
    found = await up.looked(DATABASE_URL=new)
    assert only_wrong(found).said == "no owner has an account in Telegram"
    assert found["people"].mend.startswith("python -m bot people invite ada shows a link")


# ── both chats ───────────────────────────────────────────────────────────────────────────────


async def test_with_both_chats_each_is_looked_at_and_each_card_tells_of_its_own(here: Deployment) -> None:
    async with fake_slack() as fake, asking(here):
        ada = fake.add_user("ada")
        async with opened(here.settings) as app:
            who = await person_for(app, "ada", None)
            link = Link(who.id, Account(surface="slack", ref=f"{fake.team.id}/{ada.id}"))
            await app.store.people.save(who, who.org, link)
        here.telegram.privacy = False
        del here.telegram.commands["default"]
        env = {"SLACK_API_URL": fake.api_url, "SLACK_BOT_TOKEN": fake.team.bot_token, "PORT": "1"}
        found = await look({**here.env, **env, "SLACK_SIGNING_SECRET": SIGNING_SECRET}, None)
        in_slack = str(fake.said(fake.dm(ada))[-1].blocks)
    by_name = {each.name: each for each in found}
    assert [each.name for each in found] == list(ORDER)
    wrong = {name for name, each in by_name.items() if each.state is State.WRONG}
    assert wrong == {"scopes", "route", "telegram commands"}
    assert by_name["people"].said == "ada is an owner in Slack and Telegram"
    assert "Slack by HTTP, Telegram by asking" in by_name["settings"].said
    assert "route" in in_slack and "telegram" not in in_slack
    assert "telegram commands" in here.card.text and "route" not in here.card.text
