"""The guard that keeps the suite on this machine is in force, and sees through asyncio."""

import asyncio
import socket

import pytest

from tests.network import NetworkGuard, NetworkPlugin, StrayConnection, is_local

FAR = "192.0.2.1"  # reserved for documentation: never a real host


@pytest.fixture
def guard(pytestconfig: pytest.Config) -> NetworkGuard:
    """The session's own guard; a test that provokes it must take the strays, or it fails."""
    plugin = pytestconfig.pluginmanager.get_plugin("gatepost-network")
    assert isinstance(plugin, NetworkPlugin)
    return plugin.guard


@pytest.mark.parametrize(
    "host", [None, "", "localhost", "LOCALHOST", "127.0.0.1", "127.8.8.8", "::1", b"::1", "0.0.0.0"]
)
def test_this_machine_is_local(host: str | bytes | None) -> None:
    assert is_local(host)


@pytest.mark.parametrize(
    "host", [FAR, "example.com", "10.0.0.1", "2001:db8::1", b"example.com", "localhost.evil.com"]
)
def test_any_other_host_is_not(host: str | bytes) -> None:
    assert not is_local(host)


def test_a_connection_is_refused_and_remembered(guard: NetworkGuard) -> None:
    with socket.socket() as sock, pytest.raises(StrayConnection):
        sock.connect((FAR, 80))
    with socket.socket() as sock, pytest.raises(StrayConnection):
        sock.connect_ex((FAR, 80))
    with socket.socket(type=socket.SOCK_DGRAM) as sock, pytest.raises(StrayConnection):
        sock.sendto(b"?", (FAR, 53))
    with pytest.raises(StrayConnection):
        socket.getaddrinfo("example.com", 80)
    assert guard.take_strays() == [repr(FAR)] * 3 + ["'example.com'"]


@pytest.mark.parametrize("host", [FAR, "example.com"])
async def test_asyncio_is_refused_too(guard: NetworkGuard, host: str) -> None:
    with pytest.raises(StrayConnection):
        await asyncio.open_connection(host, 80)
    assert guard.take_strays() == [repr(host)]


async def test_a_server_on_this_machine_is_reached() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(greet, "localhost", 0, family=socket.AF_INET)
    async with server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])
        assert await reader.read() == b"hello"
        writer.close()
        await writer.wait_closed()


def test_an_allowed_host_passes() -> None:
    guard = NetworkGuard(allowed=frozenset({"database.internal"}))
    guard.check_host("database.internal")
    assert guard.take_strays() == []


def test_a_swallowed_attempt_still_fails_the_test() -> None:
    guard = NetworkGuard()
    patch = pytest.MonkeyPatch()
    plugin = NetworkPlugin(guard)
    try:
        phase = plugin.pytest_runtest_call()
        next(phase)
        with pytest.raises(StrayConnection):
            guard.check_host(FAR)
        with pytest.raises(pytest.fail.Exception, match=FAR):
            phase.send(None)
    finally:
        patch.undo()
        plugin.pytest_unconfigure()
