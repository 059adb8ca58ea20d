"""The command line: names, arguments and help. What a command does is imported when it is called.

So ``--help`` answers at once. Errors meant for people leave by one door, `Commands`: one line on stderr and
the exit status, 1 for what can't be done and 2 for what was typed wrongly; a traceback only of a bug of ours,
and no secret in any.
"""

import sys
import traceback
from collections.abc import Sequence
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bot.cli_organizations import org
from bot.cli_people import people
from bot.options import As, run
from core.caught import caught
from core.commands import BY_NAME
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
        status: Any = 0
        with caught() as ended:
            status = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        if ended.error is not None:
            status = _failed(ended.error)
        sys.exit(status if isinstance(status, int) else 0)


def _failed(error: BaseException) -> int:
    """What went wrong is said; the status. Raises SystemExit on: somebody has said it already."""
    match error:
        case SystemExit():
            raise error
        case GatepostError():
            return _say(str(error), 1)
        case typer.TyperException():
            return _say(_usage(error), getattr(error, "exit_code", 2))
        case typer.Abort():
            return _say("stopped", 130)
    typer.echo(_shown("".join(traceback.format_exception(error))), err=True, nl=False)  # a bug of ours
    return 1


def _shown(words: str) -> str:
    from bot.redaction import REDACTOR  # here, since the settings' library takes a while

    return REDACTOR.redact(words)


def _say(words: str, status: int) -> int:
    for line in _shown(words).splitlines() or [""]:
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
audit = typer.Typer(help="Read and verify the audit trail.")
agents = typer.Typer(help="See your agents, and switch what they may do.")
secrets = typer.Typer(help="Keep what your tools open and nobody reads.")
app.add_typer(audit, name="audit", rich_help_panel="Look")
app.add_typer(agents, name="agents", rich_help_panel="Decide")
app.add_typer(org, name="org", rich_help_panel="Decide")
app.add_typer(people, name="people", rich_help_panel="Decide")
app.add_typer(secrets, name="secrets", rich_help_panel="Operate")

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

    run(play(keep=keep, kill_at=kill_at))


@app.command(rich_help_panel="Try it", epilog="Example: python -m bot chat")
def chat(as_: As = None) -> None:
    """Talk to the agents here; what they ask is answered by a key."""
    from bot.chat import chat as talk

    run(talk(as_))


# ── work ─────────────────────────────────────────────────────────────────────────────────────


@app.command(
    help=BY_NAME["new"].words,
    rich_help_panel="Work",
    epilog='Example: python -m bot new "refund the mug that arrived broken"',
)
def new(
    goal: Annotated[str, typer.Argument(metavar="GOAL", help="What is to be done, in your words.")],
    agent: Annotated[
        str | None, typer.Option(metavar="KEY", help="The agent's folder. Default: the chief.")
    ] = None,
    as_: As = None,
) -> None:
    """Open a task; a worker takes it."""
    from bot.commands import ask

    run(ask.new(goal, agent, as_))


@app.command(
    "run",
    help=BY_NAME["run"].words,
    rich_help_panel="Work",
    epilog='Example: python -m bot run scout "what do people say of the mug?"',
)
def run_agent(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent's folder, or its name: scout")],
    goal: Annotated[str, typer.Argument(metavar="GOAL", help="What is to be done, in your words.")],
    as_: As = None,
) -> None:
    """As the table of commands says."""
    from bot.commands import table

    run(table.do("run", {"AGENT": agent, "GOAL": goal}, as_))


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

    run(work.work(until_idle=until_idle, posts=not no_posts))


@app.command(rich_help_panel="Work", epilog="Example: python -m bot web")
def web() -> None:
    """Answer chats and health checks over HTTP until told to stop."""
    from bot.commands import web as serving

    run(serving.web())


@app.command(help=BY_NAME["stop"].words, rich_help_panel="Work", epilog="Example: python -m bot stop t-12")
def stop(task: TaskArgument, as_: As = None) -> None:
    """Stop a task: nothing of it starts any more."""
    from bot.commands import ask

    run(ask.stop(task, as_))


# ── look ─────────────────────────────────────────────────────────────────────────────────────


@app.command(
    help=BY_NAME["tasks"].words, rich_help_panel="Look", epilog="Example: python -m bot tasks --limit 10"
)
def tasks(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, the newest first.")] = 20,
    as_: As = None,
) -> None:
    """List the newest tasks."""
    from bot.commands import look

    run(look.tasks(as_, limit))


@app.command(help=BY_NAME["show"].words, rich_help_panel="Look", epilog="Example: python -m bot show t-12")
def show(task: TaskArgument, as_: As = None) -> None:
    """Tell a task's whole story: every call, who decided it, and what ran."""
    from bot.commands import look

    run(look.show(task, as_))


@app.command(help=BY_NAME["pending"].words, rich_help_panel="Look", epilog="Example: python -m bot pending")
def pending(as_: As = None) -> None:
    """Show the card of each call that waits."""
    from bot.commands import look

    run(look.pending(as_))


@app.command(help=BY_NAME["budget"].words, rich_help_panel="Look", epilog="Example: python -m bot budget")
def budget(as_: As = None) -> None:
    """As the table of commands says."""
    from bot.commands import table

    run(table.do("budget", {}, as_))


@audit.command("list", help=BY_NAME["audit"].words, epilog="Example: python -m bot audit list t-12")
def list_entries(
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="The task's code: t-12")] = None,
    as_: As = None,
) -> None:
    """As the table of commands says."""
    from bot.commands import table

    run(table.do("audit", {"TASK": task}, as_))


# ── decide ───────────────────────────────────────────────────────────────────────────────────


@app.command(
    help=BY_NAME["approve"].words, rich_help_panel="Decide", epilog="Example: python -m bot approve t-12.3"
)
def approve(call: CallArgument, as_: As = None) -> None:
    """Approve a call as its card shows it."""
    from bot.commands import decide

    run(decide.approve(call, as_))


@app.command(
    help=BY_NAME["edit"].words,
    rich_help_panel="Decide",
    epilog="Example: python -m bot edit t-12.3 amount=18.50",
)
def edit(
    call: CallArgument,
    changes: Annotated[
        list[str] | None, typer.Argument(metavar="FIELD=VALUE...", help="What is to be other than shown.")
    ] = None,
    as_: As = None,
) -> None:
    """Approve a call with other values; the agent is told what changed."""
    from bot.commands import decide

    run(decide.edit(call, changes or [], as_))


@app.command(
    help=BY_NAME["decline"].words,
    rich_help_panel="Decide",
    epilog='Example: python -m bot decline t-12.3 "wrong order"',
)
def decline(
    call: CallArgument,
    reason: Annotated[str | None, typer.Argument(help="Why, for the agent to read.")] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop its task as well.")] = False,
    as_: As = None,
) -> None:
    """Decline a call: it is not run, and not asked again unchanged."""
    from bot.commands import decide

    run(decide.decline(call, reason, as_, stop=stop))


@app.command(
    help=BY_NAME["revise"].words,
    rich_help_panel="Decide",
    epilog='Example: python -m bot revise t-12.3 "half of it, with a note"',
)
def revise(
    call: CallArgument,
    how: Annotated[str, typer.Argument(help="What is to be other, for the agent to read.")],
    as_: As = None,
) -> None:
    """Send a call back to be changed: it is not run, and the agent proposes anew."""
    from bot.commands import decide

    run(decide.revise(call, how, as_))


@app.command(
    help=BY_NAME["answer"].words,
    rich_help_panel="Decide",
    epilog='Example: python -m bot answer t-12.3 "the blue one"',
)
def answer(
    call: CallArgument,
    words: Annotated[str, typer.Argument(help="Your answer, for the agent to read.")],
    as_: As = None,
) -> None:
    """Answer an agent's question."""
    from bot.commands import decide

    run(decide.answer(call, words, as_))


@app.command(
    help=BY_NAME["connected"].words,
    rich_help_panel="Decide",
    epilog="Example: python -m bot connected t-12.3",
)
def connected(call: CallArgument, as_: As = None) -> None:
    """Say that the account a call waits for is connected."""
    from bot.commands import decide

    run(decide.connected(call, as_))


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
    help=BY_NAME["settle"].words,
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

    run(decide.settle(name, Choice(choice.value.replace("-", "_")), as_))


# ── operate ──────────────────────────────────────────────────────────────────────────────────


@app.command(rich_help_panel="Operate", epilog="Example: python -m bot migrate")
def migrate() -> None:
    """Bring the database to this version's schema."""
    from bot.commands import operate

    run(operate.migrate())


@app.command(rich_help_panel="Operate", epilog="Example: python -m bot doctor --as Ada")
def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print a list of findings as JSON.")] = False,
    as_: As = None,
) -> None:
    """Look at this deployment, Slack included: what is well, what is not, and how to mend it."""
    from bot.commands import doctor as looking

    run(looking.doctor(as_, as_json=json))


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

    run(trail.verify(database))


SecretArgument = Annotated[str, typer.Argument(metavar="NAME", help="What it is called: SHOP_API_KEY")]


@secrets.command("set", epilog="Example: python -m bot secrets set SHOP_API_KEY")
def set_secret(name: SecretArgument, as_: As = None) -> None:
    """Keep a secret, sealed; its value is asked for, or piped in."""
    from bot.commands import secrets as vault

    run(vault.set_secret(name, as_))


@secrets.command("list", epilog="Example: python -m bot secrets list")
def list_secrets(as_: As = None) -> None:
    """List the names of what is kept."""
    from bot.commands import secrets as vault

    run(vault.list_secrets(as_))


@secrets.command("remove", epilog="Example: python -m bot secrets remove SHOP_API_KEY")
def remove_secret(name: SecretArgument, as_: As = None) -> None:
    """Remove a secret."""
    from bot.commands import secrets as vault

    run(vault.remove_secret(name, as_))


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

    run(switching.list_agents(as_))


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
    run(switching.choose(agent, what, chosen, as_))


@agents.command(epilog="Example: python -m bot agents pause lead")
def pause(agent: AgentArgument, as_: As = None) -> None:
    """Pause an agent: nothing new starts; what waits is held."""
    from bot.commands import agents as switching

    run(switching.pause(agent, as_))


@agents.command(epilog="Example: python -m bot agents resume lead")
def resume(agent: AgentArgument, as_: As = None) -> None:
    """Let a paused agent go on."""
    from bot.commands import agents as switching

    run(switching.resume(agent, as_))


@agents.command(epilog="Example: python -m bot agents practice lead --off")
def practice(
    agent: AgentArgument,
    off: Annotated[bool, typer.Option("--off", help="Let it act again.")] = False,
    as_: As = None,
) -> None:
    """Let an agent practise: its reads run, everything else is only recorded."""
    from bot.commands import agents as switching

    run(switching.practice(agent, as_, on=not off))


@agents.command(epilog="Example: python -m bot agents accept lead")
def accept(
    agent: AgentArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask again after showing it.")] = False,
    as_: As = None,
) -> None:
    """Show what an agent's folder asks for beyond what it has, and let it have that."""
    from bot.commands import agents as switching

    run(switching.accept(agent, as_, yes=yes))


@agents.command(epilog="Example: python -m bot agents check")
def check() -> None:
    """Read the agents' folders and say what is wrong with them."""
    from bot.commands import operate

    operate.check_agents()
