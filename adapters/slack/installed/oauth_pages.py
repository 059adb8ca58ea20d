"""What a person who installs the app reads in the browser: where they are, and what mends what went wrong."""

import re
from html import escape
from typing import Final

from slack_sdk.oauth.installation_store.models.installation import Installation

HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address holds Slack's code
    "X-Content-Type-Options": "nosniff",
}

_AGAIN: Final = "Begin again at <a href='{install}'>{install}</a>"
MENDS: Final = {
    "access_denied": f"It was cancelled at Slack, and nothing was installed. {_AGAIN}.",
    "invalid_browser": "This browser did not begin this installation, or it was loaded again. "
    f"{_AGAIN}, and finish in the same browser, with cookies allowed.",
    "invalid_state": f"This installation took longer than ten minutes, or was finished already. {_AGAIN}.",
    "missing_code": f"Slack sent no code. {_AGAIN}.",
    "invalid_code": f"Slack did not confirm the installation. {_AGAIN}; if that does not help, "
    "the bot’s log has what Slack answered, and its operator can mend it.",
    "storage_error": "The installation could not be kept. The bot’s log has the reason, and its operator can "
    f"mend it. {_AGAIN} then.",
}
"""By Bolt's reasons, and Slack's."""

_NAME = re.compile(r"[a-z_]{1,40}")


def installed_page(installation: Installation) -> str:
    """Where the bot is now, and what is next."""
    where = installation.team_name
    if installation.is_enterprise_install or not where:
        where = installation.enterprise_name or where or "your workspace"
    return _page(
        f"Gatepost is in {escape(where)}.",
        "Next: an owner invites you (<code>python -m bot people invite …</code>), then say "
        "<code>/gatepost join CODE</code> in Slack.",
    )


def failed_page(reason: str, install_url: str) -> str:
    """What mends it. Of *reason* no more is shown than a name: anybody can write a link with another one."""
    if (mend := MENDS.get(reason)) is None:
        said = f"Slack says {reason}. " if _NAME.fullmatch(reason) else ""
        mend = f"{said}{_AGAIN}."
    return _page("Gatepost was not installed.", mend.format(install=escape(install_url)))


def _page(title: str, words: str) -> str:
    return (
        f"<!doctype html>\n<html lang='en'>\n<head><meta charset='utf-8'><title>{title}</title></head>\n"
        f"<body><h1>{title}</h1><p>{words}</p></body>\n</html>\n"
    )
