"""Agent folders: what is taken, and each thing that is refused, with file, line and mend."""

import os
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from adapters.folders import check_against, load_agents, load_report
from core.agents import Agent, Limits
from core.errors import AgentFolderError
from core.gate import Setting

Write = Callable[..., Path]
FULL = """---
name: Mia Scout
title: Looks around
label: research
tools: [read_orders, refund]
settings: {spend: ask, refund: allow, contact: observe}
model: small-1
limits:
  rounds: 12
  strikes: 2
  tokens: 100_000
  seconds: 1800.5
  daily_tokens: 500000
  reply_tokens: 1024
  window: 128000
  wrap_up: false
triggers:
  - when: schedule
    cadence: weekly
    weekday: 0
    at: "09:00"
    goal: Find what people asked for.
    watch: true
    max_per_day: 3
    catch_up: no
  - {when: event, event: "email:bugs", goal: Write the steps.}
  - {when: done, after: sam, goal: Collect the complaints.}
interactive: true
hosts: [shop.example.com, .example.org]
---

You look around.

---

Twice.
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "agents"
    folder.mkdir()
    return folder


@pytest.fixture
def write(root: Path) -> Write:
    """Writes an agent's file: *content*, or front matter made of *lines* with a name before them."""

    def write(key: str, *lines: str, content: str | bytes | None = None) -> Path:
        folder = root / key
        folder.mkdir(exist_ok=True)
        if content is None:
            content = "\n".join(["---", f"name: {key.title()}", *lines, "---", "Be kind."])
        path = folder / "AGENT.md"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def only_error(root: Path) -> AgentFolderError:
    """The one thing wrong in *root*, which holds a good agent `sam` beside the bad one."""
    agents, errors = load_report(root)
    assert "sam" in agents
    (error,) = errors
    return error


def test_a_whole_folder_is_read_as_it_is_written(root: Path, write: Write) -> None:
    write("sam")  # whom it follows
    write("scout", content=FULL)
    agent = load_agents(root)["scout"]
    assert len(agent.digest) == 64
    assert agent == Agent(
        key="scout",
        name="Mia Scout",
        title="Looks around",
        role="You look around.\n\n---\n\nTwice.",
        label="research",
        tools=("read_orders", "refund"),
        settings={"spend": Setting.ASK, "refund": Setting.ALLOW, "contact": Setting.OBSERVE},
        model="small-1",
        limits=Limits(
            rounds=12,
            strikes=2,
            tokens=100_000,
            seconds=1800.5,
            daily_tokens=500_000,
            reply_tokens=1024,
            window=128_000,
            wrap_up=False,
        ),
        triggers=(
            {
                "when": "schedule",
                "cadence": "weekly",
                "weekday": 0,
                "at": "09:00",
                "goal": "Find what people asked for.",
                "watch": True,
                "max_per_day": 3,
                "catch_up": False,
            },
            {"when": "event", "event": "email:bugs", "goal": "Write the steps."},
            {"when": "done", "after": "sam", "goal": "Collect the complaints."},
        ),
        interactive=True,
        hosts=("shop.example.com", ".example.org"),
        digest=agent.digest,
    )


def test_a_name_is_enough_and_the_rest_has_defaults(root: Path, write: Write) -> None:
    write("sam")
    agent = load_agents(root)["sam"]
    assert agent == Agent(key="sam", name="Sam", role="Be kind.", digest=agent.digest)


def test_the_shipped_agents_load() -> None:
    agents = load_agents(Path(__file__).resolve().parents[2] / "agents")
    assert {key: (agent.name, agent.chief, agent.tools) for key, agent in agents.items()} == {
        "lead": ("Sam", True, ("read_orders", "refund"))
    }


def test_a_byte_order_mark_and_crlf_change_nothing(root: Path, write: Write) -> None:
    write("sam")  # whom it follows
    write("scout", content=FULL)
    plain = load_agents(root)
    write("scout", content=b"\xef\xbb\xbf" + FULL.replace("\n", "\r\n").encode())
    assert load_agents(root) == plain


def test_the_digest_changes_with_every_word(root: Path, write: Write) -> None:
    write("sam")  # whom it follows
    write("scout", content=FULL)
    before = load_agents(root)["scout"].digest
    write("scout", content=FULL.replace("Twice.", "Thrice."))
    assert load_agents(root)["scout"].digest != before


def test_hidden_folders_and_files_are_no_agents(root: Path, write: Write) -> None:
    write("sam")
    write(".draft", "chief: what")
    (root / "README.md").write_text("How to write agents.")
    assert list(load_agents(root)) == ["sam"]


def test_a_link_inside_the_root_is_followed(root: Path, write: Write) -> None:
    shared = write("sam").rename(root / "sam.md")
    (root / "sam" / "AGENT.md").symlink_to(shared)
    assert load_agents(root)["sam"].name == "Sam"


REFUSED: dict[str, tuple[list[str], int, str, str]] = {
    # what is written from line 3 on: (lines, line named, what is wrong, the mend)
    "on": (["triggers:", "  - on: schedule"], 4, "YAML reads on as true", "write when"),
    "on at the top": (["on: schedule"], 3, "YAML reads on as true", "write when"),
    "a bool as a key": (["yes: schedule"], 3, "YAML reads yes as true", "use another word"),
    "a number as a key": (["1: schedule"], 3, "a key must be a word", "YAML reads 1"),
    "a list as a key": (["[a, b]: c"], 3, "", "a key must be a word"),
    "a key without end": (
        [f"{'a' * 65}: b"],
        3,
        "a key of more than 64 characters",
        "was a line break meant?",
    ),
    "a number without end": (
        [f"title: {'9:' * 500}9"],
        3,
        "YAML reads 9:9:9:9:9:9:9:9:9:9:… as",
        "in quotes",
    ),
    "unknown key": (["title: x", "settigns: {}"], 4, "no key settigns", "did you mean settings?"),
    "unknown key like none": (["zzz: 1"], 3, "no key zzz", "write name, title"),
    "duplicate key": (
        ["title: a", "title: b"],
        4,
        "title stands here a second time (first on line 3)",
        "keep one",
    ),
    "duplicate key deeper": (
        ["limits:", "  rounds: 1", "  rounds: 2"],
        5,
        "rounds stands here a second time (first on line 4)",
        "keep one",
    ),
    "second name": (["name: Eve"], 3, "name stands here a second time (first on line 2)", "keep one"),
    "anchor": (["title: &a x"], 3, "anchors (&) and aliases (*)", "write the value out"),
    "alias": (["title: *a"], 3, "anchors (&) and aliases (*)", "write the value out"),
    "merge": (["limits:", "  <<: {rounds: 1}"], 4, "merge keys (<<)", "write the keys out"),
    "tag": (["title: !!python/object/apply:os.system ['true']"], 3, "YAML tags (!)", "write a plain value"),
    "own tag": (["title: !env HOME"], 3, "YAML tags (!)", "write a plain value"),
    "deep": (["title: " + "[" * 5000], 3, "nested deeper than 8", "write it flat"),
    "broken YAML": (["title: a: b"], 3, "this is not YAML", "quote text with :"),
    "unclosed list": (["tools: [a, b"], 3, "this is not YAML", "check the indentation"),
    "unclosed quote": (['title: "a'], 3, "this is not YAML", "check the indentation"),
    "tab": (["limits:", "\trounds: 1"], 4, "this is not YAML", "check the indentation"),
    "two documents": (["--- # again", "title: b"], 3, "this is not YAML", "check the indentation"),
    "not keys": (["- a"], 3, "this is not YAML", "check the indentation"),
    "NUL": (["title: a\0b"], 3, "U+0000", "remove it"),
    "escape": (["title: a", "label: \x1b[31m"], 4, "U+001B", "remove it"),
    "hidden line": (["title: a\u2028chief: true"], 3, "invisible line separator", "remove it"),
    "no character": (["title: a\ufffeb"], 3, "a character stands here that YAML does not take", "remove it"),
    "empty title": (["title:"], 3, "title: nothing stands here", "write text"),
    "blank title": (['title: " "'], 3, "it says nothing", "leave the key out"),
    "title as number": (["title: 7"], 3, "title:", "write text, in quotes"),
    "title as bool": (["title: off"], 3, "YAML reads off as false", "write text, in quotes"),
    "title as date": (["title: 2024-01-01"], 3, "YAML reads 2024-01-01 as a timestamp", "put it in quotes"),
    "title that hides": (['title: "a\u202eb"'], 3, "U+202E, which can't be seen", "remove it"),
    "title escaped": (
        ['title: "a\\u202eb"'],
        3,
        "title: it holds U+202E, which can't be seen",
        "write what can",
    ),
    "comment that hides": (["chief: false # \u2066 "], 3, "U+2066, which can't be seen", "remove it"),
    "goal escaped": (
        ["triggers:", '  - {when: event, event: a, goal: "a\\U000E0041"}'],
        4,
        "goal: it holds U+E0041",
        "write what can",
    ),
    "title of two lines": (['title: "a\\nb"'], 3, "U+000A", "write one plain line"),
    "title too long": ([f"title: {'a' * 61}"], 3, "longer than 60 characters", "shorten it"),
    "label as list": (["label: [a]"], 3, "label:", "write text"),
    "model as map": (["model: {a: b}"], 3, "model:", "write text"),
    "chief as text": (['chief: "true"'], 3, "chief:", "write true or false"),
    "chief as number": (["chief: 1"], 3, "chief:", "write true or false"),
    "interactive as text": (["interactive: maybe"], 3, "interactive:", "write true or false"),
    "host as address": (["hosts: ['https://example.com']"], 3, "hosts:", "write hosts such as example.com"),
    "host as number": (["hosts: [7]"], 3, "hosts:", "write hosts such as example.com"),
    "host in capitals": (["hosts:", "  - a.b", "  - Example.com"], 5, "hosts:", "write hosts"),
    "tools as text": (["tools: refund"], 3, "tools:", "write a list"),
    "tools of nothing": (["tools:"], 3, "tools: nothing stands here", "write a list"),
    "tool twice": (["tools:", "  - refund", "  - refund"], 5, "refund stands here twice", "keep one"),
    "tool as bool": (["tools:", "  - a", "  - on"], 5, "YAML reads on as true", "write the names of tools"),
    "tool as phrase": (["tools: [do it]"], 3, "tools:", "write the names of tools"),
    "tool as map": (["tools: [{a: b}]"], 3, "tools:", "write the names of tools"),
    "settings as list": (["settings: [ask]"], 3, "settings:", "write keys with values"),
    "setting as bool": (
        ["settings: {spend: off}"],
        3,
        "YAML reads off as false",
        "write allow, ask or observe",
    ),
    "setting as true": (["settings: {spend: true}"], 3, "spend:", "write allow, ask or observe"),
    "setting of nothing": (
        ["settings: {spend: }"],
        3,
        "spend: nothing stands here",
        "write allow, ask or observe",
    ),
    "setting typo": (
        ["settings:", "  spend: alow"],
        4,
        "spend: write allow, ask or observe",
        "did you mean allow?",
    ),
    "setting in capitals": (["settings: {spend: ASK}"], 3, "spend:", "write allow, ask or observe"),
    "risk typo": (
        ["settings:", "  contcat: ask"],
        4,
        "contcat is neither a risk nor one of the agent's tools",
        "did you mean contact?",
    ),
    "tool of a setting typo": (
        ["tools: [refund]", "settings: {refnud: allow}"],
        4,
        "refnud is neither a risk nor one of the agent's tools",
        "did you mean refund?",
    ),
    "remove allowed": (["settings: {remove: allow}"], 3, "remove always asks", "write ask"),
    "profile allowed": (["settings: {profile: allow}"], 3, "profile always asks", "write ask"),
    "limits as number": (["limits: 5"], 3, "limits:", "write keys with values"),
    "limit unknown": (["limits:", "  round: 5"], 4, "no key round", "did you mean rounds?"),
    "limit zero": (["limits: {rounds: 0}"], 3, "rounds:", "a whole number above zero"),
    "limit negative": (["limits: {tokens: -1}"], 3, "tokens:", "a whole number above zero"),
    "limit as bool": (["limits: {strikes: true}"], 3, "strikes:", "a whole number above zero"),
    "limit as yes": (["limits: {strikes: yes}"], 3, "YAML reads yes as true", "a whole number above zero"),
    "limit with a point": (["limits: {rounds: 5.0}"], 3, "rounds:", "a whole number above zero"),
    "limit as text": (['limits: {window: "5"}'], 3, "window:", "a whole number above zero"),
    "limit NaN": (["limits: {rounds: .nan}"], 3, "rounds:", "a whole number above zero"),
    "limit of nothing": (
        ["limits: {rounds: }"],
        3,
        "rounds: nothing stands here",
        "a whole number above zero",
    ),
    "limit octal": (["limits: {rounds: 010}"], 3, "YAML reads 010 in another base", "write a decimal number"),
    "limit hex": (["limits: {rounds: 0x10}"], 3, "YAML reads 0x10 in another base", "write a decimal number"),
    "limit of 5,000 digits": (
        [f"limits: {{rounds: {'9' * 5000}}}"],
        3,
        "more than 15 digits",
        "write a smaller one",
    ),
    "daily tokens zero": (["limits: {daily_tokens: 0}"], 3, "daily_tokens:", "a whole number above zero"),
    "reply tokens zero": (["limits: {reply_tokens: 0}"], 3, "reply_tokens:", "a whole number above zero"),
    "seconds NaN": (["limits: {seconds: .nan}"], 3, "seconds:", "a finite number above zero"),
    "seconds infinite": (["limits: {seconds: .inf}"], 3, "seconds:", "a finite number above zero"),
    "seconds minus infinite": (["limits: {seconds: -.inf}"], 3, "seconds:", "a finite number above zero"),
    "seconds zero": (["limits: {seconds: 0}"], 3, "seconds:", "a finite number above zero"),
    "seconds negative": (["limits: {seconds: -0.5}"], 3, "seconds:", "a finite number above zero"),
    "seconds as bool": (["limits: {seconds: true}"], 3, "seconds:", "write a number above zero"),
    "seconds as a time": (["limits: {seconds: 1:30}"], 3, "YAML reads 1:30 as a number", "in quotes"),
    "wrap_up as text": (['limits: {wrap_up: "no"}'], 3, "wrap_up:", "write true or false"),
    "triggers as map": (["triggers: {when: event}"], 3, "triggers:", "write a list"),
    "trigger as text": (["triggers:", "  - daily"], 4, "triggers:", "keys with values"),
    "trigger without when": (
        ["triggers:", "  - goal: x"],
        4,
        "when is missing",
        "write schedule, event or done",
    ),
    "when typo": (["triggers:", "  - when: shedule"], 4, "when:", "did you mean schedule?"),
    "trigger key unknown": (
        ["triggers:", "  - when: event", "    evnt: a"],
        5,
        "no key evnt",
        "did you mean event?",
    ),
    "schedule without cadence": (["triggers:", "  - when: schedule"], 4, "cadence is missing", "needs it"),
    "event without event": (["triggers:", "  - when: event"], 4, "event is missing", "needs it"),
    "done without after": (["triggers:", "  - when: done"], 4, "after is missing", "needs it"),
    "after not a folder": (
        ["triggers:", "  - {when: done, after: Mia Scout}"],
        4,
        "after:",
        "the other agent's folder",
    ),
}


def trigger(line: str) -> list[str]:
    """A schedule whose last line, the sixth of the file, is *line*."""
    return ["triggers:", "  - when: schedule", "    cadence: weekly", f"    {line}"]


REFUSED |= {
    f"trigger {line}": (trigger(line), 6, wrong, mend)
    for line, wrong, mend in [
        ("at: 9:00", "YAML reads 9:00 as a number", 'write it in quotes, "09:00"'),
        ("at: 21:00", "YAML reads 21:00 as a number", 'write it in quotes, "21:00"'),
        ("at: 25:00", "YAML reads 25:00 as a number", 'as "HH:MM"'),
        ("at: 21:00:00.5", "YAML reads 21:00:00.5 as a number", 'as "HH:MM"'),
        ("at: 09:00", "at:", 'in quotes as "HH:MM"'),
        ("at: 1260", "at:", 'in quotes as "HH:MM"'),
        ('at: "9:00"', "at:", 'in quotes as "HH:MM"'),
        ('at: "24:00"', "at:", 'in quotes as "HH:MM"'),
        ('at: "09:60"', "at:", 'in quotes as "HH:MM"'),
        ('at: "09:00 "', "at:", 'in quotes as "HH:MM"'),
        ('at: "\u0660\u0669:\u0660\u0660"', "at:", 'in quotes as "HH:MM"'),
        ("at:", "at: nothing stands here", 'in quotes as "HH:MM"'),
        ("weekday: 7", "weekday:", "0 (Monday) to 6 (Sunday)"),
        ("weekday: -1", "weekday:", "0 (Monday) to 6 (Sunday)"),
        ("weekday: mon", "weekday:", "0 (Monday) to 6 (Sunday)"),
        ("weekday: true", "weekday:", "0 (Monday) to 6 (Sunday)"),
        ("weekday: 1.0", "weekday:", "0 (Monday) to 6 (Sunday)"),
        ("goal:", "goal: nothing stands here", "write text"),
        ("watch: 1", "watch:", "write true or false"),
        ("catch_up: later", "catch_up:", "write true or false"),
        ("max_per_day: 0", "max_per_day:", "a whole number above zero"),
        ("max_per_day: true", "max_per_day:", "a whole number above zero"),
        ('event: ""', "event: it says nothing", "write text"),
    ]
}
REFUSED["trigger cadence"] = (
    ["triggers:", "  - when: schedule", "    cadence: dayly"],
    5,
    "cadence: write hourly, daily, weekly or monthly",
    "did you mean daily?",
)


@pytest.mark.rule("I13")
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_understood_is_refused_with_line_and_mend(root: Path, write: Write, case: str) -> None:
    lines, line, wrong, mend = REFUSED[case]
    write("sam")
    write("bad", *lines)
    error = only_error(root)
    assert (error.path, error.line) == ("bad/AGENT.md", line)
    assert str(error).startswith(f"bad/AGENT.md:{line}: ")
    assert wrong in str(error)
    assert mend in str(error)


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("---\nname: Eve\n\nBe kind.\n", 1, "never closed: write a line ---"),
        ("---\nname: Eve\n ---\nBe kind.\n", 1, "never closed: write a line ---"),
        ("name: Eve\n---\nBe kind.\n", 1, "must begin with a line ---"),
        ("", 1, "must begin with a line ---"),
        ("\n---\nname: Eve\n---\n", 1, "must begin with a line ---"),
        ("---\n---\nBe kind.\n", 1, "name is missing: write name:"),
        ("---\ntitle: x\n---\nBe kind.\n", 1, "name is missing: write name:"),
        ("---\nEve\n---\nBe kind.\n", 2, "keys with values, such as name: Sam"),
        ("---\n- Eve\n---\nBe kind.\n", 2, "keys with values, such as name: Sam"),
        ("---\nname: No\n---\nBe kind.\n", 2, "YAML reads No as false; write text, in quotes"),
        ("---\nname: Eve\n---\nBe \0 kind.\n", 4, "U+0000 stands here: remove it"),
        ("---\nname: Eve\n---\n\nBe \u202e kind.\n", 5, "U+202E, which can't be seen or moves"),
        ("---\nname: Eve\n---\nBe \u200bkind.\n", 4, "U+200B, which can't be seen"),
        ("---\nname: Eve\n---\nBe kind\U000e0041\n", 4, "U+E0041, which can't be seen"),
        ("---\nname: Eve\n---\nBe\ufe0f kind\n", 4, "U+FE0F, which can't be seen"),
        ("---\nname: Eve\n---\nBe \u26a0\ufe0f\ufe0f kind\n", 4, "U+FE0F, which can't be seen"),
        ("---\nname: Eve\n---\nBe ki\u200dnd\n", 4, "U+200D, which can't be seen"),
        (b"---\nname: Eve\n---\nBe k\xefnd.\n", 4, "not UTF-8: save the file as UTF-8"),
        ("---\nname: Eve\n---\n".encode("utf-16"), 1, "not UTF-8: save the file as UTF-8"),
        (b"---\nname: Eve\n---\n" + b"a" * (64 * 1024), None, "larger than 64 KiB: keep the role short"),
        (b"\xff" * (5 * 1024 * 1024), None, "larger than 64 KiB: keep the role short"),
    ],
)
def test_a_damaged_file_is_refused_and_the_others_load(
    root: Path, write: Write, content: str | bytes, line: int | None, words: str
) -> None:
    write("sam")
    write("bad", content=content)
    error = only_error(root)
    assert (error.path, error.line) == ("bad/AGENT.md", line)
    assert words in str(error)


def test_emoji_other_scripts_and_tabs_can_be_seen(root: Path, write: Write) -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308"
    body = f"Sei nett \u26a0\ufe0f.\t1\ufe0f\u20e3 {family}\n親切に。 كن لطيفا"
    write("eve", content=f"---\nname: Zoë\n---\n{body}\n")
    assert load_agents(root)["eve"].role == body


def test_a_file_of_exactly_64_kib_is_taken(root: Path, write: Write) -> None:
    head = b"---\nname: Eve\n---\n"
    write("eve", content=head + b"a" * (64 * 1024 - len(head)))
    assert list(load_agents(root)) == ["eve"]


def test_a_bomb_of_merge_keys_is_refused_at_once(root: Path, write: Write) -> None:
    levels = [f"  a{n + 1}: &a{n + 1} {{<<: [*a{n}, *a{n}]}}" for n in range(30)]
    write("sam")
    write("bad", "limits:", "  a0: &a0 {rounds: 1}", *levels)
    begun = process_time()
    error = only_error(root)
    assert process_time() - begun < 1
    assert error.line == 4
    assert "anchors (&)" in str(error)


@pytest.mark.parametrize("name", ["Sam", "__pycache__", "1st", "a b", "ä", "a" * 41, "a.b"])
def test_a_folder_with_another_kind_of_name_is_refused(root: Path, write: Write, name: str) -> None:
    write("sam")
    write(name, content=FULL)
    error = only_error(root)
    assert error.path == name
    assert "rename it" in str(error)


@pytest.mark.parametrize(
    ("file", "mend"),
    [(None, "write one, or hide the folder as .bad"), ("agent.md", "rename agent.md to AGENT.md")],
)
def test_a_folder_without_its_file_is_refused(root: Path, write: Write, file: str | None, mend: str) -> None:
    write("sam")
    (root / "bad").mkdir()
    if file:
        (root / "bad" / file).write_text(FULL)
    error = only_error(root)
    assert str(error) == f"bad/AGENT.md: the folder has no AGENT.md: {mend}"


def test_a_link_out_of_the_root_is_refused_file_or_folder(root: Path, write: Write, tmp_path: Path) -> None:
    (tmp_path / "AGENT.md").write_text(FULL)
    (root / "bad").mkdir()
    (root / "bad" / "AGENT.md").symlink_to(tmp_path / "AGENT.md")
    (root / "worse").symlink_to(tmp_path)
    agents, errors = load_report(root)
    assert agents == {}
    assert [error.path for error in errors] == ["bad/AGENT.md", "worse/AGENT.md"]
    assert all("a link leads out of the folder of agents: put a copy" in str(error) for error in errors)


def test_links_in_a_circle_or_to_nothing_are_refused(root: Path, write: Write) -> None:
    write("sam")
    (root / "circle").mkdir()
    (root / "circle" / "AGENT.md").symlink_to("AGENT.md")
    (root / "nothing").symlink_to("nowhere")
    agents, errors = load_report(root)
    assert list(agents) == ["sam"]
    assert [error.path for error in errors] == ["circle/AGENT.md", "nothing/AGENT.md"]
    assert all("can't be read" in str(error) and "check" in str(error) for error in errors)


def test_a_pipe_or_a_folder_in_place_of_the_file_is_refused(root: Path, write: Write) -> None:
    write("sam")
    (root / "pipe").mkdir()
    os.mkfifo(root / "pipe" / "AGENT.md")
    (root / "tree" / "AGENT.md").mkdir(parents=True)
    agents, errors = load_report(root)
    assert list(agents) == ["sam"]
    assert [str(error) for error in errors] == [
        f"{key}/AGENT.md: this is not a file: write the front matter and the text into one"
        for key in ("pipe", "tree")
    ]


@pytest.mark.parametrize("other", ["Mia Scout", "mia scout", "\uff2dia Scout"])
def test_two_agents_of_one_name_are_both_refused(root: Path, write: Write, other: str) -> None:
    write("sam")
    write("one", content="---\nname: Mia Scout\n---\n")
    write("two", content=f"---\ntitle: x\nname: {other}\n---\n")
    agents, errors = load_report(root)
    assert list(agents) == ["sam"]
    assert [str(error) for error in errors] == [
        "one/AGENT.md:2: two also has the name Mia Scout: give each its own",
        "two/AGENT.md:3: one also has the name Mia Scout: give each its own",
    ]


def test_two_chiefs_are_both_refused(root: Path, write: Write) -> None:
    write("one", "chief: true")
    write("two", "title: x", "chief: yes")
    write("sam", "chief: false")
    agents, errors = load_report(root)
    assert list(agents) == ["sam"]
    assert [str(error) for error in errors] == [
        "one/AGENT.md:3: two also has chief: true: leave it to one",
        "two/AGENT.md:4: one also has chief: true: leave it to one",
    ]


def test_loading_strictly_raises_the_first_error_and_notes_the_others(root: Path, write: Write) -> None:
    write("sam")
    write("bad", "zzz: 1")
    write("worse", "on: 1")
    with pytest.raises(AgentFolderError, match=r"^bad/AGENT.md:3: ") as caught:
        load_agents(root)
    assert caught.value.__notes__ == ["also: worse/AGENT.md:3: YAML reads on as true; write when"]


def test_a_missing_root_is_named_without_the_way_to_it(root: Path) -> None:
    agents, errors = load_report(root / "none")
    assert agents == {}
    assert [str(error) for error in errors] == [
        "none: the folder of agents can't be read (No such file or directory): check that it exists"
    ]


@pytest.mark.rule("I13")
def test_tools_that_are_not_registered_are_named_with_the_nearest(root: Path, write: Write) -> None:
    write("sam", "tools: [refund, read_order, launch]", "settings: {launch: ask, spend: ask}")
    errors = check_against(load_agents(root), {"refund", "read_orders"})
    assert [str(error) for error in errors] == [
        "sam/AGENT.md: there is no tool read_order (did you mean read_orders?): register it, or take it out",
        "sam/AGENT.md: there is no tool launch: register it, or take it out",
    ]


def test_tools_that_are_registered_pass(root: Path, write: Write) -> None:
    write("sam", "tools: [refund]", "settings: {refund: allow, spend: ask}")
    assert check_against(load_agents(root), {"refund", "read_orders"}) == []
