"""Each bad input that a model, a chat, a folder or the environment may bring has a test that names it."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
NAMED = re.compile(r"bad-input-(\d+)|Bad inputs? (\d+)(?: and (\d+))?")
BY_MODELS, BY_CONFIG = range(1, 30), range(56, 71)
BY_CHATS = {*range(30, 44), *range(47, 52)}
"""Those that need a platform of their own, or replies, are not due yet: 44 to 46, 52 to 55."""


def test_each_number_is_named_by_a_test() -> None:
    files = [path for path in TESTS.rglob("test_*.py") if path != Path(__file__)]
    found = {int(n) for path in files for at in NAMED.findall(path.read_text("utf-8")) for n in at if n}
    assert len(files) > 30
    assert sorted({*BY_MODELS, *BY_CHATS, *BY_CONFIG} - found) == []
