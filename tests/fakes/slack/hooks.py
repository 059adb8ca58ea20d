"""response_url: five uses within 30 minutes, ephemeral unless said otherwise."""

import json
from datetime import timedelta
from typing import Final

from aiohttp import web

from tests.fakes.slack.chat import show_ephemeral
from tests.fakes.slack.limits import check_message
from tests.fakes.slack.things import Ephemeral, Hook, Json, Message, Refused, Version
from tests.fakes.slack.world import World

USES: Final = 5
MINUTES: Final = 30


async def respond(world: World, request: web.Request) -> web.Response:
    """What the app answers by a response_url is shown, or is refused as Slack does."""
    try:
        hook = _usable(world, request.match_info["hook"])
        body = json.loads(await request.text())
        if not isinstance(body, dict):
            raise Refused("invalid_payload")
        answer(world, hook, body)
    except ValueError:
        return _refusal(world, Refused("invalid_payload"))
    except Refused as refused:
        return _refusal(world, refused)
    finally:
        world.changed()
    return web.Response(text="ok")


def answer(world: World, hook: Hook, body: Json) -> None:
    """The message is shown, or the one the hook came from is replaced or deleted. Raises Refused."""
    origin = hook.origin
    if body.get("delete_original") and origin is not None:
        _delete(world, origin)
        return
    text, blocks = body.get("text"), body.get("blocks")
    check_message(text, blocks)
    if body.get("replace_original") and origin is not None:
        _replace(world, origin, text, blocks)
    elif body.get("response_type", "ephemeral") == "in_channel":
        _post(world, hook, text, blocks, body.get("thread_ts"))
    else:
        show_ephemeral(world, hook.channel, hook.user, text, blocks, body.get("thread_ts"))


def _usable(world: World, hook_id: str) -> Hook:
    hook = world.hooks.get(hook_id)
    if hook is None:
        raise Refused("no_such_url")
    if world.clock.now() - hook.made_at > timedelta(minutes=MINUTES):
        raise Refused("expired_url")
    if hook.uses >= USES:
        raise Refused("used_url")
    hook.uses += 1
    return hook


def _refusal(world: World, refused: Refused) -> web.Response:
    world.fault("response_url", refused.error, *refused.beside.get("errors", ()))
    return web.json_response({"ok": False, "error": refused.error}, status=404)


def _delete(world: World, origin: Message | Ephemeral) -> None:
    if isinstance(origin, Ephemeral):
        origin.gone = True
    elif not origin.deleted:
        origin.deleted = True
        world.channels[origin.channel].messages.remove(origin)


def _replace(world: World, origin: Message | Ephemeral, text: str | None, blocks: list[Json] | None) -> None:
    if isinstance(origin, Message):
        origin.history.append(Version(text=origin.text, blocks=origin.blocks))
    origin.text, origin.blocks = text or "", world.named(blocks or [])


def _post(
    world: World, hook: Hook, text: str | None, blocks: list[Json] | None, thread_ts: str | None
) -> None:
    world.channels[hook.channel].messages.append(
        Message(
            channel=hook.channel,
            ts=world.new_ts(),
            user=hook.team.bot_user_id,
            team_id=hook.team.id,
            text=text or "",
            blocks=world.named(blocks or []),
            bot_id=hook.team.bot_id,
            app_id=hook.team.app_id,
            thread_ts=thread_ts,
        )
    )
