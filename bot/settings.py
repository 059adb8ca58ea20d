"""What the operator sets in the environment: read once, here, and by nobody else.

A wrong value is refused by its variable's name, never shown; no file is read, so that what a process
runs with is what its environment says.
"""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, NamedTuple, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from core.errors import ConfigError
from core.queue import MOST_RUNNING, QueueSettings

MAKE_A_KEY = 'python -c "import secrets; print(secrets.token_hex(32))"'
SHORTEST_KEY = 16
SHORTEST_SECRET_KEY = 32

_QUEUE = QueueSettings()
_SCHEMES = ("sqlite", "sqlite+aiosqlite", "postgres", "postgresql", "postgresql+asyncpg")
_BOT_TOKEN = re.compile(r"[1-9][0-9]{0,18}:[A-Za-z0-9_-]{20,}")
_WEBHOOK_SECRET = re.compile(rf"[A-Za-z0-9_-]{{{SHORTEST_KEY},256}}")
_CLASS = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*")


def _database_url(text: str) -> str:
    if text.partition("://")[0] not in _SCHEMES or "://" not in text:
        raise ValueError(
            "write sqlite+aiosqlite:///<file> or postgresql+asyncpg://<user>:<password>@<host>/<name>"
        )
    return text


def _paths(text: object) -> object:
    return [part for part in text.split(os.pathsep) if part] if isinstance(text, str) else text


def _http_url(text: str) -> str:
    try:
        address = urlsplit(text)
        good = address.scheme in ("http", "https") and bool(address.hostname)
    except ValueError:
        good = False
    if not good:
        raise ValueError("write an address that begins with https:// or http://")
    return text


def _class(text: str) -> str:
    if _CLASS.fullmatch(text) is None:
        raise ValueError("write <module>:<class>, such as shop.host:Shop")
    return text


def _key(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < SHORTEST_KEY:
        raise ValueError(f"it is shorter than {SHORTEST_KEY} characters; make one with {MAKE_A_KEY}")
    return value


def _secret_key(value: SecretStr) -> SecretStr:
    if any(len(key) < SHORTEST_SECRET_KEY for key in _keys_in(value)):
        raise ValueError(f"one is shorter than {SHORTEST_SECRET_KEY} characters; make one with {MAKE_A_KEY}")
    return value


def _bot_token(value: SecretStr) -> SecretStr:
    if _BOT_TOKEN.fullmatch(value.get_secret_value()) is None:
        raise ValueError("write the token that @BotFather gave you: a number, a colon, and letters after it")
    return value


def _webhook_secret(value: SecretStr) -> SecretStr:
    if not _keys_in(value) or any(_WEBHOOK_SECRET.fullmatch(key) is None for key in _keys_in(value)):
        raise ValueError(
            f"Telegram takes letters, digits, _ and -, {SHORTEST_KEY} to 256 of them; make one with "
            f"{MAKE_A_KEY}"
        )
    return value


def _keys_in(value: SecretStr) -> tuple[str, ...]:
    return tuple(key.strip() for key in value.get_secret_value().split(","))


class Described(NamedTuple):
    """One line of ``python -m bot settings``. *source* is default or environment; secrets are not shown."""

    name: str
    meaning: str
    source: str
    shown: str


class Settings(BaseSettings):
    """The operator's settings; each field is the environment variable of the same name in capitals."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    database_url: Annotated[str, AfterValidator(_database_url)] = Field(
        default="sqlite+aiosqlite:///gatepost.db",
        description="where everything is kept: a SQLite file, or Postgres",
    )
    db_pool_size: int = Field(
        default=3,
        ge=1,
        le=100,
        description="database connections a process keeps; small plans allow 20 in all",
    )
    audit_key: Annotated[SecretStr, AfterValidator(_key)] | None = Field(
        default=None, description="signs audit entries; on SQLite one is made beside the database file"
    )
    secret_key: Annotated[SecretStr, AfterValidator(_secret_key)] | None = Field(
        default=None,
        description="seals secrets at rest; of several, with commas between, the first seals, all open; on "
        "SQLite one is made beside the database file",
    )
    host_app: Annotated[str, AfterValidator(_class)] | None = Field(
        default=None, description="the app's host class, <module>:<class>; how the bot finds the app's tools"
    )
    agents_dir: Annotated[tuple[Path, ...], BeforeValidator(_paths)] = Field(
        default=(),
        description=f"folders of agents, {os.pathsep} between; without it ./agents, else the packaged one",
    )
    model: str = Field(default="gpt-4o", description="the model of agents that name none")
    openai_api_key: SecretStr | None = Field(default=None, description="the key for the model's service")
    openai_base_url: Annotated[str, AfterValidator(_http_url)] | None = Field(
        default=None, description="where the model's service is, if not at OpenAI"
    )
    port: int = Field(default=8080, ge=0, le=65535, description="where the web process listens; 0: any")
    public_url: Annotated[str, AfterValidator(_http_url)] | None = Field(
        default=None, description="where the web process is reached from outside, such as https://bot.example"
    )
    slack_bot_token: SecretStr | None = Field(
        default=None, description="the bot's token (xoxb-…), of the one workspace it is in"
    )
    slack_signing_secret: SecretStr | None = Field(
        default=None, description="what Slack signs its requests with; two, with a comma, while it is rotated"
    )
    slack_app_token: SecretStr | None = Field(
        default=None,
        description="an app-level token (xapp-…): without PUBLIC_URL, Slack is talked to by Socket Mode",
    )
    gatepost_slack_client_id: str | None = Field(
        default=None, description="the Slack app's client id, to be installed in several workspaces"
    )
    gatepost_slack_client_secret: SecretStr | None = Field(
        default=None, description="the Slack app's client secret, to be installed in several workspaces"
    )
    slack_api_url: Annotated[str, AfterValidator(_http_url)] = Field(
        default="https://slack.com/api/", description="where Slack's Web API is"
    )
    telegram_bot_token: Annotated[SecretStr, AfterValidator(_bot_token)] | None = Field(
        default=None, description="the bot's token, from @BotFather"
    )
    telegram_secret: Annotated[SecretStr, AfterValidator(_webhook_secret)] | None = Field(
        default=None,
        description="what Telegram sends with each update; two, with a comma, while it is rotated; "
        "without it one is made of the bot's token",
    )
    telegram_api_url: Annotated[str, AfterValidator(_http_url)] = Field(
        default="https://api.telegram.org", description="where Telegram's Bot API is"
    )
    lease_seconds: float = Field(
        default=60.0,
        ge=1,
        le=3600,
        allow_inf_nan=False,
        description="how long a silent worker keeps its tasks",
    )
    max_running: int = Field(
        default=_QUEUE.max_running,
        ge=1,
        le=MOST_RUNNING,
        description="tasks of one organization that run at once, where no owner set its limit",
    )
    age_seconds: float = Field(
        default=_QUEUE.age_seconds,
        ge=1,
        allow_inf_nan=False,
        le=7 * 24 * 3600,
        description="how long what started by itself waits behind what people ask for",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is passed: the library's own reading of environment and files is off."""
        return (init_settings,)

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        """What *environ* sets; a blank variable counts as not set. Raises ConfigError, naming each wrong."""
        given = {
            field: text.strip()
            for field in cls.model_fields
            if (text := environ.get(field.upper())) is not None and text.strip()
        }
        try:
            settings = cls.model_validate(given)
        except ValidationError as error:
            raise ConfigError("; ".join(_words(error))) from None
        if settings.on_sqlite and environ.get("DYNO"):
            raise ConfigError(
                "DATABASE_URL: a SQLite file on this platform is lost with every restart; add a Postgres "
                "database and let DATABASE_URL name it"
            )
        return settings

    @property
    def slack_signing_secrets(self) -> tuple[str, ...]:
        """Those that a request of Slack's may be signed with."""
        return () if self.slack_signing_secret is None else _keys_in(self.slack_signing_secret)

    @property
    def telegram_secrets(self) -> tuple[str, ...]:
        """Those that an update may come with; Telegram is told the first."""
        if self.telegram_secret is not None:
            return _keys_in(self.telegram_secret)
        return () if self.telegram_bot_token is None else (_made_of(self.telegram_bot_token),)

    @property
    def queue(self) -> QueueSettings:
        return QueueSettings(max_running=self.max_running, age_seconds=self.age_seconds)

    @property
    def on_sqlite(self) -> bool:
        return self.database_url.startswith("sqlite")

    def secrets(self) -> dict[str, str]:
        """What nobody is to read, by names that may be shown: each secret, and the database's password."""
        found = {
            name.upper(): value.get_secret_value()
            for name in type(self).model_fields
            if isinstance(value := getattr(self, name), SecretStr)
        }
        if self.secret_key is not None:
            found |= {f"SECRET_KEY:{n}": key for n, key in enumerate(_keys_in(self.secret_key), 1)}
        found |= {f"SLACK_SIGNING_SECRET:{n}": key for n, key in enumerate(self.slack_signing_secrets, 1)}
        found |= {f"TELEGRAM_SECRET:{n}": key for n, key in enumerate(self.telegram_secrets, 1)}
        passwords = dict.fromkeys(_passwords(self.database_url))
        return found | {f"DATABASE_URL:{n}": password for n, password in enumerate(passwords, 1)}

    def describe(self) -> list[Described]:
        """Every setting, in the order of their declaration; no secret and no password is shown."""
        return [
            Described(
                name=name.upper(),
                meaning=field.description or "",
                source="environment" if name in self.model_fields_set else "default",
                shown=_shown(getattr(self, name)),
            )
            for name, field in type(self).model_fields.items()
        ]


def _made_of(token: SecretStr) -> str:
    """A secret that whoever has *token* can make again, and nobody can make *token* of."""
    return hmac.new(
        token.get_secret_value().encode(), b"gatepost: telegram's updates", hashlib.sha256
    ).hexdigest()


def _words(error: ValidationError) -> list[str]:
    """What is wrong with each variable; the values themselves are in none of it."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    return [f"{str(each['loc'][0]).upper()}: {each['msg'].removeprefix('Value error, ')}" for each in details]


def _shown(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, SecretStr):
        return "set"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        return os.pathsep.join(map(str, value)) or "not set"
    return _without_password(str(value))


def _without_password(text: str) -> str:
    """*text*, were it an address, without what may be a password: after the user's name, or in the query.

    Everything up to the last @ counts as user and password, since a password may hold any character.
    """
    scheme, found, rest = text.partition("://")
    if not found:
        return text
    login, at, place = rest.rpartition("@")
    user, colon, _ = login.partition(":")
    place, query, _ = place.partition("?")
    return f"{scheme}://{user}{':***' if colon else ''}{at}{place}{'?***' if query else ''}"


def _passwords(text: str) -> Iterator[str]:
    """What may be a password in an address, as it is written and as it is read."""
    login, at, place = text.partition("://")[2].rpartition("@")
    _, colon, password = login.partition(":")
    in_query = [value for name, value in parse_qsl(place.partition("?")[2]) if "pass" in name.lower()]
    for each in (*((password,) if at and colon else ()), *in_query):
        yield each
        yield unquote(each)


# ── the keys of the audit and of secrets at rest ─────────────────────────────────────────────


def audit_key(settings: Settings) -> bytes:
    """The key that signs audit entries, the same at every call and in every process of one database.

    Without AUDIT_KEY a SQLite database has one made for it, kept in ``<file>.key`` beside it, which only
    its owner may read; it is the text to set as AUDIT_KEY when the file moves. Raises ConfigError.
    """
    if settings.audit_key is not None:
        return settings.audit_key.get_secret_value().encode()
    if not settings.on_sqlite:
        raise ConfigError(f"AUDIT_KEY: it is not set, and Postgres needs one; make one with {MAKE_A_KEY}")
    return _kept_key("AUDIT_KEY", _key_file("AUDIT_KEY", settings.database_url, "key"), SHORTEST_KEY).encode()


def secret_keys(settings: Settings) -> tuple[str, ...]:
    """The keys that seal secrets at rest, the one that seals new ones first.

    Without SECRET_KEY a SQLite database has one made for it, kept in ``<file>.secret.key`` beside it, as the
    audit's is. Raises ConfigError.
    """
    if settings.secret_key is not None:
        return _keys_in(settings.secret_key)
    if not settings.on_sqlite:
        raise ConfigError(
            "SECRET_KEY: it is not set, and secrets at rest on Postgres need one; make one with " + MAKE_A_KEY
        )
    file = _key_file("SECRET_KEY", settings.database_url, "secret.key")
    return (_kept_key("SECRET_KEY", file, SHORTEST_SECRET_KEY),)


def _key_file(name: str, database_url: str, ending: str) -> Path:
    from sqlalchemy.engine import make_url  # here, since it takes a while and few commands need it

    database = make_url(database_url).database or ":memory:"
    if database == ":memory:" or database.startswith("file:"):
        raise ConfigError(
            f"{name}: this database has no file to keep a key beside; make one with {MAKE_A_KEY}"
        )
    return Path(f"{database}.{ending}")


def _kept_key(name: str, path: Path, shortest: int) -> str:
    try:
        if not path.exists():
            _make_key(path)
        kept = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it holds no key"
        raise ConfigError(f"{name}: it is not set, and {path.name} can't be used ({reason})") from None
    if len(kept) < shortest:
        raise ConfigError(
            f"{name}: it is not set, and the key in {path.name} is cut short; set it from a copy"
        )
    return kept


def _make_key(path: Path) -> None:
    """*path* holds a key, whole from its first moment on; whoever comes second leaves the first one's.

    It is written under a name of its own and then linked, since linking fails where the name is taken.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(opened, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_hex(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
    finally:
        os.unlink(draft)
