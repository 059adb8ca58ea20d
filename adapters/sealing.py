"""Seals secrets at rest: Fernet (AES-128-CBC with HMAC-SHA256) under keys derived from SECRET_KEY.

Each organization and name has a key of its own, by HKDF-SHA256: a row that was moved to another place does
not open there. Of several SECRET_KEYs the first seals and all open, so that one can be replaced.
"""

import base64
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from core.canonical import dump
from core.errors import SecretError
from core.ids import OrgId

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

_PURPOSE = b"gatepost secret at rest 1\0"


class FernetSealer:
    """core.ports.Sealer. *keys* is asked when the first secret is sealed or opened, the newest key first.

    The library is imported then, too: most commands open no secret.
    """

    def __init__(self, keys: Callable[[], Sequence[str]]) -> None:
        self._keys = keys

    def seal(self, org: OrgId, name: str, value: str) -> str:
        return self._for(org, name).encrypt(value.encode()).decode("ascii")

    def unseal(self, org: OrgId, name: str, sealed: str) -> str:
        from cryptography.fernet import InvalidToken

        try:
            return self._for(org, name).decrypt(sealed.encode()).decode()
        except InvalidToken:
            raise SecretError(
                f"{name}: this secret was sealed under another SECRET_KEY, or for another place; set the old "
                "key behind the new one, with a comma between, or put the secret again"
            ) from None

    def _for(self, org: OrgId, name: str) -> "MultiFernet":
        from cryptography.fernet import Fernet, MultiFernet
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        place = _PURPOSE + dump([org, name]).encode()

        def key(of: str) -> bytes:
            derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=place).derive(of.encode())
            return base64.urlsafe_b64encode(derived)

        return MultiFernet([Fernet(key(one)) for one in self._keys()])
