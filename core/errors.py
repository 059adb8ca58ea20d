"""Errors, sorted by who must react. Each class's docstring is its message where none is given."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime


class GatepostError(Exception):
    """Something went wrong in Gatepost."""

    def __init__(self, message: str | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        super().__init__(self.message)


# the operator
class ConfigError(GatepostError):
    """A setting is missing or wrong."""


class StoreError(GatepostError):
    """The database did not do what was asked; see the cause."""


class SecretError(GatepostError):
    """This secret can't be kept, or not be opened."""


class IllegalMove(GatepostError):
    """This change is not one that a task, call or park in its state can make."""


# the author of agents and tools
class AgentFolderError(GatepostError):
    """An agent's folder can't be read."""

    def __init__(self, message: str, *, path: str, line: int | None = None) -> None:
        self.path, self.line = path, line
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {message}")


class ToolError(GatepostError):
    """A tool is declared wrongly."""


# the model
class ToolFailed(GatepostError):
    """The tool could not do it."""

    def __init__(self, message: str, *, sent: bool | None = None) -> None:
        """*sent* False: provably nothing went out (C18). True: it may have (C19). None: see tools.run."""
        self.sent = sent
        super().__init__(message)


class BadArguments(GatepostError):
    """The arguments are not what the tool takes."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        """*problems*: what is wrong, by field; the empty name stands for the arguments as a whole."""
        self.problems = dict(problems)
        super().__init__("; ".join(self._said))

    @property
    def lines(self) -> str:
        """What is wrong, a line for each field."""
        return "\n".join(self._said)

    @property
    def _said(self) -> list[str]:
        return [f"{name}: {words}" if name else words for name, words in self.problems.items()]


# the owner
class NeedsConnect(GatepostError):
    """An account is not connected."""

    def __init__(self, account: str, url: str | None = None) -> None:
        self.account, self.url = account, url
        super().__init__(f"{account} is not connected")


# a person who wanted to decide
class DecisionError(GatepostError):
    """This can't be decided."""


class NotYourDecision(DecisionError):
    """You are not among those who may decide this."""


class ParkNotFound(DecisionError, LookupError):
    """Nothing waits under that name."""


class AlreadyDecided(DecisionError):
    """It was already decided."""

    def __init__(self, *, decision: str, did: str, by: str, at: datetime, since: str = "") -> None:
        """*decision*: approved; *did*: approved it; *since*: what has come of it, empty where nothing."""
        self.decision, self.by, self.at, self.since = decision, by, at, since
        super().__init__(f"{by} {did} at {at:%H:%M} UTC{f'; {since}' if since else ''}")


class ParkExpired(DecisionError):
    """It expired before anyone decided, and was not run."""


class ParkWithdrawn(DecisionError):
    """It no longer waits: the task went on without it."""


class OutOfDate(DecisionError):
    """The card is out of date: a newer version waits."""

    def __init__(self, *, version: int) -> None:
        self.version = version
        super().__init__(f"the card is out of date: version {version} waits now")


class NotShown(DecisionError):
    """The card shows only its beginning: open Review first, and read it to its last page."""


class NothingToChange(DecisionError):
    """An edit needs at least one field: nothing to change."""


class CommandError(GatepostError):
    """This is no command, or not how it is written."""


class SwitchError(GatepostError):
    """This can't be switched."""


class RosterError(GatepostError):
    """This can't be changed about who is who."""


class InSeveral(RosterError):
    """This account is linked in several organizations: say in which."""


class TaskNotFound(GatepostError, LookupError):
    """There is no such task."""


# the chat
class ChatError(GatepostError):
    """The chat did not take it."""


class ChatForbidden(ChatError):
    """The chat refuses us there."""


class ChatGone(ChatError):
    """The place in the chat is gone."""


class ChatBusy(ChatError):
    """The chat asks us to wait."""

    def __init__(self, retry_after_seconds: float) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(f"the chat asks us to wait {retry_after_seconds:g} s")


# the model's service
class ModelError(GatepostError):
    """The model's service can't do this request."""


class ModelBusy(ModelError):
    """The model's service is not answering."""

    def __init__(self, message: str | None = None, *, retry_after_seconds: float | None = None) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(message)


class ModelRefused(ModelError):
    """The model's service refuses the request as it stands."""


class ModelOverflow(ModelError):
    """The request is longer than the model takes."""
