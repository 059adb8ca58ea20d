"""One-time codes that link somebody's account: made of what can't be guessed, kept only as a digest."""

import base64
import hashlib
import re
from typing import Final

CODE_SECONDS: Final = 86_400.0
"""How long a code may be used: a day, so that an invitation survives a night."""

_BYTES: Final = 10  # 80 bits: 16 characters
_GROUP: Final = 4
_ALIKE: Final = str.maketrans("0189", "OIBG")
"""Digits that base32 has not, as whoever types from paper may read its letters."""


def new_code(nonce: str) -> str:
    """``K3QF-7MZA-PLXN-2RTD``, of *nonce*: 128 unpredictable bits (core.ports.Ids)."""
    drawn = hashlib.sha256(nonce.encode()).digest()[:_BYTES]
    letters = base64.b32encode(drawn).decode()
    return "-".join(letters[n : n + _GROUP] for n in range(0, len(letters), _GROUP))


def code_digest(code: str) -> str:
    """What is kept of *code*, however it was typed: who reads the database can't use it."""
    letters = re.sub(r"[\s-]+", "", code).upper().translate(_ALIKE)
    return hashlib.sha256(letters.encode(errors="replace")).hexdigest()
