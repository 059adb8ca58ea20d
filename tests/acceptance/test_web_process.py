"""The web process as a platform runs it: bound at once, ready with its database, gone in order when told."""

import asyncio
import os
import re
import shutil
import signal
import socket
import sys
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from tests.acceptance.command_line import ROOT, command_line
from tests.wire import Answer, asked, refuses, request, wire

BOT = ("-m", "bot", "web")
FIFTY_MB = 50_000_000


@dataclass(frozen=True, slots=True)
class Web:
    """A web process, and the port at which it listens."""

    process: Process
    port: int

    async def tells(self, words: str) -> None:
        """It has logged *words*."""
        assert self.process.stderr is not None
        await told(self.process.stderr, words)

    async def says(self, line: str) -> None:
        """The next thing that happens in its face is *line*."""
        assert self.process.stdout is not None
        assert (await self.process.stdout.readline()).decode() == f"{line}\n"

    async def lets_go(self) -> None:
        """Whoever is held in its face goes on."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        await self.process.stdin.drain()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    async def ends(self) -> tuple[int | None, list[str], str]:
        """Its status, what still happened in its face, and what it still logged."""
        async with asyncio.timeout(25):
            out, err = await self.process.communicate()
        return self.process.returncode, out.decode().splitlines(), err.decode()

    async def tell(self, body: str) -> Answer:
        """The answer of its face."""
        return await asked(self.port, "POST", "/slack/events", body.encode())

    async def ready(self) -> tuple[int, bytes]:
        answer = await asked(self.port, "GET", "/readyz")
        return answer.status, answer.body


async def told(log: StreamReader, words: str) -> str:
    """The first line of *log* that has *words*."""
    seen = []
    while line := (await log.readline()).decode():
        if words in line:
            return line
        seen.append(line)
    raise AssertionError(f"it ended without saying {words!r}: {''.join(seen)}")


@asynccontextmanager
async def running(
    url: str, folder: Path, *, arguments: Sequence[str] = ("10", "25"), module: Sequence[str] = (), **env: str
) -> AsyncIterator[Web]:
    """A web process over *url*, listening; killed afterwards if it is still there."""
    environ = {**command_line(url, folder).env, "PORT": "0", **env}
    command = module or ("-m", "tests.acceptance.serving", *arguments)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, cwd=ROOT, env=environ, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    try:
        assert process.stderr is not None
        listens = re.search(r"web listens on 0\.0\.0\.0:(\d+)$", await told(process.stderr, "listens"))
        assert listens is not None
        yield Web(process, int(listens[1]))
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@asynccontextmanager
async def opened(
    url: str, folder: Path, arguments: Sequence[str] = ("10", "25"), **env: str
) -> AsyncIterator[Web]:
    """The same, open."""
    async with running(url, folder, arguments=arguments, **env) as web:
        await web.says("open")
        await web.tells("web is open")
        yield web


@pytest.fixture
async def one_web(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Web]:
    async with opened(sqlite_url, tmp_path) as web:
        yield web


@pytest.fixture
async def sqlite_url(tmp_path: Path) -> str:
    """A SQLite file that is not there yet, for what doesn't depend on the database."""
    return f"sqlite+aiosqlite:///{tmp_path / 'gatepost.db'}"


# ── a database that is away ──────────────────────────────────────────────────────────────────


class Away:
    """A database at an address where nothing answers until it is `back`."""

    def __init__(self, url: str, folder: Path) -> None:
        self._there = make_url(url)
        self._file = folder / "away.db"
        self._door = socket.socket()  # bound and not listening, so that nobody else has the port meanwhile
        self._door.bind(("127.0.0.1", 0))
        self._proxy: asyncio.Server | None = None
        self._pipes: list[asyncio.Task[None]] = []
        if self._is_file:
            self._file.write_bytes(b"no database, " * 1000)

    @property
    def _is_file(self) -> bool:
        return self._there.get_backend_name() == "sqlite"

    @property
    def url(self) -> str:
        if self._is_file:
            return f"sqlite+aiosqlite:///{self._file}"
        here = self._there.difference_update_query(["host", "port"])
        here = here.set(host="127.0.0.1", port=self._door.getsockname()[1])
        return here.render_as_string(hide_password=False)

    async def back(self) -> None:
        """It answers there."""
        if self._is_file:
            shutil.copy(str(self._there.database), f"{self._file}.new")
            os.replace(f"{self._file}.new", self._file)
        else:
            self._proxy = await asyncio.start_server(self._taken, sock=self._door)

    async def _taken(self, reader: StreamReader, writer: StreamWriter) -> None:
        host, port = self._there.query.get("host", self._there.host), self._there.port or 5432
        if str(host).startswith("/"):
            there = await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{self._there.query['port']}")
        else:
            there = await asyncio.open_connection(str(host), port)
        self._pipes += [
            asyncio.create_task(piped(reader, there[1])),
            asyncio.create_task(piped(there[0], writer)),
        ]

    async def closed(self) -> None:
        """Nothing of it is left."""
        if self._proxy is not None:
            self._proxy.close()
        for pipe in self._pipes:
            pipe.cancel()
        await asyncio.gather(*self._pipes, return_exceptions=True)
        self._door.close()


async def piped(source: StreamReader, target: StreamWriter) -> None:
    """What comes from *source* goes to *target*, until either ends."""
    try:
        while sent := await source.read(65536):
            target.write(sent)
            await target.drain()
    finally:
        target.close()


@pytest.fixture
async def away(migrated_url: str, tmp_path: Path) -> AsyncIterator[Away]:
    """A migrated database of each kind that is not there yet."""
    made = Away(migrated_url, tmp_path)
    yield made
    await made.closed()


async def test_it_is_alive_while_its_database_is_away_and_ready_once_it_is_back(
    away: Away, tmp_path: Path
) -> None:
    async with running(away.url, tmp_path, module=BOT) as web:
        await web.tells("web can't open yet, and tries until it can: the database")
        assert (await asked(web.port, "GET", "/healthz")).status == 200
        assert await web.ready() == (503, b'{"status":"starting"}')
        early = await web.tell("read")
        assert (early.status, early.headers["retry-after"]) == (503, "1")
        await away.back()
        await web.tells("web is open, after")
        assert await web.ready() == (200, b'{"status":"ok"}')
        web.stop()
        status, out, log = await web.ends()
    assert (status, out) == (0, [])
    assert log.count("\n") == 1 and "web leaves" in log


async def test_told_to_stop_before_its_database_is_there_it_leaves(away: Away, tmp_path: Path) -> None:
    async with running(away.url, tmp_path, module=BOT) as web:
        await web.tells("web can't open yet")
        web.stop()
        status, out, log = await web.ends()
    assert (status, out) == (0, [])
    assert log.count("\n") == 1 and "web leaves" in log


async def test_told_to_stop_as_soon_as_it_listens_it_leaves(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path) as web:
        web.stop()
        status, out, log = await web.ends()
    assert status == 0
    assert out in (["gone"], ["open", "left", "gone"])  # it may have been open by then
    assert "Traceback" not in log


async def test_a_wrong_setting_ends_it_with_one_line_that_names_it(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path, module=BOT, HOST_APP="no.such:Host") as web:
        status, out, log = await web.ends()
    assert (status, out) == (1, [])
    assert log.startswith("error: HOST_APP: no.such:Host can't be imported") and log.count("\n") == 1


async def test_a_port_that_is_taken_is_named(sqlite_url: str, tmp_path: Path) -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = taken.getsockname()[1]
        line = command_line(sqlite_url, tmp_path).with_env(PORT=str(port))
        assert await line.refuses("web") == f"PORT: {port} can't be listened on (Address already in use)"


# ── leaving ──────────────────────────────────────────────────────────────────────────────────


async def test_a_request_in_flight_is_answered_and_nothing_after_it_however_often_it_is_told(
    migrated_url: str, tmp_path: Path
) -> None:
    async with opened(migrated_url, tmp_path) as web, wire(web.port) as kept:
        assert (await kept.asks("POST", "/slack/events", b"read")).body == b"done: read"
        await kept.send(request("POST", "/slack/events", b"hold"))
        await web.says("held")
        web.stop()
        await refuses(web.port)
        for again in (signal.SIGTERM, signal.SIGINT, signal.SIGINT):
            web.process.send_signal(again)
        await web.lets_go()
        await web.says("let go")
        web.stop()
        assert (await kept.answer()).body == b"done: hold"
        assert await kept.rest() == b""
        status, out, log = await web.ends()
    assert (status, out) == (0, ["left", "gone"])
    assert "Traceback" not in log


async def test_what_goes_on_after_an_answer_ends_before_its_face_leaves(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with opened(sqlite_url, tmp_path) as web:
        assert (await web.tell("go on")).body == b"done: go on"
        await web.says("held")
        web.stop()
        await refuses(web.port)
        await web.lets_go()
        assert (await web.ends())[:2] == (0, ["let go", "left", "gone"])


async def test_what_goes_on_too_long_is_cut_off_by_name(sqlite_url: str, tmp_path: Path) -> None:
    async with opened(sqlite_url, tmp_path) as web:
        await web.tell("go on")
        await web.says("held")
        web.stop()
        status, out, log = await web.ends()
    assert (status, out) == (0, ["left", "gone"])
    assert "cut off after 5 s: what goes on\n" in log


async def test_the_time_to_leave_runs_from_when_it_is_told_whatever_requests_are_open(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with opened(sqlite_url, tmp_path, ("10", "1")) as web, wire(web.port) as held:
        await held.send(request("POST", "/slack/events", b"hold"))
        await web.says("held")
        web.stop()
        status, out, log = await web.ends()
    assert (status, out) == (1, [])
    assert "not gone after 1 s, so ended by force; it waited for the open requests; tasks: " in log


async def test_what_hangs_at_the_end_is_named_and_the_process_gone_all_the_same(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with opened(sqlite_url, tmp_path, ("10", "2"), HANG="yes") as web:
        web.stop()
        status, out, log = await web.ends()
    assert (status, out) == (1, ["hangs"])
    assert "not gone after 2 s, so ended by force; it waited for the faces; tasks: " in log


# ── bad requests ─────────────────────────────────────────────────────────────────────────────


async def test_a_slow_loris_is_cut_in_its_head_and_in_its_body(sqlite_url: str, tmp_path: Path) -> None:
    async with opened(sqlite_url, tmp_path, ("0.2", "25")) as web:
        async with wire(web.port) as head, wire(web.port) as body:
            await head.send(b"POST /slack/events HTTP/1.1\r\nx: ")
            await body.send(request("POST", "/slack/events", content_length="1000") + b"x")
            assert await head.rest() == b""
            assert (await body.answer()).status == 408
            assert await body.rest() == b""
        assert (await web.tell("read")).status == 200


async def test_fifty_megabytes_are_refused_without_being_read(sqlite_url: str, tmp_path: Path) -> None:
    async with opened(sqlite_url, tmp_path) as web:
        async with wire(web.port) as one:
            await one.send(request("POST", "/slack/events", content_length=str(FIFTY_MB)))
            assert (await one.answer()).status == 413
            assert await one.rest() == b""
        async with wire(web.port) as other:
            sent = await poured(other.writer, FIFTY_MB)
        assert sent < FIFTY_MB
        assert (await web.tell("read")).status == 200


async def poured(writer: StreamWriter, length: int) -> int:
    """How many bytes of a body of *length*, whose length nobody declared, the other end let be sent."""
    piece, sent = b"x" * 65536, 0
    try:
        writer.write(request("POST", "/slack/events", transfer_encoding="chunked"))
        while sent < length:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            sent += len(piece)
    except ConnectionError:
        pass
    return sent


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/slack/events", "POST"),
        ("HEAD", "/slack/events", "POST"),
        ("POST", "/slack/install", "GET"),
        ("HEAD", "/slack/oauth_redirect", "GET"),
        ("DELETE", "/healthz", "GET, HEAD"),
    ],
)
async def test_a_wrong_method_is_refused(method: str, path: str, allowed: str, one_web: Web) -> None:
    answer = await asked(one_web.port, method, path)
    assert (answer.status, answer.headers["allow"]) == (405, allowed)


async def test_what_is_no_path_is_not_found_and_what_breaks_is_logged_without_secrets(
    sqlite_url: str, tmp_path: Path
) -> None:
    secret = "canary-0123456789"
    async with opened(sqlite_url, tmp_path, OPENAI_API_KEY=secret, MODEL=secret) as web:
        for path in ("/", "/slack", "/slack/events/", "/slack/install"):  # the last: no face serves it
            assert (await asked(web.port, "GET", path)).status == 404
        broken = await web.tell("break")
        assert (broken.status, broken.body) == (500, b"Internal Server Error")
        web.stop()
        _, _, log = await web.ends()
    assert "RuntimeError: it broke at" in log
    assert secret not in log


async def test_where_no_connection_to_the_database_is_free_a_request_is_put_off_and_does_not_hang(
    migrated_url: str, tmp_path: Path
) -> None:
    async with opened(migrated_url, tmp_path, DB_POOL_SIZE="1") as web, wire(web.port) as holds:
        await holds.send(request("POST", "/slack/events", b"hold a connection"))
        await web.says("held")
        async with asyncio.timeout(5):  # many times what it takes, and a pool's own patience is 30
            put_off = await web.tell("read")
        assert (put_off.status, put_off.headers["retry-after"]) == (503, "1")
        await web.lets_go()
        assert (await holds.answer()).body == b"done: hold a connection"
        assert (await web.tell("read")).body == b"done: read"
