"""What Telegram is sent of the hostile words: the texts and entities of cards, and of reports and answers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from adapters.telegram.shown.cards import ROOM
from adapters.telegram.shown.keyboards import pressed
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.posts import message_of
from core.calls import Outcome
from core.proposals import storable
from core.rendering import View
from core.report import Report, build
from core.tasks import TaskState
from tests.golden.hostile import PLACES, STRINGS, args_of, written
from tests.samples.shop import ROSTER, call, ran, task

FILE: Final = Path(__file__).with_name("hostile_telegram.json")
AGENT: Final = "Sam"


def as_report(text: str) -> Report:
    """A report of a task whose goal, words, arguments and error they are."""
    kept = storable(text, 20_000)
    made = ran(call("send_note", args_of("text", text)), Outcome.FAILED, {"error": kept})
    about = task(kept, state=TaskState.DONE, result={"value": kept})
    return build(about, [made], (), ROSTER)


VIEWS: Final[Mapping[str, Callable[[str], View]]] = MappingProxyType(
    {
        **{place: lambda text, card=card: card(text, ROOM) for place, card in PLACES.items()},  # type: ignore[misc]
        "report": as_report,
    }
)
"""By where the words stand: a card in Telegram's room, or a report."""


def rendered() -> str:
    """The text of the golden file: by string and place, what Telegram is sent."""
    return written(
        {
            name: {place: _told(message_of(view(text), AGENT)) for place, view in VIEWS.items()}
            for name, text in STRINGS.items()
        }
    )


def _told(message: Message) -> dict[str, object]:
    """*message*, of its buttons what they do alone."""
    found = [pressed(button.data or "") for row in message.keyboard for button in row]
    return {
        "text": message.text.words,
        "entities": [[one.kind.value, one.offset, one.length] for one in message.text.stretches],
        "buttons": [one.verb for one in found if one is not None],
    }
