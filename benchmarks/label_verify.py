"""Looks at what joining labels changed: their own windows, all of them, and no other."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.database import Workspace
from benchmarks.label_rejoin import owner
from monitor.calendar import local_month
from monitor.checks.registry import CheckName
from monitor.profiles.part import PartKind
from monitor.windows import Grain

Key = tuple[str, datetime]
_PARTS = (
    "select grain, window_start, md5(string_agg(md5(body), ''"
    " order by deployment_id, leg, segment_id)) from profile where part = %s group by 1, 2"
)
_BLOCKS = (
    "select window_start, md5(string_agg(md5(body), '' order by deployment_id, leg))"
    " from prediction_block group by 1"
)
_REVISIONS = (
    "select window_start, window_end, check_name, count(*) from measurement"
    " where id > %s group by 1, 2, 3"
)
_NAMES = {int(Grain.HOUR): "hour", int(Grain.DAY): "day"}


@dataclass(frozen=True)
class Stored:
    """Digests of prediction blocks, of the labels parts of hours and days, by window; and the
    number of the last measurement.
    """

    digests: dict[Key, str]
    last_measurement: int


@dataclass(frozen=True)
class Changed:
    """What a run changed, in counts."""

    blocks: int
    hours: int
    days: int
    windows_measured: int
    revisions: int


def look(place: Workspace) -> Stored:
    """The database as it is."""
    with owner(place) as connection:
        parts = connection.execute(_PARTS, (int(PartKind.LABELS),)).fetchall()
        blocks = connection.execute(_BLOCKS).fetchall()
        last = connection.execute("select coalesce(max(id), 0) from measurement").fetchone()
    digests = {(_NAMES[grain], start): digest for grain, start, digest in parts}
    digests |= {("block", start): digest for start, digest in blocks}
    return Stored(digests, int(last[0]) if last else 0)


def verify(place: Workspace, before: Stored, touched: pa.ChunkedArray) -> Changed:
    """Count what changed since `before`; `touched` are event times of the labels' requests.

    AssertionError unless exactly the windows of these requests have other blocks, other labels
    parts and new revisions of quality, and no other window has a new revision of anything.
    """
    hours, days = _starts(touched, "hour"), _starts(touched, "day")
    after = look(place)
    found = {key for key in {*before.digests, *after.digests} if _differs(before, after, key)}
    wanted = {("block", hour) for hour in hours} | {("hour", hour) for hour in hours}
    _demand("blocks and labels parts", found, wanted | {("day", day) for day in days})
    measured, revisions = _revised(place, before, days)
    counts = {name: sum(kind == name for kind, _ in found) for name in ("block", "hour", "day")}
    return Changed(counts["block"], counts["hour"], counts["day"], measured, revisions)


def _revised(place: Workspace, before: Stored, days: AbstractSet[datetime]) -> tuple[int, int]:
    with owner(place) as connection:
        rows = connection.execute(_REVISIONS, (before.last_measurement,)).fetchall()
    spans = {(day, day + Grain.DAY.length) for day in days}
    months = [local_month(day, place.model.contract.time_zone) for day in days]
    spans |= {(month.start, month.end) for month in months}
    quality = {(start, end) for start, end, check, _ in rows if check == CheckName.QUALITY.value}
    _demand("revisions of quality", quality, spans)
    # The label feed is judged on the days on which labels come, which are other days.
    of_requests = [row for row in rows if row[2] != CheckName.LABEL_FEED.value]
    strange = {(start, end) for start, end, *_ in of_requests} - spans
    _demand("revisions of anything", strange, set())
    return len(quality), sum(count for *_, count in of_requests)


def _starts(times: pa.ChunkedArray, unit: str) -> set[datetime]:
    return set(pc.unique(pc.floor_temporal(times, unit=unit)).to_pylist())


def _differs(before: Stored, after: Stored, key: Key) -> bool:
    return before.digests.get(key) != after.digests.get(key)


def _demand(what: str, found: AbstractSet[object], wanted: AbstractSet[object]) -> None:
    more, less = found - wanted, wanted - found
    if more or less:
        some = sorted(map(str, more or less))[:3]
        raise AssertionError(
            f"{what}: {len(more)} windows too many, {len(less)} not there, for example {some}"
        )
