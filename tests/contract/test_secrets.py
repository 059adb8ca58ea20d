"""Secrets at rest: kept for one organization and name, sealed in a database, audited by name alone."""

from collections.abc import AsyncIterator

import pytest

from adapters.sealing import FernetSealer
from adapters.store.bundle import sql_store
from adapters.store.secrets import SqlSecrets
from core.canonical import load
from core.errors import ConfigError, SecretError
from core.ids import OrgId
from core.ports import Secrets
from tests.contract.planted import Planted
from tests.contract.planted_memory import MemoryPlanted
from tests.contract.planted_sql import SqlPlanted

A, B = OrgId("a"), OrgId("b")
VALUE = "canary-ä-0001\nsecond line"
KEY, NEW = "k" * 32, "n" * 32


def sealed_under(sql: SqlPlanted, *keys: str) -> SqlSecrets:
    return sql_store(sql.db, sealer=FernetSealer(lambda: keys)).secrets


@pytest.fixture
async def vault(planted: Planted) -> AsyncIterator[Secrets]:
    """The secrets of a store of each kind, which has two organizations."""
    for org in (A, B):
        await planted.organization(org)
    yield sealed_under(planted, KEY) if isinstance(planted, SqlPlanted) else planted.store.secrets


async def test_a_secret_is_kept_for_its_organization_and_name_alone(vault: Secrets) -> None:
    await vault.put(A, "SHOP", VALUE, by="p-1")
    await vault.put(A, "mail/ada@x", "another", by="p-1")
    assert await vault.get(A, "SHOP") == VALUE
    assert await vault.names(A) == ["SHOP", "mail/ada@x"]
    assert (await vault.get(B, "SHOP"), await vault.get(A, "shop"), await vault.names(B)) == (None, None, [])


async def test_a_secret_that_is_put_again_is_another_and_one_removed_is_gone(vault: Secrets) -> None:
    await vault.put(A, "SHOP", VALUE, by="p-1")
    await vault.put(A, "SHOP", "another", by="p-1")
    assert await vault.get(A, "SHOP") == "another"
    assert await vault.remove(A, "SHOP", by="p-1") is True
    assert await vault.remove(A, "SHOP", by="p-1") is False
    assert (await vault.get(A, "SHOP"), await vault.names(A)) == (None, [])


@pytest.mark.rule("I33", "I34")
async def test_the_audit_says_who_put_or_removed_which_name(vault: Secrets, planted: Planted) -> None:
    await vault.put(A, "SHOP", VALUE, by="p-1", surface="console")
    await vault.put(A, "SHOP", "another", by="host")
    await vault.remove(A, "SHOP", by="p-1")
    await vault.remove(A, "SHOP", by="p-1")
    rows = sorted(await planted.table("audit", org=A), key=lambda row: str(row["id"]))
    assert [(row["actor"], row["surface"], row["move"], load(row["entry"])) for row in rows] == [
        ("p-1", "console", "put_secret", {"name": "SHOP", "was": False}),
        ("host", None, "put_secret", {"name": "SHOP", "was": True}),
        ("p-1", None, "remove_secret", {"name": "SHOP", "was": True}),
    ]


@pytest.mark.rule("I33")
async def test_what_is_put_or_opened_is_shown_to_nobody_from_then_on(
    vault: Secrets, planted: Planted
) -> None:
    assert isinstance(planted, MemoryPlanted | SqlPlanted)
    redactor = planted.memory.rows.redactor if isinstance(planted, MemoryPlanted) else planted.db.redactor
    await vault.put(A, "SHOP", VALUE, by="p-1")
    assert redactor.redact(f"with {VALUE}") == "with [secret SHOP]"
    redactor._forms.clear()
    await vault.get(A, "SHOP")
    assert redactor.redact(f"with {VALUE}") == "with [secret SHOP]"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("", VALUE, "a secret's name is of letters, digits and _.:/@-, up to 100 of them"),
        ("a b", VALUE, "a secret's name is of letters, digits and _.:/@-, up to 100 of them"),
        ("x" * 101, VALUE, "a secret's name is of letters, digits and _.:/@-, up to 100 of them"),
        ("SHOP", "12345", "SHOP: a secret has from 6 to 20,000 characters"),
        ("SHOP", " \n  12 \n", "SHOP: a secret has from 6 to 20,000 characters"),
        ("SHOP", "x" * 20_001, "SHOP: a secret has from 6 to 20,000 characters"),
        ("SHOP", "broken\ud800", "SHOP: this secret has characters that are none"),
    ],
)
async def test_what_can_not_be_kept_is_refused_without_its_value(
    vault: Secrets, name: str, value: str, words: str
) -> None:
    with pytest.raises(SecretError) as refused:
        await vault.put(A, name, value, by="p-1")
    assert str(refused.value) == words
    assert await vault.names(A) == []


async def test_a_database_holds_no_secret_in_any_form(sql: SqlPlanted) -> None:
    await sealed_under(sql, KEY).put(A, "SHOP", VALUE, by="p-1")
    row = await sql.row("secrets")
    assert (row["org"], row["name"]) == (A, "SHOP")
    assert sql.db.redactor.redact(row["sealed"]) == row["sealed"]
    assert row["sealed"] != (await sealed_twice(sql))["sealed"]


async def sealed_twice(sql: SqlPlanted) -> dict[str, str]:
    await sealed_under(sql, KEY).put(A, "SHOP", VALUE, by="p-1")
    return await sql.row("secrets")


@pytest.mark.parametrize("where", [{"org": B}, {"name": "OTHER"}], ids=["organization", "name"])
async def test_a_row_that_was_moved_does_not_open(sql: SqlPlanted, where: dict[str, str]) -> None:
    vault = sealed_under(sql, KEY)
    await vault.put(A, "SHOP", VALUE, by="p-1")
    await sql.update("secrets", where, org=A, name="SHOP")
    moved = {"org": A, "name": "SHOP", **where}
    with pytest.raises(SecretError, match="sealed under another SECRET_KEY, or for another place"):
        await vault.get(OrgId(moved["org"]), moved["name"])


async def test_a_sealed_text_that_was_edited_does_not_open(sql: SqlPlanted) -> None:
    vault = sealed_under(sql, KEY)
    await vault.put(A, "SHOP", VALUE, by="p-1")
    sealed = (await sql.row("secrets"))["sealed"]
    for edited in (sealed[:-5] + ("A" if sealed[-5] != "A" else "B") + sealed[-4:], "", "ä"):
        await sql.update("secrets", {"sealed": edited}, org=A)
        with pytest.raises(SecretError):
            await vault.get(A, "SHOP")


async def test_the_first_key_seals_and_every_key_opens(sql: SqlPlanted) -> None:
    await sealed_under(sql, KEY).put(A, "OLD", VALUE, by="p-1")
    both = sealed_under(sql, NEW, KEY)
    await both.put(A, "YOUNG", VALUE, by="p-1")
    assert (await both.get(A, "OLD"), await both.get(A, "YOUNG")) == (VALUE, VALUE)
    assert await sealed_under(sql, NEW).get(A, "YOUNG") == VALUE
    with pytest.raises(SecretError, match=r"^OLD: this secret was sealed under another SECRET_KEY"):
        await sealed_under(sql, NEW).get(A, "OLD")


async def test_without_a_key_names_are_listed_and_nothing_is_sealed_or_opened(sql: SqlPlanted) -> None:
    await sealed_under(sql, KEY).put(A, "SHOP", VALUE, by="p-1")
    keyless = sql.store.secrets
    assert await keyless.names(A) == ["SHOP"]
    assert await keyless.get(A, "NONE") is None
    for doing in (keyless.get(A, "SHOP"), keyless.put(A, "SHOP", VALUE, by="p-1")):
        with pytest.raises(ConfigError, match=r"^SECRET_KEY: it is not set"):
            await doing
