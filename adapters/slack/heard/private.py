"""What one person alone is told: by the address that came with their click, in the thread, or in a modal.

It is told after the request was answered: Slack waits three seconds for us, and we for nothing of it.
"""

from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from slack_sdk.webhook.async_client import AsyncWebhookClient

from adapters.slack.client import TIMEOUT_SECONDS, Clients
from adapters.slack.errors import called
from adapters.slack.heard.actors import Actor
from adapters.slack.places import spot
from adapters.slack.shown.answers import messages_of
from adapters.slack.shown.posts import Message
from core.chat import Answer, ChatMessage
from core.errors import ChatError
from core.route import ChatKind


class Afterwards(Protocol):
    """Keeps what goes on after an answer was given."""

    def start(self, work: Coroutine[Any, Any, object], what: str) -> None: ...


REMEMBERED: Final = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Private:
    """*answered*: messages whose writers were told: a mention comes as two events, and is answered once."""

    clients: Clients
    afterwards: Afterwards
    answered: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def tell(self, response_url: str, answer: Answer) -> None:
        """Whoever clicked or typed is told *answer*, by what came with it."""
        self.send(response_url, messages_of(answer))

    def send(self, response_url: str, messages: tuple[Message, ...]) -> None:
        if messages:
            self.afterwards.start(self._sent(response_url, messages), "a private answer")

    async def _sent(self, response_url: str, messages: tuple[Message, ...]) -> None:
        client = AsyncWebhookClient(
            response_url, session=self.clients.session, timeout=TIMEOUT_SECONDS, retry_handlers=[]
        )
        for message in messages:
            sent = await client.send(
                text=message.text,
                blocks=message.blocks,
                response_type="ephemeral",
                replace_original=False,
                unfurl_links=False,
            )
            if sent.status_code != 200:
                raise ChatError(f"Slack took no private answer: {sent.status_code}")

    def tell_writer(self, actor: Actor, message: ChatMessage, answer: Answer) -> None:
        """Who wrote *message* is told *answer*: in their direct messages for good, elsewhere for a while."""
        messages = messages_of(answer)
        if messages and message.event_id not in self.answered:
            self.answered.append(message.event_id)
            self.afterwards.start(self._told(actor, message, messages), "a private answer")

    async def _told(self, actor: Actor, to: ChatMessage, messages: tuple[Message, ...]) -> None:
        client = self.clients.of(actor.installation)
        where = spot(to.place.speaks)
        in_thread = where.ts if to.place.kind is ChatKind.DIRECT or to.place.thread else None
        for message in messages:
            if to.place.kind is ChatKind.DIRECT:
                await called(
                    client.chat_postMessage(
                        channel=where.channel, thread_ts=in_thread, text=message.text, blocks=message.blocks
                    )
                )
            else:
                await called(
                    client.chat_postEphemeral(
                        channel=where.channel,
                        user=actor.user,
                        thread_ts=in_thread,
                        text=message.text,
                        blocks=message.blocks,
                    )
                )
