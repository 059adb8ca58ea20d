"""The pictures in docs/cards: ``python -m tests.pictures [--all]`` draws each PNG of the JSON beside it.

A JSON file is what a surface is sent: Slack a message ({"blocks": …}) or a view ({"type": "modal" or "home",
…}), Telegram a chat's messages ([{"method": "sendMessage", …}, …]). The picture says of which bytes it was
drawn, in a text chunk of its own; only those whose JSON has changed since are drawn anew. Reading that needs
nothing; drawing needs Chromium, and for Slack's Node.js.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.node import NodeMissing, installed
from tests.palette import SIGNATURE, chunk, chunks, in_few_colours

ROOT = Path(__file__).resolve().parent.parent
CARDS = ROOT / "docs" / "cards"
DRAW = CARDS / "draw"
CACHE = ROOT / "build" / "cards"
SCALE = 2
TALLEST = 8000
SECONDS = 60.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")

KEYWORD = b"gatepost-blocks"
PAGE = (
    "<!doctype html><meta charset=utf-8><link rel=stylesheet href={name}.css><div id=root></div>"
    '<script id=given type="application/json">{given}</script><script src={name}.js></script>'
)


class NotDrawn(Exception):
    """A picture could not be drawn; the words say why."""


# ── what a picture says of itself ────────────────────────────────────────────────────────────


def digest_of(blocks: Path) -> str:
    """The SHA-256 of a JSON file's bytes, in hex."""
    return hashlib.sha256(blocks.read_bytes()).hexdigest()


def digest_in(picture: Path) -> str | None:
    """The digest of what *picture* was drawn of; None where it says none, is no PNG or is not there."""
    try:
        png = picture.read_bytes()
    except FileNotFoundError:
        return None
    for kind, data in chunks(png):
        keyword, _, value = data.partition(b"\0")
        if kind == b"tEXt" and keyword == KEYWORD:
            return value.decode("latin-1")
    return None


def with_digest(png: bytes, digest: str) -> bytes:
    """The same picture, saying *digest* right after its header, and no older one."""
    ours = KEYWORD + b"\0" + digest.encode("ascii")
    made = [SIGNATURE]
    for kind, data in chunks(png):
        if kind == b"tEXt" and data.startswith(KEYWORD + b"\0"):
            continue
        made.append(chunk(kind, data))
        if kind == b"IHDR":
            made.append(chunk(b"tEXt", ours))
    return b"".join(made)


def found(folders: Sequence[Path]) -> list[Path]:
    """The JSON files of *folders*."""
    return [blocks for folder in folders for blocks in sorted(folder.glob("*.json"))]


def changed(folders: Sequence[Path]) -> list[Path]:
    """The JSON files that have no picture, or one that was drawn of other bytes."""
    return [blocks for blocks in found(folders) if digest_in(blocks.with_suffix(".png")) != digest_of(blocks)]


# ── drawing ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """How a surface's JSON becomes a page: NAME.js and NAME.css are put in a folder by *made*.

    *width*: of a picture, as the style has it.
    """

    name: str
    width: int
    made: Callable[[Path], None]

    @property
    def page(self) -> str:
        return PAGE.replace("{name}", self.name)


def _bundled(folder: Path) -> None:
    """Slack's look is made of others' packages. Raises NodeMissing, NotDrawn."""
    modules = installed(DRAW, CACHE)
    for name in ("card.jsx", "card.css"):
        shutil.copyfile(DRAW / name, CACHE / name)  # beside node_modules, where their imports are looked up
    tool = str(modules / "esbuild" / "bin" / "esbuild")
    out = f"--outfile={folder / 'card.js'}"
    _ran(["node", tool, "card.jsx", "--bundle", "--minify", "--jsx=automatic", "--log-level=error", out])


def _copied(folder: Path) -> None:
    for name in ("telegram.js", "telegram.css"):
        shutil.copyfile(DRAW / name, folder / name)


LOOKS = {
    CARDS: Look(name="card", width=700, made=_bundled),
    CARDS / "telegram": Look(name="telegram", width=420, made=_copied),
}
"""By the folder of what is drawn."""


def draw(blocks: Path, look: Look, folder: Path, browser: str) -> None:
    """The picture beside *blocks* is as high as what is in it, and says what it was drawn of."""
    try:
        given = json.dumps(json.loads(blocks.read_bytes())).replace("</", "<\\/")
    except ValueError as error:
        raise NotDrawn(f"{blocks.name} is no JSON: {error}") from None
    page, shot = folder / "card.html", folder / "card.png"
    page.write_text(look.page.replace("{given}", given), encoding="utf-8")
    shot.unlink(missing_ok=True)
    said = _ran([*_browser(browser, folder, look.width, TALLEST), "--dump-dom", page.as_uri()])
    measured = re.search(r'data-height="(\d+)"', said)
    if measured is None:
        raise NotDrawn(f"{blocks.name} could not be drawn: the page failed; is it a message or a view?")
    height = int(measured[1])
    if height > TALLEST:
        raise NotDrawn(f"{blocks.name} is {height} pixels high, more than the {TALLEST} that are drawn")
    _ran([*_browser(browser, folder, look.width, height), f"--screenshot={shot}", page.as_uri()])
    if not shot.exists():
        raise NotDrawn(f"{blocks.name} could not be drawn: {browser} left no picture")
    blocks.with_suffix(".png").write_bytes(with_digest(in_few_colours(shot.read_bytes()), digest_of(blocks)))


def _browser(browser: str, folder: Path, width: int, height: int) -> list[str]:
    """A browser without a window and a profile of its own, which asks nobody for anything."""
    command = [browser, "--headless", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += ["--allow-file-access-from-files", f"--user-data-dir={folder / 'profile'}"]
    command += ["--virtual-time-budget=3000", f"--window-size={width},{height}"]
    command += [f"--force-device-scale-factor={SCALE}"]
    if os.geteuid() == 0:  # the browser's sandbox refuses root
        command.append("--no-sandbox")
    return command


def _ran(command: Sequence[str]) -> str:
    """What *command* printed. Raises NotDrawn where it failed or hangs."""
    env = {**os.environ, "TZ": "UTC", "LANG": "en_US.UTF-8"}  # moments read alike on every machine
    try:
        ran = subprocess.run(
            command, cwd=CACHE, env=env, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotDrawn(f"{command[0]} took longer than {SECONDS:g} s") from None
    if ran.returncode != 0:
        raise NotDrawn(f"{command[0]} failed: {ran.stderr.strip()[-1000:]}")
    return ran.stdout


def _found_browser() -> str:
    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    raise NotDrawn(
        f"Chromium is needed, and none of {', '.join(BROWSERS)} is on PATH: apt-get install chromium"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 once each picture is there and of its JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.pictures", description="Draw the PNGs of docs/cards."
    )
    parser.add_argument("--all", action="store_true", help="also those whose JSON has not changed")
    folders = list(LOOKS)
    todo = found(folders) if parser.parse_args(arguments).all else changed(folders)
    if not todo:
        sys.stdout.write("every picture in docs/cards is of its JSON\n")
        return 0
    try:
        browser = _found_browser()
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="gatepost-cards-") as made:
            for folder in {blocks.parent: None for blocks in todo}:
                LOOKS[folder].made(Path(made))
            for blocks in todo:
                draw(blocks, LOOKS[blocks.parent], Path(made), browser)
                sys.stdout.write(f"drew {blocks.with_suffix('.png').relative_to(ROOT)}\n")
    except (NodeMissing, NotDrawn) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
