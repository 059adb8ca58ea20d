"""What every deployment has: its keys, its database, and an app that opens."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from bot.checkup.looking import Looking
from bot.settings import Settings, audit_key, secret_keys
from bot.wiring import App, check_folder, opened, sqlite_file
from core.checkup import Finding, State, sentence, unchecked, well, wrong
from core.errors import ConfigError, GatepostError, StoreError

FORGETFUL: Mapping[str, str] = {
    "FLY_APP_NAME": "Fly",
    "K_SERVICE": "Cloud Run",
    "KUBERNETES_SERVICE_HOST": "Kubernetes",
    "RAILWAY_ENVIRONMENT_NAME": "Railway",
    "RENDER": "Render",
}
"""Platforms by a variable that they set, whose disk is new with each deploy unless a volume was added.

One that never has a volume (DYNO) is refused by the settings.
"""


# ── settings ─────────────────────────────────────────────────────────────────────────────────


def of_keys(settings: Settings) -> list[tuple[str, str]]:
    """What is wrong with the keys, each with its mend."""
    try:
        check_folder(settings.database_url)
    except ConfigError:
        return []  # the database's finding; without its folder there is no place for keys
    problems = []
    for key in (audit_key, secret_keys):
        try:
            key(settings)
        except ConfigError as error:
            problems.append(named(error))
    return problems


def named(error: ConfigError) -> tuple[str, str]:
    """The setting, and what its error says of it, which has the mend."""
    name, colon, words = str(error).partition(": ")
    return (f"{name} can't be used", words) if colon else (name, "python -m bot settings says what it is for")


# ── the database and the app ─────────────────────────────────────────────────────────────────


@asynccontextmanager
async def app_of(looking: Looking) -> AsyncIterator[App | None]:
    """The app, open as for every other command; None where it does not open. What was found is noted."""
    settings, found = looking.settings, looking.found
    database = await _database(looking)
    found.append(database)
    async with AsyncExitStack() as closing:
        app = None
        if database.state is State.WELL:
            try:
                app = await closing.enter_async_context(opened(settings))
            except (GatepostError, OSError) as error:
                name, _, mend = sentence(error).partition(": ")
                found.append(wrong("app", f"it does not open: {name}", mend or "see README, Use it"))
        else:
            found.append(unchecked("app", "the database is not well"))
        if app is not None:
            agents = len(app.host.agents)
            host = settings.host_app or "the example shop (HOST_APP is not set)"
            found.append(well("app", f"{host}, {agents} agent{'' if agents == 1 else 's'}"))
        yield app


async def _database(looking: Looking) -> Finding:
    """Whether it can be reached, has this version's schema, and keeps what is written."""
    from adapters import store  # here: it takes a second to import

    settings = looking.settings
    path = sqlite_file(settings.database_url)
    try:
        check_folder(settings.database_url)
        new = path is not None and not path.exists()
        if not new and path is not None and (torn := _torn(path)):
            return wrong(
                "database",
                f"{path.name} {torn}",
                "stop what writes to it and copy it again, the files beside it that begin with its name too",
            )
        current = await store.is_current(settings.database_url)
    except ConfigError as error:
        return wrong("database", *named(error))
    except (StoreError, OSError) as error:
        said = sentence(error.__cause__ if isinstance(error.__cause__, OSError) else error)
        return wrong(
            "database", f"it can't be reached: {said}", "see that it runs, and that DATABASE_URL is right"
        )
    if path is not None:
        platform = next((name for variable, name in FORGETFUL.items() if looking.environ.get(variable)), None)
        remark = f"this is {platform}: let {path.name} be on a volume, or it is lost with the next deploy"
        made = (
            ", made just now" if new else ", which is brought to this version's schema" if not current else ""
        )
        return well("database", f"the SQLite file {path.name}{made}", remark if platform else "")
    if not current:
        return wrong("database", "Postgres has not this version's schema", "run python -m bot migrate")
    return well("database", "Postgres, with this version's schema")


def _torn(path: Path) -> str | None:
    """What shows that a SQLite file was copied without its -wal, or in part; most such copies show nothing.

    Bad input 90. Its header says how many pages it has, and whether it is in WAL mode (18 is 2): such a file
    is made with one page, without any table, which is all there is for as long as the rest is in the -wal.
    """
    wal = path.with_name(f"{path.name}-wal")
    if wal.exists() and wal.stat().st_size:
        return None
    with path.open("rb") as file:
        head = file.read(100)
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0"):
        return None  # new, or no database, which opening it says
    size = int.from_bytes(head[16:18], "big")
    pages = int.from_bytes(head[28:32], "big")
    if head[24:28] == head[92:96] and pages * (65536 if size == 1 else size) > path.stat().st_size:
        return "is cut short: it is a part of a copy"
    if head[18] == 2 and pages <= 1:
        return "has nothing in it: it seems to be a copy without its -wal, where what was written is"
    return None
