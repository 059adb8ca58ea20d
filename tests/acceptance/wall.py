"""A surface that keeps what each of its messages shows."""

from core.cards import Card
from core.poster import Poster
from core.rendering import Notice, View
from core.report import Report
from tests.acceptance.shop import SURFACE, Shop


class Wall:
    """A surface: what each of its messages shows now, in the order they were posted, and how often it was
    handed a view."""

    def __init__(self, shop: Shop) -> None:
        self.poster = Poster(desk=shop.desk, clock=shop.worker.clock, name=SURFACE, surface=self)
        self.messages: dict[str, View] = {}
        self.handed = 0

    async def post(self, view: View, route: str) -> str:
        ref = f"message {len(self.messages) + 1}"
        return await self.update(view, route, ref)

    async def update(self, view: View, route: str, chat_ref: str) -> str:
        self.messages[chat_ref] = view
        self.handed += 1
        return chat_ref

    async def cards(self) -> list[Card]:
        """The cards, once nothing is due any more."""
        await self.poster.deliver_all()
        return [v for v in self.messages.values() if isinstance(v, Card)]

    async def reports(self) -> list[Report]:
        """The reports, once nothing is due any more."""
        await self.poster.deliver_all()
        return [v for v in self.messages.values() if isinstance(v, Report)]

    async def notices(self) -> list[str]:
        """What its notices say, once nothing is due any more."""
        await self.poster.deliver_all()
        return [v.text for v in self.messages.values() if isinstance(v, Notice)]
