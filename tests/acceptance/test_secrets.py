"""A secret reaches the tool that needs it, and nobody who reads requests, cards, logs, audit or errors."""

import json
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from adapters.store.tables import metadata
from core.canonical import dump
from tests.acceptance.command_line import CommandLine, Said, command_line
from tests.acceptance.leaking import CANARIES, DATABASE, HOST, OPENAI, UNKNOWN, VAULT
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.openai_server import OpenAIServer, call, completion, error, serving

SECRET_KEY = "of tests alone and longer than it has to be"
RAW = {
    *(("calls", "args"), ("calls", "proposed_args")),
    *(("tasks", "goal"), ("messages", "body"), ("inbox", "body")),
}
"""Columns that keep what was said or is to run; whoever reads them goes through a redactor."""


def with_password(url: str) -> str:
    """*url* with a password, which a server that trusts us does not look at."""
    made = make_url(url)
    return url if made.get_backend_name() == "sqlite" else made.set(password=DATABASE).render_as_string(False)


def leaked(text: str) -> list[str]:
    return [canary for canary in CANARIES if canary in text]


def paid(folder: Path) -> str:
    """The keys that were paid with, a line each."""
    return (folder / "shop.db").read_text(encoding="utf-8")


def clean(*said: Said) -> None:
    for one in said:
        assert leaked(one.out + one.err) == [], one


async def rows(url: str) -> dict[tuple[str, str], str]:
    """All that stands in each column of the database."""
    hand = SqlPlanted(url)
    found: dict[tuple[str, str], str] = {}
    for table in metadata.tables:
        for row in await hand.table(table):
            for name, value in row.items():
                found[table, name] = f"{found.get((table, name), '')}\n{value!r}"
    await hand.close()
    return found


@pytest.mark.rule("I33")
async def test_a_secret_is_read_by_nobody_and_its_tool_has_it(migrated_url: str, tmp_path: Path) -> None:
    async with serving() as service:
        bot = command_line(with_password(migrated_url), tmp_path).with_env(
            HOST_APP="tests.acceptance.leaking:Leaking",
            OPENAI_API_KEY=OPENAI,
            OPENAI_BASE_URL=service.base_url,
            SECRET_KEY=SECRET_KEY,
            COLUMNS="1000",  # so that no line is broken in the middle of one
        )
        kept = await bot.run("secrets", "set", "SHOP_KEY", typed=f"{VAULT}\n")
        assert (kept.out, kept.err) == ("SHOP_KEY is kept.\n", "")
        await _work(bot, service)
        clean(await bot.does("settings"), await bot.does("tasks"))
        shown = await bot.does("show", "t-1")
        clean(shown)
        assert "[secret SHOP_KEY]" in shown.words and "[secret HOST_KEY]" in shown.words
        assert (
            await bot.refuses("show", VAULT) == "'[secret SHOP_KEY]' is no task's code; those are like t-12"
        )
        clean(await bot.does("chat", typed="/pending\nl\n/quit\n"))
        asked = json.dumps(service.bodies)
        assert leaked(asked) == [] and leaked(json.dumps(HOST)) == [HOST]
        assert "[secret SHOP_KEY]" in asked and "swordfish" not in asked
        assert all(headers["Authorization"] == f"Bearer {OPENAI}" for headers in service.headers)
        assert (await bot.does("audit", "verify")).out.endswith("all whole\n")
    assert paid(tmp_path) == f"{HOST}\n"
    found = await rows(migrated_url)
    assert ("audit", "entry") in found and ("parks", "shown") in found and ("posts", "body") in found
    assert {place: leaked(text) for place, text in found.items() if place not in RAW and leaked(text)} == {}
    typed = found["messages", "body"] + found["inbox", "body"] + found["tasks", "goal"]
    assert set(leaked(typed)) == {UNKNOWN}  # which a person wrote


async def _work(bot: CommandLine, service: OpenAIServer) -> None:
    """A task reads, fails, pays once it may, and ends; another one meets a service that tells its key."""
    reads = [call(f"c{n}", name, "{}") for n, name in enumerate(("read", "fail", "refuse"))]
    service.answers = [
        completion(calls=reads, finish="tool_calls"),
        completion(f"I use {VAULT}", calls=[call("p", "pay", dump({"key": HOST}))], finish="tool_calls"),
    ]
    clean(await bot.does("new", f"pay with {UNKNOWN}"))
    worked = await bot.run("worker", "--until-idle")
    clean(worked)
    assert "Sam wants to pay" in worked.out and "[secret HOST_KEY]" in worked.out
    for words in ("[secret HOST_KEY]", "Traceback", "ValueError: HTTP 401"):
        assert words in worked.err
    clean(await bot.does("pending"), await bot.run("edit", "t-1.4", f"kee={HOST}"))
    clean(await bot.does("approve", "t-1.4"))
    service.answers = [completion(f"Paid with {HOST}.")]
    clean(await bot.run("worker", "--until-idle"))
    service.answers = [
        error(400, f"no such key {OPENAI} at https://ada:{UNKNOWN}@models.test/{VAULT}"),
        completion(calls=[call("l", "link", "{}")], finish="tool_calls"),
    ]
    for _ in range(2):
        await bot.does("new", "again")
        clean(await bot.run("worker", "--until-idle"))
    clean(await bot.does("pending"), await bot.does("show", "t-2"), await bot.does("show", "t-3"))
