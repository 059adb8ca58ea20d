"""Skills in an agent's folder: what is taken, what is refused, and several folders of agents."""

import os
from pathlib import Path

import pytest

from adapters.folders import MOST_SKILLS, load_agents, load_report
from core.agents import Skill
from core.errors import AgentFolderError
from core.skills import listed

SKILL = "---\nname: refunds\ndescription: How refunds are made.\n---\n\nLook first.\n\nThen pay.\n"
REFUNDS = Skill(name="refunds", about="How refunds are made.", text="Look first.\n\nThen pay.")


def agent(root: Path, key: str = "sam", name: str | None = None, *more: str) -> Path:
    folder = root / key
    folder.mkdir(parents=True)
    lines = ["---", f"name: {name or key.title()}", *more, "---", "Be kind."]
    (folder / "AGENT.md").write_text("\n".join(lines), encoding="utf-8")
    return folder


def skill(folder: Path, name: str = "refunds", content: str | None = SKILL) -> Path:
    place = folder / "skills" / name
    place.mkdir(parents=True)
    if content is not None:
        (place / "SKILL.md").write_text(content, encoding="utf-8")
    return place / "SKILL.md"


def only_error(root: Path) -> str:
    agents, (error,) = load_report(root)
    assert agents == {}, "an agent without the skills it was given is not the one that was meant"
    return str(error)


# ── what is taken ────────────────────────────────────────────────────────────────────────────


def test_an_agents_skills_are_those_in_its_folder_by_name(tmp_path: Path) -> None:
    folder = agent(tmp_path)
    skill(folder)
    skill(folder, "apologies", "---\ndescription: How to say sorry.\n---\nShortly.")
    skill(folder, ".drafts", "nothing yet")
    agent(tmp_path, "mia")
    agents = load_agents(tmp_path)
    apologies = Skill(name="apologies", about="How to say sorry.", text="Shortly.")
    assert [agents[key].skills for key in ("mia", "sam")] == [(), (apologies, REFUNDS)]


def test_each_is_offered_by_its_name_and_one_line() -> None:
    assert listed([REFUNDS]).splitlines()[2:] == [
        "Skills. Read one with `read_skill` before you do what it is about:",
        "- refunds: How refunds are made.",
    ]
    assert listed([]) == ""


def test_a_skill_is_part_of_the_folders_digest(tmp_path: Path) -> None:
    folder = agent(tmp_path)
    digests = [load_agents(tmp_path)["sam"].digest]
    file = skill(folder)
    digests.append(load_agents(tmp_path)["sam"].digest)
    file.write_text(SKILL.replace("pay", "pay twice"), encoding="utf-8")
    digests.append(load_agents(tmp_path)["sam"].digest)
    file.parent.rename(file.parent.with_name("other"))
    (folder / "skills" / "other" / "SKILL.md").write_text(SKILL.replace("refunds", "other"), encoding="utf-8")
    digests.append(load_agents(tmp_path)["sam"].digest)
    assert len(set(digests)) == 4


# ── what is refused ──────────────────────────────────────────────────────────────────────────

FRONT = "---\ndescription: x\n---\n"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("refunds", None, "the folder has no SKILL.md: write one, or hide the folder as .refunds"),
        ("refunds", "no front", "refunds/SKILL.md:1: the file must begin with a line ---"),
        ("refunds", "---\nname: refunds\n---\nText.", "SKILL.md:1: description is missing: say in one"),
        ("refunds", SKILL.replace("name: refunds", "name: x"), ":2: name: a skill goes by its folder's name"),
        ("refunds", SKILL.replace("name:", "titel:"), ":2: there is no key titel: write name or description"),
        ("refunds", FRONT, "refunds/SKILL.md: the skill says nothing"),
        ("refunds", SKILL.replace("How", "How" * 200), ":3: description: longer than 300 characters"),
        ("refunds", SKILL.replace("How", '"a\\nb"#'), ":3: description: it holds U+000A"),
        ("refunds", SKILL.replace("How", "How\u2066"), "SKILL.md:3: U+2066, which can't be seen"),
        ("refunds", SKILL + "\n\u200bx", "refunds/SKILL.md:"),
        ("refunds", SKILL + "x" * 70_000, "refunds/SKILL.md: the file is larger than 64 KiB"),
        ("Refunds", SKILL, "sam/skills/Refunds: a skill's folder is named in a-z"),
        ("re funds", SKILL, "sam/skills/re funds: a skill's folder is named in a-z"),
    ],
)  # fmt: skip
def test_a_skill_that_is_none_is_refused_with_its_file(
    tmp_path: Path, name: str, content: str | None, words: str
) -> None:
    skill(agent(tmp_path), name, content)
    assert words in only_error(tmp_path)


def test_a_loose_file_and_too_many_skills_are_refused(tmp_path: Path) -> None:
    folder = agent(tmp_path)
    for n in range(MOST_SKILLS + 1):
        skill(folder, f"s{n}", "---\ndescription: x\n---\nText.")
    assert only_error(tmp_path) == "sam/skills: more than 64 skills: put some of them together"
    (folder / "skills" / "tips.md").write_text("Tips.", encoding="utf-8")
    assert "sam/skills/tips.md: a skill is a folder of its own: move it to tips/SKILL.md" in only_error(
        tmp_path
    )


def test_links_that_leave_the_folder_of_agents_are_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "agents", tmp_path / "outside"
    skill(outside, "refunds")
    secret = tmp_path / "secret"
    secret.write_text(SKILL, encoding="utf-8")
    file = skill(agent(root, "a"), content=None)
    file.symlink_to(secret)
    (agent(root, "b") / "skills").symlink_to(outside / "skills")
    (agent(root, "c") / "skills").mkdir()
    (root / "c" / "skills" / "refunds").symlink_to(outside / "skills" / "refunds")
    agents, errors = load_report(root)
    assert agents == {}
    assert [e.path for e in errors] == [f"{key}/skills/refunds/SKILL.md" for key in "abc"]
    assert all("a link leads out of the folder of agents" in str(e) for e in errors)


def test_links_in_a_circle_pipes_and_files_in_place_of_folders_are_refused(tmp_path: Path) -> None:
    circle = skill(agent(tmp_path, "a"), content=None)
    circle.symlink_to("SKILL.md")
    os.mkfifo(skill(agent(tmp_path, "b"), content=None))
    (agent(tmp_path, "c") / "skills").write_text("", encoding="utf-8")
    (agent(tmp_path, "d") / "skills").symlink_to("nowhere")
    agents, errors = load_report(tmp_path)
    assert agents == {}
    assert [e.path for e in errors] == [
        "a/skills/refunds/SKILL.md",
        "b/skills/refunds/SKILL.md",
        "c/skills",
        "d/skills",
    ]


# ── several folders of agents ────────────────────────────────────────────────────────────────


def test_agents_of_several_folders_work_together(tmp_path: Path) -> None:
    agent(tmp_path / "ours", "sam", "Sam", "chief: true")
    skill(agent(tmp_path / "theirs", "mia"))
    agents = load_agents(tmp_path / "theirs", tmp_path / "ours")
    assert [(key, one.chief, one.skills) for key, one in agents.items()] == [
        ("mia", False, (REFUNDS,)),
        ("sam", True, ()),
    ]


@pytest.mark.parametrize(
    ("key", "more", "words"),
    [
        ("sam", (), "ours/sam is named so too: rename one"),
        ("eve", ("chief: true",), "ours/sam also has chief: true"),
    ],
)
def test_agents_of_two_folders_that_clash_are_both_refused(
    tmp_path: Path, key: str, more: tuple[str, ...], words: str
) -> None:
    agent(tmp_path / "ours", "sam", "Sam", "chief: true")
    agent(tmp_path / "theirs", key, "Eve", *more)
    agents, errors = load_report(tmp_path / "ours", tmp_path / "theirs")
    assert agents == {}
    assert {e.path for e in errors} == {"ours/sam/AGENT.md", f"theirs/{key}/AGENT.md"}
    assert any(words in str(e) for e in errors)


def test_a_folder_that_is_gone_hides_no_other(tmp_path: Path) -> None:
    agent(tmp_path / "ours")
    agents, errors = load_report(tmp_path / "ours", tmp_path / "gone")
    assert list(agents) == ["sam"]
    assert [str(e) for e in errors] == [
        "gone: the folder of agents can't be read (No such file or directory): check that it exists"
    ]
    with pytest.raises(AgentFolderError):
        load_agents(tmp_path / "ours", tmp_path / "gone")
