"""What Telegram is sent of each kind of card, message, menu, question and answer: one sample of each.

Each is what a chat has in it, oldest first: the calls of the Bot API by their method, without the chat they
go to; and what a person wrote between them, as an update has it. A reply names what it replies to by its
place in the file, from 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from telegram import ForceReply, User

from adapters.telegram.heard.buttons import WHY
from adapters.telegram.shown.answers import messages_of, toast
from adapters.telegram.shown.cards import ROOM, card_message
from adapters.telegram.shown.keyboards import Keyboard, markup
from adapters.telegram.shown.menus import (
    Menu,
    Question,
    declining,
    fields,
    question_for,
    question_for_field,
    sure,
    values,
)
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.posts import file_of, in_words, message_of
from core.cards import Card, Verb, pages
from core.chat import Answer
from core.errors import BadArguments
from core.forms import Form, changes_in, form
from core.parks import Choice, ParkKind
from core.people import Route
from core.rendering import View
from core.report import Report
from tests.samples import views
from tests.samples.everywhere import DECIDED, POSTS, WAITING, Seen, samples
from tests.samples.gallery import CARDS, Gallery, Sample
from tests.samples.shop import NOTE, REFUND, TOOLS

Sent = dict[str, Any]

ADA: Final = User(id=4711, first_name="Ada", is_bot=False)


# ── what is sent ─────────────────────────────────────────────────────────────────────────────


def _message(message: Message, *, reply_to: int | None = None, asks: ForceReply | None = None) -> Sent:
    made: Sent = {"method": "sendMessage", "text": message.text.words}
    if entities := message.text.entities():
        made["entities"] = [one.to_dict() for one in entities]
    if reply_to is not None:
        made["reply_parameters"] = {"message_id": reply_to}
    shown = asks or markup(message.keyboard)
    if shown is not None:
        made["reply_markup"] = shown.to_dict()
    return made


def _document(name: str, words: str, reply_to: int) -> Sent:
    file = {"file_name": f"{name}.txt", "file_size": len(words.encode())}
    return {"method": "sendDocument", "document": file, "reply_parameters": {"message_id": reply_to}}


def _sent(view: View) -> list[Sent]:
    """The message of *view*, and what it cuts."""
    file = file_of(view)
    return [_message(message_of(view, "Sam")), *([] if file is None else [_document(*file, 1)])]


def _answered(answer: Answer) -> list[Sent]:
    return [_message(one) for one in messages_of(answer)]


def _alert(answer: Answer) -> list[Sent]:
    return [{"method": "answerCallbackQuery", "text": toast(answer.words), "show_alert": not answer.done}]


def _swapped(card: Card, menu: Callable[[str], Keyboard | None]) -> Sent:
    """The message of *card* once its buttons are those of *menu*."""
    keyboard = menu(card.rows[0].token)
    assert keyboard is not None
    return _message(replace(card_message(card), keyboard=keyboard))


def _question(question: Question, reply_to: int | None, to: User | None = None) -> Sent:
    asks = ForceReply(selective=True, input_field_placeholder=question.placeholder)
    return _message(question.to(to), reply_to=reply_to, asks=asks)


def _reply(text: str, reply_to: int) -> Sent:
    """What Ada writes."""
    return {"from": ADA.to_dict(), "text": text, "reply_parameters": {"message_id": reply_to}}


# ── menus and questions ──────────────────────────────────────────────────────────────────────

REFUNDED: Final = form(TOOLS["refund"], REFUND)
BOOKED: Final = form(TOOLS["book_shipment"], views.SHIPMENT)


def _place(asked: Form, name: str) -> int:
    return [one.name for one in asked.inputs].index(name)


def _field_question(asked: Form, name: str, card: Card) -> Question:
    return question_for_field(asked.inputs[_place(asked, name)], card.rows[0].code)


def sure_menu() -> list[Sent]:
    return [_swapped(views.removal(ROOM), lambda token: sure(token, Verb.APPROVE))]


def again_menu() -> list[Sent]:
    return [_swapped(views.unknown(ROOM), lambda token: sure(token, Choice.SEND_AGAIN))]


def decline_menu() -> list[Sent]:
    return [_swapped(views.refund(ROOM), declining)]


def shipment_menu() -> list[Sent]:
    return [_swapped(views.shipment(ROOM), lambda token: fields(BOOKED, token))]


def values_menu() -> list[Sent]:
    carrier = _place(BOOKED, "carrier")
    return [_swapped(views.shipment(ROOM), lambda token: values(BOOKED, token, carrier))]


def edit() -> list[Sent]:
    """The amount is asked for, written, and shown to be decided on."""
    card = views.refund(ROOM)
    return [
        _swapped(card, lambda token: fields(REFUNDED, token)),
        _question(_field_question(REFUNDED, "amount", card), 1),
        _reply("18.50", 2),
        _message(card_message(views.amended(ROOM)), reply_to=3),
    ]


def edit_asks() -> list[Sent]:
    card = views.note(ROOM)
    asked = form(TOOLS["send_note"], NOTE)
    return [_message(card_message(card)), _question(_field_question(asked, "text", card), 1)]


def edit_again() -> list[Sent]:
    """What was written does not do: it is asked once more."""
    return [
        _question(_field_question(REFUNDED, "amount", views.refund(ROOM)), None),
        _reply("250", 1),
        _question(Question.again(_wrong("250")), 2),
    ]


def _wrong(amount: str) -> str:
    try:
        changes_in(REFUNDED, {"amount": amount})
    except BadArguments as error:
        return error.lines
    raise AssertionError(f"{amount} may be paid back")


def why() -> list[Sent]:
    """In a group, where who is asked is named."""
    return [_message(card_message(views.refund(ROOM))), _question(question_for(Verb.DECLINE, WHY), 1, ADA)]


def revise() -> list[Sent]:
    card = views.refund(ROOM)
    asks = question_for(Verb.REVISE, "How should it be changed?", card.rows[0].code)
    return [_message(card_message(card)), _question(asks, 1)]


def answer() -> list[Sent]:
    card = views.question(ROOM)
    asks = question_for(Verb.ANSWER, "What is your answer?", card.rows[0].code)
    return [_message(card_message(card)), _question(asks, 1), _reply("10 %, and free postage", 2)]


def review() -> list[Sent]:
    whole = views.long_post(ROOM, length=4_500)
    return _answered(Answer(views=(whole,), pages=pages(whole.rows[0])))


# ── all of them ──────────────────────────────────────────────────────────────────────────────


def _all(seen: Sequence[Seen]) -> tuple[Sample, ...]:
    return samples(seen, ROOM, _sent)


def _chat(name: str, words: str, made: Callable[[], list[Sent]], *of: object) -> Sample:
    return Sample(name=name, words=words, of=frozenset(of), made=made)


def elsewhere() -> Card:
    where, error = (
        Route(surface="telegram", ref="-1002233445566:t4"),
        "Telegram says Message thread not found",
    )
    return views.elsewhere(where, error, ROOM)


TOP: Final = """\
# What people see in Telegram

The cards of the same small shop as [in Slack](../README.md): made by `python -m tests.samples`,
drawn by `python -m tests.pictures`. The JSON beside each picture is what is sent: calls of the Bot
API by their method, without the chat they go to, and what a person writes between them. A reply
names what it replies to by its place in the file, from 1."""

GALLERY: Final = Gallery(
    folder=CARDS / "telegram",
    top=TOP,
    parts={
        "What waits": (
            *_all(WAITING),
            _chat(
                "question-long",
                "Answers too long for a button are listed, and the buttons have their numbers.",
                lambda: _sent(views.question_long(ROOM)),
                Card,
                ParkKind.QUESTION,
            ),
            _chat(
                "moved",
                "A card whose topic is gone says where it should have been.",
                lambda: _sent(elsewhere()),
                Card,
            ),
            _chat(
                "in-words",
                "Where Telegram takes neither entities nor buttons: words and commands.",
                lambda: [_message(in_words(views.refund(ROOM)))],
                Card,
            ),
        ),
        "What is decided": _all(DECIDED),
        "Menus": (
            _chat("sure", "Approve of what can't be taken back asks once more.", sure_menu, Menu.SURE),
            _chat("send-again", "So does Send again of what may have gone out.", again_menu, Menu.SURE_AGAIN),
            _chat("decline", "Decline: how.", decline_menu, Menu.DECLINE),
            _chat("fields", "Edit: which field.", shipment_menu, Menu.EDIT),
            _chat("values", "A field with few values: which.", values_menu, Menu.FIELD, Menu.VALUE),
        ),
        "Questions": (
            _chat(
                "edit",
                "Edit: the amount is written as a reply, and the card asks anew, old and new beside.",
                edit,
                Menu.FIELD,
            ),
            _chat("edit-asks", "What a long field is now can be copied.", edit_asks, Menu.FIELD),
            _chat("edit-again", "What does not do is asked once more.", edit_again, Menu.FIELD),
            _chat("why", "Decline, and why: in a group who is asked is named.", why, Menu.WHY),
            _chat("revise", "Have it changed: how.", revise, Verb.REVISE),
            _chat("answer", "Answer a question in one's own words.", answer, Verb.ANSWER),
        ),
        "Other messages": (
            *_all(POSTS),
            _chat(
                "report-long",
                "What a report has no room for is counted, and its agent's words are a file.",
                lambda: _sent(views.report_long()),
                Report,
            ),
        ),
        "What one person alone is told": (
            _chat(
                "review",
                "Review: the whole of a long post, to its end; then Approve.",
                review,
                Verb.REVIEW,
            ),
            _chat(
                "pending",
                "What waits, each to be decided on.",
                lambda: _answered(views.pending(ROOM)),
                Answer,
            ),
            _chat("tasks", "A command's answer: a table.", lambda: _answered(views.tasks()), Answer),
            _chat("help", "The list of the commands.", lambda: _answered(views.commands()), Answer),
            _chat("too-late", "Who pressed second is told, alone.", lambda: _alert(views.too_late()), Answer),
        ),
    },
)
SAMPLES: Final = GALLERY.samples
