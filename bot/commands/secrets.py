"""secrets set, list, remove: what an organization's tools open, and nobody reads."""

import sys
from getpass import getpass

from bot.commands.session import SURFACE, Session, console, session
from core.errors import NotYourDecision, SecretError
from core.people import Role
from core.visible import visible


async def set_secret(name: str, as_: str | None) -> None:
    """What is typed, or piped in, is kept as *name*. Raises SecretError, NotYourDecision."""
    async with session(as_) as here:
        _check_owner(here)
        vault, org = here.app.store.secrets, here.who.org
        known = name in await vault.names(org)
        await vault.put(org, name, _typed(name), by=here.who.id, surface=SURFACE)
    console().print(f"{name} is kept{', in place of what it was' if known else ''}.")


async def list_secrets(as_: str | None) -> None:
    """The names, a line each; no value is opened."""
    async with session(as_) as here:
        names = await here.app.store.secrets.names(here.who.org)
    console().print("\n".join(names) or "No secrets are kept.")


async def remove_secret(name: str, as_: str | None) -> None:
    """Nothing is kept as *name*. Raises SecretError where nothing was, NotYourDecision."""
    async with session(as_) as here:
        _check_owner(here)
        if not await here.app.store.secrets.remove(here.who.org, name, by=here.who.id, surface=SURFACE):
            raise SecretError(f"no secret is kept as {visible(name)}")
    console().print(f"{name} is removed.")


def _typed(name: str) -> str:
    """The value: asked for without an echo, or all that is piped in, but for its last line's end."""
    if sys.stdin.isatty():
        return getpass(f"{name}: ")
    try:
        return sys.stdin.read().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise SecretError(f"{visible(name)}: what was piped in is no text") from None


def _check_owner(here: Session) -> None:
    if Role.OWNER not in here.who.roles:
        raise NotYourDecision("only an owner may change secrets")
