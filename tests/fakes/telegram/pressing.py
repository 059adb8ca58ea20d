"""People who press buttons, and what comes back to them."""

from dataclasses import dataclass

from tests.fakes.telegram.people import Writing
from tests.fakes.telegram.things import Answer, Delivery, Json, Message, Query, User


@dataclass(frozen=True, kw_only=True)
class Pressed:
    """A button somebody pressed, and each request with which the bot was told of it (none to a poller)."""

    query: Query
    deliveries: list[Delivery]

    @property
    def answer(self) -> Answer | None:
        """What they saw, as far as the bot has answered."""
        return self.query.answer

    @property
    def text(self) -> str:
        """The words they saw; empty where there are none yet."""
        return self.query.answer.text if self.query.answer else ""

    @property
    def alert(self) -> bool:
        """The words stood in an alert."""
        return self.query.answer is not None and self.query.answer.alert


@dataclass(kw_only=True, eq=False)
class Pressing(Writing):
    """Whoever presses a button sees it under the message as it reads now, unless they were fast."""

    async def presses(
        self,
        user: User,
        message: Message,
        what: str,
        *,
        inaccessible: bool = False,
        without_message: bool = False,
        stale: bool = False,
    ) -> Pressed:
        """*user* pressed the button of *message* with that label, a label that holds it, or that data.

        *inaccessible*: Telegram tells only where the message is, as of an old one; *without_message*: not
        even that. *stale*: *what* is data that may no longer be there, as of a card that changed meanwhile or
        of a forger. Raises LookupError where there is no such button, ValueError where they cannot press it.
        """
        chat = message.chat
        if user.id not in chat.members and chat.user is not user:
            raise ValueError(f"{user.name} isn't in {chat.title or 'that private chat'}")
        data = what if stale else self._data(message, what)
        query = Query(
            id=str(self.new_number("query", 900_001)),
            user=user,
            data=data,
            made_at=self.clock.now(),
            message=message,
        )
        self.queries[query.id] = query
        self.changed()
        told: Json = {
            "id": query.id,
            "from": user.to_json(),
            "chat_instance": str(-chat.id * 31),
            "data": data,
        }
        if inaccessible:
            told["message"] = {"chat": chat.to_json(), "message_id": message.id, "date": 0}
        elif not without_message:
            told["message"] = message.to_json()
        return Pressed(query=query, deliveries=await self.tells("callback_query", told))

    def button(self, message: Message, what: str) -> Json:
        """The button with that label, a label that holds it, or that data. Raises LookupError."""
        rows = message.markup["inline_keyboard"] if message.markup else []
        buttons: list[Json] = [button for row in rows for button in row]
        for meets in (
            lambda button: button["text"] == what,
            lambda button: what in button["text"],
            lambda button: button.get("callback_data") == what,
        ):
            found = [button for button in buttons if meets(button)]
            if len(found) > 1:
                raise LookupError(f"several buttons are {what!r}: {message.labels}")
            if found:
                return found[0]
        raise LookupError(f"no button is {what!r}: {message.labels}")

    def _data(self, message: Message, what: str) -> str:
        if message.deleted:
            raise LookupError("the message is gone")
        button = self.button(message, what)
        if "callback_data" not in button:
            raise ValueError(f"{what!r} opens {button.get('url')}; the bot hears nothing of it")
        return str(button["callback_data"])
