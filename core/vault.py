"""The vault keeps an organization's secrets at rest: account keys and the like, sealed, each under a name.

Who opens one has the real value; everybody who only looks sees its name, since what is kept or opened is
registered with the redactor first (I33).
"""

import re
from collections.abc import Sequence
from typing import Final

from core.errors import SecretError
from core.ids import OrgId
from core.redact import SHORTEST
from core.tasks import Json

LONGEST: Final = 20_000
"""Characters of a secret: a certificate with its chain and key is shorter."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,99}")


def check_secret(name: str, value: str) -> None:
    """*value* may be kept as *name*. Raises SecretError, which says nothing of the value."""
    if _NAME.fullmatch(name) is None:
        raise SecretError("a secret's name is of letters, digits and _.:/@-, up to 100 of them")
    if len(value.strip()) < SHORTEST or len(value) > LONGEST:
        raise SecretError(f"{name}: a secret has from {SHORTEST} to {LONGEST:,} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SecretError(f"{name}: this secret has characters that are none") from None


def secret_facts(name: str, *, was: bool) -> Json:
    """What the audit says of a secret that was put or removed: its name, and whether it was there before."""
    return {"name": name, "was": was}


class NoVault:
    """core.ports.Secrets of a host that no bot has opened yet: there are none, and none can be kept."""

    async def put(self, org: OrgId, name: str, value: str, *, by: str, surface: str | None = None) -> None:
        raise SecretError("there is no vault before the bot has opened its host")

    async def get(self, org: OrgId, name: str) -> str | None:
        return None

    async def names(self, org: OrgId) -> Sequence[str]:
        return ()

    async def remove(self, org: OrgId, name: str, *, by: str, surface: str | None = None) -> bool:
        return False
