"""Temporary files go into memory where there is room, and nowhere else than somebody chose."""

import tempfile
from pathlib import Path

import pytest

from tests.scratch import in_memory


@pytest.fixture(autouse=True)
def chosen_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test changes of where temporary files go holds for that test."""
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())


def test_temporary_files_go_where_there_is_room(tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    assert in_memory(environ, tmp_path, room=1)
    assert environ == {"TMPDIR": str(tmp_path)}
    assert tempfile.tempdir is None


def test_a_place_that_somebody_chose_stays(tmp_path: Path) -> None:
    environ = {"TMPDIR": "/elsewhere"}
    before = tempfile.tempdir
    assert not in_memory(environ, tmp_path, room=1)
    assert (environ, tempfile.tempdir) == ({"TMPDIR": "/elsewhere"}, before)


@pytest.mark.parametrize(("folder", "room"), [("", 2**62), ("missing", 1)], ids=["no room", "no folder"])
def test_where_there_is_no_room_nothing_changes(folder: str, room: int, tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    before = tempfile.tempdir
    assert not in_memory(environ, tmp_path / folder, room=room)
    assert (environ, tempfile.tempdir) == ({}, before)
