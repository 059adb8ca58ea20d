"""The command line as a person uses it: one process a command, on both databases, errors of one line."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from adapters.sealing import FernetSealer
from bot.cli import app
from core.ids import OrgId
from core.people import Role
from tests.acceptance.command_line import CommandLine, command_line
from tests.contract.factories import person
from tests.contract.planted_sql import SqlPlanted

GOAL = "refund the mug that arrived broken"


@pytest.fixture
def bot(migrated_url: str, tmp_path: Path) -> CommandLine:
    """A terminal over a migrated database of each kind in which nothing has happened."""
    return command_line(migrated_url, tmp_path)


@pytest.fixture
def file_bot(tmp_path: Path) -> CommandLine:
    """A terminal over a SQLite file that is not there yet."""
    return command_line(f"sqlite+aiosqlite:///{tmp_path / 'gatepost.db'}", tmp_path)


async def parked(bot: CommandLine) -> None:
    """t-1 waits with its refund of 24.00, t-1.2."""
    assert (await bot.does("new", GOAL)).out == f"t-1 opened for Sam: {GOAL}\n"
    worked = await bot.works()
    assert "Sam wants to refund · spend" in worked.out


# ── deciding ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C8", "I4")
async def test_an_edit_is_checked_at_its_field_and_what_ran_is_what_was_decided(bot: CommandLine) -> None:
    """S09."""
    await parked(bot)
    for value, words in (
        ("ten", "amount: must be a number"),
        ("-3", "amount: must be more than 0"),
        ("250", "amount: must be at most 100"),
    ):
        assert await bot.refuses("edit", "t-1.2", f"amount={value}") == words
    assert "amount 24.00" in (await bot.does("pending")).words
    assert bot.refunds == []

    decided = await bot.does("edit", "t-1.2", "amount=12.5")
    assert decided.out == "t-1.2 approved with changes by ada: amount 24.00 → 12.5. A worker runs it.\n"
    await bot.works()
    story = (await bot.does("show", "t-1")).words
    for words in (
        "proposed order_id A7, amount 24.00",
        "decided order_id A7, amount 12.5",
        "ran order_id A7, amount 12.5",
        "rule spend asks first in a task you asked for (setting: ask)",
        "approval approved with changes by ada",
        "told The owner changed it before it ran: amount 24.00 → 12.5.",
        "I refunded 12.5 EUR on A7. You changed it from 24.00.",
    ):
        assert words in story
    assert bot.refunds == [("A7", "12.5")]


@pytest.mark.rule("C7", "C6")
async def test_an_approved_call_runs_once_and_a_second_click_is_told_who_came_first(bot: CommandLine) -> None:
    bot = bot.started_anew
    await parked(bot)
    assert (await bot.does("approve", "t-1.2")).out == "t-1.2 approved by ada. A worker runs it.\n"
    again = await bot.refuses("decline", "t-1.2", "too late")
    assert re.fullmatch(r"ada approved it at \d\d:\d\d UTC; it has not run yet", again)
    worked = await bot.works()
    assert "Done refund order_id A7, amount 24.00" in worked.words
    assert bot.refunds == [("A7", "24.00")]
    listed = (await bot.does("tasks")).words
    assert re.search(r"t-1 done lead .+ refund the mug that arrived broken", listed)


@pytest.mark.rule("C9", "T11")
async def test_each_way_of_saying_no_runs_nothing_and_says_what_follows(bot: CommandLine) -> None:
    for _ in range(3):
        await bot.does("new", GOAL)
    await bot.works()
    declined = await bot.does("decline", "t-1.2", "wrong order")
    assert declined.out == "t-1.2 declined by ada: wrong order. It is not run; the agent is told.\n"
    assert await bot.refuses("revise", "t-2.2", " ") == (
        'say how it is to be changed: revise t-1.2 "ask them first"'
    )
    stopped_too = await bot.does("decline", "t-2.2", "leave it", "--stop")
    assert stopped_too.out == "t-2.2 declined by ada: leave it. t-2 is stopped.\n"
    assert (await bot.does("stop", "t-3")).out == "t-3 is stopped.\n"
    assert (await bot.does("stop", "t-3")).out == "t-3 had ended already: stopped.\n"
    assert await bot.refuses("approve", "t-3.2") == "It no longer waits: the task went on without it."

    assert "I did not refund A7: you declined it. You said: wrong order." in (await bot.works()).words
    shown = (await bot.does("show", "t-1")).words
    assert "result Error: Declined by the owner, not run: wrong order." in shown
    assert (await bot.does("pending")).out == "Nothing waits.\n"
    assert bot.refunds == []


@pytest.mark.rule("I14", "I18")
async def test_nobody_decides_but_people_of_the_database(file_bot: CommandLine) -> None:
    bot = file_bot
    await parked(bot)
    assert (
        await bot.refuses("approve", "t-1.2", "--as", "mallory")
        == "nobody here is called mallory; there is ada"
    )
    stranger = bot.with_env(LOGNAME="mallory")
    words = "mallory is linked to nobody here; say who you are with --as NAME: ada"
    assert await stranger.refuses("approve", "t-1.2") == words
    assert (await stranger.does("approve", "t-1.2", "--as", "ada")).out.startswith("t-1.2 approved by ada.")


async def test_what_does_not_wait_can_not_be_decided(file_bot: CommandLine) -> None:
    bot = file_bot
    assert await bot.refuses("approve", "t-9.9") == "nothing waits under t-9.9"
    assert await bot.refuses("edit", "t-9.9", "amount=1") == "nothing waits under t-9.9"
    assert await bot.refuses("approve", "mug") == "'mug' is no call's code; those are like t-12.3"
    assert await bot.refuses("show", "t-9") == "there is no task t-9"
    assert await bot.refuses("settle", "t-9", "stop") == "there is no task t-9"


async def test_a_task_at_its_limit_is_given_more_rounds_from_the_command_line(
    file_bot: CommandLine, tmp_path: Path
) -> None:
    folder = tmp_path / "agents" / "lead"
    folder.mkdir(parents=True)
    front = "name: Sam\ntools: [read_orders, refund]\nlimits: {rounds: 1, wrap_up: false}\n"
    (folder / "AGENT.md").write_text(f"---\n{front}---\nYou work.\n", encoding="utf-8")
    bot = file_bot.with_env(AGENTS_DIR=str(folder.parent))
    await bot.does("new", GOAL)
    assert "Sam reached a limit: rounds" in (await bot.works()).out
    assert "settle t-1 more-rounds" in (await bot.does("pending")).words
    given = await bot.does("settle", "t-1", "more-rounds")
    assert given.out == "t-1 given more rounds by ada. The task goes on.\n"
    assert "Sam wants to refund" in (await bot.works()).out
    assert await bot.refuses("settle", "t-1", "more-rounds") == (
        "nothing waits under t-1; an unknown call is settled by its own code"
    )


# ── switching ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I34")
async def test_an_owner_switches_an_agent_and_sees_what_holds(bot: CommandLine) -> None:
    set_ = await bot.does("agents", "set", "lead", "spend", "allow")
    assert set_.out == "Sam: spend: allow (switch); before: ask (folder).\n"
    assert (await bot.does("agents", "set", "lead", "refund", "observe")).words.endswith("before: not set.")
    assert (await bot.does("agents", "practice", "lead")).out.startswith("Sam practises: reads run")
    listed = (await bot.with_env(COLUMNS="160").does("agents", "list")).words
    for words in ("lead", "works", "practice", "spend: allow (switch)", "(read) runs", "(spend) observes"):
        assert words in listed
    assert (await bot.does("agents", "practice", "lead", "--off")).out == "Sam acts again.\n"
    assert (await bot.does("agents", "practice", "lead", "--off")).out == "Sam was not practising.\n"
    await bot.does("agents", "set", "lead", "refund", "default")
    assert "refund (spend) runs" in (await bot.does("agents", "list")).words

    await bot.does("new", GOAL)
    await bot.works()
    assert bot.refunds == [("A7", "24.00")]
    assert (await bot.does("audit", "verify")).out.endswith("all whole\n")


@pytest.mark.parametrize(
    ("pause", "resume", "state"),
    [
        (("agents", "pause", "lead"), ("agents", "resume", "lead"), "paused"),
        (("org", "pause"), ("org", "resume"), "paused (all)"),
    ],
    ids=["agent", "org"],
)
async def test_what_is_paused_does_not_run_until_it_is_resumed(
    bot: CommandLine, pause: tuple[str, ...], resume: tuple[str, ...], state: str
) -> None:
    await parked(bot)
    await bot.does("approve", "t-1.2")
    assert "is paused" in (await bot.does(*pause)).out
    assert "was paused already." in (await bot.does(*pause)).out
    assert state in (await bot.does("agents", "list")).words
    await bot.works()
    assert bot.refunds == []
    assert "works again" in (await bot.does(*resume)).out
    assert "was not paused." in (await bot.does(*resume)).out
    await bot.works()
    assert bot.refunds == [("A7", "24.00")]


@pytest.mark.rule("I34")
async def test_an_owner_limits_how_much_runs_at_once(bot: CommandLine) -> None:
    limited = await bot.does("org", "limit", "1")
    assert limited.out == "local runs up to 1 task at once; before: up to 50 tasks at once (MAX_RUNNING).\n"
    assert (await bot.does("org", "limit", "1")).out == "local runs up to 1 task at once already.\n"
    for _ in range(2):
        await bot.does("new", GOAL)
    assert (await bot.works()).words.count("Sam wants to refund") == 2  # one after the other
    lifted = await bot.with_env(MAX_RUNNING="9").does("org", "limit", "none")
    assert lifted.out == "local runs up to 9 tasks at once (MAX_RUNNING); before: up to 1 task at once.\n"
    assert await bot.refuses("org", "limit", "0") == (
        "from 1 to 100000 tasks may run at once; to let none start, pause"
    )
    assert (await bot.refuses("org", "limit", "many", status=2)).startswith(
        "Invalid value for N|none: write a number, or none. See: python -m bot org limit --help"
    )
    assert (await bot.does("audit", "verify")).out.endswith("all whole\n")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("set led spend ask", "there is no agent led (did you mean lead?); there are lead"),
        ("pause led", "there is no agent led (did you mean lead?); there are lead"),
        ("set lead spnd ask", "spnd is neither a risk nor a tool of Sam (did you mean spend?); risks: read,"),
        ("set lead refnd ask", "refnd is neither a risk nor a tool of Sam (did you mean refund?); risks:"),
        ("set lead remove allow", "remove always asks, whatever the setting"),
        ("set lead profile allow", "profile always asks, whatever the setting"),
        ("set lead read_orders ask", "read_orders (read) runs without a click in a task of yours, whatever"),
        ("set lead routine ask", "routine runs without a click in a task of yours, whatever the setting"),
        ("set lead read observe", "read runs in practice too, whatever the setting"),
    ],
)
async def test_what_can_not_be_switched_is_a_line_with_the_reason(
    file_bot: CommandLine, typed: str, words: str
) -> None:
    assert (await file_bot.refuses("agents", *typed.split())).startswith(words)


async def test_who_is_no_owner_switches_nothing(bot: CommandLine, migrated_url: str) -> None:
    await bot.does("tasks")
    hand = SqlPlanted(migrated_url)
    await hand.save(person(org=OrgId("local"), id="p-2", name="Bob", roles=frozenset({Role.APPROVER})))
    await hand.close()
    for typed in ("agents pause lead", "org pause", "org limit 3", "agents set lead spend allow"):
        assert await bot.refuses(*typed.split(), "--as", "Bob") == "only an owner may switch this"


async def test_a_folder_that_asks_for_more_is_shown_and_accepted(bot: CommandLine, tmp_path: Path) -> None:
    root = tmp_path / "agents"
    (root / "lead").mkdir(parents=True)
    bot = bot.with_env(AGENTS_DIR=str(root))

    def folder(setting: str) -> None:
        front = f"name: Sam\ntools: [read_orders, refund]\nsettings: {{spend: {setting}}}\n"
        (root / "lead" / "AGENT.md").write_text(f"---\n{front}---\nYou work.\n", encoding="utf-8")

    folder("ask")
    await parked(bot)
    assert (await bot.does("agents", "accept", "lead")).out == "Sam has all that its folder asks for.\n"
    folder("allow")
    await bot.does("new", GOAL)
    await bot.works()
    assert bot.refunds == []
    listed = (await bot.does("agents", "list")).words
    assert "refund (spend) asks" in listed
    assert "see it with: python -m bot agents accept lead" in listed
    refused = await bot.does("agents", "accept", "lead", typed="n\n")
    assert "refund: asks → runs" in refused.out
    assert refused.out.endswith("Sam works with what it had.\n")
    accepted = await bot.does("agents", "accept", "lead", typed="y\n")
    assert accepted.out.endswith("Sam has them from its next run on.\n")
    assert "refund (spend) runs" in (await bot.does("agents", "list")).words
    await bot.does("new", GOAL)
    await bot.works()
    assert bot.refunds == [("A7", "24.00")]


async def test_groups_of_commands_stand_among_the_others(file_bot: CommandLine) -> None:
    help_ = (await file_bot.does("--help")).out
    assert "─ Commands ─" not in help_
    assert re.search(r"─ Look ─.*│ audit .*─ Decide ─.*│ agents .*│ org .*─ Operate ─", help_, re.DOTALL)


# ── the audit trail ──────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I34")
async def test_one_changed_byte_of_the_trail_is_named_by_its_number(
    bot: CommandLine, migrated_url: str
) -> None:
    await parked(bot)
    await bot.does("decline", "t-1.2", "wrong order")
    await bot.works()
    whole = await bot.does("audit", "verify")
    assert (found := re.fullmatch(r"(\d+) entries, sealed up to (\d+), all whole\n", whole.out))
    assert int(found[1]) >= int(found[2]) >= 7  # a worker that just left may have the seal's lease still

    wrong_key = bot.with_env(AUDIT_KEY="f" * 32)
    assert "this AUDIT_KEY is not the one they were signed with" in await wrong_key.refuses("audit", "verify")
    refused = await wrong_key.refuses("new", "something else")
    assert refused.startswith("AUDIT_KEY: this AUDIT_KEY is not the one they were signed with")
    assert "something else" not in (await bot.does("tasks")).out

    hand = SqlPlanted(migrated_url)
    await hand.defenceless()
    await hand.run("UPDATE audit SET actor = actor || '.' WHERE seq = 7")
    await hand.close()
    assert await bot.refuses("audit", "verify") == "entry 7 was edited"
    assert await bot.refuses("audit", "verify", "--database", migrated_url) == "entry 7 was edited"


async def test_verifying_a_file_that_is_not_there_makes_none(file_bot: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "gatepost.db"
    assert await file_bot.refuses("audit", "verify") == f"DATABASE_URL: there is no file {path}"
    assert os.listdir(tmp_path) == []


async def test_verifying_without_the_key_makes_none(file_bot: CommandLine, tmp_path: Path) -> None:
    await file_bot.does("tasks")
    (tmp_path / "gatepost.db.key").unlink()
    assert "there is no gatepost.db.key beside the database" in await file_bot.refuses("audit", "verify")
    assert not (tmp_path / "gatepost.db.key").exists()


# ── operating ────────────────────────────────────────────────────────────────────────────────


async def test_a_database_behind_is_migrated_on_sqlite_and_refused_on_postgres(
    database_url: str, tmp_path: Path
) -> None:
    bot = command_line(database_url, tmp_path)
    if database_url.startswith("postgresql"):
        assert "run `python -m bot migrate`" in await bot.refuses("tasks")
        assert (await bot.does("migrate")).out == "The schema is current now.\n"
    assert (await bot.does("tasks")).out.startswith("No tasks yet.")
    assert (await bot.does("migrate")).out == "The schema was current already.\n"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"HOST_APP": "no.such:Shop"}, "HOST_APP: no.such:Shop can't be imported"),
        ({"HOST_APP": "bot.demo.shop:Nobody"}, "HOST_APP: bot.demo.shop has no Nobody"),
        ({"HOST_APP": "bot.demo.shop:Books"}, "HOST_APP: bot.demo.shop:Books is no host"),
        ({"AGENTS_DIR": "/no/such/folder"}, "AGENTS_DIR: there is no folder /no/such/folder"),
        ({"DATABASE_URL": "sqlite+aiosqlite:////no/such/folder/x.db"}, "DATABASE_URL: there is no folder"),
        ({"LEASE_SECONDS": "soon"}, "LEASE_SECONDS: "),
    ],
)
async def test_a_wrong_setting_is_refused_by_its_name(
    file_bot: CommandLine, changes: dict[str, str], words: str
) -> None:
    assert (await file_bot.with_env(**changes).refuses("tasks")).startswith(words)


async def test_what_is_typed_wrongly_is_one_line_and_status_2(file_bot: CommandLine) -> None:
    assert await file_bot.refuses("approve", status=2) == (
        "Missing argument 'CALL'. See: python -m bot approve --help"
    )
    assert (await file_bot.refuses("frobnicate", status=2)).startswith("No such command 'frobnicate'")
    assert (await file_bot.refuses("settle", "t-1.2", "perhaps", status=2)).startswith("Invalid value")
    assert await file_bot.refuses("new", "  ") == (
        'a task needs a goal: new "refund the mug that arrived broken"'
    )
    assert await file_bot.refuses("new", GOAL, "--agent", "bob") == "there is no agent bob; there are lead"


async def test_settings_are_listed_without_a_secret(file_bot: CommandLine) -> None:
    secret = "sk-very-secret-and-long"
    listed = await file_bot.with_env(OPENAI_API_KEY=secret).does("settings")
    assert "OPENAI_API_KEY" in listed.out and secret not in listed.out
    assert re.search(r"LEASE_SECONDS .+ environment +30", listed.out)


async def test_agents_are_listed_and_what_is_wrong_is_named_with_its_place(
    file_bot: CommandLine, tmp_path: Path
) -> None:
    assert "Sam (chief)" in (await file_bot.does("agents", "check")).out
    folder = tmp_path / "agents" / "lead"
    folder.mkdir(parents=True)
    (folder / "AGENT.md").write_text("---\nname: Sam\ntools: [refnd]\n---\nYou work.\n", encoding="utf-8")
    said = await file_bot.with_env(AGENTS_DIR=str(folder.parent)).run("agents", "check")
    assert said.status == 1
    assert said.err.startswith("error: lead/AGENT.md: there is no tool refnd")


@pytest.mark.parametrize("anew", [False, True], ids=["forked", "anew"])
async def test_a_worker_told_to_leave_leaves_well(file_bot: CommandLine, anew: bool) -> None:
    worker = await (file_bot.started_anew if anew else file_bot).start("worker")
    assert worker.stderr is not None
    assert b"works" in await worker.stderr.readline()
    worker.send_signal(signal.SIGTERM)
    out, err = await worker.communicate()
    assert (worker.returncode, out) == (0, b"")
    assert b"leaves" in err and b"Traceback" not in err


# ── secrets ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I33", "I34")
async def test_an_owner_keeps_secrets_by_name_and_nobody_sees_them(
    bot: CommandLine, migrated_url: str
) -> None:
    bot, value = bot.with_env(SECRET_KEY="k" * 32), "canary-0123456789"
    assert (await bot.does("secrets", "list")).out == "No secrets are kept.\n"
    assert (await bot.does("secrets", "set", "SHOP", typed=f"{value}\n")).out == "SHOP is kept.\n"
    again = await bot.does("secrets", "set", "SHOP", typed=value)
    assert again.out == "SHOP is kept, in place of what it was.\n"
    assert (await bot.does("secrets", "list")).out == "SHOP\n"
    hand = SqlPlanted(migrated_url)
    row = await hand.row("secrets")
    assert FernetSealer(lambda: ["k" * 32]).unseal(OrgId("local"), "SHOP", row["sealed"]) == value
    await hand.save(person(org=OrgId("local"), id="p-2", name="Bob", roles=frozenset({Role.APPROVER})))
    await hand.close()
    for typed in ("set SHOP", "remove SHOP"):
        assert (
            await bot.refuses("secrets", *typed.split(), "--as", "Bob") == "only an owner may change secrets"
        )
    assert await bot.refuses("secrets", "set", "SHOP") == "SHOP: a secret has from 6 to 20,000 characters"
    assert (await bot.does("secrets", "remove", "SHOP")).out == "SHOP is removed.\n"
    assert await bot.refuses("secrets", "remove", "SHOP") == "no secret is kept as SHOP"
    assert (await bot.does("audit", "verify")).out.endswith("all whole\n")


async def test_a_secret_without_a_key_is_refused_on_postgres_and_has_one_made_on_sqlite(
    bot: CommandLine, migrated_url: str, tmp_path: Path
) -> None:
    said = await bot.run("secrets", "set", "SHOP", typed="canary-0123456789")
    if migrated_url.startswith("postgresql"):
        assert said.err.startswith(
            "error: SECRET_KEY: it is not set, and secrets at rest on Postgres need one"
        )
    else:
        assert (said.out, said.err) == ("SHOP is kept.\n", "")
        assert (tmp_path / "migrated.db.secret.key").stat().st_mode & 0o077 == 0


# ── help ─────────────────────────────────────────────────────────────────────────────────────


def commands(group: TyperGroup, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Each command's whole name, help and epilog."""
    for key, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, f"{name}{key} ")
        else:
            yield f"{name}{key}", command.help or "", command.epilog or ""


def test_every_command_says_what_it_does_in_a_line_and_shows_an_example() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    found = list(commands(group))
    assert len(found) >= 16
    for name, help_, epilog in found:
        assert help_ and "\n" not in help_.strip() and len(help_) <= 100, name
        assert re.match(rf"Examples?: python -m bot {name}\b", epilog), name


async def test_the_bare_command_prints_help(file_bot: CommandLine) -> None:
    bare = await file_bot.started_anew.does()
    assert "Usage: python -m bot" in bare.out
    assert all(name in bare.out for name in ("approve", "demo", "worker", "audit"))


# ── chat ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C8", "I15")
async def test_a_conversation_through_a_pipe_edits_by_a_key_and_reports(
    file_bot: CommandLine,
) -> None:
    typed = f"{GOAL}\napprove it please\ne\nten\n18.50\n"
    said = (await file_bot.does("chat", typed=typed)).words
    assert "t-1.2> approve it please “approve it please” is none of the keys" in said  # prose decides nothing
    assert "a approve: it runs as it is shown" in said
    asked = "amount a number · more than 0, at most 100 · in EUR; no more than was paid 24.00"
    again = "new value (empty: as it is):"
    assert f"{asked} {again} ten amount: must be a number {again} 18.50" in said
    assert said.count("approved with changes by ada") == 1
    assert "t-1.2 approved with changes by ada: amount 24.00 → 18.50." in said
    assert "Done refund order_id A7, amount 18.50" in said
    assert file_bot.refunds == [("A7", "18.50")]


@pytest.mark.rule("C9", "C10")
async def test_in_a_conversation_a_call_is_sent_back_to_be_changed_or_declined_with_its_task(
    file_bot: CommandLine,
) -> None:
    said = (await file_bot.does("chat", typed=f"{GOAL}\nc\nhalf of it\n")).words
    assert "t-1.2 sent back by ada: half of it. It is not run; the agent proposes something else." in said
    said = (await file_bot.does("chat", typed=f"/new {GOAL}\ns\nleave it\n")).words
    assert "t-2.2 declined by ada: leave it. t-2 is stopped." in said
    assert file_bot.refunds == []


async def test_what_a_conversation_leaves_parked_waits_in_the_database(file_bot: CommandLine) -> None:
    await file_bot.does("chat", typed=f"{GOAL}\nl\n/quit\n")
    assert "Sam wants to refund" in (await file_bot.does("pending")).out
    said = (await file_bot.does("chat", typed="/pending\nd\nnot now\n")).words
    assert "1 call waits from before" in said
    assert "t-1.2 declined by ada: not now." in said
    assert file_bot.refunds == []


async def test_two_people_at_one_terminal_have_a_conversation_each(
    bot: CommandLine, migrated_url: str
) -> None:
    await bot.does("chat", typed=f"{GOAL}\nl\n/quit\n")
    hand = SqlPlanted(migrated_url)
    await hand.save(person(org=OrgId("local"), id="p-2", name="Bob", roles=frozenset({Role.APPROVER})))
    await hand.close()
    said = (await bot.does("chat", "--as", "Bob", typed=f"{GOAL}\nl\n/quit\n")).words
    assert "t-2.2" in said
    assert "I wait for your click" not in said
