"""Shows results as tables and writes them as JSON. Knows no benchmark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.timing import Results, Spread, significant


@dataclass(frozen=True)
class Bar:
    """A ratio with the bar it should hold: at least `bar`, or at most it."""

    key: str
    what: str
    ratio: Spread
    bar: float
    at_least: bool = True

    @property
    def held(self) -> bool:
        """Whether the median holds the bar."""
        return self.ratio.median >= self.bar if self.at_least else self.ratio.median <= self.bar

    @property
    def wanted(self) -> str:
        """The bar as people write it."""
        return f"{'≥' if self.at_least else '≤'} {self.bar:g}"


def bars_json(bars: Sequence[Bar]) -> dict[str, Any]:
    """The median of every ratio under its key, and beside them ranges and verdicts."""
    return {
        **{bar.key: significant(bar.ratio.median) for bar in bars},
        "bars": {
            bar.key: {
                "low": significant(bar.ratio.low),
                "high": significant(bar.ratio.high),
                "bar": bar.wanted,
                "held": bar.held,
            }
            for bar in bars
        },
    }


def write_json(path: Path, value: Any) -> None:
    """Write the file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(path)


def show_bars(console: Console, title: str, bars: Sequence[Bar]) -> None:
    """A table of ratios against their bars."""
    rows = [
        (bar.what, written(bar.ratio), bar.wanted, "held" if bar.held else "NOT held")
        for bar in bars
    ]
    show(console, title, ("ratio", "median [range]", "bar", ""), rows)


def show(
    console: Console, title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """A plain table; every column but the first is right-aligned."""
    table = Table(title=title, title_justify="left")
    for place, header in enumerate(headers):
        table.add_column(header, justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def loads_of(results: Results) -> str:
    """The load averages of the rounds, in their order."""
    return ", ".join(f"{load:.1f}" for load in results.loads)


def written(spread: Spread, unit: str = "") -> str:
    """`median [low-high] unit`, with digits that fit the size of the figure."""
    median, low, high = (plain(value) for value in (spread.median, spread.low, spread.high))
    return f"{median} [{low}–{high}]{' ' + unit if unit else ''}"


def plain(value: float) -> str:
    """A figure with about three digits: 12,345 or 12.3 or 0.12."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"
