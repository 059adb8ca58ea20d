"""A new user gets from the README to a working bot: its Telegram section is followed step by step."""

import re
from contextlib import AsyncExitStack
from pathlib import Path

from tests.acceptance.command_line import command_line
from tests.acceptance.processes import Running, Web
from tests.contract.factories import AUDIT_KEY
from tests.fakes.telegram import fake_telegram

ROOT = Path(__file__).parents[2]
SECTION = (
    (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Telegram\n")[2].partition("\n## ")[0]
)
EXAMPLE = re.search(r"\*\*Ask for something\*\*: `([^`]+)`", SECTION)


async def test_a_new_user_gets_from_the_readme_to_an_approved_card_in_telegram(
    migrated_url: str, tmp_path: Path
) -> None:
    steps = re.findall(r"^ *(?:`)?python -m bot ([^`\n]+?)`?(?: checks.*)?$", SECTION, re.MULTILINE)
    assert steps[:4] == ["web", "worker", "people list", "people invite ada"]
    assert EXAMPLE is not None
    async with AsyncExitStack() as closing:
        telegram = await closing.enter_async_context(fake_telegram())
        ada = telegram.add_user("ada")
        line = command_line(migrated_url, tmp_path).with_env(
            AUDIT_KEY=AUDIT_KEY.decode(),
            SECRET_KEY="s" * 32,
            PORT="0",
            TELEGRAM_BOT_TOKEN=telegram.token,
            TELEGRAM_API_URL=telegram.api_url,
        )
        web = Web(await line.start("web"))
        closing.push_async_callback(web.dies)
        await web.tells("web is open")
        worker = Running(await line.start("worker", "--no-posts"))
        closing.push_async_callback(worker.dies)

        listed = await line.run("people", "list")
        me = re.search(r"(\S+) +owner +console:", listed.out)
        assert me is not None, listed.out
        invited = await line.run("people", "invite", me[1])
        link = re.search(r"https://t\.me/(\w+)\?start=(\S+)", invited.out)
        assert link is not None, invited.out
        assert link[1] == telegram.bot.username
        await telegram.starts(ada, link[2])
        await telegram.wait_for(
            lambda: [m for m in telegram.said(ada) if m.text.startswith("Welcome,")], seconds=30
        )
        checked = await line.run("doctor")
        assert checked.status == 0 and "✖" not in checked.out, checked.out

        await telegram.says(ada, ada, EXAMPLE[1])
        card = await telegram.wait_for(
            lambda: next((m for m in telegram.said(ada) if "✅ Approve" in m.labels), None), seconds=30
        )
        await telegram.presses(ada, card, "Approve")
        await telegram.wait_for(lambda: [m for m in telegram.said(ada) if "t-1 done" in m.text], seconds=30)
        assert line.refunds == [("A7", "24.00")]
        assert telegram.faults == []
