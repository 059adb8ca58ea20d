"""Which task a message belongs to: the written transcripts, line by line."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.agents import Agent
from core.ids import PersonId, TaskId
from core.route import (
    Around,
    Blank,
    ChatKind,
    Join,
    Open,
    Routed,
    Said,
    Stop,
    Unaddressed,
    Unclear,
    number_named,
    route,
)
from core.tasks import Task, TaskState
from tests.contract import factories as make

TRANSCRIPTS = yaml.safe_load((Path(__file__).parents[1] / "cases" / "transcripts.yaml").read_text())
AGENTS = {"lead": Agent(key="lead", name="Sam"), "scout": Agent(key="scout", name="Scout")}


@dataclass
class Chat:
    """A chat in which every line that opens a task opens one."""

    kind: ChatKind
    at: Any = make.NOW
    tasks: dict[str, Task] = field(default_factory=dict)

    def hears(self, line: dict[str, Any]) -> str:
        self.at += timedelta(minutes=line.get("after", 0))
        for code in line.get("ended", ()):
            if not self.tasks[code].ended:
                ended_at = self.at - timedelta(minutes=line.get("after", 0))
                self.tasks[code] = replace(self.tasks[code], state=TaskState.DONE, ended_at=ended_at)
        said = Said(
            text=line["says"],
            by=PersonId(line["who"]),
            kind=self.kind,
            addressed=line.get("named", False) or self.kind is ChatKind.DIRECT,
            at=self.at,
        )
        around = Around(
            named=self.tasks.get(f"t-{number_named(line['says'])}"),
            replied=self.tasks.get(line.get("reply", "")),
            thread=[self.tasks[line["thread"]]] if "thread" in line else (),
            chat=sorted(self.tasks.values(), key=lambda t: -t.number),
        )
        return self.told(said, route(said, around, AGENTS, "lead"))

    def told(self, said: Said, routed: Routed) -> str:
        match routed:
            case Open(agent=agent):
                task = make.task(
                    id=TaskId(str(len(self.tasks))),
                    number=len(self.tasks) + 1,
                    requester=said.by,
                    state=TaskState.RUNNING,
                    ended_at=None,
                )
                self.tasks[task.code] = task
                return f"opens {task.code} for {agent}"
            case Join(task=task):
                if task.ended:  # an episode begins
                    self.tasks[task.code] = replace(task, state=TaskState.RUNNING, ended_at=None)
                return f"joins {task.code}"
            case Stop(task=task):
                return f"stops {task.code}"
            case Unclear(tasks=tasks):
                return f"unclear: {', '.join(sorted(t.code for t in tasks))}"
            case Unaddressed():
                return "not for us"
            case Blank():
                return "joins nothing"


def test_there_are_ten_transcripts_of_every_kind_of_chat() -> None:
    assert len(TRANSCRIPTS) == 10
    assert {t["chat"] for t in TRANSCRIPTS} == {str(kind) for kind in ChatKind}


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda t: str(t["title"]))
def test_each_line_belongs_to_the_task_its_transcript_says(transcript: dict[str, Any]) -> None:
    chat = Chat(ChatKind(transcript["chat"]))
    assert [chat.hears(line) for line in transcript["lines"]] == [line["is"] for line in transcript["lines"]]


def test_what_is_new_is_free_of_the_name_it_was_addressed_to() -> None:
    said = Said(
        text="/new scout:  look around ", by=PersonId("a"), kind=ChatKind.DIRECT, addressed=True, at=make.NOW
    )
    assert route(said, Around(), AGENTS, "lead") == Open(agent="scout", goal="look around")


def test_words_that_name_their_task_are_free_of_its_code() -> None:
    task = make.task(number=7, state=TaskState.WAITING)
    said = Said(text="T-7 : half", by=PersonId("a"), kind=ChatKind.GROUP, addressed=False, at=make.NOW)
    assert number_named(said.text) == 7
    assert route(said, Around(named=task), AGENTS, "lead") == Join(task=task, text="half")
