"""The tables of what a chat asks of a bot beside posts: how much goes there, and what it was asked."""

from typing import Final

from sqlalchemy import Column, Table, Text, UniqueConstraint

from adapters.store.columns import JsonText, Time
from adapters.store.tables import metadata

rates: Final = Table(
    "rates",  # what went to a chat of a surface lately; of the chat '' to all of them
    metadata,
    Column("surface", Text, primary_key=True),
    Column("chat", Text, primary_key=True),
    Column("times", JsonText, nullable=False),  # list of microseconds since 1970, oldest first
    Column("held_until", Time),  # nothing goes there before
)

prompts: Final = Table(
    "prompts",  # what a surface asked somebody in the middle of a decision, and whose answer it awaits
    metadata,
    Column("surface", Text, primary_key=True),
    Column("chat", Text, primary_key=True),
    Column("account", Text, primary_key=True),
    Column("chat_ref", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("field", Text),
    Column("expires_at", Time, nullable=False),
    UniqueConstraint("surface", "chat_ref"),
)
