"""The cohorts of a day: whose requests are estimated together, and their labels parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.engine import Connection

from monitor.calendar import local_week
from monitor.jobs.base import JobContext
from monitor.profiles.part import Part, PartKind, merge
from monitor.store.profile_rows import read_window
from monitor.windows import Window

REPLAY = "replay:"


@dataclass(frozen=True, eq=False)
class Cohort:
    """The requests of one day, leg and set of deployments; `parts` by deployment."""

    window: Window
    leg: str
    parts: Mapping[int, Part]
    is_whole: bool

    @property
    def deployment_ids(self) -> tuple[int, ...]:
        """Whose requests these are."""
        return tuple(sorted(self.parts))

    @property
    def part(self) -> Part:
        """The labels part of all of them."""
        return merge(list(self.parts.values()))

    def week(self, zone: str) -> datetime:
        """The beginning of the week whose estimator judges this cohort."""
        return local_week(self.window.start, zone).start


def cohorts_of(connection: Connection, context: JobContext, window: Window) -> list[Cohort]:
    """All deployments of each leg together (`is_whole`), then each by itself where there are more.

    Replays are judged against golden sets, not estimated.
    """
    by_leg: dict[str, dict[int, list[Part]]] = defaultdict(lambda: defaultdict(list))
    for one in read_window(
        connection, context.project_id, context.model_id, PartKind.LABELS, window
    ):
        if not one.key.leg.startswith(REPLAY):
            by_leg[one.key.leg][one.key.deployment_id].append(one.part)
    found = []
    for leg, deployments in sorted(by_leg.items()):
        parts = {number: merge(each) for number, each in sorted(deployments.items())}
        found.append(Cohort(window, leg, parts, is_whole=True))
        if len(parts) > 1:
            found += [
                Cohort(window, leg, {number: part}, is_whole=False)
                for number, part in parts.items()
            ]
    return found
