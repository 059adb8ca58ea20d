"""People who press, choose and command: only what they really see."""

import json
from dataclasses import dataclass
from typing import Any

from tests.fakes.slack.delivery import Delivering
from tests.fakes.slack.elements import elements_of
from tests.fakes.slack.hooks import answer
from tests.fakes.slack.inputs import enter, entered, initially, state_of
from tests.fakes.slack.things import (
    Channel,
    Delivery,
    Ephemeral,
    Hook,
    Json,
    Message,
    Refused,
    Surface,
    User,
    View,
)


@dataclass(kw_only=True, eq=False)
class Clicking(Delivering):
    """Whoever clicks does so on something shown to them now."""

    def finds(
        self,
        shown: Surface,
        action_id: str,
        *,
        value: Any = None,
        block_id: str | None = None,
        text: str | None = None,
        stale: bool = False,
    ) -> tuple[Json, Json]:
        """The block and the element in it that are meant. Raises LookupError unless there is exactly one.

        Several may share an action id: *value*, *block_id* or the button's *text* say which. *stale*: on a
        screen that has not caught up, they may be of an earlier version of what is shown.
        """
        versions = [shown.blocks]
        if stale and isinstance(shown, Message | View):
            versions += [version.blocks for version in reversed(shown.history)]
        for blocks in versions:
            every = [(block, element) for block in blocks for element in elements_of(block)]
            found = [
                (block, element)
                for block, element in every
                if element["action_id"] == action_id
                and block_id in (None, block["block_id"])
                and (text is None or element.get("text", {}).get("text") == text)
                and (value is None or element["type"] != "button" or element.get("value") == value)
            ]
            if len(found) == 1:
                return found[0]
            if found:
                raise LookupError(f"{len(found)} elements {action_id}: say block_id, value or text")
        there = ", ".join(f"{element['action_id']} of {block['block_id']}" for block, element in every)
        raise LookupError(f"no {action_id} is shown; there are {there or 'no elements'}")

    def fills(self, user: User | str, shown: Surface, values: dict[str, Any]) -> None:
        """*user* filled in inputs, by block id or action id; the app is not told of that alone."""
        for name, value in values.items():
            enter(shown, self.user_of(user).id, name, value)

    async def clicks(
        self,
        user: User | str,
        shown: Surface,
        action_id: str,
        value: Any = None,
        *,
        block_id: str | None = None,
        text: str | None = None,
        stale: bool = False,
    ) -> Delivery:
        """*user* pressed a button, or chose *value* in a menu, and the app was told.

        Whoever is asked to confirm says yes. A link button sends as well. Raises LookupError where no such
        thing is shown to them (see ``finds``).
        """
        person = self.user_of(user)
        self._sees(person, shown, stale=stale)
        block, element = self.finds(shown, action_id, value=value, block_id=block_id, text=text, stale=stale)
        action = self._action(person, shown, block, element, value)
        return await self.delivers_interaction(self._pressed(person, shown, action))

    async def uses_shortcut(self, user: User | str, message: Message | None, callback_id: str) -> Delivery:
        """*user* chose the app's shortcut on *message*, or a global one."""
        person = self.user_of(user)
        channel = self.channel_of(message.channel) if message else None
        team = self.team_of(person, channel)
        payload = self.about(person, team) | {
            "type": "message_action" if message else "shortcut",
            "callback_id": callback_id,
            "action_ts": self.new_ts(),
            "trigger_id": self.new_trigger(person, team),
        }
        if message and channel:
            self._sees(person, message)
            payload |= {
                "channel": {"id": channel.id, "name": channel.shown_name},
                "message_ts": message.ts,
                "message": message.to_json(),
                "response_url": self.new_hook(person, channel, team, message),
            }
        return await self.delivers_interaction(payload)

    async def commands(
        self, user: User | str, channel: Channel | str, command: str, text: str = ""
    ) -> Delivery:
        """*user* wrote a slash command; what the app answers is shown to them."""
        person, place = self.user_of(user), self.channel_of(channel)
        if person.id not in place.members:
            raise ValueError(f"{person.name} isn't in {place.name or 'that direct message'}")
        team = self.team_of(person, place)
        url = self.new_hook(person, place, team)
        payload = {
            "token": "fake",
            "team_id": team.id,
            "team_domain": team.domain,
            "channel_id": place.id,
            "channel_name": place.shown_name,
            "user_id": person.id,
            "user_name": person.name,
            "command": command,
            "text": text,
            "api_app_id": team.app_id,
            "is_enterprise_install": str(team.is_enterprise_install).lower(),
            "response_url": url,
            "trigger_id": self.new_trigger(person, team),
        }
        if team.enterprise_id:
            payload |= {"enterprise_id": team.enterprise_id, "enterprise_name": f"{team.name} Inc"}
        delivery = await self.delivers_command(payload)
        self._command_answered(delivery, self.hooks[url.rsplit("/", 1)[1]])
        return delivery

    # ── how it is told ───────────────────────────────────────────────────────────────────────

    def _sees(self, user: User, shown: Surface, *, stale: bool = False) -> None:
        """*user* has it on their screen. Raises LookupError."""
        if isinstance(shown, Message):
            there = user.id in self.channel_of(shown.channel).members and (stale or not shown.deleted)
        elif isinstance(shown, Ephemeral):
            there = shown.user == user.id and (stale or not shown.gone)
        else:
            stack = self.modals.get(user.id, [])
            there = stale or shown is self.homes.get(user.id) or (bool(stack) and shown is stack[-1])
        if not there:
            raise LookupError(f"{user.name} doesn't see that")

    def _action(self, user: User, shown: Surface, block: Json, element: Json, value: Any) -> Json:
        """The action as the payload has it; what was chosen stays so on the screen."""
        at = {"block_id": block["block_id"], "action_id": element["action_id"], "action_ts": self.new_ts()}
        if element["type"] == "button":
            kept = ("type", "text", "value", "style", "url")
            return {key: element[key] for key in kept if key in element} | at
        chosen = entered(element, value)
        if initially(element) is not None:
            shown.filled.setdefault(user.id, {}).setdefault(block["block_id"], {})[element["action_id"]] = (
                chosen
            )
        return {**chosen, **at}

    def _pressed(self, user: User, shown: Surface, action: Json) -> Json:
        state = {"values": state_of(shown, user.id)}
        if isinstance(shown, View):
            team = shown.team
            return self.about(user, team) | {
                "type": "block_actions",
                "container": {"type": "view", "view_id": shown.id},
                "trigger_id": self.new_trigger(user, team, modal=shown.type == "modal"),
                "view": shown.to_json() | {"state": state},
                "actions": [action],
            }
        assert isinstance(shown, Message | Ephemeral)
        channel = self.channel_of(shown.channel)
        team = self.team_of(user, channel)
        container: Json = {
            "type": "message",
            "message_ts": shown.ts,
            "channel_id": channel.id,
            "is_ephemeral": isinstance(shown, Ephemeral),
        }
        if shown.thread_ts is not None:
            container["thread_ts"] = shown.thread_ts
        payload = self.about(user, team) | {
            "type": "block_actions",
            "container": container,
            "channel": {"id": channel.id, "name": channel.shown_name},
            "state": state,
            "trigger_id": self.new_trigger(user, team),
            "response_url": self.new_hook(user, channel, team, shown),
            "actions": [action],
        }
        return payload | ({"message": shown.to_json()} if isinstance(shown, Message) else {})

    def _command_answered(self, delivery: Delivery, hook: Hook) -> None:
        """The answer's body is shown to whoever wrote the command, as a text or as JSON says."""
        if not delivery.accepted or not delivery.body:
            return
        body: Any = {"text": delivery.body}
        if delivery.body.startswith("{"):
            body = json.loads(delivery.body)
        if body.get("response_type") == "in_channel":
            self.fault("command", "an answer in the channel: commands are answered in private")
        try:
            answer(self, hook, body)
        except Refused as refused:
            self.fault("command", refused.error, *refused.beside.get("errors", ()))
        self.changed()
