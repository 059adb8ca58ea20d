"""The shop: a host whose agent reads orders alone, and refunds only with its owner's click.

Orders and refunds are rows of a real SQLite file (SHOP_DB), which stands for the shop's own system and its
payment provider. Money is kept as text: a REAL would not keep 18.50 to the cent.
"""

import asyncio
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from bot.demo.script import ShopModel
from core.errors import ToolFailed
from core.host import BaseHost
from core.tasks import Json
from core.tools import ToolContext, tool

CURRENCY = "EUR"
CAP = 100
"""The shop's own cap on one refund; a form can say so before anything runs."""

PROVIDER_SECONDS = 30.0
"""How long the provider takes to answer for an order in SHOP_SLOW_ORDERS."""

ORDERS = (
    ("A7", "Mara Lind", "mug", "24.00", "arrived broken"),
    ("A8", "Jonas Weber", "teapot", "39.00", "delivered"),
    ("B2", "Ines Duarte", "poster", "12.00", "arrived creased"),
    ("B5", "Tom Okafor", "lamp", "58.50", "on its way"),
)

SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, customer TEXT NOT NULL, item TEXT NOT NULL, paid TEXT NOT NULL, state TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS refunds (
    id INTEGER PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders, amount TEXT NOT NULL,
    call_id TEXT NOT NULL UNIQUE
);
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refund:
    """A row of refunds: what the provider was asked to pay back."""

    order_id: str
    amount: Decimal
    call_id: str


class Books:
    """The shop's rows in the file *path*, made with four orders where there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def rows(self) -> Iterator[sqlite3.Connection]:
        """A transaction on the file."""
        connection = sqlite3.connect(self.path, timeout=5)
        try:
            with connection:
                yield connection
        finally:
            connection.close()

    def stock(self) -> None:
        """The tables and the four orders are there."""
        with self.rows() as rows:
            rows.executescript(SCHEMA)
            rows.executemany("INSERT OR IGNORE INTO orders VALUES (?, ?, ?, ?, ?)", ORDERS)

    def orders(self) -> list[dict[str, Json]]:
        """Every order with what was refunded on it, by id."""
        back = {order["id"]: Decimal(0) for order in self._orders()}
        for refund in self.refunds():
            back[refund.order_id] += refund.amount
        return [{**order, "refunded": back[order["id"]]} for order in self._orders()]

    def _orders(self) -> list[dict[str, Json]]:
        with self.rows() as rows:
            found = rows.execute("SELECT id, customer, item, paid, state FROM orders ORDER BY id").fetchall()
        return [
            {"id": i, "customer": customer, "item": item, "paid": Decimal(paid), "state": state}
            for i, customer, item, paid, state in found
        ]

    def refunds(self) -> list[Refund]:
        """Every refund, in the order they were made."""
        with self.rows() as rows:
            found = rows.execute("SELECT order_id, amount, call_id FROM refunds ORDER BY id").fetchall()
        return [Refund(order_id=o, amount=Decimal(amount), call_id=c) for o, amount, c in found]

    def refund(self, order_id: str, amount: Decimal, call_id: str) -> None:
        """One row more. Raises sqlite3.IntegrityError where the call has its row already."""
        with self.rows() as rows:
            rows.execute(
                "INSERT INTO refunds (order_id, amount, call_id) VALUES (?, ?, ?)",
                (order_id, str(amount), call_id),
            )

    def owed(self, order_id: str) -> Decimal:
        """What was paid on an order and is not refunded yet. Raises ToolFailed if there is no such order."""
        for order in self.orders():
            if order["id"] == order_id:
                paid, back = order["paid"], order["refunded"]
                assert isinstance(paid, Decimal) and isinstance(back, Decimal)
                return paid - back
        raise ToolFailed(f"there is no order {order_id}", sent=False)


REFUND_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "description": "the order, such as A7"},
        "amount": {
            "type": "number",
            "description": f"in {CURRENCY}; no more than was paid",
            "exclusiveMinimum": 0,
            "maximum": CAP,
        },
    },
    "required": ["order_id", "amount"],
}


class Shop(BaseHost):
    """The example host. SHOP_DB names its file, SHOP_SLOW_ORDERS the orders whose refund hangs a while."""

    def __init__(self) -> None:
        self.books = Books(Path(os.environ.get("SHOP_DB", "shop.db")))
        self.slow = frozenset(os.environ.get("SHOP_SLOW_ORDERS", "").split())
        self.model = ShopModel()
        self._stocked = False
        books = self._books

        @tool(risk="read")
        async def read_orders() -> list[dict[str, Json]]:
            """Every order of the shop: who, what, what was paid, what was refunded."""
            return books().orders()

        async def check_refund(order_id: str, amount: Decimal) -> None:
            owed = books().owed(order_id)
            if owed <= 0:
                raise ToolFailed(f"{order_id} is refunded already", sent=False)
            if amount > owed:
                raise ToolFailed(f"{amount} is more than the {owed} that is left on {order_id}", sent=False)

        @tool(risk="spend", schema=REFUND_SCHEMA, editable={"amount"}, check=check_refund)
        async def refund(order_id: str, amount: Decimal, context: ToolContext) -> str:
            """Pay back some or all of what a customer paid for an order."""
            books().refund(order_id, amount, context.call_id)
            if order_id in self.slow:
                await asyncio.sleep(PROVIDER_SECONDS)
            return f"Refunded {amount} {CURRENCY} on {order_id}."

        self.tools = {"read_orders": read_orders, "refund": refund}

    def _books(self) -> Books:
        """The books, made when first asked for: looking at tasks leaves no file behind."""
        if not self._stocked:
            self.books.stock()
            self._stocked = True
        return self.books
