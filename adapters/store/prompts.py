"""Prompts: what surfaces have asked; a row an account and chat, so that one is open there at a time."""

from datetime import timedelta

from sqlalchemy import ColumnElement, delete, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.chats import prompts
from adapters.store.engine import Database
from core.ids import Token
from core.ports import Prompt


class SqlPrompts:
    """core.ports.Prompts."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def ask(self, prompt: Prompt, seconds: float) -> None:
        async def body(conn: AsyncConnection) -> None:
            now = await self._db.now(conn)
            same = (prompts.c.surface == prompt.surface) & (prompts.c.chat_ref == prompt.chat_ref)
            await conn.execute(delete(prompts).where(or_(prompts.c.expires_at <= now, same)))
            values = {
                "chat_ref": prompt.chat_ref,
                "token": prompt.token,
                "verb": prompt.verb,
                "field": prompt.field,
                "expires_at": now + timedelta(seconds=seconds),
            }
            key = {"surface": prompt.surface, "chat": prompt.chat, "account": prompt.account}
            new = self._db.insert(prompts).values({**key, **values})
            await conn.execute(new.on_conflict_do_update(index_elements=list(key), set_=values))

        await self._db.write(body)

    async def asked(self, surface: str, chat_ref: str) -> Prompt | None:
        return await self._one(prompts.c.surface == surface, prompts.c.chat_ref == chat_ref)

    async def open_in(self, surface: str, chat: str, account: str) -> Prompt | None:
        here = (prompts.c.surface == surface, prompts.c.chat == chat, prompts.c.account == account)
        return await self._one(*here)

    async def close(self, surface: str, chat_ref: str) -> bool:
        async def body(conn: AsyncConnection) -> bool:
            await conn.execute(delete(prompts).where(prompts.c.expires_at <= self._db.clock()))
            this = (prompts.c.surface == surface, prompts.c.chat_ref == chat_ref)
            return (await conn.execute(delete(prompts).where(*this))).rowcount == 1

        return await self._db.write(body)

    async def _one(self, *which: ColumnElement[bool]) -> Prompt | None:
        wanted = select(prompts).where(*which, prompts.c.expires_at > self._db.clock())

        async def body(conn: AsyncConnection) -> Prompt | None:
            row = (await conn.execute(wanted)).one_or_none()
            if row is None:
                return None
            return Prompt(row.surface, row.chat_ref, row.account, Token(row.token), row.verb, row.field)

        return await self._db.read(body)
