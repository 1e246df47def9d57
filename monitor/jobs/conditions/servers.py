"""Conditions about what servers tell of themselves. Suspicions: no rule may page on one alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta

from monitor.intake.server_metrics.minutes import MinuteReading, value_of
from monitor.jobs.conditions.base import MINUTE, Finding, Look
from monitor.server_readings import SERVER_READINGS
from monitor.store.scrape_targets import target_states
from monitor.store.server_readings import read_readings
from monitor.windows import Window

SPAN = timedelta(minutes=5)


def server_condition(reading: str) -> Callable[[Look], Iterable[Finding]]:
    """Of each source of each model: the reading's value over the last five whole minutes.

    The mean of a level, of times or of a ratio; the number of events. A source that told nothing
    in that time is not found.
    """
    kind = SERVER_READINGS[reading].kind

    def find(look: Look) -> Iterator[Finding]:
        end = look.now.replace(second=0, microsecond=0)
        window = Window(end - SPAN, end)
        for model in look.models:
            rows = read_readings(
                look.connection, model.project_id, model.model_id, window, [reading]
            )
            sums: dict[str, MinuteReading] = defaultdict(MinuteReading)
            for row in rows:
                sums[row.source] = sums[row.source].plus(row.sums)
            for source, whole in sorted(sums.items()):
                value = value_of(kind, whole)
                if value is not None:
                    labels = {"model": model.contract.model, "source": source}
                    yield Finding(labels, value, int(whole.n), whole.low, whole.high, window=window)

    return find


def server_unread(look: Look) -> Iterator[Finding]:
    """Minutes for which a scrape target could not be read; 0 while it can be."""
    for each in target_states(look.connection, look.project_id):
        since = each.read_at or each.applied_at
        minutes = (look.now - since) / MINUTE if each.failures else 0.0
        text = str(each.told.get("error", ""))[:400]
        yield Finding({"source": each.target.name}, max(minutes, 0.0), each.failures, text=text)
