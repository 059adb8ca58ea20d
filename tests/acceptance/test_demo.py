"""The demo keeps what it promises: two refunds, each once, whenever its worker is killed."""

import re
from decimal import Decimal
from pathlib import Path

import pytest

from bot.demo.shop import Books
from tests.acceptance.command_line import CommandLine, command_line

ONCE = [("A7", Decimal("18.50")), ("B2", Decimal("12.00"))]


@pytest.fixture
def bot(tmp_path: Path) -> CommandLine:
    """A terminal for the demo, which brings its own database."""
    return command_line(f"sqlite+aiosqlite:///{tmp_path / 'other.db'}", tmp_path)


def refunds(folder: Path) -> list[tuple[str, Decimal]]:
    return [(r.order_id, r.amount) for r in Books(folder / "shop.db").refunds()]


@pytest.mark.rule("C8", "C19", "C21", "I2", "I7", "K11")
async def test_the_demo_refunds_each_order_once_although_its_workers_are_killed(
    bot: CommandLine, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    played = await bot.does("demo", "--keep", str(folder))
    assert refunds(folder) == ONCE
    for words in (
        "t-1.2 approved with changes by ada: amount 24.00 → 18.50. A worker runs it.",
        "I refunded 18.50 EUR on A7. You changed it from 24.00.",
        "refund may have gone out, and nobody knows · spend",
        "t-2.2 settled as gone out by ada. It counts as done.",
        "Done refund order_id B2, amount 12.00 · ada says it went out",
    ):
        assert words in " ".join(played.words.replace("│", "").split())
    assert len(re.findall(r"kill -9 \d+", played.out)) == 2
    assert re.search(r"Audit: (\d+) entries, sealed up to \1, all whole\.", played.words)
    assert "Two refunds, each once, after 2 kills" in played.words

    kept = f"sqlite+aiosqlite:///{folder / 'gatepost.db'}"
    assert "all whole" in (await bot.does("audit", "verify", "--database", kept)).out
    assert "has gatepost.db and shop.db from before" in await bot.refuses("demo", "--keep", str(folder))


@pytest.mark.rule("I2", "I7", "K9", "K10", "K12")
@pytest.mark.parametrize("point", [1, 31, 32, 33, 34, 35])
async def test_a_worker_killed_at_any_point_refunds_no_order_twice(
    bot: CommandLine, tmp_path: Path, point: int
) -> None:
    folder = tmp_path / "kept"
    played = await bot.does("demo", "--keep", str(folder), "--kill-at", str(point))
    paid = refunds(folder)
    assert len(paid) == len(set(paid)) and set(paid) <= set(ONCE)
    assert re.search(rf"Killed once at point {point}; no refund twice, in [\d.]+ s\.$", played.words)
    asked = "may have gone out, and nobody knows" in played.out
    assert len(paid) == 2 or asked  # a refund is missing only where its owner was asked, and looked
