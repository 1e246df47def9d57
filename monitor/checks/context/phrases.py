"""Numbers, limits and names as they stand in sentences."""

from __future__ import annotations

from datetime import datetime

from monitor.measurement import Measured

_LONGEST_NAME = 60


def percent(value: float) -> str:
    """A share in per cent, e.g. `75 %`, `0.4 %`; less than a hundredth of one is `0 %`."""
    return f"{_plain(100 * value) if abs(value) >= 1e-4 else 0} %"


def p_value(value: float) -> str:
    """A p-value, e.g. `p = 0.0012`; what is next to nothing as `p < 1e-16`."""
    return f"p = {value:.2g}" if value >= 1e-16 else "p < 1e-16"


def number(value: float) -> str:
    """A number with four digits."""
    return f"{value:.4g}"


def count(n: int) -> str:
    """A count with thousands apart."""
    return f"{n:,}"


def share_limits(measured: Measured) -> str:
    """Interval and rows of a share, e.g. `95 % interval 60 % to 88 %, n = 900, reference 800`."""
    if measured.low is None or measured.high is None:
        return _rows(measured)
    low, high = percent(measured.low), percent(measured.high)
    return f"{_level(measured)} interval {low} to {high}, {_rows(measured)}"


def number_limits(measured: Measured) -> str:
    """Interval and rows of a number in the unit of the output."""
    if measured.low is None or measured.high is None:
        return _rows(measured)
    low, high = number(measured.low), number(measured.high)
    return f"{_level(measured)} interval {low} to {high}, {_rows(measured)}"


def name(text: str) -> str:
    """A name or value of the user's: printable, and cut at 60 characters."""
    shown = "".join(sign if sign.isprintable() else "?" for sign in text)
    return shown if len(shown) <= _LONGEST_NAME else shown[: _LONGEST_NAME - 1] + "…"


def names(texts: tuple[str, ...]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    shown = [name(text) for text in texts]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def hours_away(hours: float) -> str:
    """`3 h before the start`, `1 h after the start`, `at the start`."""
    if hours == 0:
        return "at the start"
    side = "before" if hours < 0 else "after"
    return f"{_plain(abs(hours))} h {side} the start"


def _plain(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 10 else f"{value:.2g}"


def _level(measured: Measured) -> str:
    return percent(measured.level or 0.95)


def _rows(measured: Measured) -> str:
    rows = f"n = {count(measured.n)}"
    if measured.n_reference is None:
        return rows
    return f"{rows}, reference {count(measured.n_reference)}"
