"""The pictures in docs/cards: ``python -m tests.pictures [--all]`` draws each PNG of the JSON beside it.

A JSON file is what Slack is sent: a message ({"blocks": …}) or a view ({"type": "modal" or "home", …}). The
picture says of which bytes it was drawn, in a text chunk of its own; only those whose JSON has changed since
are drawn anew. Reading that needs nothing; drawing needs Node.js and Chromium.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.node import NodeMissing, installed

ROOT = Path(__file__).resolve().parent.parent
CARDS = ROOT / "docs" / "cards"
DRAW = CARDS / "draw"
CACHE = ROOT / "build" / "cards"
WIDTH = 700
"""As card.css has it."""
SCALE = 2
TALLEST = 8000
SECONDS = 60.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")

KEYWORD = b"gatepost-blocks"
SIGNATURE = b"\x89PNG\r\n\x1a\n"
PAGE = (
    "<!doctype html><meta charset=utf-8><link rel=stylesheet href=card.css><div id=root></div>"
    '<script id=given type="application/json">{given}</script><script src=card.js></script>'
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


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each chunk of a PNG, its kind and its data; those that are whole, where it is cut or no PNG."""
    at = len(SIGNATURE) if png.startswith(SIGNATURE) else len(png)
    while at + 12 <= len(png):
        (length,) = struct.unpack_from(">I", png, at)
        data = png[at + 8 : at + 8 + length]
        if len(data) == length:
            yield png[at + 4 : at + 8], data
        at += 12 + length


def with_digest(png: bytes, digest: str) -> bytes:
    """The same picture, saying *digest* right after its header, and no older one."""
    ours = KEYWORD + b"\0" + digest.encode("ascii")
    made = [SIGNATURE]
    for kind, data in chunks(png):
        if kind == b"tEXt" and data.startswith(KEYWORD + b"\0"):
            continue
        made.append(_chunk(kind, data))
        if kind == b"IHDR":
            made.append(_chunk(b"tEXt", ours))
    return b"".join(made)


def _chunk(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def changed(cards: Path = CARDS) -> list[Path]:
    """The JSON files that have no picture, or one that was drawn of other bytes."""
    found = sorted(cards.glob("*.json"))
    return [blocks for blocks in found if digest_in(blocks.with_suffix(".png")) != digest_of(blocks)]


# ── drawing ──────────────────────────────────────────────────────────────────────────────────


def bundle(folder: Path) -> None:
    """*folder* holds the script and the style that draw a page. Raises NodeMissing, NotDrawn."""
    modules = installed(DRAW, CACHE)
    for name in ("card.jsx", "card.css"):
        shutil.copyfile(DRAW / name, CACHE / name)  # beside node_modules, where their imports are looked up
    tool = str(modules / "esbuild" / "bin" / "esbuild")
    out = f"--outfile={folder / 'card.js'}"
    _ran(["node", tool, "card.jsx", "--bundle", "--minify", "--jsx=automatic", "--log-level=error", out])


def draw(blocks: Path, folder: Path, browser: str) -> None:
    """The picture beside *blocks* is as high as what is in it, and says what it was drawn of."""
    try:
        given = json.dumps(json.loads(blocks.read_bytes())).replace("</", "<\\/")
    except ValueError as error:
        raise NotDrawn(f"{blocks.name} is no JSON: {error}") from None
    page, shot = folder / "card.html", folder / "card.png"
    page.write_text(PAGE.replace("{given}", given), encoding="utf-8")
    shot.unlink(missing_ok=True)
    said = _ran([*_browser(browser, folder, TALLEST), "--dump-dom", page.as_uri()])
    measured = re.search(r'data-height="(\d+)"', said)
    if measured is None:
        raise NotDrawn(f"{blocks.name} could not be drawn: the page failed; is it a message or a view?")
    height = int(measured[1])
    if height > TALLEST:
        raise NotDrawn(f"{blocks.name} is {height} pixels high, more than the {TALLEST} that are drawn")
    _ran([*_browser(browser, folder, height), f"--screenshot={shot}", page.as_uri()])
    if not shot.exists():
        raise NotDrawn(f"{blocks.name} could not be drawn: {browser} left no picture")
    blocks.with_suffix(".png").write_bytes(with_digest(shot.read_bytes(), digest_of(blocks)))


def _browser(browser: str, folder: Path, height: int) -> list[str]:
    """A browser without a window and a profile of its own, which asks nobody for anything."""
    command = [browser, "--headless", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += ["--allow-file-access-from-files", f"--user-data-dir={folder / 'profile'}"]
    command += ["--virtual-time-budget=3000", f"--window-size={WIDTH},{height}"]
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
    parser = argparse.ArgumentParser(prog="python -m tests.pictures", description="Draw docs/cards/*.png.")
    parser.add_argument("--all", action="store_true", help="also those whose JSON has not changed")
    todo = sorted(CARDS.glob("*.json")) if parser.parse_args(arguments).all else changed()
    if not todo:
        sys.stdout.write("every picture in docs/cards is of its JSON\n")
        return 0
    try:
        browser = _found_browser()
        with tempfile.TemporaryDirectory(prefix="gatepost-cards-") as made:
            bundle(Path(made))
            for blocks in todo:
                draw(blocks, Path(made), browser)
                sys.stdout.write(f"drew docs/cards/{blocks.with_suffix('.png').name}\n")
    except (NodeMissing, NotDrawn) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
