"""A small shop as core's values: its people, tools and tasks, and the cards that core makes of them.

Nothing here is made up beside core: a card is what `core.cards.card` says of the rows.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from core.agents import Agent
from core.builtins import ASK_OWNER
from core.calls import Call, CallState, Outcome, ParksAs
from core.cards import Card, card
from core.gate import Risk, Verdict
from core.host import BaseHost
from core.ids import CallId, OrgId, ParkId, PersonId, TaskId, Token
from core.parks import TOGETHER, DecisionKind, Park, ParkKind, ParkState, shown_hash
from core.people import Organization, Person, Role, Roster
from core.ports import Story
from core.shown import ROOM, Room
from core.tasks import Json, Message, MessageKind, Origin, Task, TaskState
from core.tools import Tool, ToolContext

ORG: Final = OrgId("mugs")
AT: Final = datetime(2026, 11, 30, 13, 58, tzinfo=UTC)
ADA: Final = Person(org=ORG, id=PersonId("ada"), name="Ada", roles=frozenset({Role.OWNER}))
BEN: Final = Person(org=ORG, id=PersonId("ben"), name="Ben", roles=frozenset({Role.APPROVER}))
ROSTER: Final = Roster(organization=Organization(id=ORG, name="Mugs & More"), people=(ADA, BEN))
MARA: Final = "mara.lind@example.com"


async def _never_run(args: Mapping[str, Json], context: ToolContext) -> None:
    raise AssertionError("a card runs nothing")


def _tool(
    name: str, risk: Risk, properties: dict[str, Json], *, fixed: tuple[str, ...] = (), **more: Any
) -> Tool:
    """A tool of the shop; *fixed*: arguments that nobody changes on a card."""
    return Tool(
        name=name,
        description="",
        risk=risk,
        parameters={
            "type": "object",
            "properties": properties,
            "required": [key for key, said in properties.items() if "default" not in said],
        },
        handler=_never_run,
        editable=frozenset(properties) - set(fixed),
        **more,
    )


_TEXT: Final[Json] = {"type": "string"}

SHIPMENT: Final[dict[str, Json]] = {
    "order_id": _TEXT,
    "address": {"type": "string", "title": "Where to", "maxLength": 400},
    "weight_kg": {"type": "number", "title": "Weight", "exclusiveMinimum": 0, "maximum": 30},
    "insured": {"type": "boolean"},
    "carrier": {"type": "string", "enum": ["Courier", "Parcel post", "Pick-up point"]},
    "pickup_date": {"type": "string", "format": "date", "title": "Picked up on"},
    "contents": {
        "type": "array",
        "items": _TEXT,
        "maxItems": 20,
        "description": "as the customs form has it",
    },
    "extras": {
        "type": "array",
        "items": {"type": "string", "enum": ["Fragile", "Gift wrap", "Signature"]},
    },
    "customs": {"type": "object", "properties": {"code": _TEXT, "value": {"type": "number"}}},
    "note": {"type": "string", "description": "printed on the label", "default": ""},
}
"""An argument of every kind that a form asks for."""

_TOOLS: Final = (
    _tool("read_mail", Risk.READ, {"folder": _TEXT}, taints=True),
    _tool("read_orders", Risk.READ, {}),
    _tool(
        "refund",
        Risk.SPEND,
        {
            "order_id": _TEXT,
            "customer_email": _TEXT,
            "amount": {"type": "number", "exclusiveMinimum": 0, "maximum": 100},
            "currency": {"type": "string", "enum": ["USD", "EUR"]},
            "reason": _TEXT,
        },
        fixed=("order_id", "customer_email"),
    ),
    _tool("send_note", Risk.CONTACT, {"to": _TEXT, "subject": _TEXT, "text": _TEXT}, fixed=("to",)),
    _tool("remove_contact", Risk.REMOVE, {"email": _TEXT, "reason": _TEXT}),
    _tool("publish_post", Risk.CONTACT, {"blog": _TEXT, "title": _TEXT, "text": _TEXT}),
    _tool("book_shipment", Risk.SPEND, SHIPMENT, fixed=("order_id",)),
    _tool("wait_for_reply", Risk.READ, {"to": _TEXT}, parks_as=ParksAs.REPLY),
    _tool("delegate", Risk.READ, {"teammate": _TEXT, "goal": _TEXT}, parks_as=ParksAs.CHILD),
    ASK_OWNER,
)
TOOLS: Final[Mapping[str, Tool]] = MappingProxyType({tool.name: tool for tool in _TOOLS})


class ShopHost(BaseHost):
    """Sam looks after orders, Kim writes."""

    def __init__(self) -> None:
        self.agents = {"sam": Agent(key="sam", name="Sam"), "kim": Agent(key="kim", name="Kim")}
        self.tools = dict(TOOLS)


HOST: Final = ShopHost()


# ── rows ─────────────────────────────────────────────────────────────────────────────────────


def token(name: str) -> Token:
    """22 characters, as a button's token has them; always the same ones of *name*."""
    return Token(base64.urlsafe_b64encode(hashlib.sha256(name.encode()).digest()[:16]).decode().rstrip("="))


def task(goal: str = "Refund the mug that arrived broken", **over: Any) -> Task:
    """One that Ada asked for, waiting."""
    plain = Task(
        org=ORG,
        id=TaskId("task"),
        number=41,
        agent="sam",
        origin=Origin.OWNER,
        requester=ADA.id,
        goal=goal,
        state=TaskState.WAITING,
        round=2,
        created_at=AT - timedelta(minutes=2),
    )
    return replace(plain, **over)


def call(tool: str, args: Json, number: int = 1, **over: Any) -> Call:
    """The model's call number *number* of the task, which asks first."""
    made = TOOLS.get(tool)
    risk = str(made.risk) if made else "contact"
    plain = Call(
        org=ORG,
        id=CallId(f"call-{number}"),
        task_id=TaskId("task"),
        number=number,
        episode=1,
        round=2,
        ordinal=number,
        tool=tool,
        tool_digest="",
        risk=risk,
        pure=False,
        proposed_args=args,
        args=args,
        args_hash="",
        verdict=Verdict.ASK,
        rule=f"{risk}:owner:ask",
        state=CallState.PARKED,
    )
    return replace(plain, **over)


def ran(made: Call, outcome: Outcome, result: Json, **over: Any) -> Call:
    return replace(made, state=CallState.SETTLED, outcome=outcome, result=result, **over)


def park(about: Call | None, **over: Any) -> Park:
    """What *about* waits for: a click, for a week."""
    number = 0 if about is None else about.number
    version = over.get("version", 1)
    hash_ = shown_hash(
        org=ORG,
        agent="sam",
        tool=about.tool if about else "",
        tool_digest="",
        risk=about.risk if about else "",
        account=None,
        args=about.args if about else {},
    )
    plain = Park(
        org=ORG,
        id=ParkId(f"park-{number}.{version}"),
        token=token(f"{about.tool if about else ''} {number}.{version}"),
        task_id=TaskId("task"),
        call_id=None if about is None else about.id,
        kind=ParkKind.APPROVAL,
        holds=True,
        shown={},
        shown_hash=hash_,
        created_at=AT,
        expires_at=AT + timedelta(days=7),
    )
    return replace(plain, **over)


def decided(decision: DecisionKind, **over: Any) -> dict[str, Any]:
    """Of a park that Ben settled four minutes after it was asked."""
    at = AT + timedelta(minutes=4)
    return {
        "state": ParkState.DECIDED,
        "decision": decision,
        "by_person": BEN.id,
        "decided_at": at,
        **over,
    }


def said(text: str, kind: MessageKind = MessageKind.ASSISTANT, seq: int = 2, **body: Json) -> Message:
    """Words of the round that the calls are of."""
    return Message(seq=seq, episode=1, round=2, kind=kind, body={"text": text, **body}, at=AT)


def shown(
    *pairs: tuple[Park, Call | None],
    about: Task | None = None,
    messages: tuple[Message, ...] = (),
    before: tuple[Call, ...] = (),
    room: Room | None = ROOM,
    **over: Any,
) -> Card:
    """The card of *pairs*, as a chat shows it. *before*: calls of the task that are not on it."""
    several = len(pairs) > 1
    made = [(replace(p, shown={**p.shown, TOGETHER: len(pairs)}) if several else p, c) for p, c in pairs]
    of = about or task()
    goal = Message(seq=1, episode=1, round=0, kind=MessageKind.GOAL, body={"text": of.goal}, at=of.created_at)
    story = Story(
        task=of,
        messages=(goal, *messages),
        calls=(*before, *(c for _, c in made if c is not None)),
        parks=tuple(p for p, _ in made),
        audit=(),
    )
    return replace(card(story, made, ROSTER, HOST, room), **over)


def asks(tool: str, args: Json, **over: Any) -> Card:
    """The card of one call of *tool*; *over*: of `shown`."""
    made = call(tool, args)
    return shown((park(made), made), **over)


REFUND: Final[Mapping[str, Json]] = MappingProxyType(
    {
        "order_id": "A7",
        "customer_email": MARA,
        "amount": Decimal("24.00"),
        "currency": "USD",
        "reason": "The mug arrived broken",
    }
)
NOTE: Final[Mapping[str, Json]] = MappingProxyType(
    {
        "to": MARA,
        "subject": "Your order A7",
        "text": "Hello Mara,\n\nwe are sorry that the mug arrived broken. Your $24.00 are on their way back, "
        "and a new mug leaves on Wednesday.\n\nSam, Mugs & More",
    }
)
