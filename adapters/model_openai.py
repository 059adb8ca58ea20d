"""Asks a model over the OpenAI chat API, which most services and local servers speak.

Retries are ours, not the library's: its clock can't be set by a test, and it waits out a long
``Retry-After`` where a worker should give the task back. What a reply means is not known here: ids,
names and arguments are passed on as the model wrote them, to be judged by core.
"""

import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from core.canonical import dump
from core.errors import ModelBusy, ModelError, ModelOverflow, ModelRefused
from core.model import Finish, ModelReply, Request, ToolSpec, Turn, Usage, WireCall
from core.ports import Clock

DEFAULT_BASE_URL = "https://api.openai.com/v1"
TIMEOUT_SECONDS = 600.0
"""For a whole request, its retries and waits included; a large model may think for minutes."""
CONNECT_SECONDS = 10.0
RETRIES = 3
FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 32.0
PATIENCE_SECONDS = 30.0
"""A longer Retry-After is not slept through: the task is given back, and another gets the worker."""
LONGEST_RETRY_AFTER_SECONDS = 3600.0
MOST_WORDS = 300
"""Of a service's message that are passed on."""

BUSY_STATUSES = frozenset({429, 500, 502, 503, 504, 529})

_FINISHES = {
    "stop": Finish.STOP,
    "tool_calls": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "length": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
    "refusal": Finish.REFUSAL,
}

# Wordings of OpenAI, Anthropic, Mistral, vLLM, llama.cpp, Gemini and the proxies before them.
_OVERFLOW = re.compile(
    r"context[ _]length|context[ _]window|maximum context|context_length_exceeded|prompt is too long"
    r"|input is too long|input length|too many (?:input )?tokens|exceeds? the (?:available )?context"
    r"|request_too_large|token count .* exceeds",
    re.IGNORECASE,
)
_RATE = re.compile(r"rate[ _-]?limit|too many requests|tokens per min|requests per min|quota", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Fault:
    """A try that may go better next time; *retry_after_seconds* if the service said when."""

    words: str
    retry_after_seconds: float | None = None


class OpenAIModel:
    """core.ports.Model over any OpenAI-compatible service.

    The limit of a reply is sent as ``max_tokens``: every such service knows it, while
    ``max_completion_tokens`` is refused or ignored by many. A *base_url* without a path gets ``/v1``.
    The library is imported here, not with the module, since that takes half a second. Its own
    environment variables for organization and project are not read.
    """

    def __init__(
        self,
        model: str,
        *,
        clock: Clock,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """*api_key* None is for servers that ask for none; *jitter* gives numbers from 0 up to 1."""
        import openai

        self._openai = openai
        self._model = model
        self._clock = clock
        self._key = api_key
        self._timeout_seconds = timeout_seconds
        self._retries = retries
        self._jitter = jitter
        self._client = openai.AsyncOpenAI(
            api_key=api_key or "none",
            base_url=_with_version(base_url or DEFAULT_BASE_URL),
            max_retries=0,
            timeout=openai.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds)),
        )
        self._client.organization = self._client.project = self._client.admin_api_key = None

    async def reply(self, request: Request) -> ModelReply:
        """The model's whole reply, after as many tries as it may take.

        Raises ModelBusy (later may work, with the seconds if the service said them), ModelOverflow (the
        history is too long), ModelRefused (this request won't do), ModelError (key, model or address).
        """
        try:
            async with self._clock.timeout(self._timeout_seconds):
                return await self._try(_body(request, request.model or self._model))
        except TimeoutError:
            raise ModelBusy(f"the model's service gave no answer in {self._timeout_seconds:g} s") from None

    async def close(self) -> None:
        """Its connections are closed."""
        await self._client.close()

    async def _try(self, body: Mapping[str, Any]) -> ModelReply:
        attempt = 0
        while True:
            answer = await self._ask(body)
            if isinstance(answer, ModelReply):
                return answer
            wait = answer.retry_after_seconds
            if attempt == self._retries or (wait is not None and wait > PATIENCE_SECONDS):
                raise ModelBusy(answer.words, retry_after_seconds=wait)
            attempt += 1
            await self._clock.sleep(self._delay(attempt) if wait is None else wait)

    def _delay(self, attempt: int) -> float:
        """Before retry *attempt*, from 1: doubled each time, and up to a quarter more (runtime.md §4.2)."""
        doubled = FIRST_DELAY_SECONDS * 2.0 ** min(attempt - 1, 10)
        return min(doubled, LONGEST_DELAY_SECONDS) * (1 + self._jitter() / 4)

    async def _ask(self, body: Mapping[str, Any]) -> ModelReply | _Fault:
        openai = self._openai
        try:
            # As extra_body the history is sent as it is; as messages the library walks it against its
            # types first, which took a sixth of a turn's processor time (bench/turns.py).
            raw = await self._client.chat.completions.with_raw_response.create(
                model=body["model"], messages=[], extra_body=body
            )
        except openai.APIStatusError as error:
            status, words = error.status_code, self._said(error.body)
            return self._judge(status, words, error.response.headers.get("retry-after"), body["model"])
        except openai.APITimeoutError:
            return _Fault(words="the model's service did not answer in time")
        except openai.APIConnectionError as error:
            cause = type(error.__cause__).__name__ if error.__cause__ else "no connection"
            return _Fault(words=f"the model's service can't be reached ({cause})")
        return self._read(raw.http_response.content, body["model"])

    def _judge(self, status: int, words: str, retry_after: str | None, model: str) -> _Fault:
        """The fault, if another try may help. Raises the error that says what else to do."""
        said = f": {words}" if words else ""
        if status in BUSY_STATUSES and not _overflows(words):
            seconds = None if retry_after is None else _seconds(retry_after, self._clock.now())
            return _Fault(words=f"the model's service is busy ({status}){said}", retry_after_seconds=seconds)
        if status == 413 or _overflows(words):
            raise ModelOverflow(f"the request is longer than the model takes ({status}){said}") from None
        if status in (400, 422):
            raise ModelRefused(f"the model's service refuses the request ({status}){said}") from None
        check = {
            401: "check the API key",
            403: f"check that the API key may use the model {model}",
            404: f"check the model's name, {model}, and the base address",
        }.get(status, f"check the base address and the service{said}")
        raise ModelError(f"the model's service answered {status}: {check}") from None

    def _read(self, content: bytes, model: str) -> ModelReply | _Fault:
        """The reply in a 200's body; a body that is none is the service's fault, not the model's silence."""
        try:
            said = json.loads(content)
        except (ValueError, RecursionError):
            return _Fault(words="the model's service sent a body that is no JSON" if content else _EMPTY)
        if isinstance(said, dict) and said.get("error"):  # what some proxies put into a 200
            words = self._said(said)
            if _overflows(words):
                raise ModelOverflow(f"the request is longer than the model takes: {words}")
            return _Fault(words=f"the model's service reports an error: {words}")
        return _reply(said, model) or _Fault(words="the model's service sent a body that is no reply")

    def _said(self, body: object) -> str:
        """The message in an error's body, on one line, short, and without the key should it repeat it."""
        inner = body.get("error", body) if isinstance(body, dict) else body
        words = inner.get("message", "") if isinstance(inner, dict) else inner
        code = inner.get("code") if isinstance(inner, dict) else None
        text = " ".join(f"{words or ''} {f'({code})' if code else ''}".split())
        if self._key:
            text = text.replace(self._key, "…")
        return text if len(text) <= MOST_WORDS else f"{text[: MOST_WORDS - 1]}…"


_EMPTY = "the model's service sent an empty body"


def _overflows(words: str) -> bool:
    return _OVERFLOW.search(words) is not None and _RATE.search(words) is None


def _with_version(base_url: str) -> str:
    return base_url if urlsplit(base_url).path.strip("/") else f"{base_url.rstrip('/')}/v1"


def _seconds(retry_after: str, now: datetime) -> float | None:
    """What a Retry-After says, seconds or a date, at most an hour; None if it says nothing."""
    text = retry_after.strip()
    if re.fullmatch(r"[0-9]{1,15}(\.[0-9]+)?", text, re.ASCII):
        return min(float(text), LONGEST_RETRY_AFTER_SECONDS)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max((at - now).total_seconds(), 0.0), LONGEST_RETRY_AFTER_SECONDS)


# ── to the wire ──────────────────────────────────────────────────────────────────────────────


def _body(request: Request, model: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model,
        "messages": [_message(turn) for turn in request.turns],
        "max_tokens": request.max_tokens,
    }
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    return body


def _message(turn: Turn) -> dict[str, Any]:
    if turn.role == "tool":
        return {"role": "tool", "tool_call_id": turn.call_id, "content": turn.text or ""}
    if not turn.calls:
        return {"role": turn.role, "content": turn.text or ""}
    asked = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in turn.calls
    ]
    return {"role": turn.role, "content": turn.text, "tool_calls": asked}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    parameters = json.loads(dump(spec.parameters))  # the library can't write a Decimal
    return {
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": parameters},
    }


# ── from the wire ────────────────────────────────────────────────────────────────────────────


def _reply(said: object, model: str) -> ModelReply | None:
    """The reply in a body's JSON, or None if it holds none."""
    choices = said.get("choices") if isinstance(said, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not (isinstance(said, dict) and isinstance(choice, dict) and isinstance(message, dict)):
        return None
    asked = message.get("tool_calls")
    refusal = message.get("refusal")
    refused = isinstance(refusal, str) and bool(refusal)
    return ModelReply(
        text=_text(message.get("content")) or (_text(refusal) if refused else None),
        calls=tuple(_call(call) for call in asked) if isinstance(asked, list) else (),
        finish=Finish.REFUSAL if refused else _FINISHES.get(str(choice.get("finish_reason")), Finish.STOP),
        usage=_usage(said.get("usage")),
        model=str(said.get("model") or model),
    )


def _text(content: object) -> str | None:
    """The words of a message, also where a service sends them in parts; half characters become U+FFFD."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str) or not content:
        return None
    return content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _call(call: object) -> WireCall:
    """One tool call, whatever it looks like: none is dropped, since each needs its result."""
    given = call if isinstance(call, dict) else {}
    function = given.get("function")
    function = function if isinstance(function, dict) else {}
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)  # some local servers send the object itself
    return WireCall(
        id=str(given.get("id") or ""), name=str(function.get("name") or ""), arguments=arguments or ""
    )


def _usage(usage: object) -> Usage:
    given = usage if isinstance(usage, dict) else {}
    return Usage(
        tokens_in=_count(given.get("prompt_tokens")), tokens_out=_count(given.get("completion_tokens"))
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
