"""A forked command is what one started anew is: the same words and statuses, and a process to be killed."""

import signal
from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine, command_line


@pytest.fixture
def bot(tmp_path: Path) -> CommandLine:
    return command_line(f"sqlite+aiosqlite:///{tmp_path / 'gatepost.db'}", tmp_path)


@pytest.mark.parametrize(
    "typed", [("settings",), ("approve",), ("show", "t-9"), ("new", "--help"), ("chat",)], ids=" ".join
)
async def test_a_forked_command_says_what_one_started_anew_says(
    bot: CommandLine, typed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of the process that runs the tests")  # and of no command
    forked = await bot.run(*typed, typed="/quit\n")
    assert forked == await bot.started_anew.run(*typed, typed="/quit\n")
    assert forked.out or forked.err


async def test_a_forked_command_is_killed_as_a_process_is(bot: CommandLine) -> None:
    worker = await bot.start("worker")
    assert worker.stderr is not None
    assert b"works" in await worker.stderr.readline()
    worker.kill()
    out, err = await worker.communicate()
    assert (worker.returncode, out, err) == (-signal.SIGKILL, b"", b"")
    with pytest.raises(ProcessLookupError):
        worker.kill()
