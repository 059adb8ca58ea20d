"""Keeps the suite on this machine: a connection to anywhere else is refused and fails the test that made it.

Patches ``socket.socket``, which asyncio's and every pure-Python client's connections go through. Code under
test may swallow the refusal, so each attempt is also written down, and the test fails for it afterwards.
"""

import ipaddress
import socket
from collections.abc import Callable
from typing import Any

import pytest

LOCAL_NAMES = frozenset({"", "localhost", "localhost.localdomain", "ip6-localhost"})


class StrayConnection(OSError):
    """A test tried to reach a host outside this machine."""


def is_local(host: str | bytes | None) -> bool:
    """Whether *host* (a name or an address) is this machine, without asking DNS."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host or ""
    if name.lower() in LOCAL_NAMES:
        return True
    try:
        address = ipaddress.ip_address(name.split("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


class NetworkGuard:
    """Refuses and remembers what leaves this machine, but for the *allowed* hosts."""

    def __init__(self, allowed: frozenset[str] = frozenset()) -> None:
        self.allowed = allowed
        self.strays: list[str] = []

    def check_host(self, host: str | bytes | None) -> None:
        """Raise StrayConnection, and remember it, unless *host* is local or allowed."""
        if is_local(host) or host in self.allowed:
            return
        self.strays.append(repr(host))
        raise StrayConnection(f"no test may reach {host!r}; only this machine")

    def check(self, family: int, address: Any) -> None:
        """Raise StrayConnection unless a socket of *family* stays on this machine by going to *address*."""
        if family in (socket.AF_INET, socket.AF_INET6):
            self.check_host(address[0])

    def take_strays(self) -> list[str]:
        """The hosts refused since the last call, oldest first; forgets them."""
        strays, self.strays = self.strays, []
        return strays

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Until *patch* is undone, each connect, datagram and name lookup asks the guard first."""
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, self._guarded(getattr(socket.socket, name), position=0))
        patch.setattr(socket.socket, "sendto", self._guarded(socket.socket.sendto, position=-1))
        lookup = socket.getaddrinfo

        def getaddrinfo(host: str | bytes | None, *args: Any, **kwargs: Any) -> Any:
            self.check_host(host)
            return lookup(host, *args, **kwargs)

        patch.setattr(socket, "getaddrinfo", getaddrinfo)

    def _guarded(self, method: Callable[..., Any], *, position: int) -> Callable[..., Any]:
        def guarded(sock: socket.socket, *args: Any) -> Any:
            self.check(sock.family, args[position])
            return method(sock, *args)

        return guarded


class NetworkPlugin:
    """Holds a NetworkGuard over the session and fails each test phase in which something tried to leave."""

    def __init__(self, guard: NetworkGuard) -> None:
        self.guard = guard
        self._patch = pytest.MonkeyPatch()
        guard.install(self._patch)

    def _phase(self) -> Any:
        result = yield
        if strays := self.guard.take_strays():
            pytest.fail(f"the test tried to reach {', '.join(strays)}; fake it, or serve it on this machine")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Any:
        return (yield from self._phase())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Any:
        return (yield from self._phase())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Any:
        return (yield from self._phase())

    def pytest_unconfigure(self) -> None:
        self._patch.undo()
