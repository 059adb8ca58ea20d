"""Packages of npm that the checkout's own tools need: exactly those of a lockfile, kept in build/."""

import re
import shutil
import subprocess
from pathlib import Path

OLDEST = (20, 15)
MEND = "install it from https://nodejs.org or your system's packages, so that `node` and `npm` are on PATH"


class NodeMissing(Exception):
    """Node.js, npm or the packages are not here; the words say what to do."""


def installed(locked: Path, cache: Path) -> Path:
    """node_modules in *cache*, as the package-lock.json in *locked* has it; installed where it has changed.

    No script of a package is run. Raises NodeMissing.
    """
    npm = _npm()
    ours = (locked / "package-lock.json").read_bytes()
    done = cache / "installed.json"
    if not done.exists() or done.read_bytes() != ours:
        cache.mkdir(parents=True, exist_ok=True)
        done.unlink(missing_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(locked / name, cache / name)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        ran = subprocess.run(command, cwd=cache, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise NodeMissing(f"npm could not install {locked.name}'s packages:\n{ran.stderr.strip()}")
        done.write_bytes(ours)
    return cache / "node_modules"


def _npm() -> str:
    """npm's path. Raises NodeMissing where it, or a Node.js that is new enough, is not here."""
    wanted = "Node.js {}.{} or newer with npm is needed".format(*OLDEST)
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise NodeMissing(f"{wanted}, and {'npm' if node else 'node'} is not here: {MEND}")
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    version = re.match(r"v(\d+)\.(\d+)", said)
    if version is None or (int(version[1]), int(version[2])) < OLDEST:
        raise NodeMissing(f"{wanted}, and {node} is {said or 'not working'}: {MEND}")
    return npm
