"""Markup under a message: inline keyboards and prompts to reply, within Telegram's limits."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from tests.fakes.telegram.things import Json, Refused

DATA_BYTES: Final = 64
BUTTONS: Final = 100
ROW: Final = 8
PLACEHOLDER: Final = 64
STYLES: Final = frozenset({"success", "danger", "primary"})
KINDS: Final = (
    "callback_data",
    "url",
    "web_app",
    "login_url",
    "switch_inline_query",
    "switch_inline_query_current_chat",
    "copy_text",
    "pay",
)
COPIED: Final = 256

Blame: TypeAlias = Callable[[str, str], None]


def markups(given: Any, blame: Blame) -> tuple[Json | None, Json | None]:
    """The inline keyboard and any other markup; *blame* hears what is silently dropped. Raises Refused."""
    if given is None or given == "":
        return None, None
    if not isinstance(given, dict):
        raise Refused(400, "Bad Request: object expected as reply markup", fault=True)
    if "inline_keyboard" in given:
        rows = _rows(given["inline_keyboard"], blame)
        return ({"inline_keyboard": rows} if rows else None), None
    if given.get("force_reply"):
        placeholder = given.get("input_field_placeholder")
        if placeholder is not None and not 1 <= len(placeholder) <= PLACEHOLDER:
            raise Refused(400, "Bad Request: reply markup placeholder is invalid", fault=True)
    return None, given


def _rows(given: Any, blame: Blame) -> list[list[Json]]:
    if not isinstance(given, list) or any(not isinstance(row, list) for row in given):
        raise Refused(400, 'Bad Request: field "inline_keyboard" must be of type Array of Arrays', fault=True)
    rows = []
    for row in given:
        named = []
        for button in row:
            if isinstance(button, dict) and not button.get("text"):
                blame("a button without words is dropped", str(button))
                continue
            named.append(_button(button))
        if len(named) > ROW:
            blame("more than 8 buttons in a row: the rest is dropped", str(len(named)))
        if named:
            rows.append(named[:ROW])
    if sum(map(len, rows)) > BUTTONS:
        raise Refused(400, "Bad Request: reply markup is too long", fault=True)
    return rows


def _button(button: Any) -> Json:
    """The button as it is shown. Raises Refused."""
    parsing = "Bad Request: can't parse inline keyboard button"
    if not isinstance(button, dict):
        raise Refused(400, f"{parsing}: InlineKeyboardButton must be an Object", fault=True)
    does = [kind for kind in KINDS if button.get(kind)]
    if not does:
        raise Refused(400, f"{parsing}: text buttons are unallowed in the inline keyboard", fault=True)
    if len(does) > 1:
        raise Refused(400, f"{parsing}: exactly one of the optional fields must be used", fault=True)
    if "callback_data" in does and not 1 <= len(str(button["callback_data"]).encode()) <= DATA_BYTES:
        raise Refused(400, "Bad Request: BUTTON_DATA_INVALID", fault=True)
    if "url" in does:
        _check_url(str(button["url"]))
    if "copy_text" in does and not 1 <= len(button["copy_text"].get("text", "")) <= COPIED:
        raise Refused(400, "Bad Request: BUTTON_COPY_TEXT_INVALID", fault=True)
    if button.get("style") not in (None, *STYLES):
        raise Refused(400, f"{parsing}: invalid button style specified", fault=True)
    return button


def _check_url(url: str) -> None:
    """It is a link that Telegram lets a button open. Raises Refused."""
    wrong = f"Bad Request: inline keyboard button URL '{url}' is invalid"
    if url.startswith("tg://"):
        return
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise Refused(400, f"{wrong}: Wrong port number specified in the URL", fault=True) from None
    if parts.scheme not in ("http", "https"):
        raise Refused(400, f"{wrong}: Unsupported URL protocol", fault=True)
    if "." not in host or " " in url or port == 0:
        raise Refused(400, f"{wrong}: Wrong HTTP URL", fault=True)
