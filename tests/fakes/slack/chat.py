"""chat.*, conversations.*, users.*, team.*: what the app says, and whom it asks about."""

from typing import Any, Final

from tests.fakes.slack.limits import check_message
from tests.fakes.slack.methods import (
    decoded,
    joined_channel,
    method,
    require_scope,
    required,
    seen_channel,
    seen_user,
)
from tests.fakes.slack.things import Channel, Ephemeral, File, Json, Message, Refused, Team, Version
from tests.fakes.slack.world import World

READ_SCOPES: Final = {"im": "im:read", "group": "groups:read", "channel": "channels:read"}


@method("chat.postMessage", scope="chat:write")
def post_message(world: World, team: Team, args: Json) -> Json:
    """A message is in the channel; to a user's id, in the direct message, which is opened."""
    channel = _addressed(world, team, required(args, "channel")[0])
    text, blocks = _content(args)
    check_message(text, blocks)
    thread_ts = _thread(world, "chat.postMessage", channel, args)
    message = Message(
        channel=channel.id,
        ts=world.new_ts(),
        user=team.bot_user_id,
        team_id=team.id,
        text=text or "",
        blocks=world.named(blocks or []),
        bot_id=team.bot_id,
        app_id=team.app_id,
        thread_ts=thread_ts,
        metadata=_metadata(args),
    )
    channel.messages.append(message)
    world.tells(message.to_json(), channel)
    return {"channel": channel.id, "ts": message.ts, "message": message.to_json()}


@method("chat.update", scope="chat:write")
def update(world: World, team: Team, args: Json) -> Json:
    """The message reads anew. With a text and no blocks, its blocks are gone; with neither, it stays."""
    channel_id, ts = required(args, "channel", "ts")
    channel = joined_channel(world, team, channel_id)
    message = _own(world, team, channel, ts, "cant_update_message")
    if world.edits_closed:
        raise Refused("edit_window_closed")
    text, blocks = _content(args)
    metadata = _metadata(args)
    if metadata is None or text or blocks:
        check_message(text, blocks)
    before = message.to_json()
    if text or blocks is not None:
        message.history.append(Version(text=message.text, blocks=message.blocks))
        message.text = text if text is not None else message.text
        message.blocks = world.named(blocks or [])
        message.edited = not blocks  # Slack marks no message as edited that has blocks
    message.metadata = metadata or message.metadata
    changed = {"subtype": "message_changed", "message": message.to_json(), "previous_message": before}
    world.tells({"type": "message", "hidden": True, **changed}, channel)
    return {"channel": channel.id, "ts": ts, "text": message.text, "message": message.to_json()}


@method("chat.delete", scope="chat:write")
def delete(world: World, team: Team, args: Json) -> Json:
    """The message is gone."""
    channel_id, ts = required(args, "channel", "ts")
    channel = joined_channel(world, team, channel_id)
    message = _own(world, team, channel, ts, "cant_delete_message")
    message.deleted = True
    channel.messages.remove(message)
    gone = {"subtype": "message_deleted", "deleted_ts": ts, "previous_message": message.to_json()}
    world.tells({"type": "message", "hidden": True, **gone}, channel)
    return {"channel": channel.id, "ts": ts}


@method("chat.postEphemeral", scope="chat:write")
def post_ephemeral(world: World, team: Team, args: Json) -> Json:
    """A message that only one user in the channel sees, and that nothing can change but a response_url."""
    channel_id, user_id = required(args, "channel", "user")
    channel = joined_channel(world, team, channel_id)
    if user_id not in channel.members:
        raise Refused("user_not_in_channel")
    text, blocks = _content(args)
    check_message(text, blocks)
    thread_ts = _thread(world, "chat.postEphemeral", channel, args)
    return {"message_ts": show_ephemeral(world, channel.id, user_id, text, blocks, thread_ts).ts}


@method("chat.getPermalink")
def get_permalink(world: World, team: Team, args: Json) -> Json:
    """The address of a message."""
    channel_id, ts = required(args, "channel", "message_ts")
    channel = seen_channel(world, team, channel_id)
    message = _message(world, channel, ts)
    link = f"https://{team.domain}.slack.com/archives/{channel.id}/p{ts.replace('.', '')}"
    if message.is_reply:
        link += f"?thread_ts={message.thread_ts}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}


@method("conversations.open", scope="im:write")
def open_conversation(world: World, team: Team, args: Json) -> Json:
    """The direct message with one user."""
    (users,) = required(args, "users")
    if "," in users:
        raise Refused("missing_scope", needed="mpim:write", provided=",".join(sorted(team.scopes)))
    user = seen_user(world, team, users)
    if user.deleted:
        raise Refused("user_disabled")
    if user.is_bot:
        raise Refused("cannot_dm_bot")
    return {"channel": {"id": world.dm(user, team).id}}


@method("conversations.info")
def conversation_info(world: World, team: Team, args: Json) -> Json:
    """What there is to know of a channel; whether the bot is in it."""
    channel = seen_channel(world, team, required(args, "channel")[0])
    require_scope(team, READ_SCOPES[channel.type])
    told = channel.to_json() | {"is_member": team.bot_user_id in channel.members}
    if channel.is_im:
        told["user"] = next(iter(channel.members - {team.bot_user_id}))
    return {"channel": told}


@method("users.info", scope="users:read")
def user_info(world: World, team: Team, args: Json) -> Json:
    """What there is to know of a user."""
    return {"user": seen_user(world, team, required(args, "user")[0]).to_json()}


@method("team.info", scope="team:read")
def team_info(world: World, team: Team, args: Json) -> Json:
    """The token's workspace, or another where the app is installed."""
    asked = world.teams.get(str(args.get("team") or team.id))
    if asked is None or (asked is not team and asked.enterprise_id is None):
        raise Refused("team_not_found")
    told: Json = {"id": asked.id, "name": asked.name, "domain": asked.domain}
    if asked.enterprise_id:
        told |= {"enterprise_id": asked.enterprise_id, "enterprise_name": f"{asked.name} Inc"}
    return {"team": told}


def show_ephemeral(
    world: World,
    channel_id: str,
    user_id: str,
    text: str | None,
    blocks: list[Json] | None,
    thread_ts: str | None = None,
) -> Ephemeral:
    """The user sees it."""
    shown = Ephemeral(
        channel=channel_id,
        ts=world.new_ts(),
        user=user_id,
        text=text or "",
        blocks=world.named(blocks or []),
        thread_ts=thread_ts,
    )
    world.ephemerals.append(shown)
    return shown


def share_files(
    world: World,
    team: Team,
    channel_id: str,
    files: list[File],
    *,
    text: str = "",
    thread_ts: str | None = None,
) -> Message:
    """A message of the bot that holds *files*. Raises Refused."""
    channel = joined_channel(world, team, channel_id)
    args = {"thread_ts": thread_ts}
    message = Message(
        channel=channel.id,
        ts=world.new_ts(),
        user=team.bot_user_id,
        team_id=team.id,
        text=text,
        bot_id=team.bot_id,
        app_id=team.app_id,
        thread_ts=_thread(world, "files.completeUploadExternal", channel, args),
        subtype="file_share",
        files=files,
    )
    channel.messages.append(message)
    for file in files:
        file.channels.append(channel.id)
    world.tells(message.to_json(), channel)
    return message


def _addressed(world: World, team: Team, address: str) -> Channel:
    """The channel of an id, a #name, or the direct message of a user's id. Raises Refused."""
    if address in world.users:
        user = world.users[address]
        if user.team_id != team.id and not user.is_stranger:
            raise Refused("channel_not_found")
        if user.deleted:
            raise Refused("user_disabled")
        return world.dm(user, team)
    if address.startswith("#"):
        named = [c for c in world.channels.values() if c.name == address[1:] and c.team_id == team.id]
        address = named[0].id if named else address
    channel = seen_channel(world, team, address)
    if not channel.is_private and not channel.is_archived and "chat:write.public" in team.scopes:
        return channel
    return joined_channel(world, team, channel.id)


def _content(args: Json) -> tuple[str | None, Any]:
    """The text and the blocks, each None where it isn't given."""
    text = args.get("text")
    if text is not None and not isinstance(text, str):
        raise Refused("invalid_arguments")
    return text, decoded(args, "blocks", "invalid_blocks_format")


def _metadata(args: Json) -> Json | None:
    metadata = decoded(args, "metadata", "invalid_metadata_format")
    if metadata is None:
        return None
    if not isinstance(metadata, dict) or not metadata.keys() >= {"event_type", "event_payload"}:
        raise Refused("invalid_metadata_format")
    return metadata


def _thread(world: World, where: str, channel: Channel, args: Json) -> str | None:
    """The thread a message goes to. Slack takes any; one that is no parent's is a fault."""
    ts = args.get("thread_ts")
    if ts is None:
        return None
    parents = [m for m in channel.messages if m.ts == ts and not m.is_reply]
    if not parents:
        world.fault(where, "thread_ts is no parent's", f"{ts} in {channel.id}")
    return str(ts)


def _message(world: World, channel: Channel, ts: str) -> Message:
    try:
        return world.message(channel, ts)
    except LookupError:
        raise Refused("message_not_found") from None


def _own(world: World, team: Team, channel: Channel, ts: str, otherwise: str) -> Message:
    message = _message(world, channel, ts)
    if message.bot_id != team.bot_id:
        raise Refused(otherwise)
    return message
