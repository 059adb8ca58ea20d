"""Commands of the table that the command line shares whole with every chat, and how their answers print."""

from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table

from adapters.console import Answers, CardView, text
from bot.commands.session import SURFACE, console, session
from core.cards import Card
from core.chat import Answer, Typed
from core.commanded import Commanded
from core.commands import BY_NAME, Line
from core.people import Account

SHORT = 16
"""Characters of a column that no narrow screen breaks."""


async def do(name: str, values: Mapping[str, str | None], as_: str | None) -> None:
    """The command *name* is done with *values*, those that are None left out, and its answer printed."""
    said = Line(command=BY_NAME[name], values={k: v for k, v in values.items() if v is not None})
    async with session(as_) as here:
        desk = here.app.desk
        account = Account(surface=SURFACE, ref=here.user)
        typed = Typed(account=account, event_id=f"{here.user}:{desk.ids.new()}", text=name)
        commanded = Commanded(desk=desk, clock=here.app.clock, surface=SURFACE, who=here.who, typed=typed)
        answer = desk.redactor.clean(await commanded.do(said))
    print_answer(answer)


def print_answer(answer: Answer, screen: Console | None = None) -> None:
    """Its words, then its table, then its cards."""
    screen = screen or console()
    if answer.words:
        screen.print(text(answer.words, lines=True), soft_wrap=True)
    if answer.table is not None:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for heading, *cells in zip(answer.table.headings, *answer.table.rows, strict=True):
            short = max(map(len, (heading, *cells))) <= SHORT
            table.add_column(heading, overflow="fold", no_wrap=short)
        for row in answer.table.rows:
            table.add_row(*(text(cell) for cell in row))
        screen.print(table)
    for view in answer.views:
        if isinstance(view, Card):
            screen.print(CardView(view, Answers.COMMANDS))
