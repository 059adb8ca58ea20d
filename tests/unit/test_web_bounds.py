"""What any request keeps to: the size, time and coding of its body, and the time of its head."""

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from adapters.web.bounds import Bounds
from adapters.web.heads import heads_within
from tests.wire import Served, Wire, request, served, wire

MOST = 1000
SOON = 0.1
NEVER = 60.0


class Echo:
    """Answers each body as it is, and remembers it."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.messages: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body()
        self.bodies.append(body)
        await Response(body)(scope, receive, send)


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
async def patient(echo: Echo) -> AsyncIterator[Served]:
    """A server that waits for ever, and takes little."""
    async with served(Bounds(echo, MOST, NEVER), heads_within(NEVER)) as one:
        yield one


@pytest.fixture
async def hasty(echo: Echo) -> AsyncIterator[Served]:
    """A server that waits for no body."""
    async with served(Bounds(echo, MOST, SOON), heads_within(NEVER)) as one:
        yield one


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


async def trickle(connection: Wire, byte: bytes) -> None:
    """A byte now and then, as a slow-loris sends them, until the other end is gone."""
    while not connection.reader.at_eof() and connection.reader.exception() is None:
        await connection.send(byte)
        await asyncio.sleep(SOON / 10)


# ── the body ─────────────────────────────────────────────────────────────────────────────────


async def test_a_body_that_comes_in_pieces_reaches_the_app_once_whole_and_unmodified(
    patient: Served, echo: Echo
) -> None:
    body = bytes(range(250)) * 4
    async with wire(patient.port) as one:
        await one.send(request("POST", "/", transfer_encoding="chunked"))
        for start in range(0, MOST, 100):
            await one.send(chunk(body[start : start + 100]))
        assert echo.bodies == []
        await one.send(chunk(b""))
        assert (await one.answer()).body == body
        assert (await one.asks("POST", "/", b"next")).body == b"next"  # and the connection is kept
    assert echo.bodies == [body, b"next"]


async def test_what_comes_after_the_body_is_the_connections_own() -> None:
    after: list[str] = []

    async def twice(scope: Scope, receive: Receive, send: Send) -> None:
        after.extend([(await receive())["type"], (await receive())["type"]])

    async with served(Bounds(twice)) as one:
        async with wire(one.port) as connection:
            await connection.send(request("POST", "/", b"all"))
    assert after == ["http.request", "http.disconnect"]


async def test_a_body_declared_too_large_is_refused_before_a_byte_of_it_is_sent(
    patient: Served, echo: Echo
) -> None:
    async with wire(patient.port) as one:
        head = request("POST", "/", content_length=str(MOST + 1), expect="100-continue")
        await one.send(head)
        answer = await one.answer()  # and not 100 Continue
        assert (answer.status, answer.headers["connection"]) == (413, "close")
        assert await one.rest() == b""
    assert echo.bodies == []


async def test_a_body_that_grows_too_large_is_refused_before_its_end(patient: Served, echo: Echo) -> None:
    async with wire(patient.port) as one:
        await one.send(request("POST", "/", transfer_encoding="chunked") + chunk(b"x" * MOST) + chunk(b"x"))
        assert (await one.answer()).status == 413
        assert await one.rest() == b""
    assert echo.bodies == []


async def test_a_body_that_is_not_whole_in_time_is_refused_however_much_still_comes(
    hasty: Served, echo: Echo
) -> None:
    async with wire(hasty.port) as one:
        await one.send(request("POST", "/", content_length="900"))
        slow = asyncio.create_task(trickle(one, b"x"))
        answer = await one.answer()
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        assert await one.rest() == b""
        await slow
    assert echo.bodies == []


@pytest.mark.parametrize("coding", ["gzip", "br", "identity, gzip", "GZip"])
async def test_a_compressed_body_is_refused_unread(patient: Served, echo: Echo, coding: str) -> None:
    async with wire(patient.port) as one:
        await one.send(request("POST", "/", content_length="900", content_encoding=coding))
        answer = await one.answer()
        assert (answer.status, answer.headers["accept-encoding"]) == (415, "identity")
        assert await one.rest() == b""
    assert echo.bodies == []


async def test_a_body_said_not_to_be_compressed_is_taken(patient: Served, echo: Echo) -> None:
    async with wire(patient.port) as one:
        assert (await one.asks("POST", "/", b"plain", content_encoding="Identity")).body == b"plain"


async def test_who_leaves_in_the_middle_of_a_body_is_no_request_and_no_error(
    patient: Served, echo: Echo, caplog: pytest.LogCaptureFixture
) -> None:
    async with wire(patient.port) as one:
        await one.send(request("POST", "/", content_length="900") + b"x")
    await patient.leave()
    assert echo.bodies == []
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


# ── the head ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def brisk(echo: Echo) -> AsyncIterator[Served]:
    """A server that waits for no head."""
    async with served(echo, heads_within(SOON)) as one:
        yield one


async def test_a_connection_on_which_nothing_comes_is_closed(brisk: Served) -> None:
    async with wire(brisk.port) as one:
        assert await one.rest() == b""


async def test_a_head_that_is_not_whole_in_time_is_cut_however_much_still_comes(
    brisk: Served, echo: Echo
) -> None:
    async with wire(brisk.port) as one:
        await one.send(b"POST / HTTP/1.1\r\nhost: a\r\nx: ")
        slow = asyncio.create_task(trickle(one, b"x"))
        assert await one.rest() == b""
        await slow
    assert echo.bodies == []


async def test_the_next_head_on_a_kept_connection_has_the_same_time(brisk: Served, echo: Echo) -> None:
    async with wire(brisk.port) as one:
        assert (await one.asks("POST", "/", b"first")).body == b"first"
        await one.send(b"POST / HT")
        assert await one.rest() == b""
    assert echo.bodies == [b"first"]


async def test_an_idle_connection_is_not_cut_by_the_deadline_of_heads(brisk: Served) -> None:
    async with wire(brisk.port) as one:
        assert (await one.asks("POST", "/", b"first")).body == b"first"
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(one.reader.read(1), 3 * SOON)
        assert (await one.asks("POST", "/", b"second")).body == b"second"


async def test_an_answer_may_take_longer_than_a_head() -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.wait_for(receive(), NEVER)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(receive(), 3 * SOON)  # the end of the connection would be told here
        await Response(b"late")(scope, receive, send)

    async with served(slow, heads_within(SOON)) as one, wire(one.port) as connection:
        assert (await connection.asks("POST", "/", b"x")).body == b"late"
