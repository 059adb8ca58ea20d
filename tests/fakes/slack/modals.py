"""People who fill in a modal, submit it, or close it, and what becomes of it by the app's answer."""

import json
from dataclasses import dataclass
from typing import Any

from tests.fakes.slack.clicks import Clicking
from tests.fakes.slack.inputs import NotSubmitted, problems_of, state_of
from tests.fakes.slack.limits import check_view
from tests.fakes.slack.things import Delivery, Json, Refused, User, View
from tests.fakes.slack.views import push, replace_view


@dataclass(kw_only=True, eq=False)
class Submitting(Clicking):
    """Whoever submits does so as Slack's client lets them."""

    async def submits(self, user: User | str, values: dict[str, Any] | None = None) -> Delivery:
        """*user* filled in *values* (by block id or action id; the others stay) and submitted their modal.

        An empty answer closes it; errors are kept in ``view.errors``, and it stays.
        Raises NotSubmitted where Slack's client does not let them, LookupError where they have no modal.
        """
        person = self.user_of(user)
        view = self.modal(person)
        self.fills(person, view, values or {})
        if "submit" not in view.body:
            raise LookupError(f"the modal {view.title} has no button to submit it")
        if problems := problems_of(view, person.id):
            raise NotSubmitted(problems)
        payload = self.about(person, view.team) | {
            "type": "view_submission",
            "trigger_id": self.new_trigger(person, view.team, modal=True),
            "view": self._as_filled(view),
            "response_urls": [],
        }
        delivery = await self.delivers_interaction(payload)
        if delivery.accepted:
            self._submitted(view, delivery)
        self.changed()
        return delivery

    async def closes(self, user: User | str, *, all_of_them: bool = False) -> Delivery | None:
        """*user* closed the modal they look at, or all; the app is told if it wanted to be."""
        person = self.user_of(user)
        view = self.modal(person)
        cleared = all_of_them or bool(view.body.get("clear_on_close"))
        self._close(view, cleared=cleared)
        self.changed()
        if not view.body.get("notify_on_close"):
            return None
        payload = self.about(person, view.team) | {
            "type": "view_closed",
            "view": self._as_filled(view),
            "is_cleared": cleared,
        }
        return await self.delivers_interaction(payload)

    def _as_filled(self, view: View) -> Json:
        return view.to_json() | {"state": {"values": state_of(view, view.user)}}

    def _close(self, view: View, *, cleared: bool = False) -> None:
        stack = self.modals.get(view.user, [])
        if cleared:
            stack.clear()
        elif view in stack:
            stack.remove(view)

    def _submitted(self, view: View, delivery: Delivery) -> None:
        """What the answer says becomes of the modal; what makes no sense is a fault, and it stays."""
        view.errors = {}
        try:
            answer = json.loads(delivery.body) if delivery.body else {}
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            self.fault("view_submission", "an answer that is no JSON object", delivery.body[:200])
            return
        match answer.get("response_action"):
            case None:
                if answer:
                    self.fault("view_submission", "an answer without response_action", delivery.body[:200])
                self._close(view)
            case "clear":
                self._close(view, cleared=True)
            case "errors":
                self._complain(view, answer.get("errors"))
            case "update" | "push" as action:
                self._show_next(view, action, answer.get("view"))
            case unknown:
                self.fault("view_submission", "unknown response_action", str(unknown))

    def _complain(self, view: View, errors: Any) -> None:
        if not isinstance(errors, dict) or not errors:
            self.fault("view_submission", "errors name no block")
            return
        inputs = {block["block_id"] for block in view.blocks if block["type"] == "input"}
        for block_id in errors.keys() - inputs:
            self.fault("view_submission", "an error at no input block", block_id)
        view.errors = {block_id: str(text) for block_id, text in errors.items() if block_id in inputs}

    def _show_next(self, view: View, action: str, body: Any) -> None:
        try:
            check_view(body, "modal")
            if action == "update":
                replace_view(self, view, body)
            else:
                push(self, view.team, view.user, body)
        except Refused as refused:
            messages = refused.beside.get("response_metadata", {}).get("messages", ())
            self.fault("view_submission", refused.error, *messages)
