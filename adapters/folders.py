"""Agents as folders: ``<root>/<key>/AGENT.md``, keys of front matter and the role as the body.

What an agent may read up on stands beside it, in ``skills/<skill>/SKILL.md``: a description, and the text.
Data, never code: nothing of a folder is imported or run. Whatever is not understood is refused, with the
file, the line and what to write instead, and one broken folder does not hide the others. How YAML is
read is front_matter.py's; which tools exist is told by whoever calls `check_against`.
"""

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from adapters.front_matter import MAX_BYTES, Fields, Page, one_of, read_page, surprise
from core.agents import Agent, Limits, Skill
from core.canonical import digest
from core.errors import AgentFolderError
from core.gate import Risk, Setting
from core.nearest import nearest

FILE = "AGENT.md"
SKILLS, SKILL_FILE = "skills", "SKILL.md"
SKILL_KEYS = ("name", "description")
MOST_SKILLS = 64
"""Of one agent: each takes a line of every request."""
LONGEST_DESCRIPTION = 300
FOLDER_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}", re.ASCII)
TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
HOST = re.compile(r"\.?[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+", re.ASCII)

KEYS = (
    "name", "title", "chief", "label", "tools", "settings", "model", "limits", "triggers", "interactive",
    "hosts",
)  # fmt: skip
WHOLE_LIMITS = ("rounds", "strikes", "tokens", "daily_tokens", "reply_tokens", "window")
LIMITS = (*WHOLE_LIMITS, "seconds", "wrap_up")
TRIGGER_KEYS = (
    "when", "cadence", "weekday", "at", "event", "after", "goal", "watch", "max_per_day", "catch_up"
)  # fmt: skip
WHEN = ("schedule", "event", "done")
CADENCES = ("hourly", "daily", "weekly", "monthly")
NEEDED = MappingProxyType({"schedule": "cadence", "event": "event", "done": "after"})
"""What a trigger of each kind can't fire without."""

RISKS = tuple(str(risk) for risk in Risk)
SETTINGS = tuple(str(setting) for setting in Setting)
ALWAYS_ASK = (Risk.REMOVE, Risk.PROFILE)
"""Risks that no setting lets run (I12)."""


def load_agents(*roots: Path) -> Mapping[str, Agent]:
    """The agents of the folders in *roots*, by key. Raises the first error, the others as its notes."""
    agents, errors = load_report(*roots)
    if errors:
        for further in errors[1:]:
            errors[0].add_note(f"also: {further}")
        raise errors[0]
    return MappingProxyType(agents)


def load_report(*roots: Path) -> tuple[dict[str, Agent], list[AgentFolderError]]:
    """The agents that can be read, by key, and what is wrong with the others, both in the order of the keys.

    Of two agents that go by one folder's name, by one name, or that are both chief, none is taken: which was
    meant is not known.
    """
    found: list[_Found] = []
    names: set[str] = set()
    errors: list[AgentFolderError] = []
    for root in roots:
        prefix = f"{root.name}/" if len(roots) > 1 else ""
        try:
            folders = _folders(root)
        except OSError as error:
            words = f"the folder of agents can't be read ({error.strerror}): check that it exists"
            errors.append(AgentFolderError(words, path=root.name or "."))
            continue
        names |= {folder.name for folder in folders}
        for folder in folders:
            try:
                page = _page(root, folder, prefix)
                found.append(
                    _Found(page=page, agent=_agent(folder.name, page, _skills(root, folder, prefix)))
                )
            except AgentFolderError as error:
                errors.append(error)
    wrong = [*_clashes(found), *_chains(found, names)]
    errors += [error for _, error in wrong]
    refused = {id(one) for one, _ in wrong}
    agents = {one.agent.key: one.agent for one in found if id(one) not in refused}
    return dict(sorted(agents.items())), sorted(errors, key=lambda error: error.path)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    page: Page
    agent: Agent


def check_against(agents: Mapping[str, Agent], tool_names: Collection[str]) -> list[AgentFolderError]:
    """What is wrong where *agents* name tools, to use or in settings, that are not among *tool_names*."""
    errors = []
    for key, agent in agents.items():
        named = [*agent.tools, *(name for name in agent.settings if name not in RISKS)]
        for name in dict.fromkeys(named):
            if name not in tool_names:
                words = f"there is no tool {name}{nearest(name, tool_names)}: register it, or take it out"
                errors.append(AgentFolderError(words, path=f"{key}/{FILE}"))
    return errors


# ── files ────────────────────────────────────────────────────────────────────────────────────


def _folders(root: Path) -> list[Path]:
    """What stands for an agent in *root*: each folder or link that leads nowhere, but for hidden ones."""
    entries = (entry for entry in root.iterdir() if not entry.name.startswith("."))
    return sorted(entry for entry in entries if entry.is_dir() or not entry.exists())


def _page(root: Path, folder: Path, prefix: str) -> Page:
    path = f"{prefix}{folder.name}/{FILE}"
    if FOLDER_NAME.fullmatch(folder.name) is None:
        raise AgentFolderError(f"an agent's folder is {_NAMED}", path=f"{prefix}{folder.name}")
    return read_page(_content(root.resolve(), folder / FILE, path), path)


_NAMED = "named in a-z, 0-9, _ and -, a letter first, at most 40: rename it"


def _content(root: Path, file: Path, path: str) -> bytes:
    """Up to one byte more than a file may hold. Only a plain file inside *root* is opened."""
    try:
        return _read(root, file, path)
    except OSError as error:
        words = f"the file can't be read ({error.strerror}): check its permissions and where it leads"
        raise AgentFolderError(words, path=path) from None


def _read(root: Path, file: Path, path: str) -> bytes:
    if not file.is_symlink() and not file.exists() and not file.parent.is_symlink():
        wanted = file.name.lower()
        other = next((e.name for e in file.parent.iterdir() if e.name.lower() == wanted), None)
        hidden = f"write one, or hide the folder as .{file.parent.name}"
        mend = f"rename {other} to {file.name}" if other else hidden
        raise AgentFolderError(f"the folder has no {file.name}: {mend}", path=path)
    real = Path(os.path.realpath(file))  # resolve() raises on a loop of links, this lets open() say it
    if not real.is_relative_to(root):
        raise AgentFolderError(
            "a link leads out of the folder of agents: put a copy of the file here instead", path=path
        )
    if real.exists() and not real.is_file():
        raise AgentFolderError("this is not a file: write the front matter and the text into one", path=path)
    with real.open("rb") as opened:
        return opened.read(MAX_BYTES + 1)


def _skills(root: Path, folder: Path, prefix: str) -> list[tuple[Skill, Page]]:
    """The skills in the folder of an agent, by name, each with its file."""
    place, path = folder / SKILLS, f"{prefix}{folder.name}/{SKILLS}"
    if not place.exists() and not place.is_symlink():
        return []
    try:
        loose = sorted(e.name for e in place.iterdir() if e.suffix == ".md" and not e.name.startswith("."))
        folders = _folders(place)
    except OSError as error:
        words = f"the skills can't be read ({error.strerror}): check the folder and where it leads"
        raise AgentFolderError(words, path=path) from None
    if loose:
        mend = f"move it to {Path(loose[0]).stem}/{SKILL_FILE}"
        raise AgentFolderError(f"a skill is a folder of its own: {mend}", path=f"{path}/{loose[0]}")
    if len(folders) > MOST_SKILLS:
        raise AgentFolderError(f"more than {MOST_SKILLS} skills: put some of them together", path=path)
    return [_skill(root, skill, f"{path}/{skill.name}") for skill in folders]


def _skill(root: Path, folder: Path, path: str) -> tuple[Skill, Page]:
    if FOLDER_NAME.fullmatch(folder.name) is None:
        raise AgentFolderError(f"a skill's folder is {_NAMED}", path=path)
    path = f"{path}/{SKILL_FILE}"
    page = read_page(_content(root.resolve(), folder / SKILL_FILE, path), path)
    fields = Fields(path, page.keys, line=1, known=SKILL_KEYS)
    if fields.get("name", Fields.line, folder.name) != folder.name:
        raise fields.wrong("name", f"a skill goes by its folder's name: write {folder.name}, or leave it out")
    about = fields.need(
        "description",
        lambda of, key: of.line(key, LONGEST_DESCRIPTION),
        "say in one line what the skill is for",
    )
    if not page.body.strip():
        raise AgentFolderError("the skill says nothing: write it below the front matter", path=path)
    return Skill(name=folder.name, about=about, text=page.body), page


def _clashes(found: Sequence[_Found]) -> list[tuple[_Found, AgentFolderError]]:
    by_key, by_name = defaultdict(list), defaultdict(list)
    for one in found:
        by_key[one.agent.key].append(one)
        by_name[unicodedata.normalize("NFKC", one.agent.name).casefold()].append(one)
    twice = [group for group in by_key.values() if len(group) > 1]
    clashes = [
        (one, AgentFolderError(f"{_others(one, group)} is named so too: rename one", path=one.page.path))
        for group in twice
        for one in group
    ]
    chiefs = [one for one in found if one.agent.chief]
    groups = [
        *(
            ("name", group, f"the name {group[0].agent.name}: give each its own")
            for group in by_name.values()
        ),
        ("chief", chiefs, "chief: true: leave it to one"),
    ]
    for field, group, words in groups:
        for one in group if len(group) > 1 else ():
            line = one.page.keys[field].said
            error = AgentFolderError(f"{_others(one, group)} also has {words}", path=one.page.path, line=line)
            clashes.append((one, error))
    return clashes


def _others(one: _Found, group: Sequence[_Found]) -> str:
    return ", ".join(other.page.path.removesuffix(f"/{FILE}") for other in group if other is not one)


def _chains(found: Sequence[_Found], names: Collection[str]) -> list[tuple[_Found, AgentFolderError]]:
    """Agents that follow one that is not there, or that would start each other for ever."""
    starts: dict[str, list[str]] = defaultdict(list)
    wrong = []
    for one in found:
        for after in (str(t["after"]) for t in one.agent.triggers if t["when"] == "done"):
            starts[after].append(one.agent.key)
            if after not in names:
                words = (
                    f"there is no agent {after}{nearest(after, sorted(names))}: name another, or take it out"
                )
                wrong.append((one, _of_triggers(one, f"after: {words}")))
    for one in found:
        if (circle := _circle(starts, one.agent.key)) is not None:
            words = f"done triggers go in a circle, {' → '.join(circle)}: take one of them out"
            wrong.append((one, _of_triggers(one, words)))
    return wrong


def _of_triggers(one: _Found, words: str) -> AgentFolderError:
    return AgentFolderError(words, path=one.page.path, line=one.page.keys["triggers"].said)


def _circle(starts: Mapping[str, Sequence[str]], first: str) -> tuple[str, ...] | None:
    """The shortest way from *first* back to itself; None where there is none."""
    ways: list[tuple[str, ...]] = [(first,)]
    seen: set[str] = set()
    for way in ways:  # grows as it goes
        for follower in starts.get(way[-1], ()):
            if follower == first:
                return (*way, first)
            if follower not in seen:
                seen.add(follower)
                ways.append((*way, follower))
    return None


# ── keys ─────────────────────────────────────────────────────────────────────────────────────


def _agent(key: str, page: Page, skills: Sequence[tuple[Skill, Page]]) -> Agent:
    fields = Fields(page.path, page.keys, line=1, known=KEYS)
    tools: tuple[str, ...] = fields.get("tools", _tool_names, ())
    return Agent(
        key=key,
        name=fields.need("name", Fields.shown, "write name: and the name people will see"),
        title=fields.get("title", Fields.shown, ""),
        role=page.body,
        label=fields.get("label", Fields.line, None),
        chief=fields.get("chief", Fields.switch, False),
        tools=tools,
        settings=fields.get("settings", lambda of, name: _settings(of, name, tools), MappingProxyType({})),
        model=fields.get("model", Fields.line, None),
        limits=fields.get("limits", _limits, Limits()),
        triggers=fields.get("triggers", _triggers, ()),
        interactive=fields.get("interactive", Fields.switch, False),
        hosts=fields.get("hosts", _hosts, ()),
        skills=tuple(skill for skill, _ in skills),
        digest=digest({FILE: page.text, **{f"{SKILLS}/{s.name}/{SKILL_FILE}": p.text for s, p in skills}}),
    )


def _tool_names(of: Fields, key: str) -> tuple[str, ...]:
    names: list[str] = []
    for entry in of.items(key):
        if not isinstance(entry.value, str) or TOOL_NAME.fullmatch(entry.value) is None:
            mend = f"{surprise(entry)}write the names of tools, as they are registered"
            raise of.error(f"{key}: {mend}", entry.line)
        if entry.value in names:
            raise of.error(f"{key}: {entry.value} stands here twice: keep one", entry.line)
        names.append(entry.value)
    return tuple(names)


def _hosts(of: Fields, key: str) -> tuple[str, ...]:
    for entry in of.items(key):
        if not isinstance(entry.value, str) or HOST.fullmatch(entry.value) is None:
            mend = f"{surprise(entry)}write hosts such as example.com, or .example.com for all under it"
            raise of.error(f"{key}: {mend}", entry.line)
    return tuple(str(entry.value) for entry in of.items(key))


def _settings(of: Fields, name: str, tools: tuple[str, ...]) -> Mapping[str, Setting]:
    fields = of.fields(name)
    found: dict[str, Setting] = {}
    for key, entry in fields.entries.items():
        if key not in RISKS and key not in tools:
            near = nearest(key, [*RISKS, *tools])
            words = f"settings: {key} is neither a risk nor one of the agent's tools{near}: {one_of(RISKS)}"
            raise fields.error(words, entry.said)
        found[key] = Setting(fields.choice(key, SETTINGS))
        if key in ALWAYS_ASK and found[key] is Setting.ALLOW:
            raise fields.error(
                f"{key} always asks, whatever the setting: write ask, or take it out", entry.said
            )
    return MappingProxyType(found)


def _limits(of: Fields, name: str) -> Limits:
    fields = of.fields(name, LIMITS)
    given: dict[str, Any] = {key: fields.whole(key) for key in WHOLE_LIMITS if key in fields.entries}
    if "seconds" in fields.entries:
        given["seconds"] = fields.number("seconds")
    if "wrap_up" in fields.entries:
        given["wrap_up"] = fields.switch("wrap_up")
    return Limits(**given)


# ── triggers: only their shape; what they mean is checked where they are run ─────────────────


def _triggers(of: Fields, name: str) -> tuple[Mapping[str, object], ...]:
    found = []
    for entry in of.items(name):
        if not isinstance(entry.value, Mapping):
            raise of.error(f"{name}: each one is keys with values, the first being when:", entry.line)
        found.append(_trigger(Fields(of.path, entry.value, line=entry.line, known=TRIGGER_KEYS)))
    return tuple(found)


def _trigger(fields: Fields) -> Mapping[str, object]:
    when = fields.need("when", lambda of, key: of.choice(key, WHEN), one_of(WHEN))
    needed = NEEDED[when]
    if needed not in fields.entries:
        raise fields.error(f"{needed} is missing: a trigger when: {when} needs it", fields.line_of_all)
    return MappingProxyType({key: _TRIGGER_READERS[key](fields, key) for key in fields.entries})


def _time(of: Fields, key: str) -> str:
    entry = of.entries[key]
    mend = 'write the time in quotes as "HH:MM", from "00:00" to "23:59"'
    if not isinstance(entry.value, str) or entry.raw is not None:
        raise of.wrong(key, mend)
    if re.fullmatch(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]", entry.value, re.ASCII) is None:
        raise of.wrong(key, mend)
    return entry.value


def _weekday(of: Fields, key: str) -> int:
    value = of.entries[key].value
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 6:
        raise of.wrong(key, "write a number from 0 (Monday) to 6 (Sunday)")
    return value


def _teammate(of: Fields, key: str) -> str:
    text = of.text(key)
    if FOLDER_NAME.fullmatch(text) is None:
        raise of.wrong(key, "write the name of the other agent's folder")
    return text


_TRIGGER_READERS: Mapping[str, Callable[[Fields, str], object]] = MappingProxyType(
    {
        "when": lambda of, key: of.choice(key, WHEN),
        "cadence": lambda of, key: of.choice(key, CADENCES),
        "weekday": _weekday,
        "at": _time,
        "event": Fields.line,
        "after": _teammate,
        "goal": Fields.text,
        "watch": Fields.switch,
        "max_per_day": Fields.whole,
        "catch_up": Fields.switch,
    }
)
