"""Slack's names and markup: what people wrote as plain words, and names of ours for what is there."""

import pytest

from adapters.slack.places import Spot, spot
from adapters.slack.words import escaped, names, plain
from core.errors import ChatGone

BOT = "U0BOT"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("<@U0BOT> refund A7", "refund A7"),
        ("<@U0BOT|gatepost>  refund A7", "refund A7"),
        ("please <@U0BOT> refund A7", "please refund A7"),
        ("one\n<@U0BOT> two", "one\ntwo"),
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        ("ask <@U1> or <@U2|ben> in <#C1|ops>", "ask @U1 or @ben in #ops"),
        ("see <https://shop.test/a?b=1&amp;c=2>", "see https://shop.test/a?b=1&c=2"),
        ("see <https://shop.test|the shop>", "see the shop (https://shop.test)"),
        ("see <https://shop.test|shop.test>", "see https://shop.test"),
        ("to <mailto:a@shop.test|a@shop.test>", "to a@shop.test"),
        ("<!here> <!channel> <!subteam^S1|@team>", "@here @channel @team"),
        ("until <!date^1700000000^{date}|14 Nov>", "until 14 Nov"),
        ("nothing &amp;lt; is read twice", "nothing &lt; is read twice"),
        ("", ""),
    ],
)
def test_what_somebody_wrote_is_read_as_they_saw_it(written: str, words: str) -> None:
    assert plain(written, BOT) == words


def test_the_bot_is_named_only_by_its_own_mention() -> None:
    assert names("hi <@U0BOT>", BOT) and names("<@U0BOT|gatepost> hi", BOT)
    assert not names("hi <@U0BOT2> @U0BOT U0BOT", BOT)


@pytest.mark.parametrize("text", ["<!channel>", "<@U1>", "<https://evil.test|bank.test>", "&lt;!here&gt;"])
def test_escaped_words_name_nobody_and_link_nowhere(text: str) -> None:
    made = escaped(text)
    assert "<" not in made and ">" not in made
    assert plain(made, BOT) == text


@pytest.mark.parametrize(
    ("name", "is_there"),
    [
        ("T1/C1", Spot(workspace="T1", channel="C1")),
        ("C1", Spot(workspace=None, channel="C1")),
        ("E1/D1/1700000000.000100", Spot(workspace="E1", channel="D1", ts="1700000000.000100")),
        ("@T1/U2", Spot(workspace="T1", channel="U2")),
        ("@U2", Spot(workspace=None, channel="U2")),
    ],
)
def test_a_place_is_named_with_its_workspace_or_without(name: str, is_there: Spot) -> None:
    assert spot(name) == is_there


@pytest.mark.parametrize(
    "name", ["", "general", "#ops", "T1/C1/now", "T1/", "console", "T1/C1/1.2/3", "t1/c1"]
)
def test_what_is_no_place_in_slack_is_gone_with_the_mend(name: str) -> None:
    with pytest.raises(ChatGone, match="those are like T1/C1"):
        spot(name)
