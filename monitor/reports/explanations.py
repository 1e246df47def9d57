"""Explanations of changed quality as people read them: sentences, parts, columns, segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Engine

from monitor.records import LIVE_LEG
from monitor.reports.database import reading
from monitor.store.explanations import StoredExplanation, read_explanations
from monitor.windows import Window

PART_WORDS = {
    "harder_mix": "more or fewer of the inputs that were always hard",
    "within": "the same inputs, judged worse or better",
    "new_or_rare": "inputs that were new or rare",
    "total": "the whole change",
}


@dataclass(frozen=True)
class Part:
    """One part of the split; `low` and `high` at 95 %."""

    name: str
    words: str
    value: float
    low: float
    high: float
    value_text: str
    limits_text: str


@dataclass(frozen=True)
class ColumnShare:
    """How much of the change goes with the changed mix of a column (or of a pair)."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    share_text: str
    limits_text: str
    rows_text: str


@dataclass(frozen=True)
class SegmentRow:
    """What one segment carries of the change; `cells` as text: label, contribution, limits, rows,
    loss then, loss now."""

    label: str
    value: float
    low: float | None
    high: float | None
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """One stored explanation. `reason` says why there is no split, None where there is one."""

    window: Window
    reference: Window
    leg: str
    method: str
    made_by: str
    known_at: datetime
    body: Mapping[str, Any]
    sentences: tuple[str, ...]
    reason: str | None
    rows_sentence: str = ""
    columns_reason: str = ""
    parts: tuple[Part, ...] = ()
    columns: tuple[ColumnShare, ...] = ()
    segments: Mapping[str, tuple[SegmentRow, ...]] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        return str(self.body.get("unit", "share"))


def explanations(
    engine: Engine,
    project_id: int,
    model_id: int,
    known_by: datetime | None = None,
    leg: str = LIVE_LEG,
) -> tuple[Explanation, ...]:
    """The newest explanations of a model first, as they were known."""
    with reading(engine, project_id) as connection:
        found = read_explanations(connection, project_id, model_id, leg, known_by)
    return tuple(explanation_of(one) for one in found)


def explanation_of(stored: StoredExplanation) -> Explanation:
    """An explanation from what is stored."""
    body = stored.body
    split = body.get("split", {})
    there = split.get("state") == "measured"
    unit = str(body.get("unit", "share"))
    columns = body.get("columns", {})
    return Explanation(
        window=stored.window,
        reference=stored.reference,
        leg=stored.leg,
        method=stored.method,
        made_by=stored.made_by,
        known_at=stored.known_at,
        body=body,
        sentences=tuple(body.get("sentences", ())),
        reason=None if there else str(split.get("reason", "")),
        rows_sentence=_rows_sentence(body) if there else "",
        columns_reason=_columns_reason(columns),
        parts=tuple(_part(name, split[name], unit) for name in PART_WORDS) if there else (),
        columns=tuple(_column(one) for one in columns.get("columns", ())),
        segments={
            key: tuple(_segment(one, unit) for one in found["segments"])
            for key, found in body.get("segments", {}).items()
            if found.get("state") == "measured"
        },
    )


def change_text(value: float | None, unit: str) -> str:
    """A change with its sign, shares in points."""
    if value is None:
        return ""
    return f"{100 * value:+.2f} points" if unit == "share" else f"{value:+.4g}"


def level_text(value: float | None, unit: str) -> str:
    """A loss: an error rate in per cent, or a mean absolute error."""
    if value is None:
        return ""
    return f"{100 * value:.1f} %" if unit == "share" else f"{value:.4g}"


def _limits(found: Mapping[str, Any], unit: str) -> str:
    low, high = found.get("low"), found.get("high")
    if low is None or high is None:
        return str(found.get("reason", ""))
    if unit == "ratio":
        return f"{100 * low:.0f} % to {100 * high:.0f} %"
    return f"{change_text(low, unit)} to {change_text(high, unit)}"


def _part(name: str, found: Mapping[str, Any], unit: str) -> Part:
    return Part(
        name,
        PART_WORDS[name],
        found["value"],
        found["low"],
        found["high"],
        change_text(found["value"], unit),
        _limits(found, unit),
    )


def _column(one: Mapping[str, Any]) -> ColumnShare:
    share = one["share"]
    value = share.get("value")
    return ColumnShare(
        " and ".join(one["columns"]),
        value,
        share.get("low"),
        share.get("high"),
        "too few rows" if value is None else f"{100 * value:.0f} %",
        _limits(share, "ratio"),
        f"{one['effective_rows']:,.0f}",
    )


def _segment(one: Mapping[str, Any], unit: str) -> SegmentRow:
    found = one["contribution"]
    value = one["mix"] + one["within"]
    measured = found.get("state") == "measured"
    cells = (
        str(one["label"]),
        change_text(value, unit) if measured else "too few rows",
        _limits(found, unit),
        f"{100 * one['share_then']:.1f} % then, {100 * one['share_now']:.1f} % now",
        level_text(one["loss_then"], unit),
        level_text(one["loss_now"], unit),
    )
    return SegmentRow(str(one["label"]), value, found.get("low"), found.get("high"), cells)


def _columns_reason(columns: Mapping[str, Any]) -> str:
    if columns.get("state") == "did_not_move":
        return "The change is within what chance gives, so columns are not ranked."
    reason = columns.get("reason")
    return f"Columns are not ranked: {reason}." if reason else ""


def _rows_sentence(body: Mapping[str, Any]) -> str:
    told: Sequence[tuple[str, Any]] = (("then", body["then"]), ("now", body["now"]))
    sides = [
        f"{name}: {side['labelled']:,} labelled of {side['sampled']:,} sampled rows"
        for name, side in told
    ]
    shared = " and ".join(f"{rows:,.0f}" for rows in body["split"]["shared_rows"])
    return f"{'; '.join(sides)}. The shared inputs are worth {shared} rows."
