"""Cells as people read them. Text from outside loses what would hide or turn other text."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from monitor.documents.parts import Cell, Kind

NOTHING = "–"
RIGHT = frozenset({Kind.WHOLE, Kind.NUMBER, Kind.SHARE})
MOST_ROWS, MOST_TEXT = 60, 400
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_LONE = re.compile(r"[\ud800-\udfff]")


def plain(text: str) -> str:
    """One line without control characters, marks that turn the writing and lone surrogates."""
    return _LONE.sub("\ufffd", _CONTROL.sub(" ", text)).strip()


def short(text: str) -> str:
    """The same, cut where a page would not hold it; the cut is shown."""
    one = plain(text)
    return one if len(one) <= MOST_TEXT else one[: MOST_TEXT - 1] + "…"


def cell_text(cell: Cell, kind: Kind) -> str:
    """A cell for a page: four digits of a number, per cent of a share, moments in UTC."""
    if cell is None or cell == "":
        return NOTHING
    if isinstance(cell, datetime):
        return moment(cell)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int | float):
        return _number(cell, kind)
    return short(cell)


def moment(at: datetime) -> str:
    """`2026-11-29 14:00`, UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def exact(at: datetime) -> str:
    """The same moment with all its digits, as programs read it."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _number(value: float, kind: Kind) -> str:
    if kind is Kind.WHOLE:
        return f"{value:,.0f}"
    if kind is Kind.SHARE:
        return f"{value * 100:.4g} %"
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:,.0f}"
