"""The manifest that the app was made of, held against the code and the settings."""

from collections.abc import Mapping
from typing import Any, Final

import yaml

from adapters.slack.installed.scopes import SCOPES
from core.checkup import Finding, well, wrong
from core.outside import without_login
from core.visible import visible

PLACEHOLDER: Final = "https://YOUR-APP.example.com"
"""The address in the manifest as it is shipped."""


def manifest(text: str, public_url: str | None, *, by_socket: bool) -> Finding:
    """Whether the app that *text* makes is the one that this deployment is."""
    name = "manifest"
    try:
        read = yaml.safe_load(text)
    except yaml.YAMLError:
        read = None
    if not isinstance(read, dict):
        return wrong(name, "slack-manifest.yaml can't be read", "take the one of this version again")
    asked = _at(read, "oauth_config", "scopes", "bot") or []
    if set(asked) != set(SCOPES):
        differs = [f"{s} is missing" for s in SCOPES if s not in asked]
        differs += [f"{visible(str(s))} is not needed" for s in asked if s not in SCOPES]
        return wrong(
            name, f"its scopes are not this version's: {', '.join(differs)}", "take the one of this version"
        )
    addresses = _addresses(read)
    if by_socket:
        fits = _at(read, "settings", "socket_mode_enabled") is True
        how = "for Socket Mode set socket_mode_enabled to true and leave the addresses out, in your copy"
        return well(name, "its scopes are the bot's", "" if fits else how)
    if not addresses or any(address.startswith(PLACEHOLDER) for address in addresses):
        here = "your own address (PUBLIC_URL)" if public_url is None else without_login(public_url)
        return well(
            name, "its scopes are the bot's", f"in the copy that Slack gets, put {here} for {PLACEHOLDER}"
        )
    base = None if public_url is None else f"{public_url.rstrip('/')}/"
    others = [address for address in addresses if base is not None and not address.startswith(base)]
    if others:
        return wrong(
            name,
            f"Slack would call {visible(', '.join(sorted(set(others))))}",
            f"put {without_login(public_url or '')} there, in the app's settings too, or correct PUBLIC_URL",
        )
    return well(name, "its scopes are the bot's, and its addresses this deployment's")


def _addresses(read: Mapping[str, Any]) -> list[str]:
    """Where Slack sends to."""
    found = [
        _at(read, "settings", "event_subscriptions", "request_url"),
        _at(read, "settings", "interactivity", "request_url"),
        *(_at(each, "url") for each in _at(read, "features", "slash_commands") or []),
    ]
    return [str(address) for address in found if address]


def _at(read: Any, *keys: str) -> Any:
    for key in keys:
        read = read.get(key) if isinstance(read, Mapping) else None
    return read
