"""The model adapter, against a service on this machine that answers by script."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from adapters.clock import SystemClock
from adapters.model_openai import OpenAIModel
from core.errors import ModelBusy, ModelError, ModelOverflow, ModelRefused
from core.model import Finish, ModelReply, Request, ToolSpec, Turn, Usage, WireCall
from core.ports import Clock
from core.testing import ManualClock
from tests.fakes.openai_server import Answer, OpenAIServer, call, completion, error, in_json, serving

KEY = "sk-canary-0123456789"
HELLO = Request(turns=(Turn(role="user", text="Hello."),), tools=(), max_tokens=100)
DONE = completion("Done.")
Made = Callable[..., OpenAIModel]


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with serving() as server:
        yield server


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@asynccontextmanager
async def model_of(
    server: OpenAIServer, clock: Clock, *, jitter: float = 0.0, **options: Any
) -> AsyncIterator[OpenAIModel]:
    """A model that talks to *server*; *jitter* is the chance its delays get."""
    options = {"base_url": server.base_url, "api_key": KEY, **options}
    model = OpenAIModel("small-1", clock=clock, jitter=lambda: jitter, **options)
    try:
        yield model
    finally:
        await model.close()


async def reply_to(
    server: OpenAIServer, *answers: Answer, clock: Clock | None = None, **options: Any
) -> ModelReply:
    """What the model replies to HELLO where the service answers *answers*."""
    server.answers = list(answers)
    async with model_of(server, clock or ManualClock(), **options) as model:
        return await model.reply(HELLO)


# ── what is asked ────────────────────────────────────────────────────────────────────────────


async def test_a_request_goes_out_whole_with_ids_and_arguments_as_they_were(server: OpenAIServer) -> None:
    server.answers = [DONE]
    history = (
        Turn(role="system", text="You are Sam."),
        Turn(role="user", text="Refund A7. \N{WINKING FACE}"),
        Turn(role="assistant", calls=(WireCall(id="c-1", name="refund", arguments='{"amount": 24.00'),)),
        Turn(role="tool", call_id="c-1", text="that is not JSON"),
        Turn(role="assistant", text="Again.", calls=(WireCall(id="c-2", name="refund", arguments="{}"),)),
        Turn(role="tool", call_id="c-2"),
        Turn(role="assistant", text="Done."),
    )
    schema = {"type": "object", "properties": {"amount": {"type": "number", "maximum": Decimal("0.5")}}}
    tool = ToolSpec(name="refund", description="Gives money back.", parameters=schema)
    async with model_of(server, ManualClock()) as model:
        await model.reply(Request(turns=history, tools=(tool,), max_tokens=512))
    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert server.bodies == [
        {
            "model": "small-1",
            "max_tokens": 512,
            "messages": [
                {"role": "system", "content": "You are Sam."},
                {"role": "user", "content": "Refund A7. \N{WINKING FACE}"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [call("c-1", "refund", '{"amount": 24.00')],
                },
                {"role": "tool", "tool_call_id": "c-1", "content": "that is not JSON"},
                {"role": "assistant", "content": "Again.", "tool_calls": [call("c-2", "refund", "{}")]},
                {"role": "tool", "tool_call_id": "c-2", "content": ""},
                {"role": "assistant", "content": "Done."},
            ],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "refund",
                        "description": "Gives money back.",
                        "parameters": {
                            "type": "object",
                            "properties": {"amount": {"type": "number", "maximum": 0.5}},
                        },
                    },
                }
            ],
        }
    ]


async def test_without_tools_none_are_named_and_a_request_may_name_its_model(server: OpenAIServer) -> None:
    server.answers = [DONE]
    async with model_of(server, ManualClock()) as model:
        await model.reply(replace(HELLO, model="large-1"))
    assert server.bodies == [
        {"model": "large-1", "max_tokens": 100, "messages": [{"role": "user", "content": "Hello."}]}
    ]


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("", "/v1/chat/completions"),
        ("/", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/v1beta/openai", "/v1beta/openai/chat/completions"),
    ],
)
async def test_a_base_address_without_a_path_gets_the_version_once(
    server: OpenAIServer, path: str, asked: str
) -> None:
    await reply_to(server, DONE, base_url=server.address + path)
    assert server.paths == [asked]


async def test_the_library_takes_nothing_else_from_the_environment(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "canary")
    await reply_to(server, DONE, api_key=None)
    assert server.headers[0]["Authorization"] == "Bearer none"
    assert "canary" not in str(server.headers)


def test_the_library_is_not_imported_with_the_module() -> None:
    code = "import sys, adapters.model_openai; print('openai' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


# ── what comes back ──────────────────────────────────────────────────────────────────────────


async def test_words_come_back_with_usage_and_the_model_that_said_them(server: OpenAIServer) -> None:
    assert await reply_to(server, DONE) == ModelReply(
        text="Done.", usage=Usage(tokens_in=11, tokens_out=7), model="small-1-2026"
    )


async def test_calls_come_back_raw_and_in_order(server: OpenAIServer) -> None:
    asked = [call("c-1", "refund", '{"amount": 24.00, "amount": 1}'), call("c-1", "Refund ", "{broken")]
    reply = await reply_to(server, completion("One moment.", calls=asked, finish="tool_calls"))
    assert reply == ModelReply(
        text="One moment.",
        calls=(
            WireCall(id="c-1", name="refund", arguments='{"amount": 24.00, "amount": 1}'),
            WireCall(id="c-1", name="Refund ", arguments="{broken"),
        ),
        finish=Finish.TOOL_CALLS,
        usage=Usage(tokens_in=11, tokens_out=7),
        model="small-1-2026",
    )


@pytest.mark.parametrize(
    ("odd", "taken"),
    [
        (call("c", "refund", {"a": 1}), WireCall(id="c", name="refund", arguments='{"a": 1}')),
        (call("c", "refund", None), WireCall(id="c", name="refund", arguments="")),
        ({"function": {"name": "refund"}}, WireCall(id="", name="refund", arguments="")),
        ({"id": 7, "type": "custom"}, WireCall(id="7", name="", arguments="")),
        ("refund", WireCall(id="", name="", arguments="")),
    ],
)
async def test_no_odd_call_is_dropped(server: OpenAIServer, odd: Any, taken: WireCall) -> None:
    reply = await reply_to(server, completion(calls=[odd], finish="tool_calls"))
    assert reply.calls == (taken,)


@pytest.mark.parametrize(
    ("said", "finish"),
    [
        ("stop", Finish.STOP),
        ("tool_calls", Finish.TOOL_CALLS),
        ("function_call", Finish.TOOL_CALLS),
        ("length", Finish.LENGTH),
        ("content_filter", Finish.CONTENT_FILTER),
        ("eos", Finish.STOP),
        (None, Finish.STOP),
    ],
)
async def test_each_finish_reason_has_its_meaning_and_unknown_ones_stop(
    server: OpenAIServer, said: str | None, finish: Finish
) -> None:
    assert (await reply_to(server, completion("Do", finish=said))).finish is finish


@pytest.mark.parametrize(("content", "text"), [(None, "I can't."), ("", "I can't."), ("Well.", "Well.")])
async def test_a_refusal_is_a_finish_and_its_words_stand_in_for_text(
    server: OpenAIServer, content: str | None, text: str
) -> None:
    reply = await reply_to(server, completion(content, refusal="I can't."))
    assert (reply.text, reply.finish) == (text, Finish.REFUSAL)


@pytest.mark.parametrize("content", [None, ""])
async def test_a_well_formed_reply_without_content_is_silence_and_not_retried(
    server: OpenAIServer, content: str | None
) -> None:
    reply = await reply_to(server, completion(content))
    assert (reply.text, reply.calls, reply.finish) == (None, (), Finish.STOP)


async def test_text_in_parts_is_joined_and_half_characters_are_replaced(server: OpenAIServer) -> None:
    parts = [
        {"type": "text", "text": "a\ud800"},
        {"type": "image"},
        {"type": "text", "text": "b\N{WINKING FACE}"},
    ]
    assert (await reply_to(server, completion(parts))).text == "a\N{REPLACEMENT CHARACTER}b\N{WINKING FACE}"


@pytest.mark.parametrize(
    "usage", [{}, [], {"prompt_tokens": -5, "completion_tokens": True}, {"prompt_tokens": "9"}]
)
async def test_usage_that_is_none_counts_nothing(server: OpenAIServer, usage: Any) -> None:
    assert (await reply_to(server, completion("Done.", usage=usage))).usage == Usage()


# ── another try ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
async def test_a_busy_service_is_asked_again_after_a_delay(
    server: OpenAIServer, clock: ManualClock, status: int
) -> None:
    reply = await reply_to(server, error(status), DONE, clock=clock)
    assert reply.text == "Done."
    assert clock.slept == [0.5]


@pytest.mark.parametrize(
    "answer",
    [
        Answer(),
        Answer(body=b"<html>Sign in</html>"),
        Answer(body=b"data: {}\n\n"),
        Answer(body=b'{"choices": [{"message"'),
        Answer(body=b"\xff\xfe"),
        Answer(body=b"[" * 100_000),
        Answer(body=b'{"a": ' + b"9" * 5000 + b"}"),
        in_json([]),
        in_json({}),
        in_json({"choices": []}),
        in_json({"choices": [None]}),
        in_json({"choices": [{"finish_reason": "stop"}]}),
        in_json({"choices": [{"message": "Done."}]}),
        in_json({"error": {"message": "upstream is down", "code": 502}}),
        replace(DONE, cuts=True),
    ],
    ids=lambda answer: repr(answer.body[:24]),
)
async def test_a_body_that_is_no_reply_is_the_services_fault_and_retried(
    server: OpenAIServer, clock: ManualClock, answer: Answer
) -> None:
    """Bad inputs 10 and 28: no body at all, and one that is cut."""
    reply = await reply_to(server, answer, DONE, clock=clock)
    assert reply.text == "Done."
    assert clock.slept == [0.5]


async def test_delays_double_and_chance_adds_up_to_a_quarter(
    server: OpenAIServer, clock: ManualClock
) -> None:
    await reply_to(server, *[error(500)] * 9, DONE, clock=clock, retries=9, jitter=1.0)
    assert clock.slept == [delay * 1.25 for delay in (0.5, 1, 2, 4, 8, 16, 32, 32, 32)]


async def test_after_the_retries_the_service_is_busy(server: OpenAIServer, clock: ManualClock) -> None:
    with pytest.raises(ModelBusy, match=r"is busy \(503\): no") as caught:
        await reply_to(server, *[error(503)] * 9, clock=clock)
    assert caught.value.retry_after_seconds is None
    assert len(server.bodies) == 4
    assert clock.slept == [0.5, 1, 2]


@pytest.mark.parametrize(
    ("header", "slept"),
    [
        ("5", 5),
        (" 2.5 ", 2.5),
        ("0", 0),
        ("30", 30),
        ("Mon, 05 Jan 2026 09:00:20 GMT", 20),
        ("Mon, 05 Jan 2026 08:00:00 GMT", 0),
        ("soon", 0.625),
        ("-5", 0.625),
        ("nan", 0.625),
        ("", 0.625),
    ],
)
async def test_retry_after_replaces_the_delay_exactly(
    server: OpenAIServer, clock: ManualClock, header: str, slept: float
) -> None:
    await reply_to(server, error(429, Retry_After=header), DONE, clock=clock, jitter=1.0)
    assert clock.slept == [slept]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("31", 31),
        ("999999", 3600),
        ("Mon, 05 Jan 2026 09:02:00 GMT", 120),
        ("Tue, 06 Jan 2026 09:00:00 GMT", 3600),
    ],
)
async def test_a_long_retry_after_is_given_back_at_once(
    server: OpenAIServer, clock: ManualClock, header: str, seconds: float
) -> None:
    with pytest.raises(ModelBusy) as caught:
        await reply_to(server, error(429, Retry_After=header), clock=clock)
    assert caught.value.retry_after_seconds == seconds
    assert clock.slept == []


async def test_a_service_that_nobody_runs_is_busy(server: OpenAIServer, clock: ManualClock) -> None:
    async with serving() as gone:
        address = gone.base_url
    with pytest.raises(ModelBusy, match=r"can't be reached \(ConnectError\)"):
        await reply_to(server, base_url=address, clock=clock)
    assert clock.slept == [0.5, 1, 2]


async def test_a_service_that_hangs_is_busy_after_the_deadline(server: OpenAIServer) -> None:
    with pytest.raises(ModelBusy, match=r"gave no answer in 0\.05 s|did not answer in time"):
        await reply_to(server, Answer(hangs=True), clock=SystemClock(), timeout_seconds=0.05, retries=0)


async def test_the_deadline_holds_for_the_waits_too(server: OpenAIServer, clock: ManualClock) -> None:
    begun = clock.now()
    with pytest.raises(ModelBusy, match="gave no answer in 40 s"):
        await reply_to(server, *[error(429, Retry_After="25")] * 9, clock=clock, timeout_seconds=40)
    assert (clock.now() - begun).total_seconds() == 40
    assert len(server.bodies) == 2


# ── no other try ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "answered 401: check the API key"),
        (403, "answered 403: check that the API key may use the model small-1"),
        (404, "answered 404: check the model's name, small-1, and the base address"),
        (409, "answered 409: check the base address and the service: bad key …"),
        (501, "answered 501: check the base address and the service: bad key …"),
    ],
)
async def test_what_the_operator_must_mend_is_said_without_the_key(
    server: OpenAIServer, clock: ManualClock, status: int, words: str
) -> None:
    with pytest.raises(ModelError) as caught:
        await reply_to(server, error(status, f"bad key {KEY}"), clock=clock)
    assert str(caught.value) == f"the model's service {words}"
    assert type(caught.value) is ModelError
    assert caught.value.__cause__ is None
    assert clock.slept == []


@pytest.mark.parametrize("status", [400, 422])
async def test_a_refused_request_is_refused_with_the_services_words_cut_short(
    server: OpenAIServer, clock: ManualClock, status: int
) -> None:
    message = f"{KEY}: messages[2]\n is wrong {'x' * 5000}"
    with pytest.raises(ModelRefused) as caught:
        await reply_to(server, error(status, message, code="invalid"), clock=clock)
    assert str(caught.value).startswith(
        f"the model's service refuses the request ({status}): …: messages[2] is wrong x"
    )
    assert len(str(caught.value)) < 400
    assert clock.slept == []


@pytest.mark.parametrize(
    "answer",
    [
        error(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
        error(400, "no", "context_length_exceeded"),
        error(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        error(500, "the request exceeds the available context size"),
        error(413, "payload"),
        Answer(status=400, body=b"input is too long for this model"),
        in_json({"error": {"message": "maximum context length is 10"}}),
    ],
    ids=lambda answer: f"{answer.status} {answer.body[:60]!r}",
)
async def test_a_history_that_is_too_long_says_so_whatever_the_status(
    server: OpenAIServer, clock: ManualClock, answer: Answer
) -> None:
    with pytest.raises(ModelOverflow, match="longer than the model takes"):
        await reply_to(server, answer, clock=clock)
    assert clock.slept == []


async def test_a_rate_limit_that_speaks_of_tokens_is_no_overflow(
    server: OpenAIServer, clock: ManualClock
) -> None:
    busy = error(429, "Rate limit reached: too many tokens per min")
    assert (await reply_to(server, busy, DONE, clock=clock)).text == "Done."


async def test_an_error_without_json_is_told_in_its_words(server: OpenAIServer) -> None:
    with pytest.raises(ModelRefused, match=r"refuses the request \(400\): <p>no</p>"):
        await reply_to(server, Answer(status=400, body=b"<p>no</p>"))


async def test_the_key_is_not_in_what_the_model_shows_of_itself(server: OpenAIServer) -> None:
    async with model_of(server, ManualClock()) as model:
        assert KEY not in repr(model)
    assert json.dumps(KEY) not in str(server.bodies)
