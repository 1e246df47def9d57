"""What a report is made of, whatever it is written as. Pure values.

Text from outside stands in cells, sentences and names as it is; each writer makes it harmless in
its own way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from monitor.windows import Window

Cell = str | int | float | bool | datetime | None
Row = tuple[Cell, ...]


class Kind(StrEnum):
    """What a column holds; it decides how a cell is written and on which side it stands."""

    TEXT = "text"
    WHOLE = "whole"
    NUMBER = "number"
    SHARE = "share"
    MOMENT = "moment"


class Voice(StrEnum):
    """How a sentence is meant."""

    TOLD = "told"
    BAD = "bad"
    MISSING = "missing"


@dataclass(frozen=True)
class Column:
    """A column of a table: its key in JSON and CSV, its heading for people."""

    key: str
    title: str
    kind: Kind = Kind.TEXT


@dataclass(frozen=True)
class Table:
    """Rows under headings. `empty` is what is said where there is no row."""

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    empty: str = "Nothing was recorded."

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise AssertionError(f"table {self.key}: {len(row)} cells, not {len(self.columns)}")


@dataclass(frozen=True)
class Point:
    """One value over a window with its interval; None where nothing was measured."""

    start: datetime
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """One series of a chart."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Chart:
    """Series over the period. `says` tells in words what there is to see."""

    key: str
    title: str
    unit: str
    lines: tuple[Line, ...]
    says: str


@dataclass(frozen=True)
class Sentence:
    """A plain sentence of a section."""

    text: str
    voice: Voice = Voice.TOLD


@dataclass(frozen=True)
class Section:
    """One part of the report, under a heading that says what it answers."""

    key: str
    title: str
    sentences: tuple[Sentence, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True)
class Cover:
    """What the report is about and what its numbers rest on."""

    project: str
    model: str
    owner: str
    purpose: str
    risk_tier: str
    period: Window
    zone: str
    as_known_at: datetime
    product_version: str
    configuration: str
    """SHA-256 of the contract and the alert rules in force at the end of the period."""


@dataclass(frozen=True)
class Document:
    """A whole report."""

    cover: Cover
    sections: tuple[Section, ...]


@dataclass
class Drafting:
    """A section that is being put together."""

    key: str
    title: str
    sentences: list[Sentence] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)

    def say(self, text: str, voice: Voice = Voice.TOLD) -> None:
        """Add a sentence."""
        self.sentences.append(Sentence(text, voice))

    def table(
        self,
        key: str,
        title: str,
        columns: Sequence[Column],
        rows: Sequence[Sequence[Cell]],
        empty: str = "Nothing was recorded.",
    ) -> None:
        """Add a table."""
        self.tables.append(Table(key, title, tuple(columns), tuple(map(tuple, rows)), empty))

    def done(self) -> Section:
        """The section."""
        return Section(
            self.key, self.title, tuple(self.sentences), tuple(self.tables), tuple(self.charts)
        )
