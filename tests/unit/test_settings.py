"""Settings: the one place that reads the environment, and the key of the audit."""

import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from pydantic import SecretStr, ValidationError

from bot.settings import MAKE_A_KEY, Settings, audit_key, secret_keys
from core.errors import ConfigError

TELEGRAM_TOKEN = "7000000001:AAFakeFakeFakeFakeFakeFakeFakeFake"
CANARY = "canary-0123456789"
NEW, OLD = "n" * 32, "o" * 40
POSTGRES = "postgresql+asyncpg://shop:s3cret@db.example/shop"


def test_an_empty_environment_gives_the_defaults() -> None:
    assert Settings.from_env({}).model_dump() == {
        "database_url": "sqlite+aiosqlite:///gatepost.db",
        "db_pool_size": 3,
        "audit_key": None,
        "secret_key": None,
        "host_app": None,
        "agents_dir": (),
        "model": "gpt-4o",
        "openai_api_key": None,
        "openai_base_url": None,
        "port": 8080,
        "public_url": None,
        "slack_bot_token": None,
        "slack_signing_secret": None,
        "slack_app_token": None,
        "gatepost_slack_client_id": None,
        "gatepost_slack_client_secret": None,
        "slack_api_url": "https://slack.com/api/",
        "telegram_bot_token": None,
        "telegram_secret": None,
        "telegram_api_url": "https://api.telegram.org",
        "lease_seconds": 60,
        "max_running": 50,
        "age_seconds": 600,
    }


def test_each_variable_is_read_by_its_name() -> None:
    environ = {
        "DATABASE_URL": POSTGRES,
        "DB_POOL_SIZE": "5",
        "AUDIT_KEY": CANARY,
        "SECRET_KEY": f"{NEW},{OLD}",
        "HOST_APP": "shop.host:Shop",
        "AGENTS_DIR": "/srv/agents",
        "MODEL": "small-1",
        "OPENAI_API_KEY": "sk-1",
        "OPENAI_BASE_URL": "http://localhost:8080/v1",
        "PORT": "5000",
        "PUBLIC_URL": "https://bot.example",
        "SLACK_BOT_TOKEN": "xoxb-1",
        "SLACK_SIGNING_SECRET": "new,old",
        "SLACK_APP_TOKEN": "xapp-1",
        "GATEPOST_SLACK_CLIENT_ID": "1.2",
        "GATEPOST_SLACK_CLIENT_SECRET": "s-1",
        "SLACK_API_URL": "http://localhost:9000/api/",
        "TELEGRAM_BOT_TOKEN": TELEGRAM_TOKEN,
        "TELEGRAM_SECRET": "the-new-one-is-first,the-old-one-is-next",
        "TELEGRAM_API_URL": "http://localhost:9001",
        "LEASE_SECONDS": "2",
        "MAX_RUNNING": "9",
        "AGE_SECONDS": "90.5",
        "HOME": "/home/shop",
    }
    assert Settings.from_env(environ).model_dump() == {
        "database_url": POSTGRES,
        "db_pool_size": 5,
        "audit_key": SecretStr(CANARY),
        "secret_key": SecretStr(f"{NEW},{OLD}"),
        "host_app": "shop.host:Shop",
        "agents_dir": (Path("/srv/agents"),),
        "model": "small-1",
        "openai_api_key": SecretStr("sk-1"),
        "openai_base_url": "http://localhost:8080/v1",
        "port": 5000,
        "public_url": "https://bot.example",
        "slack_bot_token": SecretStr("xoxb-1"),
        "slack_signing_secret": SecretStr("new,old"),
        "slack_app_token": SecretStr("xapp-1"),
        "gatepost_slack_client_id": "1.2",
        "gatepost_slack_client_secret": SecretStr("s-1"),
        "slack_api_url": "http://localhost:9000/api/",
        "telegram_bot_token": SecretStr(TELEGRAM_TOKEN),
        "telegram_secret": SecretStr("the-new-one-is-first,the-old-one-is-next"),
        "telegram_api_url": "http://localhost:9001",
        "lease_seconds": 2,
        "max_running": 9,
        "age_seconds": 90.5,
    }


def test_several_folders_of_agents_stand_in_one_variable() -> None:
    settings = Settings.from_env({"AGENTS_DIR": os.pathsep.join(["ours", "/srv/agents", ""])})
    assert settings.agents_dir == (Path("ours"), Path("/srv/agents"))
    shown = {line.name: line.shown for line in settings.describe()}
    assert shown["AGENTS_DIR"] == os.pathsep.join(["ours", "/srv/agents"])


def test_a_blank_variable_counts_as_not_set() -> None:
    environ = {name.upper(): " " for name in Settings.model_fields}
    assert len(environ) == 23
    assert Settings.from_env(environ) == Settings.from_env({})


def test_only_what_is_passed_is_read_no_environment_and_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("MODEL=from-file\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MODEL", "from-environment")
    monkeypatch.setenv("model", "from-environment")
    assert Settings.from_env({}).model == "gpt-4o"
    assert Settings().model == "gpt-4o"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("DATABASE_URL", CANARY, "write sqlite"),
        ("DATABASE_URL", f"mysql://{CANARY}@db/shop", "write sqlite"),
        ("DATABASE_URL", f"postgresql:{CANARY}", "write sqlite"),
        ("DB_POOL_SIZE", CANARY, "valid integer"),
        ("DB_POOL_SIZE", "0", "greater than or equal to 1"),
        ("DB_POOL_SIZE", "101", "less than or equal to 100"),
        ("AUDIT_KEY", CANARY[:15], "shorter than 16 characters"),
        ("HOST_APP", f"{CANARY}:Shop", "write <module>:<class>"),
        ("HOST_APP", "shop.host", "write <module>:<class>"),
        ("HOST_APP", "shop/host.py:Shop", "write <module>:<class>"),
        ("HOST_APP", "shop.host:Shop()", "write <module>:<class>"),
        ("OPENAI_BASE_URL", CANARY, "begins with https://"),
        ("OPENAI_BASE_URL", "ftp://host/v1", "begins with https://"),
        ("OPENAI_BASE_URL", "https://", "begins with https://"),
        ("OPENAI_BASE_URL", "https://[canary", "begins with https://"),
        ("MAX_RUNNING", "0", "greater than or equal to 1"),
        ("MAX_RUNNING", "2.5", "valid integer"),
        ("AGE_SECONDS", "0", "greater than or equal to 1"),
        ("AGE_SECONDS", "inf", "finite number"),
        ("LEASE_SECONDS", "0", "greater than or equal to 1"),
        ("LEASE_SECONDS", "nan", "finite number"),
        ("LEASE_SECONDS", "inf", "finite number"),
        ("LEASE_SECONDS", CANARY, "valid number"),
    ],
)
def test_a_wrong_value_is_refused_by_name_and_never_shown(name: str, value: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.from_env({name: value})
    assert str(caught.value).startswith(f"{name}: ")
    assert words in str(caught.value)
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_all_wrong_variables_are_named_at_once() -> None:
    with pytest.raises(ConfigError, match=r"^DB_POOL_SIZE: .*; LEASE_SECONDS: .*$"):
        Settings.from_env({"DB_POOL_SIZE": "no", "LEASE_SECONDS": "no"})


@pytest.mark.parametrize(
    "environ",
    [{}, {"DATABASE_URL": "sqlite:///shop.db"}, {"DATABASE_URL": "sqlite+aiosqlite:////data/shop.db"}],
)
def test_sqlite_on_a_platform_that_forgets_its_files_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"^DATABASE_URL: a SQLite file on this platform is lost"):
        Settings.from_env({**environ, "DYNO": "web.1"})


def test_postgres_on_that_platform_is_taken() -> None:
    settings = Settings.from_env({"DATABASE_URL": "postgres://a:b@c/d", "DYNO": "web.1"})
    assert not settings.on_sqlite


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(Settings(), "model", "other")  # noqa: B010  by name, past the types


# ── what is shown ────────────────────────────────────────────────────────────────────────────


def shown(environ: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Name to source and value, as the command lists them."""
    return {each.name: (each.source, each.shown) for each in Settings.from_env(environ).describe()}


def test_defaults_are_listed_with_what_they_mean() -> None:
    listed = Settings.from_env({}).describe()
    assert len(listed) == 23
    assert all(each.meaning and each.source == "default" for each in listed)
    assert {each.name: each.shown for each in listed} == {
        "DATABASE_URL": "sqlite+aiosqlite:///gatepost.db",
        "DB_POOL_SIZE": "3",
        "AUDIT_KEY": "not set",
        "SECRET_KEY": "not set",
        "HOST_APP": "not set",
        "AGENTS_DIR": "not set",
        "MODEL": "gpt-4o",
        "OPENAI_API_KEY": "not set",
        "OPENAI_BASE_URL": "not set",
        "PORT": "8080",
        "PUBLIC_URL": "not set",
        "SLACK_BOT_TOKEN": "not set",
        "SLACK_SIGNING_SECRET": "not set",
        "SLACK_APP_TOKEN": "not set",
        "GATEPOST_SLACK_CLIENT_ID": "not set",
        "GATEPOST_SLACK_CLIENT_SECRET": "not set",
        "SLACK_API_URL": "https://slack.com/api/",
        "TELEGRAM_BOT_TOKEN": "not set",
        "TELEGRAM_SECRET": "not set",
        "TELEGRAM_API_URL": "https://api.telegram.org",
        "LEASE_SECONDS": "60",
        "MAX_RUNNING": "50",
        "AGE_SECONDS": "600",
    }


def test_what_is_set_is_listed_so_and_secrets_only_as_set() -> None:
    environ = {"AUDIT_KEY": CANARY, "OPENAI_API_KEY": CANARY, "MODEL": "small-1", "LEASE_SECONDS": "60"}
    listed = shown(environ)
    assert listed["AUDIT_KEY"] == listed["OPENAI_API_KEY"] == ("environment", "set")
    assert listed["MODEL"] == ("environment", "small-1")
    assert listed["LEASE_SECONDS"] == ("environment", "60")
    assert CANARY not in str(listed) + repr(Settings.from_env(environ))


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        (POSTGRES, "postgresql+asyncpg://shop:***@db.example/shop"),
        ("postgres://shop:ca/na@r?y#1@db/shop", "postgres://shop:***@db/shop"),
        ("postgres://shop@db:5432/shop", "postgres://shop@db:5432/shop"),
        ("postgres://db/shop?password=canary", "postgres://db/shop?***"),
        ("sqlite+aiosqlite:////data/shop.db", "sqlite+aiosqlite:////data/shop.db"),
    ],
)
def test_a_database_address_is_listed_without_its_password(url: str, seen: str) -> None:
    assert shown({"DATABASE_URL": url})["DATABASE_URL"] == ("environment", seen)


def test_a_models_address_is_listed_without_its_password() -> None:
    assert shown({"OPENAI_BASE_URL": "https://a:b@host/v1"})["OPENAI_BASE_URL"][1] == "https://a:***@host/v1"


# ── the key of the audit ─────────────────────────────────────────────────────────────────────


@pytest.fixture
def on_file(tmp_path: Path) -> Callable[..., Settings]:
    """Settings of the SQLite file shop.db in *tmp_path*."""
    return lambda **more: Settings(database_url=f"sqlite+aiosqlite:///{tmp_path / 'shop.db'}", **more)


def test_a_key_that_is_set_is_taken_on_any_database(on_file: Callable[..., Settings], tmp_path: Path) -> None:
    key = SecretStr(CANARY)
    assert audit_key(on_file(audit_key=key)) == CANARY.encode()
    assert audit_key(Settings(database_url=POSTGRES, audit_key=key)) == CANARY.encode()
    assert list(tmp_path.iterdir()) == []


def test_on_sqlite_a_key_is_made_once_and_only_its_owner_may_read_it(
    on_file: Callable[..., Settings], tmp_path: Path
) -> None:
    key = audit_key(on_file())
    assert len(bytes.fromhex(key.decode())) == 32
    assert audit_key(on_file()) == key
    (file,) = tmp_path.iterdir()
    assert file.name == "shop.db.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert audit_key(Settings(audit_key=SecretStr(file.read_text().strip()))) == key


def test_many_who_make_the_key_at_once_get_the_same(on_file: Callable[..., Settings], tmp_path: Path) -> None:
    together = Barrier(8)

    def make(_: int) -> bytes:
        together.wait()
        return audit_key(on_file())

    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(make, range(8)))
    assert len(keys) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["shop.db.key"]


def test_who_comes_second_takes_the_first_ones_key(
    on_file: Callable[..., Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def beaten(source: Path, target: Path) -> None:
        target.write_text("f" * 64)
        link(source, target)

    monkeypatch.setattr(os, "link", beaten)
    assert audit_key(on_file()) == b"f" * 64
    assert [file.name for file in tmp_path.iterdir()] == ["shop.db.key"]


def test_on_postgres_a_missing_key_is_refused_with_how_to_make_one() -> None:
    with pytest.raises(ConfigError) as caught:
        audit_key(Settings(database_url=POSTGRES))
    assert str(caught.value).startswith("AUDIT_KEY: ")
    assert MAKE_A_KEY in str(caught.value)


@pytest.mark.parametrize(
    "url", ["sqlite+aiosqlite://", "sqlite+aiosqlite:///:memory:", "sqlite:///file:a?uri=true"]
)
def test_a_database_without_a_file_needs_a_key_that_is_set(url: str) -> None:
    with pytest.raises(ConfigError, match=r"^AUDIT_KEY: this database has no file"):
        audit_key(Settings(database_url=url))


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "cut short"), (b"abc\n", "cut short"), (b"\xff" * 64, "it holds no key")]
)
def test_a_damaged_key_is_refused_and_left_as_it_is(
    on_file: Callable[..., Settings], tmp_path: Path, content: bytes, words: str
) -> None:
    file = tmp_path / "shop.db.key"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        audit_key(on_file())
    assert file.read_bytes() == content


def test_a_folder_that_is_not_there_is_told_without_a_trace_of_a_key(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite+aiosqlite:///{tmp_path / 'none' / 'shop.db'}")
    with pytest.raises(ConfigError, match=r"shop\.db\.key can't be used \(No such file or directory\)"):
        audit_key(settings)


# ── the keys of secrets at rest, and what nobody may read ────────────────────────────────────


def test_of_several_keys_each_is_long_enough_and_the_first_seals() -> None:
    assert secret_keys(Settings.from_env({"SECRET_KEY": f" {NEW} , {OLD}"})) == (NEW, OLD)
    for short in (CANARY, f"{NEW},{CANARY}", f"{NEW},"):
        with pytest.raises(ConfigError, match=r"^SECRET_KEY: one is shorter than 32 characters") as refused:
            Settings.from_env({"SECRET_KEY": short})
        assert CANARY not in str(refused.value)


def test_on_sqlite_a_secret_key_is_made_once_and_on_postgres_it_is_refused_by_name(
    on_file: Callable[..., Settings], tmp_path: Path
) -> None:
    (made,) = secret_keys(on_file())
    assert secret_keys(on_file()) == (made,)
    assert made.encode() != audit_key(on_file())
    assert stat.S_IMODE((tmp_path / "shop.db.secret.key").stat().st_mode) == 0o600
    with pytest.raises(
        ConfigError, match=r"^SECRET_KEY: it is not set, and secrets at rest on Postgres need"
    ):
        secret_keys(Settings(database_url=POSTGRES))


def test_what_nobody_may_read_has_a_name_that_may_be_shown() -> None:
    url = "postgres://shop:p%40ss/w:d@db/shop?sslpassword=other"
    environ = {
        "DATABASE_URL": url,
        "AUDIT_KEY": CANARY,
        "OPENAI_API_KEY": "sk-1",
        "SECRET_KEY": f"{NEW},{OLD}",
    }
    assert Settings.from_env(environ).secrets() == {
        "AUDIT_KEY": CANARY,
        "OPENAI_API_KEY": "sk-1",
        "SECRET_KEY": f"{NEW},{OLD}",
        "SECRET_KEY:1": NEW,
        "SECRET_KEY:2": OLD,
        "DATABASE_URL:1": "p%40ss/w:d",
        "DATABASE_URL:2": "p@ss/w:d",
        "DATABASE_URL:3": "other",
    }
    assert Settings.from_env({}).secrets() == {}
