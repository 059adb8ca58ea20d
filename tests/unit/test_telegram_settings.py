"""What the operator sets for Telegram: a wrong value is refused by its variable's name, and never shown."""

import pytest

from bot import telegram_settings
from bot.settings import Settings
from core.errors import ConfigError

TOKEN = "7000000001:AAFakeFakeFakeFakeFakeFakeFakeFakeFake"
CANARY = "canary-0123456789"


def settings(**environ: str) -> Settings:
    return Settings.from_env(environ)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("TELEGRAM_BOT_TOKEN", CANARY, "that @BotFather gave you"),
        ("TELEGRAM_BOT_TOKEN", f"bot7000000001:{CANARY}{CANARY}", "that @BotFather gave you"),
        ("TELEGRAM_BOT_TOKEN", f"7000000001:{CANARY} {CANARY}", "that @BotFather gave you"),
        ("TELEGRAM_BOT_TOKEN", f"0:{CANARY}{CANARY}", "that @BotFather gave you"),
        ("TELEGRAM_SECRET", "canary", "letters, digits, _ and -"),
        ("TELEGRAM_SECRET", f"{CANARY}!{CANARY}", "letters, digits, _ and -"),
        ("TELEGRAM_SECRET", f"{CANARY},canary", "letters, digits, _ and -"),
        ("TELEGRAM_SECRET", "canary" * 43, "letters, digits, _ and -"),
        ("TELEGRAM_API_URL", CANARY, "begins with https://"),
        ("PUBLIC_URL", CANARY, "begins with https://"),
    ],
)
def test_a_wrong_value_is_refused_by_name_and_never_shown(name: str, value: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(**{name: value})
    assert str(caught.value).startswith(f"{name}: ")
    assert words in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_secret_without_a_bot_is_refused_by_the_token_s_name() -> None:
    with pytest.raises(ConfigError, match=r"^TELEGRAM_BOT_TOKEN: it is not set, and TELEGRAM_SECRET is"):
        telegram_settings.check(settings(TELEGRAM_SECRET=CANARY))


def test_telegram_itself_sends_to_https_alone() -> None:
    wrong = settings(TELEGRAM_BOT_TOKEN=TOKEN, PUBLIC_URL="http://bot.example")
    with pytest.raises(ConfigError, match=r"^PUBLIC_URL: Telegram sends updates by https alone"):
        telegram_settings.check(wrong)
    for good in (
        {"TELEGRAM_BOT_TOKEN": TOKEN},
        {"TELEGRAM_BOT_TOKEN": TOKEN, "PUBLIC_URL": "https://bot.example"},
        {"PUBLIC_URL": "http://bot.example"},  # of another chat's
        {
            "TELEGRAM_BOT_TOKEN": TOKEN,
            "PUBLIC_URL": "http://b.example",
            "TELEGRAM_API_URL": "http://a.example",
        },
    ):
        telegram_settings.check(settings(**good))


def test_updates_come_to_one_path_below_our_own_address_or_are_asked_for() -> None:
    assert telegram_settings.address(settings()) is None
    for ours in ("https://bot.example/shop", "https://bot.example/shop/"):
        there = telegram_settings.address(settings(PUBLIC_URL=ours))
        assert there == "https://bot.example/shop/telegram/updates"


def test_without_a_secret_one_is_made_of_the_token_the_same_in_each_process() -> None:
    (made,) = settings(TELEGRAM_BOT_TOKEN=TOKEN).telegram_secrets
    assert (made,) == settings(TELEGRAM_BOT_TOKEN=TOKEN).telegram_secrets
    assert (made,) != settings(TELEGRAM_BOT_TOKEN=f"{TOKEN}x").telegram_secrets
    assert TOKEN.partition(":")[2] not in made
    settings(TELEGRAM_BOT_TOKEN=TOKEN, TELEGRAM_SECRET=made)  # Telegram takes it


def test_both_secrets_hold_while_one_takes_the_other_s_place_and_neither_is_shown() -> None:
    new, old = "n" * 16, "o" * 256
    both = settings(TELEGRAM_BOT_TOKEN=TOKEN, TELEGRAM_SECRET=f"{new}, {old}")
    assert both.telegram_secrets == (new, old)
    assert {TOKEN, new, old} <= set(both.secrets().values())
    shown = {line.name: line.shown for line in both.describe()}
    assert (shown["TELEGRAM_BOT_TOKEN"], shown["TELEGRAM_SECRET"]) == ("set", "set")
