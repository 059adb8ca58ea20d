"""Who belongs where: people who start, block and join, bots that are added, promoted and thrown out."""

from dataclasses import dataclass

from tests.fakes.telegram.asking import membership, status_of
from tests.fakes.telegram.people import Said
from tests.fakes.telegram.pressing import Pressing
from tests.fakes.telegram.things import Chat, Delivery, Json, Message, User
from tests.fakes.telegram.world import ANONYMOUS


@dataclass(kw_only=True, eq=False)
class Belonging(Pressing):
    """Changes of membership, each told as Telegram tells it."""

    async def starts(self, user: User, payload: str = "") -> Said:
        """*user* pressed start, perhaps behind a link with *payload*: the bot may write to them now."""
        first = user.id not in self.chats
        if user.blocked:
            await self.unblocks(user)
        chat = self.open_private(user)
        if first:
            self.changed()
        return await self.says(user, chat, f"/start {payload}".rstrip())

    async def blocks(self, user: User) -> list[Delivery]:
        """*user* blocked the bot, which may not write to them any more."""
        chat = self.private(user)
        user.blocked = True
        return await self._bot_becomes(chat, "kicked", by=user, was="member")

    async def unblocks(self, user: User) -> list[Delivery]:
        """*user* lets the bot write again."""
        chat = self.private(user)
        user.blocked = False
        return await self._bot_becomes(chat, "member", by=user, was="kicked")

    async def kicks(self, chat: Chat, *, by: User | None = None) -> list[Delivery]:
        """The bot was thrown out of the group."""
        return await self._bot_becomes(chat, "kicked", by=by)

    async def adds_bot(self, chat: Chat, *, by: User | None = None) -> list[Delivery]:
        """The bot was added to the group, which also says so in it."""
        told = await self._bot_becomes(chat, "member", by=by)
        joined = {"new_chat_members": [self.bot.to_json()]}
        return told + await self._service(chat, joined, by=by)

    async def promotes_bot(self, chat: Chat, *, by: User | None = None) -> list[Delivery]:
        """The bot is an administrator: it hears all that is said."""
        return await self._bot_becomes(chat, "administrator", by=by)

    async def joins(self, user: User, chat: Chat) -> list[Delivery]:
        """*user* came into the group, which says so."""
        chat.members[user.id] = "member"
        return await self._service(chat, {"new_chat_members": [user.to_json()]}, by=user)

    async def leaves(self, user: User, chat: Chat) -> list[Delivery]:
        """*user* left the group, which says so."""
        del chat.members[user.id]
        return await self._service(chat, {"left_chat_member": user.to_json()}, by=user)

    async def promotes(self, user: User, chat: Chat) -> list[Delivery]:
        """*user* is an administrator of the group now."""
        return await self._becomes(chat, user, "administrator")

    async def promotes_anonymous(self, user: User, chat: Chat) -> list[Delivery]:
        """*user* is an administrator who writes as the group; their presses still name them."""
        if chat.type != "supergroup":
            raise ValueError("only supergroups have anonymous administrators")
        chat.anonymous.add(user.id)
        return await self._becomes(chat, user, "administrator")

    async def migrates(self, group: Chat) -> Chat:
        """The plain group was upgraded: the supergroup it is now, in which none of its messages are.

        Both say so, each with the id of the other; what is sent to the old one is refused with the new id.
        """
        if group.type != "group":
            raise ValueError(
                f"{group.title} is a {group.type}; say add_group(..., basic=True) of one to migrate"
            )
        new = self.add_group(group.title)
        new.members, new.bot_status = dict(group.members), group.bot_status
        leaving = self.post(group, sender=self.somebody(group), service={"migrate_to_chat_id": new.id})
        group.migrated_to = new.id
        arriving = self.post(
            new, sender=ANONYMOUS, sender_chat=new, service={"migrate_from_chat_id": group.id}
        )
        for message in (leaving, arriving):
            await self.hears(message)
        return new

    # ── telling of it ────────────────────────────────────────────────────────────────────────

    async def _bot_becomes(
        self, chat: Chat, status: str, *, by: User | None, was: str | None = None
    ) -> list[Delivery]:
        before = was or chat.bot_status
        if not chat.is_private:
            chat.bot_status = status
        self.changed()
        return await self._told("my_chat_member", chat, self.bot, by, before, status)

    async def _becomes(self, chat: Chat, user: User, status: str) -> list[Delivery]:
        before = status_of(self, chat, user)
        chat.members[user.id] = status
        self.changed()
        return await self._told("chat_member", chat, user, self.somebody(chat), before, status)

    async def _told(
        self, kind: str, chat: Chat, who: User, by: User | None, before: str, now: str
    ) -> list[Delivery]:
        told = {
            "chat": chat.to_json(),
            "from": (by or self.somebody(chat)).to_json(),
            "date": int(self.clock.now().timestamp()),
            "old_chat_member": membership(chat, who, before),
            "new_chat_member": membership(chat, who, now),
        }
        return await self.tells(kind, told)

    async def _service(self, chat: Chat, service: Json, *, by: User | None) -> list[Delivery]:
        message: Message = self.post(chat, sender=by or self.somebody(chat), service=service)
        return await self.hears(message)
