"""What the bot asks about, answers and sets: getMe, getChat, getChatMember, answerCallbackQuery, commands."""

import re
from typing import Any, Final

from tests.fakes.telegram.delivery import Delivering
from tests.fakes.telegram.methods import method, number, words, writable
from tests.fakes.telegram.things import Answer, Call, Chat, Json, Refused, User

TOO_OLD: Final = "Bad Request: query is too old and response timeout expired or query ID is invalid"
ANSWER: Final = 200
COMMANDS: Final = 100
COMMAND: Final = re.compile(r"[a-z0-9_]{1,32}")
DESCRIPTION: Final = 256
SCOPES: Final[dict[str, tuple[str, ...]]] = {
    "default": (),
    "all_private_chats": (),
    "all_group_chats": (),
    "all_chat_administrators": (),
    "chat": ("chat_id",),
    "chat_administrators": ("chat_id",),
    "chat_member": ("chat_id", "user_id"),
}
RIGHTS: Final = (
    "can_be_edited can_manage_chat can_delete_messages can_manage_video_chats can_restrict_members "
    "can_promote_members can_change_info can_invite_users can_post_stories can_edit_stories "
    "can_delete_stories"
).split()


@method("getMe")
async def get_me(world: Delivering, call: Call) -> Json:
    """Who the bot is."""
    return world.bot.to_json() | {
        "can_join_groups": True,
        "can_read_all_group_messages": not world.privacy,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


@method("getChat")
async def get_chat(world: Delivering, call: Call) -> Json:
    """What there is to know of a chat that the bot is in."""
    chat = writable(world, call)
    return chat.to_json() | {
        "accent_color_id": 0,
        "max_reaction_count": 11,
        "accepted_gift_types": {
            "unlimited_gifts": False,
            "limited_gifts": False,
            "unique_gifts": False,
            "premium_subscription": False,
            "gifts_from_channels": False,
        },
    }


@method("getChatMember")
async def get_chat_member(world: Delivering, call: Call) -> Json:
    """What a user is in a chat."""
    chat = writable(world, call)
    user_id = number(call, "user_id", "invalid user_id specified")
    user = world.bot if user_id == world.bot.id else world.users.get(user_id)
    if user is None:
        raise Refused(400, "Bad Request: user not found")
    return membership(chat, user, status_of(world, chat, user))


def status_of(world: Delivering, chat: Chat, user: User) -> str:
    if user is world.bot:
        return chat.bot_status
    return "member" if chat.is_private and chat.user is user else chat.members.get(user.id, "left")


def membership(chat: Chat, user: User, status: str) -> Json:
    """As ``ChatMember`` has it."""
    told: Json = {"user": user.to_json(), "status": status}
    anonymous = user.id in chat.anonymous
    if status == "administrator":
        return told | dict.fromkeys(RIGHTS, False) | {"is_anonymous": anonymous}
    if status == "creator":
        return told | {"is_anonymous": anonymous}
    return told | ({"until_date": 0} if status == "kicked" else {})


@method("answerCallbackQuery")
async def answer_callback_query(world: Delivering, call: Call) -> bool:
    """The person who pressed sees the answer; each press has one, within a short time."""
    text = words(call, "text")
    if len(text) > ANSWER:
        raise Refused(400, "Bad Request: MESSAGE_TOO_LONG", fault=True)
    query = world.queries.get(words(call, "callback_query_id"))
    if query is None or query.answer is not None:
        raise Refused(400, TOO_OLD)
    if (world.clock.now() - query.made_at).total_seconds() >= world.query_age:
        raise Refused(400, TOO_OLD)
    query.answer = Answer(text=text, alert=bool(call.payload.get("show_alert")), url=words(call, "url"))
    return True


@method("setMyCommands")
async def set_my_commands(world: Delivering, call: Call) -> bool:
    """The menu in the scope offers these commands."""
    given: Any = call.payload.get("commands")
    if not isinstance(given, list):
        raise Refused(400, "Bad Request: can't parse BotCommand: expected an Array", fault=True)
    if len(given) > COMMANDS:
        raise Refused(400, "Bad Request: BOT_COMMANDS_TOO_MUCH", fault=True)
    for one in given:
        if not COMMAND.fullmatch(str(one.get("command", "")).removeprefix("/")):
            raise Refused(400, "Bad Request: BOT_COMMAND_INVALID", fault=True)
        if not 1 <= len(str(one.get("description", "")).strip()) <= DESCRIPTION:
            raise Refused(400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID", fault=True)
    world.commands[scope_of(world, call)] = given
    return True


@method("getMyCommands")
async def get_my_commands(world: Delivering, call: Call) -> list[dict[str, str]]:
    """The commands that the menu offers in exactly this scope."""
    return world.commands.get(scope_of(world, call), [])


@method("deleteMyCommands")
async def delete_my_commands(world: Delivering, call: Call) -> bool:
    """The menu falls back to the commands of the next wider scope."""
    world.commands.pop(scope_of(world, call), None)
    return True


def scope_of(world: Delivering, call: Call) -> str:
    """The scope as *commands* is keyed by: its type, then its chat and user, then the language."""
    scope: Any = call.payload.get("scope") or {"type": "default"}
    kind = scope.get("type")
    if kind not in SCOPES:
        raise Refused(400, "Bad Request: can't parse BotCommandScope: unsupported type specified", fault=True)
    parts = [kind, *(str(scope.get(name, "")) for name in SCOPES[kind])]
    if SCOPES[kind] and scope.get("chat_id") not in world.chats:
        raise Refused(400, "Bad Request: chat not found")
    language = words(call, "language_code")
    return ":".join([*parts, language] if language else parts)
