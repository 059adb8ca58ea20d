"""Every folder of docs/cards: one for each surface."""

from typing import Final

from tests.samples import slack_cards, telegram_cards

GALLERIES: Final = (slack_cards.GALLERY, telegram_cards.GALLERY)
