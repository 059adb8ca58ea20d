"""Updates by webhook: who may bring them, and what becomes of those that come again, late, broken or in vain.

Each is answered 200 once it was done with, and then never again; 503 where it is to come again (K21, I21).
"""

import hmac
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from adapters.telegram.heard.updates import ALLOWED
from adapters.telegram.heard.webhook import Webhook
from adapters.web.door import Door
from core.parks import DecisionKind
from core.ports import Query
from core.tasks import MessageKind, TaskState
from core.testing import says
from tests.acceptance.processes import without
from tests.acceptance.shop import ORG, REFUND_SCRIPT, REFUNDED, U2
from tests.acceptance.telegram_office import SECRET, TelegramOffice, telegram_office
from tests.conftest import Templates, migrated
from tests.contract.planted_memory import MemoryPlanted
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.telegram import SECRET_HEADER, Delivery, cut, html, lost, refusal, too_many
from tests.postgres import Server
from tests.wire import served

JSON = "application/json"


@pytest.fixture
async def office() -> AsyncIterator[TelegramOffice]:
    async with telegram_office(MemoryPlanted()) as made:
        made.opens(list(REFUND_SCRIPT))
        yield made
        assert await made.is_whole()


@pytest.fixture
async def stored(
    tmp_path: Path, postgres_server: Server, templates: Templates
) -> AsyncIterator[TelegramOffice]:
    """The same over a database, which may be away, and behind the web process's door."""
    async with AsyncExitStack() as closing:
        url = await closing.enter_async_context(migrated("sqlite", tmp_path, postgres_server, templates))
        planted = SqlPlanted(url)
        closing.push_async_callback(planted.close)
        made = await closing.enter_async_context(telegram_office(planted))
        made.opens(list(REFUND_SCRIPT))
        door = Door(path="/telegram/updates", methods=("POST",), handler=made)
        server = await closing.enter_async_context(served(door))
        made.telegram.bot_url = f"http://127.0.0.1:{server.port}"
        yield made
        assert await made.is_whole()


async def brings(
    office: TelegramOffice, body: bytes, secret: str | None = SECRET, kind: str = JSON
) -> Delivery:
    """*body* came to the webhook."""
    headers = {"Content-Type": kind} | ({} if secret is None else {SECRET_HEADER: secret})
    return await office.telegram.delivers(body, headers)


async def inbox(office: TelegramOffice) -> list[tuple[str, str]]:
    """The state of each row, and its words."""
    return [(row["state"], row["body"]["text"]) for row in await office.planted.table("inbox")]


def hello(office: TelegramOffice, number: object = 7, **over: Any) -> dict[str, Any]:
    """Ada's "hello" in private, as an update of that number."""
    user = office.ada.to_json()
    message = {"message_id": 5, "date": 1_700_000_000, "chat": {"id": office.ada.id, "type": "private"}}
    return {"update_id": number, "message": {**message, "from": user, "text": "hello", **over}}


# ── who brings them ──────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I14")
@pytest.mark.parametrize(
    "secret", [None, "", "wrong", SECRET[:-1], f"{SECRET} ", SECRET.upper(), "ключ", "\udcff"]
)
async def test_what_does_not_bear_the_secret_is_refused_unread(
    office: TelegramOffice, secret: str | None
) -> None:
    body = json.dumps(hello(office)).encode()
    headers = (
        []
        if secret is None
        else [(SECRET_HEADER.lower().encode(), secret.encode("utf-8", "surrogateescape"))]
    )
    status = await raw(office, body, [(b"content-type", b"application/json"), *headers])
    assert (status, await inbox(office)) == (401, [])


async def raw(office: TelegramOffice, body: bytes, headers: list[tuple[bytes, bytes]]) -> int:
    """The status that a request is answered with, be its headers what no client of ours can send."""
    said: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        said.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/telegram/updates",
        "headers": headers,
        "query_string": b"",
    }
    await office(scope, receive, send)
    return int(said[0]["status"])


async def test_how_long_a_secret_is_compared_tells_nothing_of_it(
    office: TelegramOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[bytes] = []
    in_constant_time = hmac.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(other)
        return in_constant_time(one, other)

    monkeypatch.setattr("hmac.compare_digest", compare)
    office.webhooks[-1] = Webhook(listening=office.webhooks[-1].listening, secrets=["new", "old"])
    body = json.dumps(hello(office)).encode()
    assert [(await brings(office, body, secret)).status for secret in ("new", "old", "x")] == [200, 200, 401]
    assert compared == [b"new", b"old"] * 3  # with each, whichever was right


async def test_while_a_secret_is_changed_the_new_and_the_old_one_hold(office: TelegramOffice) -> None:
    office.webhooks[-1] = Webhook(listening=office.webhooks[-1].listening, secrets=["the-new-one", SECRET])
    body = json.dumps(hello(office)).encode()
    assert [(await brings(office, body, secret)).status for secret in ("the-new-one", SECRET, "x")] == [
        200,
        200,
        401,
    ]


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"update_id=7", "application/x-www-form-urlencoded", 415),
        (b'{"update_id": 7}', "text/plain", 415),
        (b'{"update_id": 7}', "", 415),
        (b'{"update_id": 7}', "Application/JSON; charset=utf-8", 200),
        (b"", JSON, 400),
        (b"{", JSON, 400),
        (b"[]", JSON, 400),
        (b'"update"', JSON, 400),
        (b"{}", JSON, 400),
        (b'{"update_id": "7"}', JSON, 400),
        (b'{"update_id": 7.5}', JSON, 400),
        (b'{"update_id": \xff}', JSON, 400),
        (b"[" * 100_000, JSON, 400),
        (b'{"update_id": ' + b"9" * 5_000 + b"}", JSON, 400),
    ],
    ids=lambda value: str(value)[:24],
)
async def test_what_is_no_update_at_all_is_refused(
    office: TelegramOffice, body: bytes, kind: str, status: int
) -> None:
    assert (await brings(office, body, kind=kind)).status == status
    assert await inbox(office) == []


# ── what can't be read ───────────────────────────────────────────────────────────────────────

MESSAGE = {"message_id": 1, "date": 1, "chat": {"id": 1, "type": "private"}}
USER = {"id": 1, "is_bot": False, "first_name": "x"}


def nested(levels: int) -> dict[str, Any]:
    """A reply to a reply to a reply ..."""
    message: dict[str, Any] = dict(MESSAGE)
    for _ in range(levels):
        message = {**MESSAGE, "reply_to_message": message}
    return message


POISON: dict[str, dict[str, Any]] = {
    "a message that is a text": {"message": "hello"},
    "a message that is a list": {"message": [1, 2]},
    "a message of nothing": {"message": {"text": "hello"}},
    "a user without a number": {"message": {**MESSAGE, "from": {"first_name": "x"}, "text": "hello"}},
    "a user that is a text": {"message": {**MESSAGE, "from": "ada", "text": "hello"}},
    "a chat that is a number": {"message": {"message_id": 1, "date": 1, "chat": 5}},
    "a chat of no kind": {"message": {**MESSAGE, "chat": {"id": 1}, "from": USER, "text": "hello"}},
    "a date that never comes": {"message": {**MESSAGE, "date": 10**30}},
    "a date that is none": {"message": {**MESSAGE, "date": "soon"}},
    "a press of nobody": {"callback_query": {"id": "1", "chat_instance": "1", "data": "approve:x"}},
    "a press that is a number": {"callback_query": 7},
    "a change of membership of nothing": {"my_chat_member": {}},
    "replies without end": {"message": nested(600)},
    "entities that are a text": {"message": {**MESSAGE, "from": USER, "text": "hi", "entities": "bold"}},
    "an entity of nothing": {"message": {**MESSAGE, "from": USER, "text": "hi", "entities": [{}]}},
    "an entity at no place": {
        "message": {**MESSAGE, "from": USER, "text": "hi"}
        | {"entities": [{"type": "mention", "offset": "x", "length": 1}]}
    },
    "a text that is a number": {"message": {**MESSAGE, "from": USER, "text": 7}},
}


@pytest.mark.rule("I14")
async def test_nothing_that_somebody_unknown_writes_is_kept(stored: TelegramOffice) -> None:
    stored.telegram.open_private(stored.zoe)
    await stored.asks(stored.zoe, "a secret of mine")
    await stored.asks(stored.zoe, "another", stored.ops)
    assert await inbox(stored) == [("ignored", "")] * 2


@pytest.mark.rule("I21")
@pytest.mark.parametrize("what", POISON)
async def test_what_cant_be_read_is_kept_once_and_never_comes_again(
    office: TelegramOffice, what: str
) -> None:
    body = json.dumps({"update_id": 500_000} | POISON[what]).encode()
    for _ in range(2):
        assert (await brings(office, body)).status == 200
    (row,) = await office.planted.table("inbox")
    assert (row["state"], row["body"]["text"]) == ("dead", "")
    assert row["body"]["raw"].startswith('{"update_id": 500000, ')
    office.opens([])  # in another process, too
    assert (await brings(office, body)).status == 200
    await office.asks(office.ada, "hello")  # and holds nobody up
    assert [state for state, _ in await inbox(office)] == ["dead", "new"]


@pytest.mark.parametrize("number", [True, -1, 2**63, 10**4_000], ids=lambda n: str(n)[:24])
async def test_an_update_whose_number_is_none_is_kept(stored: TelegramOffice, number: int) -> None:
    body = json.dumps(hello(stored, number)).encode()
    for _ in range(2):
        assert (await brings(stored, body)).status == 200
    assert [state for state, _ in await inbox(stored)] == ["dead"]


@pytest.mark.parametrize(
    "over",
    [
        {"text": "hello \ud83d there"},
        {"text": "hello \x00 there"},
        {"message_id": 10**30},
        {"text": "hi", "entities": [{"type": "mention", "offset": 10**9, "length": 10**9}]},
        {"text": "hi", "entities": [{"type": "new_kind", "offset": -5, "length": 0}]},
        {"from": {"id": 10**30, "is_bot": False, "first_name": "x"}},
        {"from": {"id": 5, "is_bot": False, "first_name": "\ud83d\x00"}},
        {"text": "/show \ud83d\x00"},
        {"text": "hello", "unheard_of": {"field": [1]}},
    ],
    ids=str,
)
async def test_what_is_strange_in_it_breaks_nothing(stored: TelegramOffice, over: dict[str, Any]) -> None:
    assert (await brings(stored, json.dumps(hello(stored, **over)).encode())).status == 200
    await stored.last.works()
    assert "dead" not in [state for state, _ in await inbox(stored)]


async def test_what_was_not_asked_for_is_of_no_use(office: TelegramOffice) -> None:
    assert office.telegram.webhook is not None
    assert office.telegram.webhook.allowed_updates == list(ALLOWED)
    body = json.dumps({"update_id": 7, "what_comes_next": [1]}).encode()
    assert (await brings(office, body)).status == 200
    assert await inbox(office) == []


# ── again ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I1", "I21", "K22")
async def test_an_update_that_comes_again_changes_nothing_and_is_not_answered_again(
    office: TelegramOffice,
) -> None:
    await office.asks(office.ada, "refund the mug", office.ops)
    await office.last.works()
    card = office.card
    await office.asks(office.ada, "/new look around")
    await office.asks(office.eve, "approve", office.ops)
    await office.telegram.presses(office.eve, card, "Approve")
    await office.telegram.presses(office.ben, card, "Approve")
    before = await everything(office)
    for update in list(office.telegram.updates):
        for delivery in await office.telegram.delivers_again(update):
            assert delivery.status == 200
    assert await everything(office) == before


async def everything(office: TelegramOffice) -> list[object]:
    """What anybody can see, and what was decided."""
    said = [[m.text for m in office.telegram.said(c)] for c in office.telegram.chats.values()]
    rows = {table: await office.planted.count(table) for table in ("inbox", "tasks", "parks", "audit")}
    return [said, rows, len(office.telegram.called("answerCallbackQuery"))]


@pytest.mark.rule("I1", "I21", "K22", "K25")
async def test_an_update_that_another_process_gets_again_changes_nothing(office: TelegramOffice) -> None:
    await office.asks(office.ada, "refund the mug", office.ops)
    await office.last.works()
    await office.asks(office.ada, "/new look around")
    await office.telegram.presses(office.ben, office.cards()[-1], "Approve")
    before = (await everything(office))[1]
    office.opens(list(REFUND_SCRIPT))
    for update in list(office.telegram.updates):
        await office.telegram.delivers_again(update)
    assert (await everything(office))[1] == before
    assert len(await office.store.ledger.find(ORG, Query())) == 2


# ── not now ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("K21", "K22", "I21")
async def test_a_message_that_could_not_be_stored_counts_when_it_comes_again(stored: TelegramOffice) -> None:
    stored.opens([says("Hello.")])
    async with without(stored.planted, "inbox"):
        said = await stored.asks(stored.ada, "hello", stored.ops)
        assert said.answered.status == 503
    assert [d.status for d in await stored.telegram.redelivers()] == [200]
    await stored.last.works()
    assert (await stored.task()).goal == "hello"
    stored.telegram.refused.clear()


@pytest.mark.rule("K21", "C6")
async def test_a_press_that_could_not_be_decided_says_so_and_counts_when_it_comes_again(
    stored: TelegramOffice,
) -> None:
    await stored.asks(stored.ada, "refund the mug", stored.ops)
    await stored.last.works()
    async with without(stored.planted, "parks"):
        pressed = await stored.telegram.presses(stored.ada, stored.card, "Approve")
    assert pressed.deliveries[0].status == 503
    assert pressed.text == "The database is away. It counts as soon as it is back."
    assert [d.status for d in await stored.telegram.redelivers()] == [200]
    await stored.last.works()
    assert stored.world.effects == [REFUNDED]
    stored.telegram.refused.clear()


@pytest.mark.rule("K21")
async def test_what_cant_be_read_comes_again_while_it_can_not_be_kept(stored: TelegramOffice) -> None:
    body = json.dumps({"update_id": 7, "message": "hello"}).encode()
    async with without(stored.planted, "inbox"):
        assert (await brings(stored, body)).status == 503
    assert (await brings(stored, body)).status == 200
    assert [state for state, _ in await inbox(stored)] == ["dead"]


@pytest.mark.rule("K21")
@pytest.mark.parametrize(
    "trouble",
    [html(502), cut(), too_many(5), refusal(401, "Unauthorized")],
    ids=["html", "cut", "busy", "unknown"],
)
async def test_while_the_bot_does_not_know_its_own_name_updates_are_to_come_again(
    office: TelegramOffice, trouble: Any
) -> None:
    office.telegram.breaks("getMe", trouble)
    said = await office.asks(office.ada, "/tasks")
    assert (said.answered.status, await inbox(office)) == (503, [])
    assert [d.status for d in await office.telegram.redelivers()] == [200]
    assert office.told(office.ada) == ["No tasks yet. Say what is to be done."]
    office.telegram.refused.clear()


@pytest.mark.rule("K21", "I21")
async def test_what_came_while_no_process_was_there_is_not_dropped(office: TelegramOffice) -> None:
    await office.asks(office.ada, "refund the mug", office.ops)
    await office.last.works()
    office.telegram.bot_url = "http://127.0.0.1:9"
    pressed = await office.telegram.presses(office.ben, office.card, "Approve")
    said = await office.asks(office.ada, "/new look around")
    assert [d.status for d in (*pressed.deliveries, said.answered)] == [None, None]
    office.telegram.bot_url = ""
    office.opens([says("Refunded."), says("Nothing there.")])  # and says where it is, as it starts
    assert office.telegram.webhook is not None
    assert not office.telegram.webhook.drop_pending_updates
    assert [d.status for d in await office.telegram.redelivers()] == [200, 200]
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert len(await office.store.ledger.find(ORG, Query())) == 2
    office.telegram.refused.clear()


# ── in another order ─────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I21")
async def test_a_reply_that_comes_before_what_it_answers_is_of_one_task_with_it(
    office: TelegramOffice,
) -> None:
    office.opens([says("Both are done.")])
    office.telegram.held = True
    first = await office.asks(office.ada, "refund the mug", office.ops)
    await office.telegram.says(office.ada, office.ops, "and A2", mention=True, reply_to=first.message)
    assert {d.status for d in await office.telegram.releases([1, 0])} == {200}
    await office.last.works()
    (task,) = await office.store.ledger.find(ORG, Query())
    heard = [m.body["text"] for m in (await office.story()).messages if m.kind is MessageKind.OWNER]
    assert (task.goal, heard, task.state) == ("and A2", ["refund the mug"], TaskState.DONE)


@pytest.mark.rule("I1")
async def test_of_two_decisions_the_one_that_came_first_counts_whichever_was_made_first(
    office: TelegramOffice,
) -> None:
    await office.asks(office.ada, "refund the mug", office.ops)
    await office.last.works()
    card = office.card
    office.telegram.held = True
    pressed = await office.telegram.presses(office.ada, card, "Approve")
    await office.asks(office.ben, "/decline t-1.1")
    await office.telegram.releases([1, 0])
    assert pressed.text.startswith("U2 declined it at ")
    (park,) = (await office.story()).parks
    assert (park.decision, park.by_person) == (DecisionKind.DECLINE, U2.id)


@pytest.mark.rule("K19", "K20")
async def test_a_press_that_comes_before_we_know_that_the_card_is_there_counts_and_ends_that_card(
    office: TelegramOffice,
) -> None:
    office.telegram.breaks("sendMessage", lost(), chat=office.ops)
    await office.asks(office.ada, "refund the mug", office.ops)
    await office.last.works()
    card = office.card
    pressed = await office.telegram.presses(office.ada, card, "Approve")
    assert pressed.text == "t-1.1 approved by U1. A worker runs it."
    await office.last.works()
    assert (office.world.effects, card.labels) == ([REFUNDED], [])
    assert (
        len([m for m in office.telegram.said(office.ops) if "refund the mug" in m.text and m is not card])
        <= 1
    )


async def test_being_welcomed_after_what_was_said_there_changes_nothing(office: TelegramOffice) -> None:
    group = office.telegram.add_group("new", office.ada, bot=False)
    office.telegram.held = True
    await office.telegram.adds_bot(group, by=office.ada)
    await office.telegram.says(office.ada, group, "/approve@gatepost_bot t-1.1")
    await office.telegram.releases([2, 1, 0])
    assert [words.partition(" ")[0] for words in office.told(group)] == ["Nothing", "This"]


# ── what nobody is to read ───────────────────────────────────────────────────────────────────


@pytest.mark.rule("I33")
async def test_neither_token_nor_secret_is_in_any_line_of_ours(
    office: TelegramOffice, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for trouble in (html(502), cut(), refusal(401, "Unauthorized"), refusal(404, "Not Found"), too_many(900)):
        for method in ("sendMessage", "answerCallbackQuery", "getMe", "editMessageText"):
            office.telegram.breaks(method, trouble, times=2)
        await office.asks(office.ada, "/new refund the mug", office.ops)
        await office.last.works()
        await brings(office, json.dumps({"update_id": 1, "message": trouble.description}).encode())
        await brings(office, json.dumps(hello(office)).encode(), secret="wrong")
        office.telegram.mends()
    ours = [r for r in caplog.records if r.name.partition(".")[0] in ("adapters", "core", "bot")]
    assert len(ours) >= 5
    for record in ours:
        line = logging.Formatter().format(record)
        assert office.telegram.token not in line and SECRET not in line, line
    office.telegram.refused.clear()
