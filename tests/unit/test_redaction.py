"""Whatever logs, and whatever handler listens: no record made while the bot is open holds a secret."""

import io
import logging
import sys
from collections.abc import Iterator

import pytest

from bot.cli import _failed
from bot.redaction import redacted_logs
from core.redact import Redactor

CANARY = "canary-log-0001"


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError(CANARY)


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What a handler that an app adds later writes, all of a record's own fields with it."""
    stream, log = io.StringIO(), logging.getLogger("tests.redaction")
    handler = logging.StreamHandler(stream)
    with redacted_logs(Redactor({"KEY": CANARY})):
        log.addHandler(handler)
        log.propagate = False
        yield stream
        log.removeHandler(handler)


@pytest.mark.rule("I33")
def test_a_line_its_arguments_its_traceback_and_its_stack_are_redacted(written: io.StringIO) -> None:
    log = logging.getLogger("tests.redaction")
    log.warning("plain %s and %%", CANARY)
    log.warning({"a": CANARY})
    try:
        raise ValueError(CANARY) from KeyError(CANARY)
    except ValueError:
        log.exception("it failed: %(key)s", {"key": CANARY}, stack_info=True)
    said = written.getvalue()
    assert CANARY not in said
    assert said.startswith("plain [secret KEY] and %\n{'a': '[secret KEY]'}\nit failed: [secret KEY]\n")
    assert "KeyError: '[secret KEY]'" in said and "ValueError: [secret KEY]" in said
    assert "Stack (most recent call last)" in said


@pytest.mark.rule("I33")
def test_a_line_that_can_not_be_made_is_logged_without_its_arguments(
    written: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logging.getLogger("tests.redaction")
    log.warning("too few %s %s", CANARY)
    log.warning("it is %s", Unprintable())
    assert written.getvalue() == "too few %s %s\nit is %s\n"
    assert CANARY not in "".join(capsys.readouterr())


def test_afterwards_records_are_made_as_before() -> None:
    before = logging.getLogRecordFactory()
    with redacted_logs(Redactor()):
        assert logging.getLogRecordFactory() is not before
    assert logging.getLogRecordFactory() is before
    assert sys.exc_info() == (None, None, None)


@pytest.mark.rule("I33")
def test_a_bug_is_told_with_its_place_and_without_a_secret(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise RuntimeError("password=swordfish")
    except RuntimeError as error:
        assert _failed(error) == 1
    said = capsys.readouterr().err
    assert said.startswith("Traceback (most recent call last):\n")
    assert said.endswith("RuntimeError: password=[secret]\n")
    assert "test_redaction.py" in said


def test_who_has_said_already_why_it_leaves_is_let_go() -> None:
    with pytest.raises(SystemExit) as left:
        _failed(SystemExit(3))
    assert left.value.code == 3
