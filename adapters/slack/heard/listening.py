"""What people do in Slack, brought to the front and answered, each within its request.

A click, a form and a command are decided before Slack is answered; a message is in the inbox by then. What is
told besides is told afterwards. A decision that takes too long is not acknowledged; it goes on by itself, and
its answer follows.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from slack_bolt.context.ack.async_ack import AsyncAck

from adapters.slack.client import Clients
from adapters.slack.errors import called
from adapters.slack.heard.actors import STRANGER, Actor, actor_of, installed_for
from adapters.slack.heard.private import Afterwards, Private
from adapters.slack.heard.requests import (
    MODAL,
    Click,
    Submission,
    click_of,
    kind_of,
    message_of,
    press_of,
    submission_of,
    typed_of,
)
from adapters.slack.installed.workspaces import Workspaces
from adapters.slack.places import Spot, spot
from adapters.slack.shown.answers import messages_of, modal_of
from adapters.slack.shown.home import home_view, stranger_view
from adapters.slack.shown.kit import Block
from adapters.slack.shown.modals import (
    NEW_TASK,
    decline_form,
    edit_form,
    errors_at,
    fields_in,
    new_task_form,
    review,
    stops_too,
    told,
    words_form,
    words_in,
)
from adapters.slack.words import plain
from core.cards import Verb
from core.chat import Answer, ChatMessage, Place, Press, Typed
from core.errors import BadArguments, ChatError, InSeveral, StoreError
from core.front import UNKNOWN, Front
from core.home import home
from core.ids import Token
from core.route import ChatKind
from core.wording import sentence

log = logging.getLogger(__name__)

OLD_FORM: Final = "This form is of an older version, and nothing was done. Press the card's button again."
LATE: Final = "It is done."
NOT_OPENED: Final = "Slack opened no form just now. Press it once more."


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """Seconds that Slack's request is kept for each part of it: Slack gives up after three."""

    decided: float = 1.4  # a decision; then a form may be to open
    opened: float = 1.4  # a form, by what is good for three seconds in all
    stored: float = 2.5  # a message, after which Slack sends it again


@dataclass(frozen=True, kw_only=True, slots=True)
class Listening:
    """*afterwards*: keeps what goes on once a request was answered. *private*: how one person is told."""

    front: Front
    workspaces: Workspaces
    clients: Clients
    afterwards: Afterwards
    private: Private
    pace: Pace = Pace()

    # ── messages ─────────────────────────────────────────────────────────────────────────────

    async def said(self, body: Mapping[str, Any]) -> None:
        """A message is in the inbox. Raises StoreError or TimeoutError: Slack sends it again."""
        actor = await actor_of(self.workspaces, body)
        message = None if actor is None else message_of(body, actor)
        if actor is None or message is None:
            return
        hearing = asyncio.ensure_future(self._heard(actor, message))

        async def heard() -> None:
            self.private.tell_writer(actor, message, await hearing)

        # Not by a time-out: a statement that waits for a lock is not broken off by one.
        await asyncio.wait({hearing}, timeout=self.pace.stored)
        if not hearing.done():
            self.afterwards.start(heard(), "a late message")
            raise TimeoutError("a message is not stored yet")
        await heard()

    async def _heard(self, actor: Actor, message: ChatMessage) -> Answer:
        if not actor.foreign:
            return await self.front.said(message)
        answer = await self.front.said_by(None, message)
        return replace(answer, words=STRANGER) if answer.words else answer

    async def _typed(self, actor: Actor, typed: Typed) -> Answer:
        return Answer(words=STRANGER) if actor.foreign else await self.front.typed(typed)

    async def _pressed(self, actor: Actor, press: Press) -> Answer:
        if not actor.foreign:
            return await self.front.pressed(press)
        await self.front.pressed_by(None, press)  # for the record
        return Answer(words=STRANGER)

    # ── buttons ──────────────────────────────────────────────────────────────────────────────

    async def clicked(self, body: Mapping[str, Any], ack: AsyncAck) -> None:
        """What was pressed is decided, and Slack answered; else StoreError, and it may be pressed again."""
        click, actor = click_of(body), await actor_of(self.workspaces, body)
        if actor is None or click.is_link:
            if actor is None and click.response_url is not None:
                self.private.tell(click.response_url, Answer(words=STRANGER))
            await ack()
            return

        async def late(answer: Answer) -> None:  # what opens a form has expired by then
            self._tell(actor, click, answer if answer.words else Answer(words=_by_command(click)))

        await self._shown(actor, click, await self._in_time(self._decided(actor, click), late))
        await ack()

    async def _decided(self, actor: Actor, click: Click) -> Answer:
        if click.command is not None:
            here = Place(
                chat=str(Spot(workspace=actor.installation.name, channel=actor.user)), kind=ChatKind.DIRECT
            )
            event_id = f"{actor.account.ref}:{click.event_id}"
            return await self._typed(
                actor, Typed(account=actor.account, event_id=event_id, text=click.command, place=here)
            )
        press = press_of(click, actor)
        if press.verb == Verb.DECLINE and not actor.foreign:  # it is asked why first
            stands_against = await self.front.begins(press)
            return Answer(asks=Verb.DECLINE) if not stands_against.words else stands_against
        return await self._pressed(actor, press)

    async def _shown(self, actor: Actor, click: Click, answer: Answer) -> None:
        """What the click was answered with: a form, the whole of a call, or words to who pressed it."""
        view = self._form(click, answer)
        if view is not None:
            opened = await self._opened(actor, click.trigger_id, view, onto=click.inside == MODAL)
            if opened and answer.pages:
                await self.front.saw(press_of(click, actor))
            if not opened:
                self._tell(actor, click, Answer(words=_by_command(click)))
        elif not answer.done or click.shown is None:  # else the card itself says so
            self._tell(actor, click, answer)
        if click.inside is not None and view is None:
            self.afterwards.start(self._published(actor), "a home page")

    def _form(self, click: Click, answer: Answer) -> Block | None:
        if answer.form is not None:
            return edit_form(answer.form, click.value, answer.form.tool.name)
        if answer.asks == Verb.DECLINE:
            return decline_form(click.value)
        if answer.asks is not None:
            verb = press_verb(click)
            return words_form(verb, click.value, answer.asks)
        if answer.pages:
            return review(answer)
        return None

    async def _opened(self, actor: Actor, trigger_id: str, view: Block, *, onto: bool = False) -> bool:
        """Whether *view* is before who pressed, *onto* another one. Within the request: the id expires."""
        client = self.clients.of(actor.installation)
        open_it = client.views_push if onto else client.views_open
        try:
            async with asyncio.timeout(self.pace.opened):
                await called(open_it(trigger_id=trigger_id, view=view))
        except (ChatError, TimeoutError) as error:
            log.warning("a form could not be opened: %s", error)
            return False
        return True

    def _tell(self, actor: Actor, click: Click, answer: Answer) -> None:
        view = modal_of(answer)
        if click.inside is None and click.response_url is not None:
            self.private.tell(click.response_url, answer)
        elif click.inside == MODAL and view is not None:
            self.afterwards.start(self._updated(actor, click.view_id, view), "an answer in a modal")
        elif not answer.done and view is not None:
            self.afterwards.start(self._opened(actor, click.trigger_id, view), "an answer in a modal")

    async def _updated(self, actor: Actor, view_id: str, view: Block) -> None:
        """The open modal shows *view* instead; they may have closed it."""
        with suppress(ChatError):
            await called(self.clients.of(actor.installation).views_update(view_id=view_id, view=view))

    # ── forms ────────────────────────────────────────────────────────────────────────────────

    async def submitted(self, body: Mapping[str, Any], ack: AsyncAck) -> None:
        """A form's decision is taken, or what is wrong stands at its fields; Slack is answered with that."""
        actor = await actor_of(self.workspaces, body)
        if actor is None:
            await ack(response_action="clear")
            return
        said = submission_of(body, actor)
        if said.about is None:
            await ack(response_action="update", view=told(OLD_FORM))
            return

        async def late(answer: Answer) -> None:
            await self._updated(actor, body["view"].get("id", ""), told(answer.words or LATE))

        try:
            answer = await self._in_time(self._taken(actor, said), late)
        except BadArguments as error:
            await ack(response_action="errors", errors=errors_at(error.problems, said.values))
            return
        if answer.done or not answer.words:
            self.afterwards.start(self._published(actor), "a home page")
            await ack(response_action="clear")
        else:
            await ack(response_action="update", view=told(answer.words))

    async def _taken(self, actor: Actor, said: Submission) -> Answer:
        assert said.about is not None
        words = words_in(said.values)
        if said.about.verb == NEW_TASK:
            return await self._heard(actor, _goal(actor, said, words))
        verb = said.about.verb
        if verb == Verb.DECLINE and stops_too(said.values):
            verb = Verb.DECLINE_STOP
        press = Press(
            account=actor.account,
            event_id=said.event_id,
            verb=verb,
            token=Token(said.about.token),
            words=words or None,
            fields=fields_in(said.values) if verb == Verb.EDIT else None,
        )
        answer = await self._pressed(actor, press)
        if answer.asks is not None:  # nothing was said: the form asks once more
            raise BadArguments({"": answer.asks})
        return answer

    # ── commands, shortcuts, the home page ───────────────────────────────────────────────────

    async def commanded(self, body: Mapping[str, Any], ack: AsyncAck) -> None:
        """What was typed is done, and its answer is the request's; what does not fit into one comes after."""
        actor = await actor_of(self.workspaces, body)
        if actor is None:
            await ack(UNKNOWN)
            return

        async def late(answer: Answer) -> None:
            self.private.tell(body["response_url"], answer)

        answer = await self._in_time(self._typed(actor, typed_of(body, actor)), late)
        messages = messages_of(answer)
        if not messages:
            await ack()
            return
        first, *rest = messages
        await ack(text=first.text, blocks=first.blocks, response_type="ephemeral")
        self.private.send(body["response_url"], tuple(rest))

    async def made_a_task(self, body: Mapping[str, Any], ack: AsyncAck) -> None:
        """A message becomes a task once who wants that has seen its words and sent them."""
        actor = await actor_of(self.workspaces, body)
        if actor is not None:
            message, channel = body.get("message") or {}, body["channel"]["id"]
            chat = str(Spot(workspace=actor.installation.name, channel=channel))
            thread = message.get("thread_ts") or message.get("ts") or body.get("message_ts")
            text = plain(message.get("text") or "", actor.installation.bot_user)
            view = told(STRANGER) if actor.foreign else new_task_form(text, chat, f"{chat}/{thread}")
            opened = await self._opened(actor, body["trigger_id"], view)
            if not opened and body.get("response_url"):
                self.private.tell(body["response_url"], Answer(words=NOT_OPENED))
        await ack()

    async def came_home(self, body: Mapping[str, Any]) -> None:
        """Their page is made anew."""
        actor = await actor_of(self.workspaces, body)
        if actor is not None and body["event"].get("tab") == "home":
            self.afterwards.start(self._published(actor), "a home page")

    async def removed(self, body: Mapping[str, Any]) -> None:
        """The bot is not in that workspace any more; a revoked token that is no bot's changes nothing."""
        event = body["event"]
        if event["type"] != "tokens_revoked" or (event.get("tokens") or {}).get("bot"):
            at = datetime.fromtimestamp(int(body["event_time"]), UTC)
            await self.workspaces.left(*installed_for(body), at)

    async def _published(self, actor: Actor) -> None:
        client = self.clients.of(actor.installation)
        await called(client.views_publish(user_id=actor.user, view=await self._page(actor)))

    async def _page(self, actor: Actor) -> Block:
        if actor.foreign:
            return stranger_view(STRANGER)
        desk = self.front.desk
        try:
            who = await desk.store.people.by_account(actor.account)
        except InSeveral as error:
            return stranger_view(sentence(str(error)))
        if who is None:
            return stranger_view(UNKNOWN)
        return home_view(await home(desk, self.front.clock, who, self.front.room))

    # ── time ─────────────────────────────────────────────────────────────────────────────────

    async def _in_time(
        self,
        work: Coroutine[Any, Any, Answer],
        late: Callable[[Answer], Coroutine[Any, Any, None]],
    ) -> Answer:
        """What *work* answers. Raises TimeoutError where that takes too long.

        Slack is told then that it went wrong, since nothing is decided yet; the work goes on, and *late* has
        its answer, if the process lives so long.
        """
        task = asyncio.ensure_future(work)
        done, _ = await asyncio.wait({task}, timeout=self.pace.decided)
        if done:
            return task.result()

        async def going_on() -> None:
            try:
                answer = await task
            except BadArguments as error:
                answer = Answer(words=error.lines)
            except StoreError:
                log.exception("a late decision was not taken")
                answer = Answer(words="The database did not take it: nothing is decided. Try again.")
            await late(answer)

        self.afterwards.start(going_on(), "a late decision")
        raise TimeoutError("a decision is not taken yet")


def press_verb(click: Click) -> str:
    return Verb.ANSWER if click.action.startswith(Verb.ANSWER) else click.action


def _by_command(click: Click) -> str:
    """What helps where Slack opened no form."""
    return (
        f"{NOT_OPENED.removesuffix('.')}, or use the command: "
        f"/gatepost help {press_verb(click) if click.action != Verb.REVIEW else 'show'}"
    )


def _goal(actor: Actor, said: Submission, words: str) -> ChatMessage:
    """A new task's words, said in the thread of the message that it was made of."""
    assert said.about is not None
    return ChatMessage(
        account=actor.account,
        event_id=said.event_id,
        place=Place(
            chat=said.about.chat, kind=kind_of(spot(said.about.chat).channel), thread=said.about.thread
        ),
        text=f"/new {words}",
        addressed=True,
    )
