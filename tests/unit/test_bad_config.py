"""Bad inputs 56 to 70: what a folder or the environment may say wrongly, and the outcome of each."""

from pathlib import Path

import pytest

from adapters.folders import check_against, load_agents, load_report
from bot.settings import Settings, audit_key
from core.errors import ConfigError

GOOD = "---\nname: Sam\n---\n"


def write(root: Path, key: str, *lines: str, name: str = "Eve") -> Path:
    """A folder whose front matter is the name and *lines*."""
    return put(root, key, "\n".join(["---", f"name: {name}", *lines, "---", ""]).encode())


def put(root: Path, key: str, content: bytes) -> Path:
    folder = root / key
    folder.mkdir(parents=True)
    (folder / "AGENT.md").write_bytes(content)
    return folder


def refused(root: Path) -> list[str]:
    """What is wrong, in words; Sam, who is good, loads all the same."""
    agents, errors = load_report(root)
    assert agents.keys() == {"sam"}
    return [str(error) for error in errors]


TRIGGER = ("triggers:", "  - when: schedule", "    cadence: weekly")
LIMITS = (
    ("negative", "limits: {tokens: -1}"),
    ("zero", "limits: {rounds: 0}"),
    ("nan", "limits: {seconds: .nan}"),
)
LINES: list[object] = [
    pytest.param(["triggers:", "  - on: schedule"], 4, "YAML reads on as true", id="bad-input-57"),
    pytest.param(["settigns: {}"], 3, "there is no key settigns", id="bad-input-58"),
    pytest.param(["title: a", "title: b"], 4, "title stands here a second time", id="bad-input-59"),
    *(
        pytest.param(
            [*TRIGGER, f"    at: {at}"],
            6,
            'write it in quotes, "09:00"' if at == "9:00" else 'as "HH:MM"',
            id=f"bad-input-63-{at}",
        )
        for at in ("9:00", "25:00", "1260", '"24:00"')
    ),
    *(
        pytest.param(
            [*TRIGGER, f"    weekday: {day}"], 6, "0 (Monday) to 6 (Sunday)", id=f"bad-input-64-{day}"
        )
        for day in (7, -1, "mon")
    ),
    pytest.param(["settings: {contcat: ask}"], 3, "did you mean contact?", id="bad-input-68"),
    *(pytest.param([line], 3, "above zero", id=f"bad-input-69-{name}") for name, line in LIMITS),
]


@pytest.mark.rule("I13")
@pytest.mark.parametrize(("lines", "line", "words"), LINES)
def test_a_line_that_is_wrong_is_named_and_the_other_agents_load(
    tmp_path: Path, lines: list[str], line: int, words: str
) -> None:
    write(tmp_path, "sam", name="Sam")
    write(tmp_path, "eve", *lines)
    (error,) = refused(tmp_path)
    assert error.startswith(f"eve/AGENT.md:{line}: ")
    assert words in error


def test_a_front_matter_that_is_never_closed_is_named_with_its_line(tmp_path: Path) -> None:
    """Bad input 56."""
    write(tmp_path, "sam", name="Sam")
    put(tmp_path, "eve", b"---\nname: Eve\nBe kind.\n")
    (error,) = refused(tmp_path)
    assert error.startswith("eve/AGENT.md:1: ") and "never closed" in error


def test_a_tool_that_is_not_registered_is_an_error(tmp_path: Path) -> None:
    """Bad input 60."""
    write(tmp_path, "eve", "tools: [refnud]")
    (error,) = check_against(load_agents(tmp_path), {"refund"})
    assert "there is no tool refnud (did you mean refund?)" in str(error)


def after(root: Path, key: str, *others: str) -> None:
    lines = [f"  - {{when: done, after: {other}, goal: Go on.}}" for other in others]
    write(root, key, *(["triggers:", *lines] if lines else []), name=key)


@pytest.mark.rule("I22")
@pytest.mark.parametrize(
    ("chains", "said"),
    [
        pytest.param(
            {"a": ["b"], "b": ["a"]},
            {"a": "a → b → a", "b": "b → a → b"},
            id="bad-input-61-two",
        ),
        pytest.param({"a": ["a"]}, {"a": "a → a"}, id="bad-input-61-itself"),
        pytest.param(
            {"a": ["c"], "b": ["a"], "c": ["b"], "d": ["a"]},
            {"a": "a → b → c → a", "b": "b → c → a → b", "c": "c → a → b → c"},
            id="bad-input-61-three",
        ),
    ],
)
def test_triggers_that_start_each_other_for_ever_are_refused_with_the_circle(
    tmp_path: Path, chains: dict[str, list[str]], said: dict[str, str]
) -> None:
    for key, others in chains.items():
        after(tmp_path, key, *others)
    agents, errors = load_report(tmp_path)
    assert [str(error) for error in errors] == [
        f"{key}/AGENT.md:3: done triggers go in a circle, {circle}: take one of them out"
        for key, circle in said.items()
    ]
    assert agents.keys() == chains.keys() - said.keys()


def test_chains_without_a_circle_load(tmp_path: Path) -> None:
    for key, others in {"a": [], "b": ["a"], "c": ["a", "b"], "d": ["b", "c"]}.items():
        after(tmp_path, key, *others)
    assert len(load_agents(tmp_path)) == 4


def test_an_agent_that_follows_nobody_there_is_an_error(tmp_path: Path) -> None:
    """Bad input 62."""
    write(tmp_path, "sam", name="Sam")
    after(tmp_path, "eve", "sma")
    assert refused(tmp_path) == [
        "eve/AGENT.md:3: after: there is no agent sma (did you mean sam?): name another, or take it out"
    ]


def test_two_agents_of_one_name_are_an_error(tmp_path: Path) -> None:
    """Bad input 65."""
    write(tmp_path, "sam", name="Sam")
    write(tmp_path, "eve")
    write(tmp_path, "eva", name="EVE")
    assert [error.partition(":")[0] for error in refused(tmp_path)] == ["eva/AGENT.md", "eve/AGENT.md"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"a" * 5_000_000, "larger than 64 KiB", id="bad-input-66-size"),
        pytest.param(b"---\nname: Ev\xe9\n---\n", "not UTF-8", id="bad-input-66-latin"),
        pytest.param(None, "leads out of the folder of agents", id="bad-input-66-link"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_an_error(tmp_path: Path, content: bytes | None, words: str) -> None:
    root = tmp_path / "agents"
    write(root, "sam", name="Sam")
    folder = put(root, "eve", content or b"")
    if content is None:
        (tmp_path / "elsewhere.md").write_text(GOOD)
        (folder / "AGENT.md").unlink()
        (folder / "AGENT.md").symlink_to(tmp_path / "elsewhere.md")
    (error,) = refused(root)
    assert words in error


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xef\xbb\xbf---\nname: Eve\n---\nBe kind.\n", id="bad-input-66-bom"),
        pytest.param(b"---\r\nname: Eve\r\n---\r\nBe kind.\r\n", id="bad-input-66-crlf"),
    ],
)
def test_a_byte_order_mark_and_crlf_are_taken(tmp_path: Path, content: bytes) -> None:
    put(tmp_path, "eve", content)
    agent = load_agents(tmp_path)["eve"]
    assert (agent.name, agent.role.strip()) == ("Eve", "Be kind.")


def test_a_watch_with_tools_that_act_loads(tmp_path: Path) -> None:
    """Bad input 67: what it may run is the gate's business."""
    lines = ["triggers:", "  - {when: schedule, cadence: daily, goal: Look., watch: true}"]
    write(tmp_path, "eve", "tools: [refund]", *lines)
    assert load_agents(tmp_path)["eve"].tools == ("refund",)


def test_a_secret_that_is_missing_is_named_and_no_other_is_shown() -> None:
    """Bad input 70."""
    here = {"DATABASE_URL": "postgresql://ada:s3cret@db/shop", "MODEL_KEY": "sk-hidden"}
    with pytest.raises(ConfigError) as error:
        audit_key(Settings.from_env(here))
    assert "AUDIT_KEY" in str(error.value)
    assert "s3cret" not in str(error.value) and "sk-hidden" not in str(error.value)
