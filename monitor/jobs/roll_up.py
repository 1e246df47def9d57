"""Day roll-ups: the merged hours of a UTC day, so that a month comes back in a few rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy.engine import Connection

from monitor.jobs.base import JobContext
from monitor.profiles.part import PartKind, merge
from monitor.store.profile_rows import ProfileKey, StoredProfile, read_profiles, write_profiles
from monitor.windows import Grain, Window


def roll_up_days(
    connection: Connection,
    context: JobContext,
    hours: Sequence[datetime],
    kinds: Collection[PartKind],
    fresh: Sequence[StoredProfile] = (),
) -> None:
    """Write the day profiles of every day that one of the hours lies in.

    `fresh` are all profiles of those hours when they are in memory already; the days' other hours,
    or without `fresh` all of them, are read back. Only binnings of `fresh` are rolled up then: its
    hours say nothing of another one.
    """
    days = sorted({Window.holding(hour, Grain.DAY).start for hour in hours})
    known = {one.key.window_start for one in fresh}
    binnings = sorted({one.key.binning_id for one in fresh}) or None
    gathered: dict[ProfileKey, list[StoredProfile]] = defaultdict(list)
    for one in [*fresh, *_read_back(connection, context, days, kinds, known, binnings)]:
        day = Window.holding(one.key.window_start, Grain.DAY).start
        gathered[replace(one.key, grain=Grain.DAY, window_start=day)].append(one)
    merged = (_merged(key, parts) for key, parts in gathered.items())
    write_profiles(connection, context.project_id, context.model_id, merged)


def _read_back(
    connection: Connection,
    context: JobContext,
    days: Sequence[datetime],
    kinds: Collection[PartKind],
    known: Collection[datetime],
    binnings: Sequence[int] | None,
) -> list[StoredProfile]:
    found: list[StoredProfile] = []
    for kind in sorted(kinds):
        for day in days:
            window = Window(day, day + Grain.DAY.length)
            found += read_profiles(
                connection, context.project_id, context.model_id, kind, Grain.HOUR, window,
                segment_ids=None,
                binning_ids=binnings,
                without=[hour for hour in known if hour in window],
            )  # fmt: skip
    return found


def _merged(key: ProfileKey, hours: Sequence[StoredProfile]) -> StoredProfile:
    return StoredProfile(
        key,
        contract_version=max(one.contract_version for one in hours),
        n=sum(one.n for one in hours),
        part=merge([one.part for one in hours]),
    )
