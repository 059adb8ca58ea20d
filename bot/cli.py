"""The command line: names, arguments and help. What a command does is imported when it is called.

So ``--help`` answers at once. Errors meant for people leave by one door, `Commands`: one line on stderr and
the exit status, 1 for what can't be done and 2 for what was typed wrongly; never a traceback.
"""

import sys
from collections.abc import Sequence
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bot.cli_organizations import org
from bot.cli_people import people
from bot.options import As
from bot.options import run as _run
from core.errors import GatepostError


class Commands(TyperGroup):
    """The commands, whose errors become a line and a status."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command that *args* name and leave with its status."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # a terminal that lacks a character shows ? for it
                stream.reconfigure(errors="replace")
        try:
            status = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except GatepostError as error:
            status = _say(str(error), 1)
        except typer.TyperException as error:
            status = _say(_usage(error), getattr(error, "exit_code", 2))
        except typer.Abort:
            status = _say("stopped", 130)
        sys.exit(status if isinstance(status, int) else 0)


def _say(words: str, status: int) -> int:
    for line in words.splitlines() or [""]:
        typer.echo(f"error: {line}", err=True)
    return status


def _usage(error: typer.TyperException) -> str:
    """What was typed wrongly, and where the right way stands."""
    said = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "python -m bot"
    return f"{' '.join(str(said).split()).rstrip('.')}. See: {command} --help"


app = typer.Typer(
    name="gatepost",
    cls=Commands,
    rich_markup_mode="rich",
    add_completion=False,
    help="AI agents that ask before they act.",
    epilog="Try it: python -m bot demo",
)
audit = typer.Typer(help="Verify the audit trail.")
agents = typer.Typer(help="See your agents, and switch what they may do.")
app.add_typer(audit, name="audit", rich_help_panel="Look")
app.add_typer(agents, name="agents", rich_help_panel="Decide")
app.add_typer(org, name="org", rich_help_panel="Decide")
app.add_typer(people, name="people", rich_help_panel="Decide")

CallArgument = Annotated[str, typer.Argument(metavar="CALL", help="The call's code on its card: t-12.3")]
TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="The task's code: t-12")]


@app.callback(invoke_without_command=True)
def gatepost(context: typer.Context) -> None:
    """AI agents that ask before they act."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


# ── try it ───────────────────────────────────────────────────────────────────────────────────


@app.command(rich_help_panel="Try it", epilog="Example: python -m bot demo --keep ./shop")
def demo(
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Leave shop.db and gatepost.db in DIR.")
    ] = None,
    kill_at: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Kill a worker at the N-th point of its run instead of at the two fixed moments.",
        ),
    ] = None,
) -> None:
    """Watch a refund wait for a click and survive kill -9, offline, in ten seconds."""
    from bot.demo.play import play

    _run(play(keep=keep, kill_at=kill_at))


@app.command(rich_help_panel="Try it", epilog="Example: python -m bot chat")
def chat(as_: As = None) -> None:
    """Talk to the agents here; what they ask is answered by a key."""
    from bot.chat import chat as talk

    _run(talk(as_))


# ── work ─────────────────────────────────────────────────────────────────────────────────────


@app.command(rich_help_panel="Work", epilog='Example: python -m bot new "refund the mug that arrived broken"')
def new(
    goal: Annotated[str, typer.Argument(metavar="GOAL", help="What is to be done, in your words.")],
    agent: Annotated[
        str | None, typer.Option(metavar="KEY", help="The agent's folder. Default: the chief.")
    ] = None,
    as_: As = None,
) -> None:
    """Open a task; a worker takes it."""
    from bot.commands import ask

    _run(ask.new(goal, agent, as_))


@app.command(rich_help_panel="Work", epilog="Example: python -m bot worker --until-idle")
def worker(
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="Leave once nothing can go on without a person.")
    ] = False,
    no_posts: Annotated[
        bool, typer.Option("--no-posts", help="Leave the terminal's cards and reports to another process.")
    ] = False,
) -> None:
    """Run tasks until told to stop; cards and reports of the terminal go to stdout."""
    from bot.commands import work

    _run(work.work(until_idle=until_idle, posts=not no_posts))


@app.command(rich_help_panel="Work", epilog="Example: python -m bot stop t-12")
def stop(task: TaskArgument, as_: As = None) -> None:
    """Stop a task: nothing of it starts any more."""
    from bot.commands import ask

    _run(ask.stop(task, as_))


# ── look ─────────────────────────────────────────────────────────────────────────────────────


@app.command(rich_help_panel="Look", epilog="Example: python -m bot tasks --limit 10")
def tasks(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, the newest first.")] = 20,
    as_: As = None,
) -> None:
    """List the newest tasks."""
    from bot.commands import look

    _run(look.tasks(as_, limit))


@app.command(rich_help_panel="Look", epilog="Example: python -m bot show t-12")
def show(task: TaskArgument, as_: As = None) -> None:
    """Tell a task's whole story: every call, who decided it, and what ran."""
    from bot.commands import look

    _run(look.show(task, as_))


@app.command(rich_help_panel="Look", epilog="Example: python -m bot pending")
def pending(as_: As = None) -> None:
    """Show the card of each call that waits."""
    from bot.commands import look

    _run(look.pending(as_))


# ── decide ───────────────────────────────────────────────────────────────────────────────────


@app.command(rich_help_panel="Decide", epilog="Example: python -m bot approve t-12.3")
def approve(call: CallArgument, as_: As = None) -> None:
    """Approve a call as its card shows it."""
    from bot.commands import decide

    _run(decide.approve(call, as_))


@app.command(rich_help_panel="Decide", epilog="Example: python -m bot edit t-12.3 amount=18.50")
def edit(
    call: CallArgument,
    changes: Annotated[
        list[str] | None, typer.Argument(metavar="FIELD=VALUE...", help="What is to be other than shown.")
    ] = None,
    as_: As = None,
) -> None:
    """Approve a call with other values; the agent is told what changed."""
    from bot.commands import decide

    _run(decide.edit(call, changes or [], as_))


@app.command(rich_help_panel="Decide", epilog='Example: python -m bot decline t-12.3 "wrong order"')
def decline(
    call: CallArgument,
    reason: Annotated[str | None, typer.Argument(help="Why, for the agent to read.")] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop its task as well.")] = False,
    as_: As = None,
) -> None:
    """Decline a call: it is not run, and not asked again unchanged."""
    from bot.commands import decide

    _run(decide.decline(call, reason, as_, stop=stop))


@app.command(rich_help_panel="Decide", epilog='Example: python -m bot answer t-12.3 "the blue one"')
def answer(
    call: CallArgument,
    words: Annotated[str, typer.Argument(help="Your answer, for the agent to read.")],
    as_: As = None,
) -> None:
    """Answer an agent's question."""
    from bot.commands import decide

    _run(decide.answer(call, words, as_))


@app.command(rich_help_panel="Decide", epilog="Example: python -m bot connected t-12.3")
def connected(call: CallArgument, as_: As = None) -> None:
    """Say that the account a call waits for is connected."""
    from bot.commands import decide

    _run(decide.connected(call, as_))


class Settling(StrEnum):
    """What an unknown call, or a task at its limit, is answered with."""

    WENT_OUT = "went-out"
    DID_NOT = "did-not"
    SEND_AGAIN = "send-again"
    LOOK_UP = "look-up"
    MORE_ROUNDS = "more-rounds"
    MORE_TOKENS = "more-tokens"
    STOP = "stop"


@app.command(
    rich_help_panel="Decide",
    epilog="Examples: python -m bot settle t-12.3 went-out; python -m bot settle t-12 more-rounds",
)
def settle(
    name: Annotated[str, typer.Argument(metavar="CODE", help="t-12.3 for a call, t-12 at a limit.")],
    choice: Annotated[Settling, typer.Argument(help="What you found, or how far it may go.")],
    as_: As = None,
) -> None:
    """Say whether a call that may have gone out did, or how far a task at its limit may go."""
    from bot.commands import decide
    from core.parks import Choice

    _run(decide.settle(name, Choice(choice.value.replace("-", "_")), as_))


# ── operate ──────────────────────────────────────────────────────────────────────────────────


@app.command(rich_help_panel="Operate", epilog="Example: python -m bot migrate")
def migrate() -> None:
    """Bring the database to this version's schema."""
    from bot.commands import operate

    _run(operate.migrate())


@app.command(rich_help_panel="Operate", epilog="Example: python -m bot settings")
def settings() -> None:
    """List every setting: meaning, source and value; secrets are not shown."""
    from bot.commands import operate

    operate.show_settings()


@audit.command(epilog="Example: python -m bot audit verify --database sqlite+aiosqlite:///gatepost.db")
def verify(
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="Another database than DATABASE_URL.")
    ] = None,
) -> None:
    """Check every audit entry against its signature, its number and its neighbours."""
    from bot.commands import audit as trail

    _run(trail.verify(database))


# ── agents ───────────────────────────────────────────────────────────────────────────────────

AgentArgument = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's folder: lead")]


class Chosen(StrEnum):
    """What a setting is set to."""

    ALLOW = "allow"
    ASK = "ask"
    OBSERVE = "observe"
    DEFAULT = "default"


@agents.command("list", epilog="Example: python -m bot agents list")
def list_(as_: As = None) -> None:
    """List every agent, its switches, and what each of its tools does."""
    from bot.commands import agents as switching

    _run(switching.list_agents(as_))


@agents.command(
    "set",
    epilog="Examples: python -m bot agents set lead spend ask; python -m bot agents set lead refund default",
)
def set_(
    agent: AgentArgument,
    what: Annotated[str, typer.Argument(metavar="RISK|TOOL", help="spend, say, or one of its tools.")],
    setting: Annotated[
        Chosen,
        typer.Argument(help="allow: run. ask: wait. observe: only record. default: as its folder says."),
    ],
    as_: As = None,
) -> None:
    """Let a risk or a tool of an agent run, ask, or only be recorded."""
    from bot.commands import agents as switching
    from core.gate import Setting

    chosen = None if setting is Chosen.DEFAULT else Setting(setting.value)
    _run(switching.choose(agent, what, chosen, as_))


@agents.command(epilog="Example: python -m bot agents pause lead")
def pause(agent: AgentArgument, as_: As = None) -> None:
    """Pause an agent: nothing new starts; what waits is held."""
    from bot.commands import agents as switching

    _run(switching.pause(agent, as_))


@agents.command(epilog="Example: python -m bot agents resume lead")
def resume(agent: AgentArgument, as_: As = None) -> None:
    """Let a paused agent go on."""
    from bot.commands import agents as switching

    _run(switching.resume(agent, as_))


@agents.command(epilog="Example: python -m bot agents practice lead --off")
def practice(
    agent: AgentArgument,
    off: Annotated[bool, typer.Option("--off", help="Let it act again.")] = False,
    as_: As = None,
) -> None:
    """Let an agent practise: its reads run, everything else is only recorded."""
    from bot.commands import agents as switching

    _run(switching.practice(agent, as_, on=not off))


@agents.command(epilog="Example: python -m bot agents accept lead")
def accept(
    agent: AgentArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask again after showing it.")] = False,
    as_: As = None,
) -> None:
    """Show what an agent's folder asks for beyond what it has, and let it have that."""
    from bot.commands import agents as switching

    _run(switching.accept(agent, as_, yes=yes))


@agents.command(epilog="Example: python -m bot agents check")
def check() -> None:
    """Read the agents' folders and say what is wrong with them."""
    from bot.commands import operate

    operate.check_agents()
