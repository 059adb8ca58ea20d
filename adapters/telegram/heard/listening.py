"""Each update from Telegram, however it came, brought to whom it concerns; what nobody can read is kept.

An update is done with when `heard` returns. Where it raises, nothing was taken, and Telegram is to deliver it
again; that it comes twice, or in another order, changes nothing (K19, I21).
"""

import json
import logging
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from telegram import ChatMemberUpdated, Message, Update
from telegram.constants import ChatMemberStatus, ChatType

from adapters.telegram.client import SURFACE, BotClient
from adapters.telegram.heard.buttons import Buttons
from adapters.telegram.heard.messages import Messages
from adapters.telegram.heard.telling import Telling
from adapters.telegram.heard.updates import Unreadable, Us, account_of, click_of, update_of
from adapters.telegram.places import Spot, around
from core.caught import caught, words_of
from core.errors import ChatError, StoreError
from core.front import Front

log = logging.getLogger(__name__)

TRIES: Final = 20
"""Of an update that the store does not take."""
REMEMBERED: Final = 2_000
LONGEST_NUMBER: Final = 40
"""Digits that an update which nobody can read is told apart by."""
_OUT: Final = frozenset({ChatMemberStatus.LEFT, ChatMemberStatus.BANNED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Listening:
    """*done*: the updates that were done with here, so that one that comes again is not answered again.

    *failed*: how often those that can't be stored were tried.
    """

    front: Front
    client: BotClient
    messages: Messages
    buttons: Buttons
    telling: Telling
    done: deque[int] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    failed: Counter[int] = field(default_factory=Counter)

    async def heard(self, raw: Mapping[str, Any]) -> None:
        """What *raw* tells of is decided, stored, or of no use and kept.

        Raises StoreError, and ChatError while Telegram can't say who we are: it is to be delivered again.
        """
        try:
            update = update_of(raw)
        except Unreadable as error:
            await self._kept(raw, str(error))
            return
        if update.update_id in self.done:
            return
        with caught() as ended:
            await self._heard(update)
        if isinstance(ended.error, ChatError):
            raise ended.error
        if isinstance(ended.error, StoreError) and self._is_tried_again(update):
            raise ended.error
        if ended.error is not None:
            log.error("an update broke off, and is kept in the inbox", exc_info=ended.error)
            await self._kept(raw, f"{type(ended.error).__name__}: {words_of(ended.error)}")
        self.failed.pop(update.update_id, None)
        self.done.append(update.update_id)

    def _is_tried_again(self, update: Update) -> bool:
        """Whether the store may yet take it: where it takes what is kept, but never this, that has an end."""
        self.failed[update.update_id] += 1
        return self.failed[update.update_id] < TRIES

    async def _kept(self, raw: Mapping[str, Any], why: str) -> None:
        number = str(raw.get("update_id"))[:LONGEST_NUMBER]
        text = json.dumps(raw, ensure_ascii=False, default=str)
        await self.front.kept(f"{self.client.id}:{number}", text, why)

    async def _heard(self, update: Update) -> None:
        event_id = f"{self.client.id}:{update.update_id}"
        if update.callback_query is not None:
            await self.buttons.pressed(click_of(update.callback_query, event_id))
        elif update.message is not None:
            await self._said(update.message, event_id)
        elif update.my_chat_member is not None:
            await self._came(update.my_chat_member)
        # what else there is, such as an older message's new text, starts nothing

    async def _said(self, message: Message, event_id: str) -> None:
        move = self.front.desk.store.outbox.move
        if message.migrate_to_chat_id is not None:
            await move(SURFACE, str(message.chat.id), str(message.migrate_to_chat_id), around)
        elif message.migrate_from_chat_id is not None:
            await move(SURFACE, str(message.migrate_from_chat_id), str(message.chat.id), around)
        else:
            await self.messages.said(message, event_id, await self._us())

    async def _us(self) -> Us:
        return Us(id=self.client.id, username=await self.client.username())

    async def _came(self, change: ChatMemberUpdated) -> None:
        """Whoever brings us into a group is told what it is called, if they are known."""
        came = change.old_chat_member.status in _OUT and change.new_chat_member.status not in _OUT
        if not came or change.chat.type not in (ChatType.GROUP, ChatType.SUPERGROUP):
            return
        if await self.front.knows(account_of(change.from_user)):
            await self.telling.name(Spot(chat=change.chat.id))
