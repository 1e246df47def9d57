"""Serving rates of five-minute windows, for rules that ask for `scale: 5m`.

They are made of the serving profiles when a rule wants them and are stored nowhere but in the
alerts that come of them: the hours are measured for everybody. Their past is read from the
profiles as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection

from alerts.config import AlertConfig
from alerts.history import Timelines
from alerts.model import Labels, Reading
from monitor.checks.operation import operation_rates
from monitor.checks.registry import CheckName
from monitor.checks.serving import serving_rates
from monitor.jobs.base import JobContext
from monitor.jobs.check_windows import inputs_of
from monitor.jobs.evaluate_rules import judge_readings
from monitor.jobs.plans.base import Yardsticks
from monitor.jobs.readings import readings_of
from monitor.jobs.rule_history import longest_burn
from monitor.measurement import Measurement
from monitor.profiles.part import PartKind
from monitor.store.alert_book import rules_in_force
from monitor.store.profile_rows import StoredProfile, read_profiles
from monitor.windows import Grain, Window

SCALE = "5m"
LENGTH = Grain.FIVE_MINUTES.length
FAR_APART = timedelta(hours=6)
_NO_YARDSTICKS = Yardsticks(None, ())


def judge_five_minutes(
    connection: Connection, context: JobContext, starts: Sequence[datetime]
) -> None:
    """Judge the windows that begin at these moments by the rules that ask for five minutes."""
    rules = rules_in_force(connection, context.project_id)
    if rules is None or not starts:
        return
    judging = asking_for_five_minutes(rules.config)
    if not judging:
        return
    for near in _near_each_other(starts):
        history = FiveMinuteHistory(connection, context, rules.config)
        wanted = frozenset(start + LENGTH for start in near)
        found = history.between(near[0], near[-1] + LENGTH)
        readings = [each for each in found if each.at in wanted]
        judge_readings(connection, context, rules, readings, history, judging)


def _near_each_other(starts: Sequence[datetime]) -> list[list[datetime]]:
    """Runs of windows, so that one late request does not make the days up to now be read again."""
    runs: list[list[datetime]] = []
    for start in sorted(starts):
        if not runs or start - runs[-1][-1] > FAR_APART:
            runs.append([])
        runs[-1].append(start)
    return runs


def asking_for_five_minutes(config: AlertConfig) -> frozenset[str]:
    """Rules that name the scale: others are about the windows that everybody knows."""
    return frozenset(rule.name for rule in config.rules if rule.names("scale", SCALE))


class FiveMinuteHistory:
    """Serving profiles of one model, as `alerts.history.History` wants them."""

    def __init__(self, connection: Connection, context: JobContext, config: AlertConfig) -> None:
        self._connection, self._context, self._config = connection, context, config
        self._reach: timedelta = longest_burn(config)
        self._begin: datetime | None = None
        self._end: datetime | None = None
        self._found = Timelines()

    def between(self, after: datetime, until: datetime) -> list[Reading]:
        """Readings of all subjects whose windows end in `(after, until]`."""
        self._ensure(after, until)
        return list(self._found.between(after, until))

    def readings(self, labels: Labels, after: datetime, until: datetime) -> Sequence[Reading]:
        """Readings of a subject whose windows end in `(after, until]`, each window once."""
        self._ensure(after, until)
        return self._found.readings(labels, after, until)

    def _ensure(self, after: datetime, until: datetime) -> None:
        begin, end = self._begin or until, self._end or until
        if self._begin is not None and begin <= after and until <= end:
            return
        self._begin, self._end = min(begin, after - self._reach), max(end, until)
        made = five_minute_rates(self._connection, self._context, self._begin, self._end)
        for each in readings_of(self._connection, self._context, self._config, made):
            self._found.add(each)


def five_minute_rates(
    connection: Connection, context: JobContext, after: datetime, until: datetime
) -> list[Measurement]:
    """Rates of the whole service in the windows that end in `(after, until]`.

    Windows without a request have no profile and give nothing.
    """
    window = Window(after, until)
    stored = read_profiles(
        connection, context.project_id, context.model_id, PartKind.SERVING,
        Grain.FIVE_MINUTES, window,
    )  # fmt: skip
    by_start: dict[datetime, list[StoredProfile]] = defaultdict(list)
    for one in stored:
        if one.key.window_start + LENGTH <= until:
            by_start[one.key.window_start].append(one)
    found = []
    for start, mine in by_start.items():
        for inputs in inputs_of(context, _NO_YARDSTICKS, Window(start, start + LENGTH), mine):
            part = inputs.parts[PartKind.SERVING]
            seconds = LENGTH.total_seconds()
            rates = serving_rates(part, seconds) | operation_rates(part, context.contract, seconds)
            for method, outcome in rates.items():
                found.append(inputs.measurement(CheckName.SERVING, method, outcome))
    return found
