"""A new user gets from the README to a working bot: its Slack section is followed step by step."""

import re
from contextlib import AsyncExitStack
from pathlib import Path

import yaml

from adapters.slack.heard.bolt import COMMAND, MAKE_A_TASK
from adapters.slack.installed.scopes import SCOPES
from tests.acceptance.command_line import command_line
from tests.acceptance.processes import Running, Web
from tests.acceptance.slack_office import words_of
from tests.contract.factories import AUDIT_KEY
from tests.fakes.slack import SIGNING_SECRET, fake_slack

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Slack\n")[2].partition("\n## ")[0]
MANIFEST = yaml.safe_load((ROOT / "slack-manifest.yaml").read_text(encoding="utf-8"))
EVENTS = {
    "app_home_opened",
    "app_mention",
    "app_uninstalled",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "tokens_revoked",
}
"""What the bot hears: each has a listener in adapters/slack/heard/bolt.py."""


def test_the_manifest_asks_for_what_the_code_needs_and_for_nothing_else() -> None:
    assert sorted(MANIFEST["oauth_config"]["scopes"]["bot"]) == sorted(SCOPES)
    assert set(MANIFEST["settings"]["event_subscriptions"]["bot_events"]) == EVENTS
    assert [shortcut["callback_id"] for shortcut in MANIFEST["features"]["shortcuts"]] == [MAKE_A_TASK]
    assert [command["command"] for command in MANIFEST["features"]["slash_commands"]] == [COMMAND]
    assert len(SCOPES) == 8 and "eight\n   scopes" in SECTION


def test_the_manifest_names_one_address() -> None:
    settings = MANIFEST["settings"]
    addresses = {
        settings["event_subscriptions"]["request_url"],
        settings["interactivity"]["request_url"],
        MANIFEST["features"]["slash_commands"][0]["url"],
    }
    assert addresses == {"https://YOUR-APP.example.com/slack/events"}


async def test_a_new_user_gets_from_the_readme_to_an_approved_card(migrated_url: str, tmp_path: Path) -> None:
    steps = re.findall(r"^ *(?:`)?python -m bot ([^`\n]+?)`?(?: checks.*)?$", SECTION, re.MULTILINE)
    assert steps[:4] == ["web", "worker", "people list", "people invite ada"]
    async with AsyncExitStack() as closing:
        slack = await closing.enter_async_context(fake_slack())
        slack.patience, slack.team.scopes = 10.0, set(SCOPES)
        ada = slack.add_user("ada")
        ops = slack.add_channel("ops", ada)
        line = command_line(migrated_url, tmp_path).with_env(
            AUDIT_KEY=AUDIT_KEY.decode(),
            SECRET_KEY="s" * 32,
            PORT="0",
            SLACK_BOT_TOKEN=slack.team.bot_token,
            SLACK_SIGNING_SECRET=SIGNING_SECRET,
            SLACK_API_URL=slack.api_url,
        )
        web = Web(await line.start("web"))
        closing.push_async_callback(web.dies)
        web.port = int((await web.tells("web listens on")).rpartition(":")[2])
        await web.tells("web is open")
        slack.bot_url = f"{web.address}/slack/events"
        worker = Running(await line.start("worker", "--no-posts"))
        closing.push_async_callback(worker.dies)

        listed = await line.run("people", "list")
        me = re.search(r"(\S+) +owner +console:", listed.out)
        assert me is not None, listed.out
        invited = await line.run("people", "invite", me[1])
        code = re.search(r"/gatepost (join \S+)", invited.out)
        assert code is not None, invited.out
        await slack.commands(ada, ops, "/gatepost", code[1])
        assert words_of(slack.shown_to(ada)[-1].blocks).startswith(f"Welcome, {me[1]}.")
        checked = await line.with_env(PORT=str(web.port)).run("doctor")
        assert checked.status == 0 and "✖" not in checked.out, checked.out

        said = await slack.says(ada, ops, "refund the mug that arrived broken", mention=True)
        card = await slack.wait_for(
            lambda: next((m for m in slack.thread(said.message) if "park:" in str(m.blocks)), None),
            seconds=30,
        )
        await slack.clicks(ada, card, "approve")
        await slack.wait_for(
            lambda: [m for m in slack.thread(said.message) if "t-1 done" in words_of(m.blocks)], seconds=30
        )
        assert line.refunds == [("A7", "24.00")]
        assert (slack.faults, slack.late) == ([], [])
