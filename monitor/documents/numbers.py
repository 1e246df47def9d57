"""Measurements as tables and charts of a report, each with n, interval, baseline and version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from monitor.documents.material import Material
from monitor.documents.parts import Chart, Column, Drafting, Kind, Line, Point, Row, Table, Voice
from monitor.measurement import Direction, MeasurementState
from monitor.reports.measurements import Filter, MeasurementRow, read_measurements

MOST = 200_000
DAY, MONTH = "day", "month"
WINDOW_COLUMNS = (
    Column("what", "Measure"), Column("column", "Column"), Column("deployments", "Deployments"),
    Column("start", "From", Kind.MOMENT), Column("end", "To", Kind.MOMENT),
    Column("value", "Value", Kind.NUMBER), Column("unit", "Unit"),
    Column("low", "Low", Kind.NUMBER), Column("high", "High", Kind.NUMBER),
    Column("level", "Level", Kind.SHARE), Column("n", "n", Kind.WHOLE),
    Column("baseline", "Baseline", Kind.WHOLE), Column("version", "Method version", Kind.WHOLE),
    Column("outcome", "Outcome"), Column("known_at", "Known at", Kind.MOMENT),
)  # fmt: skip
DIGEST_COLUMNS = (
    Column("what", "Measure"), Column("column", "Column"), Column("deployments", "Deployments"),
    Column("measured", "Measured", Kind.WHOLE), Column("too_few", "Too few", Kind.WHOLE),
    Column("failed", "Failed", Kind.WHOLE), Column("worst", "Worst", Kind.NUMBER),
    Column("worst_low", "Low", Kind.NUMBER), Column("worst_high", "High", Kind.NUMBER),
    Column("worst_at", "Window from", Kind.MOMENT), Column("newest", "Newest", Kind.NUMBER),
    Column("unit", "Unit"), Column("n", "n of the worst", Kind.WHOLE),
    Column("baseline", "Baseline", Kind.WHOLE), Column("version", "Method version", Kind.WHOLE),
    Column("known_at", "Known at", Kind.MOMENT),
)  # fmt: skip

Series = tuple[str, str, str, tuple[int, ...]]


def measurements_of(
    material: Material,
    checks: Sequence[str],
    scale: str,
    methods: Sequence[str] = (),
    segment_id: int = 0,
) -> tuple[MeasurementRow, ...]:
    """The newest known revisions of the period, oldest window first."""
    wanted = Filter(
        tuple(checks), tuple(methods), scale=scale, segment_id=segment_id,
        known_by=material.known_by,
    )  # fmt: skip
    rows = read_measurements(
        material.connection, material.project_id, material.model_id, material.period, wanted,
        limit=MOST,
    )  # fmt: skip
    return tuple(sorted(rows, key=_place))


def window_table(
    material: Material, key: str, title: str, rows: Iterable[MeasurementRow], empty: str
) -> Table:
    """One line a window."""
    told = [
        (
            measure(row), row.column, material.titles(row.deployment_ids),
            row.window.start, row.window.end, row.value, row.unit, row.low, row.high, row.level,
            row.n, row.baseline_id, row.method_version, outcome(row), row.known_at,
        )
        for row in rows
    ]  # fmt: skip
    return Table(key, title, WINDOW_COLUMNS, tuple(told), empty)


def digest_table(
    material: Material, key: str, title: str, rows: Iterable[MeasurementRow], empty: str
) -> Table:
    """One line a measure, column and set of deployments: how often it ran, its worst window."""
    told = [
        _digest(material, list(each)) for _, each in groupby(sorted(rows, key=_place), key=_series)
    ]
    return Table(key, title, DIGEST_COLUMNS, tuple(told), empty)


def _digest(material: Material, group: Sequence[MeasurementRow]) -> Row:
    measured = [row for row in group if row.value is not None]
    last = group[-1]
    worst = max(measured, key=badness, default=None)
    told: Row = (None, None, None, None, None)
    if worst is not None:
        told = (worst.value, worst.low, worst.high, worst.window.start, measured[-1].value)
    return (
        measure(last), last.column, material.titles(last.deployment_ids), len(measured),
        _count(group, MeasurementState.TOO_FEW), _count(group, MeasurementState.FAILED), *told,
        last.unit, worst.n if worst else None, last.baseline_id, last.method_version,
        max(row.known_at for row in group),
    )  # fmt: skip


def say_counts(draft: Drafting, rows: Sequence[MeasurementRow], scale: str) -> None:
    """How many of the windows could be judged; what could not be is told as missing."""
    if not rows:
        draft.say(f"No window of length {scale} was judged in this period.", Voice.MISSING)
        return
    measured = sum(row.value is not None for row in rows)
    few, failed = (
        _count(rows, state) for state in (MeasurementState.TOO_FEW, MeasurementState.FAILED)
    )
    draft.say(
        f"Of {len(rows):,} judgements of windows of length {scale}, {measured:,} were measured,"
        f" {few:,} had too few rows and {failed:,} failed.",
        Voice.BAD if failed else Voice.TOLD,
    )


def chart_of(
    material: Material,
    key: str,
    title: str,
    rows: Sequence[MeasurementRow],
    name: Callable[[MeasurementRow], str] | None = None,
    most: int = 5,
) -> Chart | None:
    """Lines over the period with their intervals; None where nothing was measured."""
    named: dict[str, list[MeasurementRow]] = {}
    for row in rows:
        label = name(row) if name else material.titles(row.deployment_ids)
        named.setdefault(label, []).append(row)
    measured = {label: [r for r in each if r.value is not None] for label, each in named.items()}
    kept = sorted((label for label in measured if measured[label]),
                  key=lambda label: (-len(measured[label]), label))[:most]  # fmt: skip
    if not kept:
        return None
    lines = tuple(Line(label, tuple(_point(row) for row in named[label])) for label in kept)
    says = " ".join(_says(label, measured[label]) for label in kept)
    return Chart(key, title, measured[kept[0]][0].unit, lines, says)


def badness(row: MeasurementRow) -> float:
    """How bad a measured value is beside others of its measure."""
    value = row.value or 0.0
    if row.direction == Direction.LOWER_IS_WORSE:
        return -value
    return value if row.direction == Direction.HIGHER_IS_WORSE else abs(value)


def outcome(row: MeasurementRow) -> str:
    """How judging a window ended, and what is known of its labels."""
    if row.state is not MeasurementState.MEASURED:
        return f"{words(row.state.value)}: {row.reason}"
    maturity = row.detail.get("maturity")
    return f"measured, {words(str(maturity))}" if maturity else "measured"


def measure(row: MeasurementRow) -> str:
    """Check and method in words."""
    return f"{words(row.check)}: {words(row.method)}"


def words(name: str) -> str:
    """A name of ours as words."""
    return name.replace("_", " ")


def _point(row: MeasurementRow) -> Point:
    return Point(row.window.start, row.value, row.low, row.high)


def _says(label: str, rows: Sequence[MeasurementRow]) -> str:
    values = [row.value for row in rows if row.value is not None]
    return (
        f"{label or 'All'}: {len(values)} windows from {min(values):.4g} to {max(values):.4g},"
        f" {values[-1]:.4g} in the last one."
    )


def _count(rows: Iterable[MeasurementRow], state: MeasurementState) -> int:
    return sum(row.state is state for row in rows)


def _series(row: MeasurementRow) -> Series:
    return row.check, row.method, row.column, row.deployment_ids


def _place(row: MeasurementRow) -> tuple[object, ...]:
    return (*_series(row), row.leg, row.window.start, row.window.end, row.baseline_id or 0)
