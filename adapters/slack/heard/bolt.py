"""Bolt's app over the listeners: which request of Slack's goes to which.

Everything is processed before Slack is answered, so that nothing is lost on the way: Bolt would otherwise
answer first, and what then fails, or is cut off by a stop, is gone. Every click and form has a listener,
those of older releases too.
"""

import logging
import re
from collections.abc import Mapping
from typing import Any, Final

from slack_bolt import BoltResponse
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.error import BoltUnhandledRequestError

from adapters.slack.client import Clients
from adapters.slack.heard.listening import Listening
from core.errors import ChatError, StoreError

log = logging.getLogger(__name__)

COMMAND: Final = "/gatepost"
MAKE_A_TASK: Final = "make_a_task"
"""The message shortcut of the manifest."""
_ANY: Final = re.compile(".*", re.DOTALL)


def bolt_app(listening: Listening, clients: Clients) -> AsyncApp:
    """An app that hands what Slack sends to *listening*, and asks Slack nothing by itself.

    It verifies nothing: what gets here is signed (`SlackRoute`), or came by a socket of ours.
    """
    quiet = logging.getLogger(f"{__name__}.app")
    quiet.setLevel(logging.ERROR)  # it warns of our own SLACK_BOT_TOKEN, which it finds in the environment
    app = AsyncApp(
        name="gatepost",
        logger=quiet,
        client=clients.with_token(""),
        authorize=_authorize,
        process_before_response=True,
        raise_error_for_unhandled_request=True,  # else it is answered 404, which Slack counts against us
        request_verification_enabled=False,
        ignoring_self_events_enabled=False,  # by_bot messages are told apart by what they are
        attaching_function_token_enabled=False,
    )

    async def said(body: Mapping[str, Any]) -> None:
        await listening.said(body)

    async def came_home(body: Mapping[str, Any]) -> None:
        await listening.came_home(body)

    async def removed(body: Mapping[str, Any]) -> None:
        await listening.removed(body)

    async def ignored(ack: AsyncAck) -> None:
        await ack()

    app.event("message")(said)
    app.event("app_mention")(said)
    app.event("app_home_opened")(came_home)
    app.event("app_uninstalled")(removed)
    app.event("tokens_revoked")(removed)
    app.event(_ANY)(ignored)
    app.action({"type": "block_actions", "action_id": _ANY})(listening.clicked)  # else dialogs get there too
    app.view(_ANY)(listening.submitted)
    app.view_closed(_ANY)(ignored)
    app.command(_ANY)(listening.commanded)
    app.shortcut({"type": "message_action", "callback_id": _ANY})(listening.made_a_task)
    app.shortcut({"type": "shortcut", "callback_id": _ANY})(ignored)
    app.options(_ANY)(ignored)
    app.error(_failed)
    return app


async def _authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
    """Whoever it is: what they may is the rows' business, and the workspace is looked up by the listeners."""
    return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id)


async def _failed(error: Exception, body: Mapping[str, Any]) -> BoltResponse:
    """What may be sent again is answered so; anything else is a bug of ours, told to the log.

    What nothing here is for, such as app_rate_limited, or is of a newer Slack, is acknowledged.
    """
    if isinstance(error, BoltUnhandledRequestError):
        log.warning("Slack sent what nothing here takes: %r", body.get("type"))
        return BoltResponse(status=200, body="")
    if isinstance(error, StoreError | ChatError | TimeoutError):
        log.warning("a request of Slack's was put off: %s", error)
        return BoltResponse(status=503, body="", headers={"retry-after": "1"})
    log.error("a request of Slack's failed", exc_info=error)
    return BoltResponse(status=500, body="")
