"""The job that keeps the promise: learning, judging, incidents, what rules hear, what people say.

Hours come as stored profiles with counts drawn from known shares, as the profile job leaves them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.names import CHECKS_HOUR, WATCH
from monitor.jobs.run import Runner
from monitor.profiles.binning import Binning
from monitor.profiles.cells import CategoryCells, NumberCells
from monitor.profiles.columns import CELLS
from monitor.profiles.part import Part, PartKind, merge
from monitor.store.alert_book import apply_rules
from monitor.store.baselines import StoredBinning, add_binning
from monitor.store.engine import Role, transaction
from monitor.store.incidents import StoredIncident, Verdict, judge_incident, read_incidents
from monitor.store.job_windows import mark_due
from monitor.store.models import ModelContext
from monitor.store.profile_rows import (
    ProfileKey,
    StoredProfile,
    segment_number,
    write_profiles,
)
from monitor.store.seasonal import newest_seasonal
from monitor.windows import Grain
from tests.factories import TestClock, apply, current_context, deployment, make_contract, rows_of

FIRST = datetime(2024, 1, 1, tzinfo=UTC)  # a Monday
HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(weeks=1)
AGES = NumberCells(tuple(float(edge) for edge in range(20, 80, 3)))
CITIES = CategoryCells(("Bonn", "Köln", "Aachen"))
SCORES = NumberCells(tuple(place / 20 for place in range(1, 20)))
ROWS = 300

RULES = """
owners: [{name: risk-ml, people: [a@example.org], receiver: hook}]
receivers:
  - {name: hook, channel: webhook, url: "https://example.org/hook", secret_env: HOOK_SECRET}
rules:
  - name: moved
    when: {check: incident, method: open}
    above: 0
    severity: ticket
    owner: risk-ml
    response: investigate
    summary: "incident {incident}: {column}"
"""

Shape = Callable[[datetime], float]


def shares(middle: float, n: int, width: float) -> np.ndarray:
    places = np.linspace(-1, 1, n)
    found = np.exp(-0.5 * ((places - middle) / width) ** 2)
    return found / found.sum()


class Traffic:
    """Draws the hours of a model and stores them."""

    def __init__(self, engine: Engine, model: ModelContext, seed: int = 0) -> None:
        self.engine, self.model = engine, model
        self.rng = np.random.default_rng(seed)
        with transaction(engine, 1, Role.WORKER) as connection:
            views = {"age": AGES, "city": CITIES, "score": SCORES}
            self.binning: StoredBinning = add_binning(
                connection, 1, model.model_id, Binning(views), "drawn"
            )

    def part(self, at: datetime, rows: int, age: float, missing: float = 0.0) -> Part:
        season = 0.25 * np.sin(2 * np.pi * at.hour / 24)
        ages = np.append(shares(season + age, AGES.n_cells - 1, 0.4) * (1 - missing), missing)
        cities = np.array([0.5, 0.3, 0.2, 0.0, 0.0, 0.0])
        scores = np.append(shares(0.0, SCORES.n_cells - 1, 0.5), 0.0)
        drawn = {"age": ages, "city": cities, "score": scores}
        return Part({CELLS + name: self.rng.multinomial(rows, p) for name, p in drawn.items()})

    def store(
        self,
        start: datetime,
        hours: int,
        age: Mapping[int, Shape] | None = None,
        *,
        deployments: Sequence[int] = (1,),
        segment: dict[str, str] | None = None,
        missing: Shape | None = None,
    ) -> list[datetime]:
        """Hours from `start`; `age` moves the ages of a deployment. The starts that were stored."""
        starts = [start + place * HOUR for place in range(hours)]
        number = 0
        with transaction(self.engine, 1, Role.WORKER) as connection:
            if segment is not None:
                number = segment_number(connection, 1, self.model.model_id, segment)
            found, days = [], {}
            for at in starts:
                rows = int(self.rng.poisson(ROWS * (1 + 0.5 * np.sin(2 * np.pi * at.hour / 24))))
                for each in deployments:
                    shift = (age or {}).get(each, lambda _: 0.0)(at)
                    lost = missing(at) if missing is not None else 0.0
                    part = self.part(at, rows // len(deployments), shift, lost)
                    found.append(self._profile(at, each, number, Grain.HOUR, part))
                    day = at.replace(hour=0)
                    days.setdefault((day, each), []).append(part)
            found += [
                self._profile(day, each, number, Grain.DAY, merge(parts))
                for (day, each), parts in days.items()
            ]
            write_profiles(connection, 1, self.model.model_id, found)
        return starts

    def _profile(
        self, at: datetime, each: int, segment: int, grain: Grain, part: Part
    ) -> StoredProfile:
        key = ProfileKey(each, "live", segment, self.binning.id, PartKind.COLUMNS, grain, at)
        return StoredProfile(key, 1, int(part.dense[CELLS + "city"].sum()), part)

    def due(self, starts: Sequence[datetime], *, contrasts: bool = False) -> None:
        """Make the hours due for the watch, as the profile job does."""
        with transaction(self.engine, 1, Role.WORKER) as connection:
            for job in (CHECKS_HOUR, WATCH) if contrasts else (WATCH,):
                mark_due(connection, 1, self.model.model_id, job, starts)


@pytest.fixture
def credit(engine: Engine, project_id: int) -> ModelContext:
    """The model with two deployments."""
    context = apply(engine, project_id, make_contract(segments=["city"]))
    for number in (1, 2, 3):
        assert deployment(engine, context, runtime_version=str(number)) == number
    return current_context(engine, project_id)


@pytest.fixture
def traffic(engine: Engine, credit: ModelContext) -> Traffic:
    return Traffic(engine, credit)


def watched(runner: Runner, clock: TestClock, until: datetime) -> None:
    """Run the watch (and the contrasts before it) as of an hour after `until`."""
    clock.now = until + HOUR
    runner.catch_up({CHECKS_HOUR, WATCH})
    failed = rows_of(runner.engine, 1, "select error from job_window where state = 'failed'")
    assert failed == []


def incidents(engine: Engine, model: ModelContext) -> list[StoredIncident]:
    with transaction(engine, 1, Role.WORKER) as connection:
        return read_incidents(connection, 1, model.model_id)


def seasonal(engine: Engine, **wanted: Any) -> list[Any]:
    where = " and ".join(f"{name} = :{name}" for name in wanted) or "true"
    query = (
        "select column_name, window_start, window_end, state, value, n, reason, detail"
        f" from measurement where method = 'seasonal' and {where}"
        " order by window_end, column_name, window_start"
    )
    return rows_of(engine, 1, query, **wanted)


def test_before_four_weeks_every_column_says_daily_that_it_waits(
    engine: Engine, traffic: Traffic, runner: Runner, clock: TestClock
) -> None:
    traffic.due(traffic.store(FIRST, 2 * 168))
    watched(runner, clock, FIRST + 2 * WEEK)
    found = seasonal(engine)
    assert {row.state for row in found} == {"too_few"}
    assert len(found) == 3 * 14  # three columns, fourteen days
    assert found[-1].reason == "1 healthy weeks of history, 4 needed"
    assert incidents(engine, traffic.model) == []


def test_a_shift_opens_one_incident_with_its_context_and_closes_when_it_is_over(
    engine: Engine, traffic: Traffic, runner: Runner, clock: TestClock
) -> None:
    with transaction(engine, 1, Role.OWNER) as connection:
        apply_rules(connection, 1, RULES, name="rules", by="tests")
    start = FIRST + 6 * WEEK
    traffic.store(FIRST, 6 * 168)
    onset, end = start + 10 * HOUR, start + 34 * HOUR
    moved = {1: lambda at: 0.35 if onset <= at < end else 0.0}
    traffic.due(traffic.store(start, 7 * 24, moved))
    watched(runner, clock, start + 7 * DAY)

    (one,) = incidents(engine, traffic.model)
    assert one.leading == "age"
    assert onset < one.incident.opened <= onset + 3 * HOUR
    assert not one.open
    assert one.closed_at is not None
    assert one.closed_at >= end + 24 * HOUR
    said = " ".join(one.context["sentences"])
    assert "expected" in said
    assert "Nothing is known yet about quality" in said
    assert "caused" not in said
    hours = seasonal(engine, column_name="city")
    assert {row.state for row in hours} == {"measured"}
    assert all(0 < row.detail["p_value"] <= 1 for row in hours)
    ages = [row for row in seasonal(engine, column_name="age") if row.window_end == start + DAY]
    assert {round((r.window_end - r.window_start) / HOUR) for r in ages} == {1, 6, 24, 168}
    assert all(r.detail["smallest_visible_shift_sd"] > 0 for r in ages)

    ((rule, state, labels),) = rows_of(engine, 1, "select rule, state, body->'labels' from alert")
    assert (rule, state) == ("moved", "resolved")
    assert labels["incident"] == str(one.id)
    assert labels["column"] == "age"
    told = [body for (body,) in rows_of(engine, 1, "select body from delivery order by id")]
    assert f"incident {one.id}: age" in str(told[0])


def test_the_same_hours_again_change_nothing(
    engine: Engine, traffic: Traffic, runner: Runner, clock: TestClock
) -> None:
    start = FIRST + 6 * WEEK
    traffic.store(FIRST, 6 * 168)
    starts = traffic.store(start, 48, {1: lambda at: 0.35 if at >= start + 10 * HOUR else 0.0})
    traffic.due(starts)
    watched(runner, clock, start + 48 * HOUR)
    before = incidents(engine, traffic.model)
    assert len(before) == 1
    traffic.due(starts[:30])
    watched(runner, clock, start + 49 * HOUR)
    assert incidents(engine, traffic.model) == before


def test_a_backlog_gives_what_single_hours_give(
    engine: Engine, traffic: Traffic, runner: Runner, clock: TestClock
) -> None:
    start = FIRST + 6 * WEEK
    traffic.store(FIRST, 6 * 168)
    starts = traffic.store(start, 30, {1: lambda at: 0.35 if at >= start + 10 * HOUR else 0.0})
    for at in starts:
        traffic.due([at])
        watched(runner, clock, at + HOUR)
    single = [(r.column_name, r.window_start, r.window_end, r.value, r.detail["p_value"])
              for r in seasonal(engine)]  # fmt: skip
    kept = incidents(engine, traffic.model)
    with transaction(engine, 1, Role.OWNER) as connection:
        for table in ("measurement", "incident"):
            connection.exec_driver_sql(f"delete from {table}")
    traffic.due(starts)
    watched(runner, clock, start + 31 * HOUR)
    together = [(r.column_name, r.window_start, r.window_end, r.value, r.detail["p_value"])
                for r in seasonal(engine)]  # fmt: skip
    assert [each[:3] for each in together] == [each[:3] for each in single]
    for mine, other in zip(together, single, strict=True):
        assert mine[3:] == pytest.approx(other[3:], rel=1e-4, abs=1e-9)
    (one,), (again,) = kept, incidents(engine, traffic.model)
    assert again.incident.opened == one.incident.opened
    assert again.incident.columns["age"].firings == one.incident.columns["age"].firings


@pytest.mark.parametrize(
    ("verdict", "learned"), [(None, False), (Verdict.FAULT, False), (Verdict.ADOPT, True),
                             (Verdict.FALSE_ALARM, True)],
)  # fmt: skip
def test_weeks_of_an_incident_are_learned_from_only_when_somebody_says_so(
    engine: Engine,
    traffic: Traffic,
    runner: Runner,
    clock: TestClock,
    verdict: Verdict | None,
    learned: bool,
) -> None:
    start = FIRST + 6 * WEEK
    traffic.store(FIRST, 6 * 168)
    traffic.due(traffic.store(start, 168, {1: lambda at: 0.35 if at >= start + DAY else 0.0}))
    watched(runner, clock, start + WEEK)
    (one,) = incidents(engine, traffic.model)
    if verdict is not None:
        with transaction(engine, 1, Role.WORKER) as connection:
            judge_incident(connection, 1, one.id, verdict, "ada", "seen", clock.now)
    traffic.due(traffic.store(start + WEEK, 24))
    watched(runner, clock, start + WEEK + DAY)
    with transaction(engine, 1, Role.WORKER) as connection:
        kept = newest_seasonal(connection, 1, traffic.model.model_id, "live")
    assert kept is not None
    assert kept.week_start == start + WEEK
    by_name = {column.name: column for column in kept.baseline.columns if not column.segment}
    assert len(by_name["city"].weeks) == 7
    assert len(by_name["age"].weeks) == (7 if learned else 6)
    assert kept.summary["columns"]["age"]["left_out"] == (0 if learned else 1)


def test_told_false_alarms_lower_the_levels(
    engine: Engine, traffic: Traffic, runner: Runner, clock: TestClock
) -> None:
    start = FIRST + 6 * WEEK
    traffic.store(FIRST, 6 * 168)
    traffic.due(traffic.store(start, 48, {1: lambda at: 0.35 if at >= start + DAY else 0.0}))
    watched(runner, clock, start + 48 * HOUR)
    (one,) = incidents(engine, traffic.model)
    with transaction(engine, 1, Role.WORKER) as connection:
        judge_incident(connection, 1, one.id, Verdict.FALSE_ALARM, "ada", None, clock.now)
    traffic.due(traffic.store(start + 48 * HOUR, 1))
    watched(runner, clock, start + 49 * HOUR)
    by_end = {(r.window_end, r.window_end - r.window_start): r.detail["level"]
              for r in seasonal(engine, column_name="city")}  # fmt: skip
    before = by_end[(start + 48 * HOUR, HOUR)]
    assert by_end[(start + 49 * HOUR, HOUR)] == pytest.approx(before * np.exp(-0.5), rel=0.01)


def test_a_deployment_that_differs_is_named_without_any_history(
    engine: Engine, traffic: Traffic, runner: Runner, clock: TestClock
) -> None:
    with transaction(engine, 1, Role.OWNER) as connection:
        apply_rules(connection, 1, RULES, name="rules", by="tests")
    onset = FIRST + DAY
    moved = {3: lambda at: 0.5 if at >= onset else 0.0}
    starts = traffic.store(FIRST, 48, moved, deployments=(1, 2, 3))
    traffic.due(starts, contrasts=True)
    watched(runner, clock, FIRST + 48 * HOUR)
    (one,) = incidents(engine, traffic.model)
    assert one.incident.deployments == (3,)
    assert onset < one.incident.opened <= onset + 6 * HOUR
    assert any("Deployment 3 differs" in text for text in one.context["sentences"])
    subjects = rows_of(
        engine, 1, "select deployment_ids from measurement where check_name = 'incident'"
    )
    assert {tuple(ids) for (ids,) in subjects} == {(3,)}
    alerts = [labels for (labels,) in rows_of(engine, 1, "select body->'labels' from alert")]
    assert [(each["scope"], each["deployment"]) for each in alerts] == [("one", "3")]


def test_expected_days_are_neither_learned_from_nor_judged(
    engine: Engine, project_id: int, runner: Runner, clock: TestClock
) -> None:
    start = FIRST + 6 * WEEK
    odd = (start + 2 * DAY).date()
    learned_odd = (FIRST + 9 * DAY).date()
    alarms = {"expected_days": [str(odd), str(learned_odd)]}
    model = apply(engine, project_id, make_contract(alarms=alarms))
    deployment(engine, model, runtime_version="1")
    traffic = Traffic(engine, model)
    there = {odd, learned_odd}
    away = {1: lambda at: 0.8 if at.date() in there else 0.0}
    traffic.store(FIRST, 6 * 168, away)
    traffic.due(traffic.store(start, 5 * 24, away))
    watched(runner, clock, start + 5 * DAY)
    assert incidents(engine, model) == []
    states = {r.state for r in seasonal(engine, column_name="age") if r.window_end.date() == odd
              and r.window_end.hour == 12}  # fmt: skip
    assert states == {"too_few"}


def test_a_segment_is_judged_by_the_day(
    engine: Engine, traffic: Traffic, runner: Runner, clock: TestClock
) -> None:
    start = FIRST + 6 * WEEK
    traffic.store(FIRST, 6 * 168)
    for city in ("Bonn", "Köln"):
        traffic.store(FIRST, 6 * 168, segment={"city": city})
    moved = {1: lambda at: 0.3 if at >= start + 2 * DAY else 0.0}
    starts = traffic.store(start, 5 * 24)
    traffic.store(start, 5 * 24, moved, segment={"city": "Bonn"})
    traffic.store(start, 5 * 24, segment={"city": "Köln"})
    traffic.due(starts)
    watched(runner, clock, start + 5 * DAY)
    (one,) = incidents(engine, traffic.model)
    assert one.incident.columns["age"].segments == ("city=Bonn",)
    assert one.incident.columns["age"].strongest.scale in (24, 168)


def test_missing_values_of_one_column_are_seen_within_hours(
    engine: Engine, traffic: Traffic, runner: Runner, clock: TestClock
) -> None:
    start = FIRST + 6 * WEEK
    traffic.store(FIRST, 6 * 168)
    lost = start + 5 * HOUR
    traffic.due(traffic.store(start, 24, missing=lambda at: 0.1 if at >= lost else 0.0))
    watched(runner, clock, start + DAY)
    (one,) = incidents(engine, traffic.model)
    assert one.leading == "age"
    assert lost < one.incident.opened <= lost + 3 * HOUR
    assert one.context["moved"][0]["cells"][0]["label"] == "missing"


def test_an_hour_without_a_binning_is_done_and_says_nothing(
    engine: Engine, credit: ModelContext, runner: Runner, clock: TestClock
) -> None:
    with transaction(engine, 1, Role.WORKER) as connection:
        mark_due(connection, 1, credit.model_id, WATCH, [FIRST])
    watched(runner, clock, FIRST + HOUR)
    assert seasonal(engine) == []
    assert rows_of(engine, 1, "select state from job_window") == [("done",)]


def test_deployments_that_always_differ_are_no_incident_once_that_is_known(
    engine: Engine, traffic: Traffic, runner: Runner, clock: TestClock
) -> None:
    """Traffic dealt by customer: every day another mix on each side, none of it a fault."""
    rng = np.random.default_rng(5)
    mix = {day: rng.normal(0, 0.25) for day in range(200)}

    def other(at: datetime) -> float:
        return float(mix[(at - FIRST).days])

    weeks = 11
    starts = traffic.store(FIRST, weeks * 168, {2: other}, deployments=(1, 2))
    judged = FIRST + 10 * WEEK
    with transaction(engine, 1, Role.WORKER) as connection:
        mark_due(connection, 1, traffic.model.model_id, CHECKS_HOUR, starts)
    traffic.due([at for at in starts if at >= judged])
    watched(runner, clock, FIRST + weeks * WEEK)
    assert not [one for one in incidents(engine, traffic.model) if one.incident.deployments]
    raw = rows_of(
        engine, 1,
        "select count(*) from measurement where check_name = 'contrast'"
        " and (detail->>'p_log10')::float < -9 and window_end > :judged", judged=judged,
    )  # fmt: skip
    assert raw[0][0] > 10  # the exact null would have fired again and again
