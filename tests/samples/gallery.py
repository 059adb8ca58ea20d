"""A folder of docs/cards: samples of what a surface is sent, as JSON, and a page that shows their pictures.

`python -m tests.samples` writes them, and `python -m tests.pictures` draws them.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

CARDS: Final = Path(__file__).resolve().parents[2] / "docs" / "cards"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """*words*: what it is, as its page says it. *of*: the kinds it is a sample of. *made*: what is sent."""

    name: str
    words: str
    of: frozenset[object]
    made: Callable[[], Any]

    def text(self) -> str:
        """The JSON of its file."""
        return json.dumps(self.made(), ensure_ascii=False, indent=1) + "\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Gallery:
    """*top*: how its page begins. *parts*: every sample, in the order of the page."""

    folder: Path
    top: str
    parts: Mapping[str, tuple[Sample, ...]]

    @property
    def samples(self) -> tuple[Sample, ...]:
        return tuple(sample for part in self.parts.values() for sample in part)

    @property
    def page(self) -> Path:
        return self.folder / "README.md"

    def file(self, sample: Sample) -> Path:
        return self.folder / f"{sample.name}.json"

    def page_text(self) -> str:
        """Each picture with a line of what it is."""
        lines = [self.top]
        for title, samples in self.parts.items():
            lines += ["", f"## {title}"]
            for one in samples:
                lines += ["", f"**{one.name}**: {one.words}", "", f"![{one.name}]({one.name}.png)"]
        return "\n".join(lines) + "\n"

    def files(self) -> dict[Path, str]:
        """What is to stand in each file."""
        return {self.page: self.page_text(), **{self.file(one): one.text() for one in self.samples}}

    def written(self) -> list[Path]:
        """Each of `files` is in the folder, and no other JSON is; those that have changed."""
        made = self.files()
        self.folder.mkdir(exist_ok=True)
        for path in self.folder.glob("*.json"):
            if path not in made:
                path.unlink()
                path.with_suffix(".png").unlink(missing_ok=True)
        changed = [
            path for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text
        ]
        for path in changed:
            path.write_text(made[path], "utf-8")
        return changed
