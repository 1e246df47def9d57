"""Log lines without payloads: one line a problem, control characters escaped, no exception texts.

The text of a database error can hold a whole row, so an exception is told by its type and place.
"""

from __future__ import annotations

import logging
import traceback
from typing import Any

LOGGER = logging.getLogger("inferwatch.collector")
FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class PlainFormatter(logging.Formatter):
    """One line a record; an exception becomes its type and the place it was raised at."""

    def __init__(self) -> None:
        super().__init__(FORMAT)

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        copy = logging.makeLogRecord(record.__dict__)
        error = copy.exc_info[1] if copy.exc_info else None
        copy.exc_info = copy.exc_text = copy.stack_info = None
        line = super().format(copy)
        if error is not None:
            line += f" error={describe(error)}"
        return escape(line)


def describe(error: BaseException) -> str:
    """An exception's type and where it was raised, without its text."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__module__}.{type(error).__qualname__}{place}"


def escape(text: str) -> str:
    """The text with every control and line-breaking character as an escape."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")
        for sign in text
    )


def log_config(level: str = "INFO") -> dict[str, Any]:
    """Logging of the whole process, for uvicorn."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"()": "monitor.collector.logs.PlainFormatter"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
        "root": {"level": level, "handlers": ["stderr"]},
        "loggers": {"uvicorn.access": {"level": "WARNING"}, "alembic": {"level": "WARNING"}},
    }
