"""What Slack is sent of each kind of card, message, form and page: one believable sample of each."""

from collections.abc import Callable
from typing import Final

from adapters.slack.shown.answers import messages_of, modal_of
from adapters.slack.shown.home import home_view, stranger_view
from adapters.slack.shown.kit import Block
from adapters.slack.shown.modals import decline_form, edit_form, new_task_form, review, words_form
from adapters.slack.shown.posts import Message, message_of
from core.cards import Card, Verb, pages
from core.chat import Answer
from core.forms import form
from core.front import UNKNOWN
from core.home import Home
from core.people import Route
from core.rendering import View
from core.shown import ROOM
from tests.samples import views
from tests.samples.everywhere import DECIDED, POSTS, WAITING, Seen, samples
from tests.samples.gallery import CARDS, Gallery, Sample
from tests.samples.shop import TOOLS, task, token


def _posted(message: Message) -> Block:
    return {"text": message.text, "blocks": message.blocks}


def _sent(view: View) -> Block:
    return _posted(message_of(view, "Sam"))


def elsewhere() -> Card:
    return views.elsewhere(Route(surface="slack", ref="T024BE7LD/C0LAN2Q65"), "the channel is archived")


# ── forms ────────────────────────────────────────────────────────────────────────────────────


def edit_modal() -> Block:
    tool = TOOLS["book_shipment"]
    return edit_form(form(tool, views.SHIPMENT), token("1.1"), tool.name)


def review_modal() -> Block:
    whole = views.long_post(length=4_000)
    made = review(Answer(views=(whole,), pages=pages(whole.rows[0])))
    assert made is not None
    return made


def new_task() -> Block:
    words = "The mug of order A7 arrived broken. Can somebody pay it back?"
    return new_task_form(words, "T1/C1", "T1/C1/1.2")


def answer_modal() -> Block:
    made = modal_of(views.too_late())
    assert made is not None
    return made


# ── the page ─────────────────────────────────────────────────────────────────────────────────


def home() -> Home:
    asked = views.question(about=task("Answer the mail of today", number=39))
    return Home(
        name="Mugs & More",
        waiting=(views.refund(), asked, views.warned(), views.note()),
        more=("t-44.1", "t-45.2"),
        going_on=views.GOING_ON,
        done=views.DONE,
    )


def home_empty() -> Home:
    return Home(name="Mugs & More", waiting=(), more=(), going_on=(), done=())


# ── all of them ──────────────────────────────────────────────────────────────────────────────


def _view(name: str, words: str, of: object, made: Callable[[], Block]) -> Sample:
    return Sample(name=name, words=words, of=frozenset({of}), made=made)


def _private(name: str, words: str, made: Callable[[], Answer]) -> Sample:
    return _view(name, words, Answer, lambda: _posted(messages_of(made())[0]))


def _all(seen: tuple[Seen, ...]) -> tuple[Sample, ...]:
    return samples(seen, ROOM, _sent)


GALLERY: Final = Gallery(
    folder=CARDS,
    top="\n".join(
        (
            "# What people see in Slack",
            "",
            "A small shop's cards: made by `python -m tests.samples` of the code as it is, drawn by",
            "`python -m tests.pictures`. The JSON beside each picture is what Slack is sent.",
            "[What people see in Telegram](telegram/README.md) is of the same shop.",
        )
    ),
    parts={
        "What waits": (
            *_all(WAITING),
            _view(
                "moved",
                "A card whose channel is gone says where it should have been.",
                Card,
                lambda: _sent(elsewhere()),
            ),
        ),
        "What is decided": _all(DECIDED),
        "Other messages": _all(POSTS),
        "Forms": (
            _view("edit", "Edit: an input of each kind.", Verb.EDIT, edit_modal),
            _view(
                "decline",
                "Decline: why, and whether the task is to stop.",
                Verb.DECLINE,
                lambda: decline_form(token("1.1")),
            ),
            _view(
                "revise",
                "Have it changed: how.",
                Verb.REVISE,
                lambda: words_form(Verb.REVISE, token("1.1"), "How should it be changed?"),
            ),
            _view(
                "answer",
                "Answer a question in one's own words.",
                Verb.ANSWER,
                lambda: words_form(Verb.ANSWER, token("1.1"), "What is your answer?"),
            ),
            _view(
                "review",
                "Review: the whole of a long post, to its end; then Approve.",
                Verb.REVIEW,
                review_modal,
            ),
            _view("new-task", "A message is made a task.", "new_task", new_task),
            _view(
                "answer-in-a-modal",
                "What is told where there is no channel to tell it in.",
                Answer,
                answer_modal,
            ),
        ),
        "The page": (
            _view(
                "home",
                "The bot's page: what waits, goes on and was done today.",
                Home,
                lambda: home_view(home()),
            ),
            _view("home-empty", "The same with nothing on it.", Home, lambda: home_view(home_empty())),
            _view(
                "home-stranger", "The same for somebody nobody knows.", Home, lambda: stranger_view(UNKNOWN)
            ),
        ),
        "What one person alone is told": (
            _private("tasks", "A command's answer: a table.", views.tasks),
            _private("help", "The list of the commands.", views.commands),
            _private("too-late", "Who pressed second is told, alone.", views.too_late),
        ),
    },
)
SAMPLES: Final = GALLERY.samples
