"""What stands at the web process's paths before, while and after its surfaces answer there."""

import asyncio
import gc
import logging
import weakref
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adapters.web.background import Background
from adapters.web.door import Door, nobody
from adapters.web.health import Health
from bot.leaving import Leaving
from bot.serving import serve
from bot.settings import Settings
from bot.wiring import App
from core.errors import StoreError
from tests.wire import Served, asked, refuses, request, served, wire

NEVER = 60.0


async def pong(scope: Scope, receive: Receive, send: Send) -> None:
    await Response(b"pong " + await Request(scope, receive).body())(scope, receive, send)


def door() -> Door:
    return Door(path="/in", methods=("POST",))


@pytest.fixture
async def entrance() -> AsyncIterator[tuple[Door, Served]]:
    """A door, closed, and the server it is a path of."""
    made = door()
    async with served(Starlette(routes=[made.route])) as one:
        yield made, one


def words(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= level and r.name != "asyncio"]


# ── doors ────────────────────────────────────────────────────────────────────────────────────


async def test_a_path_answers_503_until_its_surface_is_open_and_then_the_surface_does(
    entrance: tuple[Door, Served],
) -> None:
    made, one = entrance
    early = await asked(one.port, "POST", "/in", b"1")
    assert (early.status, early.headers["retry-after"]) == (503, "1")
    made.handler = pong
    assert (await asked(one.port, "POST", "/in", b"2")).body == b"pong 2"


async def test_a_path_that_no_surface_took_is_not_found(entrance: tuple[Door, Served]) -> None:
    made, one = entrance
    made.handler = nobody
    assert (await asked(one.port, "POST", "/in")).status == 404


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
async def test_a_wrong_method_is_refused_with_the_right_one_and_nobody_looks_at_its_body(
    method: str, is_open: bool
) -> None:
    made, sent = door(), list[Message]()
    made.handler = pong if is_open else None

    async def receive() -> Message:
        raise AssertionError("it was looked at")

    async def send(message: Message) -> None:
        sent.append(message)

    await made({"type": "http", "method": method, "path": "/in", "headers": []}, receive, send)
    assert sent[0]["status"] == 405
    assert (b"allow", b"POST") in sent[0]["headers"]


async def test_a_get_path_is_not_asked_with_head() -> None:
    got = Door(path="/in", methods=("GET",), handler=pong)
    async with served(Starlette(routes=[got.route])) as one:
        assert (await asked(one.port, "HEAD", "/in")).status == 405
        assert (await asked(one.port, "GET", "/in")).body == b"pong "


async def test_a_request_that_the_store_could_not_take_is_put_off(
    entrance: tuple[Door, Served], caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise StoreError("no connection is free")

    made, one = entrance
    made.handler = broken
    answer = await asked(one.port, "POST", "/in")
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert words(caplog) == ["POST /in is put off: no connection is free"]


async def test_an_answer_that_has_begun_is_not_begun_again() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise StoreError

    made, sent = door(), list[Message]()
    made.handler = broken

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    with pytest.raises(StoreError):
        await made({"type": "http", "method": "POST", "path": "/in", "headers": []}, receive, send)
    assert [message["type"] for message in sent] == ["http.response.start"]


# ── leaving ──────────────────────────────────────────────────────────────────────────────────


async def test_a_request_in_flight_is_answered_before_the_server_leaves_though_its_connection_is_kept() -> (
    None
):
    begun, release = asyncio.Event(), asyncio.Event()

    async def held(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await release.wait()
        await pong(scope, receive, send)

    made = door()
    made.handler = held
    async with served(Starlette(routes=[made.route])) as one, wire(one.port) as connection:
        await connection.send(request("POST", "/in", b"late"))
        await begun.wait()
        leaving = asyncio.create_task(one.leave())
        await refuses(one.port)
        assert not leaving.done()
        release.set()
        assert (await connection.answer()).body == b"pong late"
        assert await connection.rest() == b""
        await leaving


async def test_a_request_that_outlasts_the_servers_patience_is_cut_off_by_name_and_has_ended(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun, ended = asyncio.Event(), list[str]()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        try:
            await asyncio.sleep(NEVER)
        finally:
            await asyncio.sleep(0)  # what it holds takes a moment to be given back
            ended.append("given back")

    made = door()
    made.handler = endless
    async with served(Starlette(routes=[made.route]), patience=1) as one, wire(one.port) as connection:
        await connection.send(request("POST", "/in"))
        await begun.wait()
        await one.leave()
        assert ended == ["given back"]
    assert "POST /in was cut off before its answer" in words(caplog)


async def test_a_face_that_serves_what_was_not_declared_is_refused(tmp_path: Path) -> None:
    @asynccontextmanager
    async def faces(app: App, background: Background) -> AsyncIterator[Mapping[str, ASGIApp]]:
        yield {"/elsewhere": pong}

    settings = Settings(database_url=f"sqlite+aiosqlite:///{tmp_path / 'gatepost.db'}", port=0)
    with pytest.raises(ValueError, match=r"^a face serves what was not declared: /elsewhere$"):
        await serve(settings, faces, stop=asyncio.Event())


async def test_what_hangs_past_the_end_is_named_and_the_process_ended(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop, ended, status = asyncio.get_running_loop(), asyncio.Event(), list[int]()

    def end(number: int) -> None:
        status.append(number)
        loop.call_soon_threadsafe(ended.set)

    leaving = Leaving(seconds=0.05, end=end)
    leaving.begin()
    leaving.begin()
    leaving.reached("the faces")
    hanging = asyncio.create_task(hangs(), name="the home page of Ada")
    await ended.wait()
    hanging.cancel()
    assert status == [1]
    (said,) = words(caplog)
    assert "not gone after 0.05 s" in said and "it waited for the faces" in said
    assert "the home page of Ada" in said


# ── health ───────────────────────────────────────────────────────────────────────────────────


async def answers() -> None:
    """A database that is there."""


async def fails() -> None:
    raise StoreError


async def hangs() -> None:
    await asyncio.sleep(NEVER)


@pytest.fixture
def health() -> Health:
    return Health(database_seconds=0.1)


@pytest.fixture
async def clinic(health: Health) -> AsyncIterator[int]:
    """The port at which *health* is asked for."""
    async with served(Starlette(routes=[door.route for door in health.doors])) as one:
        yield one.port


async def test_the_process_is_alive_whatever_its_database_does(health: Health, clinic: int) -> None:
    for health.ask_database in (None, fails, hangs):
        answer = await asked(clinic, "GET", "/healthz")
        assert (answer.status, answer.body) == (200, b'{"status":"ok"}')


async def test_it_is_ready_only_when_open_with_a_database_that_answers_and_not_stopping(
    health: Health, clinic: int
) -> None:
    async def ready() -> tuple[int, bytes]:
        answer = await asked(clinic, "GET", "/readyz")
        return answer.status, answer.body

    assert await ready() == (503, b'{"status":"starting"}')
    health.ask_database = answers
    assert await ready() == (200, b'{"status":"ok"}')
    for health.ask_database in (fails, hangs):
        assert await ready() == (503, b'{"status":"database"}')
    health.ask_database = answers
    assert await ready() == (200, b'{"status":"ok"}')  # as soon as it is back
    health.stopping = True
    assert await ready() == (503, b'{"status":"stopping"}')


async def test_a_database_that_hangs_is_asked_by_one_task_however_many_ask(
    health: Health, clinic: int
) -> None:
    asking = 0

    async def stuck() -> None:
        nonlocal asking
        asking += 1
        await hangs()

    health.ask_database = stuck
    said = await asyncio.gather(*(asked(clinic, "GET", "/readyz") for _ in range(5)))
    assert [answer.status for answer in said] == [503] * 5
    assert asking == 1


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_health_is_asked_with_get_and_head_alone(health: Health, clinic: int, path: str) -> None:
    health.ask_database = answers
    head = await asked(clinic, "HEAD", path)
    assert (head.status, head.body, head.headers["cache-control"]) == (200, b"", "no-store")
    refused = await asked(clinic, "POST", path)
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD")


# ── what goes on after an answer ─────────────────────────────────────────────────────────────


def _set(watched: "weakref.ref[asyncio.Future[None]]") -> None:
    if (future := watched()) is not None:
        future.set_result(None)


async def test_what_goes_on_is_kept_until_its_end_though_nobody_else_knows_it() -> None:
    background, done = Background(), list[str]()

    async def wait_for_nobody() -> None:
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        watched = weakref.ref(gone, lambda _: done.append("dropped"))
        asyncio.get_running_loop().call_later(0.05, _set, watched)
        await gone
        done.append("done")

    background.start(wait_for_nobody(), "a wait")
    await asyncio.sleep(0)
    gc.collect()
    await background.drained(NEVER)
    assert done[:1] == ["done"]


async def test_an_error_of_what_goes_on_is_logged_by_its_name_and_concerns_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    background = Background()
    background.start(fails(), "the home page of Ada")
    await background.drained(NEVER)
    assert words(caplog) == ["the home page of Ada failed"]


async def test_what_is_started_by_what_goes_on_is_waited_for_too() -> None:
    background, done = Background(), list[str]()

    async def second() -> None:
        await asyncio.sleep(0.05)
        done.append("second")

    async def first() -> None:
        background.start(second(), "the second")

    background.start(first(), "the first")
    await background.drained(NEVER)
    assert done == ["second"]


async def test_what_is_late_is_cut_off_by_name_and_has_ended(caplog: pytest.LogCaptureFixture) -> None:
    background, ended = Background(), list[str]()

    async def late() -> None:
        try:
            await hangs()
        finally:
            ended.append("late")

    background.start(late(), "a message to Ada")
    await asyncio.sleep(0)
    background.start(hangs(), "the home page of Bob")  # and its first step is not even taken
    await background.drained(0)
    assert ended == ["late"]
    assert words(caplog) == ["cut off after 0 s: a message to Ada, the home page of Bob"]


async def test_nothing_is_started_once_all_is_drained(caplog: pytest.LogCaptureFixture) -> None:
    background = Background()
    await background.drained(NEVER)
    background.start(fails(), "a message to Ada")
    assert words(caplog) == ["a message to Ada was not started: the process leaves"]
