"""The commands people type, in one table: every chat and the command line read it.

What a line means is parsed here, without looking at any row; what it then does is `commanded`'s.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from core.errors import CommandError
from core.ids import call_code, task_number
from core.nearest import nearest
from core.parks import Choice
from core.people import Person, Role
from core.visible import line as one_line

MANY_CHOICES: Final = 3
"""Choices that are written out where a command's use is shown."""
LONGEST_SHOWN: Final = 40
"""Of what somebody typed, in the answer that refuses it."""


class Kind(StrEnum):
    """What an argument is, and so what is accepted for it."""

    CALL = "call"  # t-12.3, or t-12.3v2
    TASK = "task"  # t-12
    CODE = "code"  # a call's or a task's
    AGENT = "agent"  # its folder's name
    WORD = "word"  # one word
    WORDS = "words"  # the rest of the line, as it is
    CHANGES = "changes"  # field=value, some of them


@dataclass(frozen=True, kw_only=True, slots=True)
class Argument:
    name: str
    kind: Kind
    optional: bool = False
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        few = len(self.choices) <= MANY_CHOICES
        shown = ("|".join(self.choices) if few else "") or self.name
        return f"[{shown}]" if self.optional else shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """*right*: the least role that may use it. *shell*: what it is called on the command line."""

    name: str
    arguments: tuple[Argument, ...] = ()
    flags: tuple[str, ...] = ()
    right: Role = Role.MEMBER
    words: str
    example: str
    shell: str

    @property
    def usage(self) -> str:
        """approve CALL"""
        return " ".join([self.name, *map(str, self.arguments), *(f"[--{flag}]" for flag in self.flags)])


def _call(name: str = "CALL") -> Argument:
    return Argument(name=name, kind=Kind.CALL)


def _words(name: str, *, optional: bool = False) -> Argument:
    return Argument(name=name, kind=Kind.WORDS, optional=optional)


SETTLING: Final = tuple(str(choice).replace("_", "-") for choice in Choice)
_CHOICE = Argument(name="CHOICE", kind=Kind.WORD, choices=SETTLING)
_CODE = Argument(name="CODE", kind=Kind.CODE)
_TASK = Argument(name="TASK", kind=Kind.TASK)
_AGENT = Argument(name="AGENT", kind=Kind.AGENT)
_MAYBE_AGENT = Argument(name="AGENT", kind=Kind.AGENT, optional=True)
_ON = Argument(name="STATE", kind=Kind.WORD, optional=True, choices=("on", "off"))

COMMANDS: Final[tuple[Command, ...]] = (
    Command(name="pending", words="Show what waits for a click.", example="pending", shell="pending"),
    Command(
        name="show",
        arguments=(_CODE,),
        words="Show a task, or a call's card.",
        example="show t-12",
        shell="show",
    ),
    Command(
        name="approve",
        arguments=(_call(),),
        right=Role.APPROVER,
        words="Approve a call as its card shows it.",
        example="approve t-12.3",
        shell="approve",
    ),
    Command(
        name="edit",
        arguments=(_call(), Argument(name="FIELD=VALUE…", kind=Kind.CHANGES)),
        right=Role.APPROVER,
        words="Approve a call with other values; the agent is told what changed.",
        example="edit t-12.3 amount=18.50",
        shell="edit",
    ),
    Command(
        name="decline",
        arguments=(_call(), _words("WHY", optional=True)),
        flags=("stop",),
        right=Role.APPROVER,
        words="Decline a call: it is not run, and not asked again unchanged.",
        example="decline t-12.3 wrong order",
        shell="decline",
    ),
    Command(
        name="revise",
        arguments=(_call(), _words("HOW")),
        right=Role.APPROVER,
        words="Send a call back to be changed as you say.",
        example="revise t-12.3 half of it is enough",
        shell="revise",
    ),
    Command(
        name="answer",
        arguments=(_call(), _words("WORDS")),
        right=Role.APPROVER,
        words="Answer an agent's question.",
        example="answer t-12.3 the blue one",
        shell="answer",
    ),
    Command(
        name="connected",
        arguments=(_call(),),
        right=Role.APPROVER,
        words="Say that the account a call waits for is connected.",
        example="connected t-12.3",
        shell="connected",
    ),
    Command(
        name="settle",
        arguments=(_CODE, _CHOICE),
        right=Role.APPROVER,
        words="Say whether a call that may have gone out did, or how far a task at its limit may go.",
        example="settle t-12.3 went-out",
        shell="settle",
    ),
    Command(
        name="tasks",
        arguments=(Argument(name="N", kind=Kind.WORD, optional=True),),
        words="List the newest tasks.",
        example="tasks 10",
        shell="tasks",
    ),
    Command(
        name="new",
        arguments=(_words("GOAL"),),
        words="Open a task; a worker takes it.",
        example="new refund the mug that arrived broken",
        shell="new",
    ),
    Command(
        name="run",
        arguments=(_AGENT, _words("GOAL")),
        words="Open a task for one agent.",
        example="run scout what do people say of the mug?",
        shell="run",
    ),
    Command(
        name="stop",
        arguments=(_TASK,),
        words="Stop a task: nothing of it starts any more.",
        example="stop t-12",
        shell="stop",
    ),
    Command(
        name="agents",
        words="List every agent, its switches, and what each of its tools does.",
        example="agents",
        shell="agents list",
    ),
    Command(name="rules", words="Show who may approve what.", example="rules", shell="org rules"),
    Command(
        name="pause",
        arguments=(_MAYBE_AGENT,),
        right=Role.OWNER,
        words="Pause an agent, or all of them: nothing new starts; what waits is held.",
        example="pause lead",
        shell="agents pause",
    ),
    Command(
        name="resume",
        arguments=(_MAYBE_AGENT,),
        right=Role.OWNER,
        words="Let a paused agent, or all of them, go on.",
        example="resume lead",
        shell="agents resume",
    ),
    Command(
        name="practice",
        arguments=(_AGENT, _ON),
        right=Role.OWNER,
        words="Let an agent practise: its reads run, everything else is only recorded.",
        example="practice lead off",
        shell="agents practice",
    ),
    Command(
        name="audit",
        arguments=(Argument(name="TASK", kind=Kind.TASK, optional=True),),
        right=Role.APPROVER,
        words="Show the newest audit entries, of one task or of all.",
        example="audit t-12",
        shell="audit list",
    ),
    Command(
        name="budget",
        words="Show the tokens each agent used in the last 24 hours, and how many it may.",
        example="budget",
        shell="budget",
    ),
    Command(
        name="join",
        arguments=(Argument(name="CODE", kind=Kind.WORD),),
        words="Link your account here by the code that an owner gave you.",
        example="join K3QF-7MZA-PLXN-2RTD",
        shell="people join",
    ),
    Command(
        name="help",
        arguments=(Argument(name="COMMAND", kind=Kind.WORD, optional=True),),
        words="List the commands, or explain one.",
        example="help approve",
        shell="--help",
    ),
)

BY_NAME: Final[Mapping[str, Command]] = {command.name: command for command in COMMANDS}


def may(who: Person, command: Command) -> bool:
    """Whether *who*'s roles reach to *command*; the rows say again whether a decision is theirs."""
    return not who.left and bool(who.roles & _WITH[command.right])


_WITH: Final[Mapping[Role, frozenset[Role]]] = {
    Role.OWNER: frozenset({Role.OWNER}),
    Role.APPROVER: frozenset({Role.OWNER, Role.APPROVER}),
    Role.MEMBER: frozenset(Role),
}


# ── what a line says ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A command with what was said for its arguments, by their names; a missing optional one is not there."""

    command: Command
    values: Mapping[str, str] = field(default_factory=dict)
    changes: Mapping[str, str] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()


def parse(text: str) -> Line:
    """The command of *text*, ``approve t-12.3``, a leading slash left out.

    Raises CommandError in words that name what is wrong and the mend.
    """
    name, rest = _word(text.strip().removeprefix("/"))
    command = BY_NAME.get(name.casefold())
    if command is None:
        if not name:
            raise CommandError("say a command; `help` lists them")
        near = nearest(name.casefold(), list(BY_NAME))
        raise CommandError(f"there is no command {_shown(name)}{near}; `help` lists them")
    flags, rest = _flags(command, rest)
    values: dict[str, str] = {}
    changes: dict[str, str] = {}
    for argument in command.arguments:
        rest = rest.strip()
        if not rest:
            if argument.optional:
                continue
            raise _wrong(command, f"{command.name} needs {_a(argument)}")
        if argument.kind is Kind.WORDS:
            values[argument.name], rest = rest, ""
        elif argument.kind is Kind.CHANGES:
            changes, rest = _changes(command, rest), ""
        else:
            word, rest = _word(rest)
            values[argument.name] = _checked(command, argument, word)
    if rest.strip():
        raise _wrong(command, f"{command.name} takes no {_shown(rest.strip())}")
    return Line(command=command, values=values, changes=changes, flags=flags)


def joining(text: str) -> str | None:
    """The code of ``join CODE``; None of any other line."""
    name, code = _word(text.strip().removeprefix("/"))
    return code.strip() if name.casefold() == "join" and code.strip() else None


def _word(rest: str) -> tuple[str, str]:
    """The first word, and what comes after it."""
    first, *more = rest.split(maxsplit=1) or [""]
    return first, more[0] if more else ""


def _flags(command: Command, rest: str) -> tuple[frozenset[str], str]:
    """The flags, and what is left; phones make one long dash of two."""
    found = set()
    for flag in command.flags:
        rest, there = re.subn(rf"(?:^|\s)(?:--|—){flag}(?=\s|$)", " ", rest, count=1)
        found |= {flag} if there else set()
    return frozenset(found), rest


def _checked(command: Command, argument: Argument, word: str) -> str:
    folded = word.casefold()
    match argument.kind:
        case Kind.CALL if call_code(folded) is None:
            raise _wrong(command, f"{_shown(word)} is no call's code; those are like t-12.3")
        case Kind.TASK if task_number(folded) is None:
            raise _wrong(command, f"{_shown(word)} is no task's code; those are like t-12")
        case Kind.CODE if call_code(folded) is None and task_number(folded) is None:
            raise _wrong(command, f"{_shown(word)} is no code; those are like t-12, or t-12.3 for a call")
        case Kind.AGENT:
            return word
    if argument.choices and folded not in argument.choices:
        near = nearest(folded, list(argument.choices))
        raise _wrong(command, f"{_shown(word)} is none of {', '.join(argument.choices)}{near}")
    return folded


_CHANGE = re.compile(r'([^\s="“]+)=("(?:[^"\\]|\\.)*"|“[^”]*”|(?!["“])\S*)(?:\s+|$)')
"""A field and its value, in quotes where it has blanks; phones make “ ” of them."""


def _changes(command: Command, rest: str) -> dict[str, str]:
    """``amount=18.50 note="two words"``, by field."""
    found: dict[str, str] = {}
    at = 0
    while at < len(rest):
        change = _CHANGE.match(rest, at)
        if change is None:
            raise _wrong(command, f"write {_shown(rest[at:])} as field=value, with quotes around blanks")
        name, value = change[1], change[2]
        if name in found:
            raise _wrong(command, f"{_shown(name)} is there twice")
        found[name] = _unquoted(value)
        at = change.end()
    return found


def _unquoted(value: str) -> str:
    if value.startswith("“"):
        return value[1:-1]
    return re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL) if value.startswith('"') else value


def _wrong(command: Command, what: str) -> CommandError:
    return CommandError(f"{what}. Like this: {command.example}")


_NEEDS: Final[Mapping[Kind, str]] = {
    Kind.CALL: "a call's code",
    Kind.TASK: "a task's code",
    Kind.CODE: "a code",
    Kind.AGENT: "an agent",
    Kind.CHANGES: "a field and its value: nothing to change",
}


_SAYS: Final[Mapping[str, str]] = {
    "HOW": "to say how it is to be changed",
    "WORDS": "your words",
    "GOAL": "to say what is to be done",
}


def _a(argument: Argument) -> str:
    if argument.choices:
        return f"one of {', '.join(argument.choices)}"
    return _NEEDS.get(argument.kind) or _SAYS.get(argument.name, argument.name)


def _shown(words: str) -> str:
    return one_line(words, LONGEST_SHOWN)


def listed(commands: Sequence[Command] = COMMANDS) -> tuple[tuple[str, str], ...]:
    """How each command is written, and what it does."""
    return tuple((command.usage, command.words) for command in commands)
