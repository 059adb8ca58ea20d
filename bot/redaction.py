"""What nobody may read in this process: one redactor for its database, chats, logs and errors (I33)."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from bot.settings import Settings
from core.caught import caught, words_of
from core.redact import Redactor

REDACTOR: Final = Redactor()
"""The process's one. What is registered stays: whoever knew a secret may still have it in a message."""

_TRACEBACKS = logging.Formatter()


def settings_from(environ: Mapping[str, str]) -> Settings:
    """What *environ* sets, its secrets shown nowhere from here on. Raises ConfigError."""
    settings = Settings.from_env(environ)
    REDACTOR.register_all(settings.secrets())
    return settings


@contextmanager
def redacted_logs(redactor: Redactor) -> Iterator[None]:
    """Every record made inside is redacted before any handler has it, tracebacks too.

    At the record's making rather than by a filter on handlers, so that none an app adds later goes without.
    """
    before = logging.getLogRecordFactory()

    def made(*args: Any, **named: Any) -> logging.LogRecord:
        return _redacted(before(*args, **named), redactor)

    logging.setLogRecordFactory(made)
    try:
        yield
    finally:
        logging.setLogRecordFactory(before)


def _redacted(record: logging.LogRecord, redactor: Redactor) -> logging.LogRecord:
    """*record*, its message whole and its error as text: neither arguments nor exceptions are left in it."""
    words = words_of(record.msg)
    with caught():
        words = record.getMessage()
    record.msg, record.args = redactor.redact(words), None
    if record.exc_info:
        record.exc_text = redactor.redact(_TRACEBACKS.formatException(record.exc_info))
        record.exc_info = None
    if record.stack_info:
        record.stack_info = redactor.redact(record.stack_info)
    return record
