"""Numbers of a deployment that began beside those of the one before it, from stored measurements.

On the newest day that was measured of both they stand side by side: the same hours of the same
traffic, though other requests. Where no day was, the last day before stands beside the first after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from monitor.deployment import differing_groups
from monitor.documents.material import Material
from monitor.documents.numbers import DAY, measure, measurements_of
from monitor.documents.parts import Column, Kind, Row, Table
from monitor.reports.measurements import MeasurementRow

CHECKS = ("quality", "calibration", "serving")
COLUMNS = (
    Column("before", "Before"), Column("after", "After"), Column("differs", "Differ in"),
    Column("what", "Measure"), Column("column", "Column"), Column("cohort", "Cohort"),
    Column("before_value", "Before", Kind.NUMBER), Column("before_low", "Low", Kind.NUMBER),
    Column("before_high", "High", Kind.NUMBER), Column("before_n", "n", Kind.WHOLE),
    Column("after_value", "After", Kind.NUMBER), Column("after_low", "Low", Kind.NUMBER),
    Column("after_high", "High", Kind.NUMBER), Column("after_n", "n", Kind.WHOLE),
    Column("unit", "Unit"), Column("before_day", "Day before", Kind.MOMENT),
    Column("after_day", "Day after", Kind.MOMENT), Column("version", "Method version", Kind.WHOLE),
    Column("known_at", "Known at", Kind.MOMENT),
)  # fmt: skip
SAME_DAY, OTHER_DAYS = "same day", "other days"
EMPTY = "No deployment began in this period that was measured beside one before it."

Days = dict[datetime, MeasurementRow]
Series = tuple[str, str, str]


def before_after_table(material: Material) -> Table:
    """One line a measure for each deployment that began in the period after another."""
    found: dict[int, dict[Series, Days]] = defaultdict(lambda: defaultdict(dict))
    for row in measurements_of(material, CHECKS, DAY):
        if len(row.deployment_ids) == 1 and row.value is not None:
            series = (row.check, row.method, row.column)
            found[row.deployment_ids[0]][series][row.window.start] = row
    rows = [row for pair in _changes(found) for row in _lines(material, found, *pair)]
    return Table("before_after", "Before and after each change", COLUMNS, tuple(rows), EMPTY)


def _changes(found: dict[int, dict[Series, Days]]) -> Iterator[tuple[int, int]]:
    first = {
        number: min(day for days in series.values() for day in days)
        for number, series in found.items()
    }
    order = sorted(first, key=lambda number: (first[number], number))
    began = min(first.values(), default=None)
    yield from ((a, b) for a, b in pairwise(order) if first[b] != began)


def _lines(
    material: Material, found: dict[int, dict[Series, Days]], a: int, b: int
) -> Iterator[Row]:
    (title_a, tags_a), (title_b, tags_b) = (material.deployments[number] for number in (a, b))
    differs = ", ".join(differing_groups(tags_a, tags_b))
    for series in sorted(found[a].keys() & found[b].keys()):
        before, after, cohort = _beside(found[a][series], found[b][series])
        yield (
            title_a, title_b, differs, measure(before), before.column, cohort,
            before.value, before.low, before.high, before.n,
            after.value, after.low, after.high, after.n, after.unit,
            before.window.start, after.window.start, after.method_version,
            max(before.known_at, after.known_at),
        )  # fmt: skip


def _beside(before: Days, after: Days) -> tuple[MeasurementRow, MeasurementRow, str]:
    both = before.keys() & after.keys()
    if both:
        return before[max(both)], after[max(both)], SAME_DAY
    began = min(after)
    last = max((day for day in before if day < began), default=max(before))
    return before[last], after[began], OTHER_DAYS
