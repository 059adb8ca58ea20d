"""Slack's installations in both databases: sealed, one a workspace, each with a token that works."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from slack_sdk.oauth.installation_store.models.bot import Bot
from slack_sdk.oauth.installation_store.models.installation import Installation as SlackInstallation
from sqlalchemy import String, select
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.sealing import FernetSealer
from adapters.slack.installed.installs import (
    BOTS,
    INSTALLATIONS,
    OF_A_PERSON,
    OF_THE_BOT,
    SealedInstallations,
    revoked,
)
from adapters.slack.installed.many_workspaces import ManyWorkspaces
from adapters.slack.installed.rows import as_kept
from adapters.slack.installed.states import STATE_SECONDS, STATES, OAuthStates
from adapters.slack.installed.workspaces import Installation, Workspaces
from adapters.store import tables
from core.errors import ChatBusy, ChatError, ChatForbidden, ConfigError, SecretError
from core.ports import Sealer
from core.redact import Redactor
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.slack_oauth import OAuthServer, giving_tokens

# slack_sdk signs its request for a token with what aiohttp 4 will no longer have; we stay below 4.
pytestmark = pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning")

APP, SECRET = "1111.2222", "client-secret-canary"
KEY = "k" * 32
SEALER = FernetSealer(lambda: [KEY])
TOKENS = ("bot_token", "bot_refresh_token", "user_token", "user_refresh_token", "incoming_webhook_url")
CANARIES = {name: f"canary-of-{name}-0123456789" for name in TOKENS}
"""They look like nothing that is taken out unasked."""
LATER = datetime(2100, 1, 1, tzinfo=UTC)
SOON = 3600
HOURS = 12 * 3600


def installs(
    sql: SqlPlanted, *, sealer: Sealer | None = SEALER, app: str = APP, redactor: Redactor | None = None
) -> SealedInstallations:
    return SealedInstallations(rows=sql.db, client_id=app, sealer=sealer, redactor=redactor or Redactor())


@pytest.fixture
def kept(sql: SqlPlanted) -> SealedInstallations:
    """The app's installations in a database of each kind: none."""
    return installs(sql)


def installation(team: str | None = "T1", **changed: Any) -> SlackInstallation:
    values = {
        "app_id": "A1",
        "enterprise_id": None,
        "team_id": team,
        "team_name": f"The {team}",
        "bot_token": f"xoxb-of-{team}-0123456789",
        "bot_id": "B1",
        "bot_user_id": "U0BOT",
        "bot_scopes": "chat:write,commands",
        "user_id": "U1",
    }
    return SlackInstallation(**{**values, **changed})


def ending(in_seconds: float, team: str = "T1", **changed: Any) -> SlackInstallation:
    """One whose token ends; *first* is good to get the next."""
    until = {
        "bot_refresh_token": "xoxe-1-first-0123456789",
        "bot_token_expires_at": int(time.time() + in_seconds),
    }
    return installation(team, **{**until, **changed})


def org_wide(enterprise: str = "E1", **changed: Any) -> SlackInstallation:
    whole = {"enterprise_id": enterprise, "enterprise_name": "Acme", "is_enterprise_install": True}
    return installation(None, **{"bot_token": f"xoxb-of-{enterprise}-0123456789", **whole, **changed})


async def found(
    kept: SealedInstallations, team: str | None = "T1", enterprise: str | None = None
) -> Bot | None:
    return await kept.async_find_bot(enterprise_id=enterprise, team_id=team)


async def token(kept: SealedInstallations, team: str | None = "T1") -> str | None:
    bot = await found(kept, team)
    return None if bot is None else bot.bot_token


# ── what is kept ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("table", [BOTS, INSTALLATIONS, STATES], ids=str)
def test_the_tables_have_the_columns_of_the_library_and_room_for_any_text(table: Any) -> None:
    ours = tables.metadata.tables[table.name]
    assert {c.name: c.nullable for c in ours.columns} == {c.name: c.nullable for c in table.columns}
    assert [c.name for c in ours.columns if isinstance(c.type, String) and c.type.length] == []


async def test_what_is_saved_is_found_as_it_was(kept: SealedInstallations) -> None:
    saved = ending(SOON, enterprise_id="E1", **{name: CANARIES[name] for name in OF_A_PERSON})
    await kept.async_save(saved)
    bot = await found(kept, enterprise="E1")
    theirs = await kept.async_find_installation(enterprise_id="E1", team_id="T1")
    assert bot is not None and theirs is not None
    assert (bot.to_dict(), theirs.to_dict()) == (saved.to_bot().to_dict(), saved.to_dict())


async def test_the_newest_installation_is_the_workspaces_whoever_made_it(kept: SealedInstallations) -> None:
    await kept.async_save(installation(bot_token="xoxb-first-0123456789", user_id="U1"))
    await kept.async_save(installation(bot_token="xoxb-second-0123456789", user_id="U2"))
    assert (await token(kept), await installers(kept)) == ("xoxb-second-0123456789", ["U1", "U2"])
    await kept.async_delete_installation(enterprise_id=None, team_id="T1", user_id="U1")
    assert (await token(kept), await installers(kept)) == ("xoxb-second-0123456789", ["U2"])


async def installers(kept: SealedInstallations) -> list[str]:
    """Those of U1 and U2 who have installed it in T1."""
    asked = [
        await kept.async_find_installation(enterprise_id=None, team_id="T1", user_id=user)
        for user in ("U1", "U2")
    ]
    return [one.user_id for one in asked if one is not None]


async def test_of_a_workspace_no_older_token_is_kept(kept: SealedInstallations, sql: SqlPlanted) -> None:
    for n in range(3):
        await kept.async_save(installation(bot_token=f"xoxb-number-{n}-0123456789"))
    await kept.async_save_bot(installation(bot_token="xoxb-number-3-0123456789").to_bot())
    assert [len(await sql.table(table)) for table in ("slack_bots", "slack_installations")] == [1, 1]
    assert await token(kept) == "xoxb-number-3-0123456789"


async def test_what_a_person_grants_for_themselves_takes_no_bots_place(kept: SealedInstallations) -> None:
    await kept.async_save(installation())
    await kept.async_save(installation(bot_token=None, user_token="xoxp-0123456789", user_id="U2"))
    assert await token(kept) == "xoxb-of-T1-0123456789"


async def test_two_apps_in_one_database_know_nothing_of_each_other(sql: SqlPlanted) -> None:
    one, other = installs(sql), installs(sql, app="3333.4444")
    await one.async_save(installation(bot_token="xoxb-one-0123456789"))
    assert await token(other) is None
    await other.async_save(installation(bot_token="xoxb-other-0123456789"))
    await revoked(other, None, "T1", LATER)
    assert (await token(one), await token(other)) == ("xoxb-one-0123456789", None)


async def test_where_it_is_uninstalled_nothing_is_left_and_elsewhere_all(
    kept: SealedInstallations, sql: SqlPlanted
) -> None:
    for one in (
        installation("T1", enterprise_id="E1"),
        installation("T2", enterprise_id="E1"),
        org_wide("E1"),
    ):
        await kept.async_save(one)
    await revoked(kept, "E1", "T1", LATER)
    for table in ("slack_bots", "slack_installations"):
        assert sorted(str(row["team_id"]) for row in await sql.table(table)) == ["None", "T2"]
    await revoked(kept, "E1", None, LATER)
    for table in ("slack_bots", "slack_installations"):
        assert [row["team_id"] for row in await sql.table(table)] == ["T2"]


# ── seals ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I33")
async def test_no_column_of_any_row_has_a_token_in_it(kept: SealedInstallations, sql: SqlPlanted) -> None:
    await kept.async_save(installation(**CANARIES))
    await kept.async_save(org_wide(**CANARIES))
    bot = await found(kept)
    assert bot is not None
    assert await kept.renew(bot, Bot(**{**bot.to_dict_for_copying(), "bot_token": CANARIES["bot_token"]}))
    rows = [
        row
        for table in ("slack_bots", "slack_installations", "slack_oauth_states")
        for row in await sql.table(table)
    ]
    assert len(rows) == 4
    looked_at = [str(value) for row in rows for value in row.values()]
    assert len(looked_at) > 80
    assert [value for value in looked_at if "canary" in value] == []
    redactor = Redactor(CANARIES)
    assert [value for value in looked_at if redactor.redact(value) != value] == []


@pytest.mark.parametrize("name", OF_THE_BOT)
async def test_a_sealed_token_that_was_moved_does_not_open(
    kept: SealedInstallations, sql: SqlPlanted, name: str
) -> None:
    await kept.async_save(ending(SOON, "T1"))
    await kept.async_save(ending(SOON, "T2"))
    rows = {row["team_id"]: row for row in await sql.table("slack_bots")}
    other = next(one for one in OF_THE_BOT if one != name)
    for moved in (rows["T2"][name], rows["T1"][other]):
        await sql.update("slack_bots", {name: moved}, team_id="T1")
        with pytest.raises(SecretError, match="sealed under another SECRET_KEY, or for another place"):
            await found(kept)


async def test_without_a_key_nothing_is_kept_and_the_operator_is_told_which(sql: SqlPlanted) -> None:
    without = installs(sql, sealer=None)
    with pytest.raises(ConfigError, match="SECRET_KEY"):
        without.check()
    with pytest.raises(ConfigError, match="SECRET_KEY"):
        await without.async_save(installation())
    assert (await sql.table("slack_bots"), await sql.table("slack_installations")) == ([], [])


@pytest.mark.rule("I33")
async def test_a_token_is_shown_to_nobody_once_it_was_kept_or_opened(sql: SqlPlanted) -> None:
    keeping, opening = Redactor(), Redactor()
    await installs(sql, redactor=keeping).async_save(installation(**CANARIES))
    assert [keeping.redact(value) for value in CANARIES.values()] == [
        f"[secret slack/T1/{name}]" for name in CANARIES
    ]
    kept = installs(sql, redactor=opening)
    await found(kept)
    assert opening.redact(CANARIES["bot_token"]) == "[secret slack/T1/bot_token]"
    await kept.async_find_installation(enterprise_id=None, team_id="T1")
    assert opening.redact(CANARIES["user_token"]) == "[secret slack/T1/user_token]"


# ── times ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def far_west(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process is in a time zone that is far from UTC."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


async def test_times_are_the_same_wherever_the_process_is(
    kept: SealedInstallations, sql: SqlPlanted, far_west: None
) -> None:
    assert time.localtime().tm_gmtoff < 0
    saved = ending(SOON)
    await kept.async_save(saved)
    bot = await found(kept)
    assert bot is not None
    assert (bot.installed_at, bot.bot_token_expires_at) == (saved.installed_at, saved.bot_token_expires_at)
    row = await sql.row("slack_bots")
    assert abs(row["installed_at"] - datetime.now(UTC).replace(tzinfo=None)) < timedelta(minutes=5)
    later = Bot(**{**bot.to_dict_for_copying(), "bot_token_expires_at": int(time.time()) + HOURS})
    assert await kept.renew(bot, later)
    again = await found(kept)
    assert again is not None
    assert (again.installed_at, again.bot_token_expires_at) == (
        saved.installed_at,
        later.bot_token_expires_at,
    )


async def test_a_moment_of_another_zone_is_kept_as_the_same_moment(kept: SealedInstallations) -> None:
    at = datetime.fromisoformat("2026-03-01T23:30:00.123456-05:00")
    await kept.async_save(installation(installed_at=at))
    bot = await found(kept)
    assert bot is not None and datetime.fromtimestamp(bot.installed_at, UTC) == at
    assert as_kept(at) == datetime.fromisoformat("2026-03-02T04:30:00.123456")


async def test_a_state_lasts_ten_minutes_wherever_the_process_is(sql: SqlPlanted, far_west: None) -> None:
    states = OAuthStates(rows=sql.db)
    await states.async_issue()
    left = (await sql.row("slack_oauth_states"))["expire_at"] - datetime.now(UTC).replace(tzinfo=None)
    assert timedelta(minutes=9) < left <= timedelta(seconds=STATE_SECONDS) == timedelta(minutes=10)


# ── states ───────────────────────────────────────────────────────────────────────────────────


async def test_a_state_is_good_once(sql: SqlPlanted) -> None:
    states = OAuthStates(rows=sql.db)
    one, other = await states.async_issue(), await states.async_issue()
    assert one != other
    assert [await states.async_consume(state) for state in (one, one, "made up", other)] == [
        *(True, False),
        *(False, True),
    ]


async def test_of_many_who_come_with_one_state_at_once_one_is_let_in(sql: SqlPlanted) -> None:
    states = OAuthStates(rows=sql.db)
    state = await states.async_issue()
    assert sum(await asyncio.gather(*(states.async_consume(state) for _ in range(8)))) == 1


@pytest.mark.parametrize("database_kind", ["postgres"])
async def test_who_waits_for_another_that_uses_a_state_finds_it_used(
    sql: SqlPlanted, migrated_url: str
) -> None:
    state = await OAuthStates(rows=sql.db).async_issue()
    others = SqlPlanted(migrated_url)
    states = OAuthStates(rows=others.db)

    async def body(conn: AsyncConnection) -> "asyncio.Future[list[bool]]":
        await conn.execute(select(STATES).with_for_update())
        coming = asyncio.gather(*(states.async_consume(state) for _ in range(2)))
        async with asyncio.timeout(60):
            while await waiting(sql) < 2:
                pass  # each look is a round trip, in which the others go on
        return coming

    coming = await sql.db.write(body)
    assert sorted(await coming) == [False, True]
    await others.close()


async def waiting(sql: SqlPlanted) -> int:
    """How many sessions of this database wait for a lock."""
    held_up = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    ((found,),) = await sql.all(f"{held_up} AND wait_event_type = 'Lock'")
    return int(found)


async def test_a_state_that_ran_out_is_not_good_and_goes_with_the_next(sql: SqlPlanted) -> None:
    states = OAuthStates(rows=sql.db)
    late = await states.async_issue()
    await sql.update("slack_oauth_states", {"expire_at": datetime.now(UTC).replace(tzinfo=None)})
    assert await states.async_consume(late) is False
    new = await states.async_issue()
    assert [row["state"] for row in await sql.table("slack_oauth_states")] == [new]


# ── workspaces ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def slack() -> AsyncIterator[OAuthServer]:
    async with giving_tokens() as server:
        yield server


def workspaces(kept: SealedInstallations, sql: SqlPlanted, slack: OAuthServer) -> ManyWorkspaces:
    """Those of one process."""
    return ManyWorkspaces(installs=kept, leases=sql.store.leases, client=slack.client, client_secret=SECRET)


@pytest.fixture
def many(kept: SealedInstallations, sql: SqlPlanted, slack: OAuthServer) -> Workspaces:
    return workspaces(kept, sql, slack)


OF_T1 = Installation(
    team="T1", enterprise=None, token="xoxb-of-T1-0123456789", bot_user="U0BOT", bot_id="B1", org_wide=False
)
OF_E1 = Installation(
    team=None, enterprise="E1", token="xoxb-of-E1-0123456789", bot_user="U0BOT", bot_id="B1", org_wide=True
)


async def test_each_workspace_is_found_by_its_event_and_by_its_name(
    kept: SealedInstallations, many: Workspaces
) -> None:
    await kept.async_save(installation("T1"))
    await kept.async_save(installation("T2"))
    assert await many.of(None, "T1") == await many.named("T1") == OF_T1
    assert (await many.named("T2")).token == "xoxb-of-T2-0123456789"


async def test_a_workspace_is_known_whether_its_enterprise_is_named_or_not(
    kept: SealedInstallations, many: Workspaces
) -> None:
    await kept.async_save(installation("T1"))
    await kept.async_save(installation("T2", enterprise_id="E1"))
    of = [await many.of("E1", "T1"), await many.of(None, "T2"), await many.of("E1", "T2")]
    assert [one and one.name for one in of] == ["T1", "T2", "T2"]


async def test_an_installation_for_an_enterprise_answers_for_all_its_workspaces(
    kept: SealedInstallations, many: Workspaces
) -> None:
    await kept.async_save(org_wide("E1"))
    assert [await many.of("E1", "T1"), await many.of("E1", "T2"), await many.of("E1", None)] == [OF_E1] * 3
    assert await many.named("E1") == OF_E1 and OF_E1.name == "E1"
    assert [await many.of("E2", "T1"), await many.of(None, "T1"), await many.of(None, None)] == [None] * 3


async def test_a_workspaces_own_installation_goes_before_its_enterprises(
    kept: SealedInstallations, many: Workspaces
) -> None:
    await kept.async_save(installation("T1", enterprise_id="E1"))
    await kept.async_save(org_wide("E1"))
    of = [await many.of("E1", "T1"), await many.of("E1", "T2")]
    assert [one and one.name for one in of] == ["T1", "E1"]


async def test_an_enterprises_installation_has_no_workspace_whatever_slack_says_beside_it(
    kept: SealedInstallations, many: Workspaces
) -> None:
    await kept.async_save(org_wide("E1", team_id="T9", team_name="Nine"))
    assert await many.of("E1", "T1") == OF_E1


async def test_without_a_name_the_only_one_is_meant(kept: SealedInstallations, many: Workspaces) -> None:
    with pytest.raises(ChatForbidden, match="in no workspace"):
        await many.named(None)
    await kept.async_save(installation("T1"))
    assert await many.named(None) == OF_T1
    await kept.async_save(installation("T2"))
    with pytest.raises(ChatForbidden, match="which workspace"):
        await many.named(None)


async def test_where_it_is_not_installed_or_no_longer_the_bot_is_refused(
    kept: SealedInstallations, many: Workspaces
) -> None:
    await kept.async_save(installation("T1"))
    await revoked(kept, None, "T1", LATER)
    assert await many.of(None, "T1") is None
    with pytest.raises(ChatForbidden, match="not installed in T1"):
        await many.named("T1")


async def test_what_can_not_be_known_now_is_not_told_as_not_installed(
    kept: SealedInstallations, many: Workspaces, sql: SqlPlanted
) -> None:
    await kept.async_save(installation("T1"))
    await sql.update("slack_bots", {"bot_token": "of another key"}, team_id="T1")
    for asked in (many.of(None, "T1"), many.named("T1"), many.named(None)):
        with pytest.raises(ChatError, match="SECRET_KEY") as unknown:
            await asked
        assert type(unknown.value) is ChatError
    await sql.run("DROP TABLE slack_bots")
    with pytest.raises(ChatError, match="the database refused"):
        await many.of(None, "T1")


# ── tokens that end ──────────────────────────────────────────────────────────────────────────


def grant(n: int, **changed: Any) -> dict[str, Any]:
    """What Slack gives for a refresh token."""
    tokens = {
        "access_token": f"xoxe.xoxb-1-new-{n}-0123456789",
        "refresh_token": f"xoxe-1-next-{n}-0123456789",
    }
    return {**tokens, "token_type": "bot", "expires_in": HOURS, **changed}


FIRST = "xoxe-1-first-0123456789"
OLD, NEW = "xoxb-of-T1-0123456789", "xoxe.xoxb-1-new-1-0123456789"


async def test_a_token_that_ends_within_two_hours_is_renewed_and_kept(
    kept: SealedInstallations, many: Workspaces, slack: OAuthServer, sql: SqlPlanted
) -> None:
    slack.grants = {FIRST: grant(1)}
    await kept.async_save(ending(SOON))
    assert (await many.named("T1")).token == NEW
    assert slack.asked == [
        {
            "grant_type": "refresh_token",
            "refresh_token": FIRST,
            "client_id": APP,
            "client_secret": SECRET,
        }
    ]
    bot = await found(kept)
    assert bot is not None and bot.bot_token_expires_at is not None
    assert (bot.bot_token, bot.bot_refresh_token) == (NEW, "xoxe-1-next-1-0123456789")
    assert abs(bot.bot_token_expires_at - time.time() - HOURS) < 60
    assert len(await sql.table("slack_bots")) == 1
    assert (await many.named("T1")).token == NEW and len(slack.asked) == 1


async def test_a_token_that_lasts_or_does_not_end_is_left_alone(
    kept: SealedInstallations, many: Workspaces, slack: OAuthServer
) -> None:
    await kept.async_save(ending(3 * 3600, "T1"))
    await kept.async_save(installation("T2"))
    assert [(await many.named(name)).token[:10] for name in ("T1", "T2")] == ["xoxb-of-T1", "xoxb-of-T2"]
    assert slack.asked == []


@pytest.mark.parametrize("processes", [1, 4])
async def test_of_all_who_find_a_token_ended_one_asks_slack(
    kept: SealedInstallations, slack: OAuthServer, sql: SqlPlanted, processes: int
) -> None:
    slack.grants = {FIRST: grant(1)}
    await kept.async_save(ending(-1))
    those = [workspaces(kept, sql, slack) for _ in range(processes)]
    got = await asyncio.gather(*(those[n % processes].named("T1") for n in range(8)), return_exceptions=True)
    assert len(slack.asked) == 1
    tokens = {one.token for one in got if isinstance(one, Installation)}
    assert tokens == {NEW}
    # Only another process is told to come again: in one, they wait for each other.
    busy = [one for one in got if not isinstance(one, Installation)]
    assert all(isinstance(one, ChatBusy) for one in busy) and (processes > 1 or not busy)


async def test_while_one_renews_a_token_that_still_works_nobody_waits(
    kept: SealedInstallations, slack: OAuthServer, sql: SqlPlanted
) -> None:
    slack.grants, slack.may_answer = {FIRST: grant(1)}, asyncio.Event()
    await kept.async_save(ending(SOON))
    one, other = workspaces(kept, sql, slack), workspaces(kept, sql, slack)
    renewing = asyncio.ensure_future(one.named("T1"))
    await asyncio.wait_for(slack.busy.wait(), 10)
    assert [(await each.named("T1")).token for each in (one, other)] == [OLD, OLD]
    slack.may_answer.set()
    assert (await renewing).token == NEW
    assert [(await each.named("T1")).token for each in (one, other)] == [NEW, NEW]


async def test_a_renewal_is_kept_also_where_its_caller_is_gone(
    kept: SealedInstallations, many: Workspaces, slack: OAuthServer
) -> None:
    slack.grants, slack.may_answer = {FIRST: grant(1)}, asyncio.Event()
    await kept.async_save(ending(-1))
    renewing = asyncio.ensure_future(many.named("T1"))
    await asyncio.wait_for(slack.busy.wait(), 10)
    renewing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await renewing
    slack.may_answer.set()
    assert (await many.named("T1")).token == NEW
    assert len(slack.asked) == 1


@pytest.mark.parametrize("meanwhile", ["removed", "installed anew"])
async def test_a_renewal_changes_nothing_about_what_happened_meanwhile(
    kept: SealedInstallations, many: Workspaces, slack: OAuthServer, meanwhile: str
) -> None:
    slack.grants, slack.may_answer = {FIRST: grant(1)}, asyncio.Event()
    await kept.async_save(ending(SOON))
    renewing = asyncio.ensure_future(many.of(None, "T1"))
    await asyncio.wait_for(slack.busy.wait(), 10)
    await revoked(kept, None, "T1", LATER)
    if meanwhile == "installed anew":
        await kept.async_save(installation(bot_token="xoxb-anew-0123456789"))
    slack.may_answer.set()
    left = None if meanwhile == "removed" else "xoxb-anew-0123456789"
    got = await renewing
    assert (got and got.token, await token(kept)) == (left, left)


@pytest.mark.parametrize("refusal", ["invalid_refresh_token", "ratelimited", "fatal_error"])
async def test_where_slack_gives_no_new_token_the_old_one_goes_on_until_it_ends(
    kept: SealedInstallations, many: Workspaces, slack: OAuthServer, sql: SqlPlanted, refusal: str
) -> None:
    slack.refuses = refusal
    await kept.async_save(ending(SOON))
    assert (await many.named("T1")).token == OLD
    await kept.async_save(ending(-1))
    with pytest.raises(ChatError, match=f"Slack says {refusal}") as refused:
        await many.named("T1")
    assert isinstance(refused.value, ChatForbidden) == (refusal == "invalid_refresh_token")
    slack.refuses, slack.grants = None, {FIRST: grant(1)}
    another = workspaces(kept, sql, slack)  # who was refused holds no other process up
    assert (await another.named("T1")).token == NEW


@pytest.mark.parametrize(
    "odd", [{"token_type": "user"}, {"access_token": ""}, {"expires_in": None}, {"expires_in": "soon"}]
)
async def test_an_answer_that_is_no_bots_token_is_not_kept(
    kept: SealedInstallations, many: Workspaces, slack: OAuthServer, odd: dict[str, Any]
) -> None:
    slack.grants = {FIRST: grant(1, **odd)}
    await kept.async_save(ending(-1))
    with pytest.raises(ChatError, match="no new token"):
        await many.named("T1")
    assert await token(kept) == OLD


async def test_where_slack_can_not_be_reached_an_ended_token_is_not_used(
    kept: SealedInstallations, sql: SqlPlanted
) -> None:
    await kept.async_save(ending(-1))
    nowhere = OAuthServer(url="http://127.0.0.1:1")
    with pytest.raises(ChatError, match="could not be asked for a new token"):
        await workspaces(kept, sql, nowhere).named("T1")


async def test_news_of_a_removal_that_comes_late_leaves_what_was_installed_since(
    kept: SealedInstallations,
) -> None:
    await kept.async_save(installation(installed_at=2_000_000_000.0))
    await revoked(kept, None, "T1", datetime.fromtimestamp(1_999_999_000, UTC))
    assert await token(kept) == "xoxb-of-T1-0123456789"
    await revoked(kept, None, "T1", datetime.fromtimestamp(2_000_000_001, UTC))
    assert await token(kept) is None
