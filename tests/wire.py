"""HTTP as bytes: a connection on which a test says exactly what is sent, and sees exactly what comes back."""

import asyncio
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp

from adapters.web.heads import Heads
from bot.serving import Server


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """One answer; its headers by their names in small letters."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Wire:
    """A connection to a server."""

    reader: StreamReader
    writer: StreamWriter

    async def send(self, sent: bytes) -> None:
        """*sent* is on its way, or the other end is gone."""
        try:
            self.writer.write(sent)
            await self.writer.drain()
        except ConnectionError:
            pass  # what the other end said before is still to be read

    async def answer(self, *, head_only: bool = False) -> Answer:
        """The next answer, as long as its Content-Length says; *head_only* where it is one to HEAD."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = 0 if head_only else int(headers["content-length"])
        return Answer(
            status=int(first.split()[1]), headers=headers, body=await self.reader.readexactly(length)
        )

    async def asks(self, method: str, path: str, body: bytes = b"", /, **headers: str) -> Answer:
        """The answer to a whole request."""
        await self.send(request(method, path, body, **headers))
        return await self.answer(head_only=method == "HEAD")

    async def rest(self) -> bytes:
        """What still comes until the other end has closed the connection."""
        try:
            return await self.reader.read()
        except ConnectionError:
            return b""


def request(method: str, path: str, body: bytes = b"", /, **headers: str) -> bytes:
    """A request as bytes; *headers* by their names with _ for -."""
    given = {"host": "bot.example", **({"content-length": str(len(body))} if body else {})}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


@asynccontextmanager
async def wire(port: int) -> AsyncIterator[Wire]:
    """A connection to *port* of this machine."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
        try:
            await writer.wait_closed()
        except ConnectionError:
            pass


async def asked(port: int, method: str, path: str, body: bytes = b"", /, **headers: str) -> Answer:
    """The answer to a request on a connection of its own."""
    async with wire(port) as connection:
        return await connection.asks(method, path, body, **headers)


async def refuses(port: int) -> None:
    """No connection to *port* is taken any more."""
    while True:
        try:
            async with wire(port):
                pass
        except ConnectionRefusedError:
            return
        except ConnectionResetError:
            pass  # it was being closed just then


@dataclass(frozen=True, slots=True)
class Served:
    """A server in this process."""

    port: int
    server: Server
    serving: "asyncio.Task[None]"

    async def leave(self) -> None:
        """It has left as it does when told to stop."""
        self.server.should_exit = True
        await self.serving


@asynccontextmanager
async def served(app: ASGIApp, http: type[Heads] = Heads, patience: int = 5) -> AsyncIterator[Served]:
    """*app* is served in this process, at a port of its own; *patience*: seconds for requests at the end."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, http=http, ws="none", lifespan="off", log_config=None, timeout_graceful_shutdown=patience
    )
    server = Server(config)
    one = Served(listening.getsockname()[1], server, asyncio.create_task(server.serve([listening])))
    try:
        yield one
    finally:
        await one.leave()
