"""The shop's model: words by script, picked by what the history holds, so that any process can go on.

It does what a careful model would: reads the orders, finds the one that was meant, proposes one refund, and
says what came of it by the result it was given. It is no judge of anything; the gate is.
"""

import json
import re
from collections.abc import Sequence
from decimal import Decimal

from core.canonical import NotJson, dump, load
from core.model import Finish, ModelReply, Request, Turn, Usage, WireCall
from core.tasks import Json

CAN = (
    "I look after the shop's orders. Ask me to refund one, by what was bought or by its number: "
    "“refund the mug that arrived broken”."
)

_REFUND = re.compile(r"\brefund|money back|pay back|reimburse", re.IGNORECASE)
_AMOUNT = re.compile(r"(?<![\w.])(?:(\d{1,6}\.\d{1,2})(?![\w.])|(\d{1,6}) ?(?:EUR|euros?|€))", re.IGNORECASE)
_NOTE = re.compile(r"^\[note\] The owner says of refund \(call \d+\): it (.+?)\.")
_WORD = re.compile(r"[A-Za-z0-9]+")


class ShopModel:
    """core.ports.Model by script, the same answer to the same history."""

    async def reply(self, request: Request) -> ModelReply:
        turns = request.turns
        start = max((n for n, turn in enumerate(turns) if _asks(turn)), default=None)
        if start is None:
            return _says(CAN)
        asked, since = (turns[start].text or "").partition("\n\n[note]")[0], turns[start + 1 :]
        orders = _orders(since)
        if not request.tools:
            return _says("I stop here; what was done is on record.")
        if not _REFUND.search(asked):
            return _says(CAN)
        if orders is None:
            return _calls("read_orders", {}, turns)
        tried = [(c, r) for c, r in _results(since) if c.name == "refund"]
        if tried:
            return _says(_since_said(since) or _came_of_it(*tried[-1]))
        return _propose(asked, orders, turns)


def _asks(turn: Turn) -> bool:
    """The owner's words, not a note of ours or a result."""
    return turn.role == "user" and not (turn.text or "").startswith("[note]")


def _results(turns: Sequence[Turn]) -> list[tuple[WireCall, str]]:
    """Each call with its result, in order."""
    results = {turn.call_id: turn.text or "" for turn in turns if turn.role == "tool"}
    return [(c, results[c.id]) for turn in turns for c in turn.calls if c.id in results]


def _orders(turns: Sequence[Turn]) -> list[dict[str, Json]] | None:
    """The orders as read since the owner's words; None while they are not."""
    for call, result in reversed(_results(turns)):
        if call.name == "read_orders":
            try:
                found: list[dict[str, Json]] = load(result)
            except json.JSONDecodeError:
                return []
            return found
    return None


def _propose(asked: str, orders: list[dict[str, Json]], turns: Sequence[Turn]) -> ModelReply:
    order = _meant(asked, orders)
    if order is None:
        listed = ", ".join(f"{o['id']} ({o['item']})" for o in orders)
        return _says(f"I can't tell which order you mean. There are {listed or 'none'}.")
    if (left := Decimal(order["paid"]) - Decimal(order["refunded"])) <= 0:
        return _says(f"{order['id']} is refunded already, all of it.")
    named = _AMOUNT.search(asked)
    amount = Decimal(named.group(1) or named.group(2)) if named else left
    return _calls("refund", {"order_id": order["id"], "amount": amount}, turns)


def _meant(asked: str, orders: list[dict[str, Json]]) -> dict[str, Json] | None:
    """The one order whose number, item or customer the words name."""
    words = {word.lower() for word in _WORD.findall(asked)}
    by_id = [o for o in orders if o["id"].lower() in words]
    named = by_id or [o for o in orders if words & {o["item"].lower(), *o["customer"].lower().split()}]
    return named[0] if len(named) == 1 else None


def _since_said(turns: Sequence[Turn]) -> str | None:
    """What the owner said of a refund that nobody knew about; None if nothing."""
    said = [n for turn in turns if (n := _NOTE.search(turn.text or "")) and turn.role == "user"]
    return f"You looked: the refund {said[-1].group(1)}. I leave it at that." if said else None


def _came_of_it(call: WireCall, result: str) -> str:
    """What the owner is told, by the result the call really had."""
    order = _argument(call, "order_id")
    if "may have gone out" in result:
        return (
            f"It is not known whether the refund on {order} went out. I have not repeated it; "
            "please look, and answer the card."
        )
    if "Declined by the owner" in result:
        reason = re.search(r"not run: (.+?)\. Do not propose", result)
        why = f" You said: {reason.group(1)}." if reason else ""
        return f"I did not refund {order}: you declined it.{why}"
    if result.startswith("Error:") or "Error:" in result:
        return f"I did not refund {order}: {result.rpartition('Error: ')[2]}"
    changed = re.search(r"amount (\S+) → (\S+)\.", result)
    done = re.search(r"Refunded ([\d.]+ \w+) on (\S+)\.", result)
    said = f"I refunded {done.group(1)} on {done.group(2)}." if done else result
    return f"{said} You changed it from {changed.group(1)}." if changed else said


def _argument(call: WireCall, name: str) -> str:
    try:
        return str(load(call.arguments).get(name, "?"))
    except (json.JSONDecodeError, AttributeError, NotJson):
        return "?"


def _says(text: str) -> ModelReply:
    return ModelReply(
        text=text, finish=Finish.STOP, usage=Usage(tokens_in=200, tokens_out=40), model="script"
    )


def _calls(name: str, arguments: Json, turns: Sequence[Turn]) -> ModelReply:
    number = sum(len(turn.calls) for turn in turns) + 1
    wire = WireCall(id=f"script-{number}", name=name, arguments=dump(arguments))
    usage = Usage(tokens_in=200, tokens_out=20)
    return ModelReply(text=None, calls=(wire,), finish=Finish.TOOL_CALLS, usage=usage, model="script")
