"""Realistic rows of every table that reports read: one model over 30 days, two with trouble.

`seed(url, now)` fills the project `flights` and makes the project `nothing-yet`, which stays empty.
Random numbers have a fixed seed. Profiles are written by the product's own store; alerts come out
of the product's own rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from alerts.channels.registry import CHANNELS
from alerts.config import read_alert_config
from alerts.deeds import acknowledge
from alerts.lifecycle import step
from alerts.model import Labels, Reading, ReadingState, Told, ToldEvent
from monitor.checks.calibration import calibration
from monitor.contract import Column, Contract, Task
from monitor.contract_quality import Label
from monitor.deployment import Tags
from monitor.measurement import (
    Direction,
    Failed,
    Measured,
    Measurement,
    Outcome,
    Subject,
    TooFew,
)
from monitor.profiles.binning import Binning
from monitor.profiles.cells import CategoryCells, NumberCells
from monitor.profiles.part import Part, PartKind, merge
from monitor.records import ViolationReason
from monitor.store import tables
from monitor.store.alert_book import apply_rules, save_alerts, save_transitions
from monitor.store.engine import Role, transaction
from monitor.store.measurements import write_measurements
from monitor.store.models import apply_contract, model_number, register_deployment
from monitor.store.profile_rows import ProfileKey, StoredProfile, write_profiles
from monitor.store.projects import ensure_project
from monitor.windows import Grain, Window
from tests.promise_seed import SeededPromise, seed_promise
from tests.unit.checks.factories import binary

TOLD_RULE = "deployment-contrast"
PROJECT, EMPTY_PROJECT = "flights", "nothing-yet"
CALIBRATION_UNITS = {
    "debiased_error": "probability", "expected_error": "probability", "combined_test": "p_value",
}  # fmt: skip
MODEL, STALE_MODEL, SILENT_MODEL = "flight-delay", "bag-loss", "gate-choice"
DAYS = 30
ODD_NAMES = ("lat.deg", "x[0]", "温度", "with space", "num_of_items_*", "price $ net $")
NUMBERS = ("distance", "wind", *ODD_NAMES)
CARRIERS = ("UA", "B6", "EV", "DL", "AA")
EDGES = (0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0)
REFERENCE = np.array([1, 90, 110, 140, 160, 150, 130, 110, 80, 29, 10], np.int64)

RULES = """
owners:
  - name: flight-ml
    people: [ada@example.org]
    receiver: on-call
receivers:
  - name: on-call
    channel: webhook
    url: https://hooks.example.org/flight
    secret_env: FLIGHT_WEBHOOK_SECRET
rules:
  - name: deployment-contrast
    when: {check: contrast}
    above: 0.1
    severity: page
    owner: flight-ml
    response: reduce_traffic
    runbook: https://runbooks.example.org/contrast
    impact: A third of all flights is scored by the faulty deployment.
    precondition: The older deployment still serves and is healthy.
    limit: Never under 10 % of the traffic.
    about: quality
    summary: "{column} of deployment {deployment} stands apart: {value:.3f} {unit}"
  - name: column-drift
    when: {check: drift, method: psi}
    above: 0.2
    severity: ticket
    owner: flight-ml
    response: investigate
    about: distribution
    summary: "Column {column} drifted: {value:.3f} {unit}"
  - name: auc-low
    when: {check: quality, method: auc}
    value: high
    below: 0.7
    for: 3
    severity: ticket
    owner: flight-ml
    response: retrain
    about: quality
  - name: missing-values
    when: {check: missing}
    above: 0.05
    severity: notice
    owner: flight-ml
    response: investigate
    about: data
  - name: drift-incident
    when: {check: incident}
    above: 0
    severity: notice
    owner: flight-ml
    response: investigate
    about: distribution
    summary: "Drift incident, led by {column}"
  - name: no-labels
    when: {check: quality, method: label_coverage}
    state: [failed, no_data]
    severity: ticket
    owner: flight-ml
    response: investigate
    about: data
"""


@dataclass(frozen=True)
class Seeded:
    """What stands in the database: numbers and times that tests ask for."""

    project_id: int
    empty_project_id: int
    model_id: int
    stale_model_id: int
    deployment_ids: tuple[int, ...]
    baseline_id: int
    window: Window
    requests: int
    alert_ids: Mapping[str, int]
    incidents: SeededPromise


def contract_of(name: str, *, label: bool = True) -> Contract:
    """A contract with numbers of odd names, a category, a score, a prediction and a timing."""
    numbers = tuple(
        Column(
            name=each, type="number", unit="mile" if each == "distance" else None, range=(0, 100)
        )
        for each in NUMBERS
    )
    return Contract(
        model=name,
        owner="flight-ml",
        purpose="Tells two hours before departure whether a flight arrives over 15 minutes late.",
        task=Task.BINARY,
        columns=(
            *numbers,
            Column(name="carrier", type="category"),
            Column(name="note", type="text"),
            Column(name="tail", type="category", role="entity"),
            Column(name="score", type="number", role="score", range=(0, 1)),
            Column(name="late", type="boolean", role="prediction"),
            Column(name="latency", type="number", role="timing", unit="ms"),
        ),
        label=Label(name="late", max_age=timedelta(days=3)) if label else None,
    )


def seed(engine: Engine, now: datetime) -> Seeded:
    """Fill both projects as of `now`; the newest hour of data ends at most an hour before it."""
    with transaction(engine, None, Role.OWNER) as connection:
        project_id = ensure_project(connection, PROJECT)
        empty_id = ensure_project(connection, EMPTY_PROJECT)
    with transaction(engine, project_id, Role.OWNER) as connection:
        rng = np.random.default_rng(20260)
        return _Seeder(connection, project_id, now, rng).run(empty_id)


class _Seeder:
    def __init__(
        self, connection: Connection, project_id: int, now: datetime, rng: np.random.Generator
    ) -> None:
        self.connection, self.project_id, self.now, self.rng = connection, project_id, now, rng
        score = np.random.default_rng(5).beta(2, 3, 1_200)  # scores that are 0.05 too high
        came_true = np.random.default_rng(6).random(1_200) < score - 0.05
        self.calibration = calibration(binary(score, came_true.astype(int)))
        last = Window.holding(now, Grain.HOUR).start
        newest = Window.holding(last - timedelta(hours=1), Grain.DAY)  # also in a day's first hour
        first = newest.start - timedelta(days=DAYS - 1)
        self.window = Window(first, last)
        self.binning = Binning(
            {
                **{name: NumberCells(EDGES, 40.0, 20.0, 20.0) for name in NUMBERS},
                "carrier": CategoryCells(CARRIERS),
                "note.length": NumberCells((0.0, 5.0, 50.0)),
            },
            {"note.length": "note"},
        )

    def run(self, empty_id: int) -> Seeded:
        model_id = self._model(MODEL)
        old, new = self._deployments(model_id)
        binning_id, baseline_id = self._yardsticks(model_id)
        requests = self._profiles(model_id, binning_id, (old, new))
        self._measurements(model_id, (old, new), baseline_id)
        self._intake(model_id)
        promised = seed_promise(
            self.connection, self.project_id, (model_id, MODEL), (binning_id, self.binning),
            self.window, (old, new), self.now,
        )  # fmt: skip
        alert_ids = self._alerts(model_id, (old, new), baseline_id, promised.open)
        stale_id = self._model(STALE_MODEL)
        self._stale(stale_id)
        self._model(SILENT_MODEL)
        self._work(model_id)
        return Seeded(
            self.project_id, empty_id, model_id, stale_id, (old, new), baseline_id, self.window,
            requests, alert_ids, promised,
        )  # fmt: skip

    def _insert(self, table: sa.Table, *rows: Mapping[str, Any]) -> None:
        self.connection.execute(
            sa.insert(table), [{"project_id": self.project_id, **row} for row in rows]
        )

    def _model(self, name: str) -> int:
        apply_contract(
            self.connection, self.project_id, contract_of(name), source="contract.yaml", by="ada"
        )
        return model_number(self.connection, self.project_id, name)

    def _deployments(self, model_id: int) -> tuple[int, int]:
        made = []
        for name, version in (("spring", "1.0"), ("autumn*new", "1.1")):
            tags = Tags.of({"model_version": "7", "runtime_version": version, "precision": "fp32"})
            made.append(
                register_deployment(
                    self.connection, self.project_id, model_id, tags, name, self.now
                )[0]
            )
        return made[0], made[1]

    def _yardsticks(self, model_id: int) -> tuple[int, int]:
        binning = sa.insert(tables.binning).values(
            project_id=self.project_id, model_id=model_id, version=1,
            body=self.binning.to_json(), source="train.parquet",
        )  # fmt: skip
        binning_id = self.connection.scalar(binning.returning(tables.binning.c.id))
        numbers = []
        for name, kind in (("training", "file"), ("accepted weeks", "production")):
            baseline = sa.insert(tables.baseline).values(
                project_id=self.project_id, model_id=model_id, name=name, version=1,
                binning_id=binning_id, kind=kind, source="train.parquet", n=int(REFERENCE.sum()),
                body=self._part(1.0, None, 0).to_bytes(), created_by="ada",
            )  # fmt: skip
            numbers.append(self.connection.scalar(baseline.returning(tables.baseline.c.id)))
        return int(binning_id), int(numbers[-1])

    def _part(self, scale: float, shifted: str | None, broken: int) -> Part:
        """Counts of about `scale` times the reference; one column shifted by three cells."""
        dense: dict[str, np.ndarray[Any, np.dtype[np.int64]]] = {}
        total = int(REFERENCE.sum() * scale)
        for name in NUMBERS:
            shares = np.roll(REFERENCE[:-1], 3) if name == shifted else REFERENCE[:-1]
            cells = np.append(self.rng.multinomial(total, shares / shares.sum()), 0).astype(
                np.int64
            )
            if name == "wind":
                cells[4], cells[-1] = cells[4] - broken, broken
            dense[f"cells/{name}"] = cells
            middle = np.append(np.array([0, 5, 15, 25, 35, 45, 55, 65, 75, 85]), 0)
            q = np.rint((middle - 40) / 20 * 65536).astype(np.int64)
            squares = q * q
            dense[f"sums/{name}"] = np.array(
                [cells[:-1].sum(), cells[:-1] @ q[:-1], cells[:-1] @ (squares[:-1] >> 26),
                 cells[:-1] @ (squares[:-1] & (2**26 - 1)), 0], np.int64,
            )  # fmt: skip
        carriers = self.rng.multinomial(total, [0.3, 0.25, 0.2, 0.15, 0.07, 0.02, 0.01, 0.0])
        dense["cells/carrier"] = carriers.astype(np.int64)
        dense["cells/note.length"] = np.array([0, total // 3, total // 3, total // 3, 0], np.int64)
        if broken:
            reasons = np.zeros(64, np.int64)
            reasons[ViolationReason.OUT_OF_RANGE], reasons[ViolationReason.NULL] = broken, 2
            dense["violations/wind"] = reasons
        return Part(dense)

    def _hours(self) -> Iterator[Window]:
        yield from self.window.split(Grain.HOUR)

    def _profiles(self, model_id: int, binning_id: int, deployments: tuple[int, int]) -> int:
        old, new = deployments
        requests = 0
        days: dict[tuple[int, datetime], list[StoredProfile]] = {}
        blocks = []
        split = self.window.start + timedelta(days=20)
        for hour in self._hours():
            for number in (old, new) if hour.start >= split else (old,):
                shifted = "distance" if number == new else None
                part = self._part(0.05, shifted, 1 if hour.start.hour == 7 else 0)
                n = int(part.dense["cells/carrier"].sum())
                key = ProfileKey(
                    number, "live", 0, binning_id, PartKind.COLUMNS, Grain.HOUR, hour.start
                )
                stored = StoredProfile(key, 1, n, part)
                day = Window.holding(hour.start, Grain.DAY).start
                days.setdefault((number, day), []).append(stored)
                requests += n
                old_enough = hour.start < self.now - timedelta(days=3)
                blocks.append(
                    {"model_id": model_id, "window_start": hour.start, "deployment_id": number,
                     "leg": "live", "n": n, "labelled": n - 2 if old_enough else 0, "body": b""}
                )  # fmt: skip
        hours = [one for found in days.values() for one in found]
        rolled = [
            StoredProfile(
                ProfileKey(number, "live", 0, binning_id, PartKind.COLUMNS, Grain.DAY, day),
                1, sum(one.n for one in found), merge([one.part for one in found]),
            )
            for (number, day), found in days.items()
        ]  # fmt: skip
        write_profiles(self.connection, self.project_id, model_id, [*hours, *rolled])
        self._insert(tables.prediction_block, *blocks)
        return requests

    def _measurements(self, model_id: int, numbers: tuple[int, int], baseline_id: int) -> None:
        found = []
        split = self.window.start + timedelta(days=20)
        for place, day in enumerate(self.window.split(Grain.DAY)):
            sets = [(numbers[0],)]
            if day.start >= split:
                sets += [(numbers[1],), numbers]
            for deployments in sets:
                found += list(self._of_day(place, day, deployments, numbers[1], baseline_id))
        write_measurements(self.connection, self.project_id, model_id, found)

    def _of_day(
        self, place: int, day: Window, deployments: tuple[int, ...], bad: int, baseline_id: int
    ) -> Iterator[Measurement]:
        def made(
            check: str, method: str, outcome: Outcome, unit: str, column: str = "",
            baseline: int | None = None, worse: str = "higher_is_worse",
        ) -> Measurement:  # fmt: skip
            return Measurement(
                check, method, 1, Subject(deployments, "live", 0, column), day, outcome, unit,
                Direction(worse), self.now, baseline,
            )  # fmt: skip

        wobble = self.rng.normal
        for name in (*NUMBERS, "carrier"):
            shift = 0.45 if name == "distance" and bad in deployments else 0.0
            value = abs(0.02 + shift + wobble(0, 0.01))
            outcome: Outcome = Measured(value, 1200, value * 0.8, value * 1.25, 0.95, 1010)
            if name == "x[0]" and place < 4:
                outcome = TooFew(17, 30)
            if name == "温度" and place == 9:
                outcome = Failed("the baseline holds no value of this column")
            for method, unit in (("psi", "psi"), ("wasserstein", "baseline_sd")):
                yield made("drift", method, outcome, unit, name, baseline_id)
            share = 0.01 if name != "wind" else 0.04 + 0.001 * place
            missing = Measured(share, 1200, share * 0.7, share * 1.4, 0.95)
            yield made("missing", "share", missing, "share", name, baseline_id)
        if deployments == (bad,):
            yield made("contrast", "within_hours", Measured(0.5, 400, 0.4, 0.6, 0.95, 800), "psi",
                       "distance")  # fmt: skip
        auc = 0.78 - 0.002 * place + wobble(0, 0.004)
        late = day.start > self.now - timedelta(days=4)
        quality: Outcome = TooFew(12, 50, "labels") if late else Measured(
            auc, 900, auc - 0.02, auc + 0.02, 0.95
        )  # fmt: skip
        for method in ("auc", "accuracy"):
            yield made("quality", method, quality, "share", worse="lower_is_worse")
        error = 0.02 + 0.001 * place
        for method, unit in CALIBRATION_UNITS.items():
            calibrated: Outcome = TooFew(12, 500, "labels") if late else self.calibration[method]
            if isinstance(calibrated, Measured) and method == "debiased_error":
                calibrated = replace(calibrated, value=error, low=error - 0.01, high=error + 0.01)
            yield made("calibration", method, calibrated, unit)
        for method, usual in (("p50", 12.0), ("p95", 41.0), ("p99", 90.0)):
            value = usual * (1 + wobble(0, 0.05))
            latency = Measured(value, 1200, value * 0.95, value * 1.05, 0.95)
            yield made("serving", method, latency, "ms", "latency")
        yield made("serving", "error_rate", Measured(0.004, 1200, 0.002, 0.009, 0.95), "share")
        yield made("serving", "abstention_rate", Measured(0.0, 1200, 0.0, 0.003, 0.95), "share")

    def _intake(self, model_id: int) -> None:
        batch = {
            "model_id": model_id,
            "duplicate": 3,
            "conflict": 1,
            "rejected": 2,
            "violations": 4,
        }
        self._insert(
            tables.intake_batch,
            {**batch, "kind": "requests", "accepted": 500, "received_at": self.now},
            {**batch, "kind": "labels", "accepted": 400, "received_at": self.now},
        )
        rejection = {
            "model_id": model_id, "kind": "requests", "place": 3, "message": "no time zone",
            "excerpt": "{}", "received_at": self.now,
        }  # fmt: skip
        reasons = ("time_without_zone", "time_without_zone", "missing_id")
        self._insert(tables.rejection, *({**rejection, "reason": each} for each in reasons))
        day = Window.holding(self.window.end - timedelta(hours=1), Grain.DAY).start
        self._insert(
            tables.violation_example,
            {"model_id": model_id, "column_name": "wind", "reason": 6, "day": day,
             "example": "9007199254740993"},
            {"model_id": model_id, "column_name": "wind", "reason": 1, "day": day,
             "example": "****"},
        )  # fmt: skip

    def _alerts(
        self, model_id: int, numbers: tuple[int, int], baseline_id: int, incident: int
    ) -> dict[str, int]:
        """One that fires and was delivered, one taken on, pending, resolved, without data, and one
        of a drift incident."""
        version = apply_rules(self.connection, self.project_id, RULES, name="alerts.yaml", by="ada")
        config = read_alert_config(RULES, "alerts.yaml", CHANNELS)
        last = Window.holding(self.window.end, Grain.DAY).start
        days = [last - timedelta(days=back) for back in range(10, -1, -1)]

        def reading(at: datetime, value: float | None, unit: str, **labels: str) -> Reading:
            state = ReadingState.MEASURED if value is not None else ReadingState.NO_DATA
            near = (value * 0.9, value * 1.1) if value is not None else (None, None)
            every = {"project": PROJECT, "model": MODEL, "leg": "live", "scale": "day"}
            return Reading(
                Labels.from_mapping({**every, **labels}), at, at - timedelta(days=1), state, value,
                *near, n=1200 if value is not None else 0, unit=unit,
                evidence={"window_rows": 1200.0, "tags": "runtime_version 1.1"},
            )  # fmt: skip

        contrast = {"check": "contrast", "method": "within_hours", "column": "distance",
                    "deployment": str(numbers[1])}  # fmt: skip
        drift = {"check": "drift", "method": "psi", "deployment": str(numbers[1]),
                 "baseline": str(baseline_id)}  # fmt: skip
        auc = {"check": "quality", "method": "auc", "deployment": str(numbers[0])}
        missing = {"check": "missing", "method": "share", "column": "wind",
                   "deployment": str(numbers[0])}  # fmt: skip
        coverage = {"check": "quality", "method": "label_coverage", "deployment": str(numbers[0])}
        led = {"check": "incident", "method": "open", "column": "distance", "scale": "1h",
               "deployment": str(numbers[1]), "incident": str(incident)}  # fmt: skip
        found = [reading(at, 0.5, "psi", **contrast) for at in days[3:]]
        newest = reading(self.window.end, 1.0, "columns", **led)
        found += [replace(newest, window_start=self.window.end - timedelta(hours=1))]
        found += [reading(at, 0.47, "psi", **drift, column="distance") for at in days[3:]]
        found += [reading(days[5], 0.3, "psi", **drift, column="price $ net $")]
        found += [reading(days[6], 0.05, "psi", **drift, column="price $ net $")]
        found += [reading(at, 0.6, "share", **auc) for at in days[-2:]]
        found += [reading(at, 0.06, "share", **missing) for at in days[-4:-1]]
        found += [
            reading(days[-1], None, "share", **missing),
            reading(days[-1], None, "", **coverage),
        ]
        result = step(config, {}, found, self.now)
        alerts = dict(result.alerts)
        for fingerprint, one in alerts.items():
            if one.rule == "column-drift" and one.is_open:
                alerts[fingerprint], _ = acknowledge(
                    one, "Grace <grace@example.org>", self.now, "looking at *distance*"
                )
            if one.rule == TOLD_RULE:
                told = {"on-call": Told(one.episode, ToldEvent.OPENED, self.now)}
                alerts[fingerprint] = replace(alerts[fingerprint], told=told)
        rules = {rule.name: rule for rule in config.rules}
        changed = [(one, rules[one.rule]) for one in alerts.values()]
        ids = save_alerts(self.connection, self.project_id, changed, version)
        save_transitions(self.connection, self.project_id, result.transitions, ids)
        by_rule = {
            f"{one.rule}/{one.labels.get('column', '')}": ids[one.fingerprint]
            for one in alerts.values()
        }
        self._deliveries(by_rule["deployment-contrast/distance"])
        return by_rule

    def _deliveries(self, alert_id: int) -> None:
        owed = {
            "receiver": "on-call", "severity": "page", "event_type": "finding.opened", "body": {},
            "alert_ids": [alert_id], "created_at": self.now, "due_at": self.now,
        }  # fmt: skip
        self._insert(
            tables.delivery,
            {**owed, "delivery_key": "msg_1", "state": "sent", "attempts": 2,
             "finished_at": self.now},
            {**owed, "delivery_key": "msg_2", "state": "dead", "attempts": 9,
             "finished_at": self.now},
        )  # fmt: skip
        number = self.connection.scalar(sa.select(sa.func.min(tables.delivery.c.id)))
        self._insert(
            tables.delivery_attempt,
            {"delivery_id": number, "attempt": 1, "at": self.now, "outcome": "retry",
             "detail": "HTTP 503"},
            {"delivery_id": number, "attempt": 2, "at": self.now, "outcome": "sent",
             "detail": "HTTP 200"},
        )  # fmt: skip

    def _stale(self, model_id: int) -> None:
        """A model whose requests ended two days ago and whose labels never came."""
        number, _ = register_deployment(
            self.connection,
            self.project_id,
            model_id,
            Tags.of({"model_version": "2"}),
            None,
            self.now,
        )
        last = Window.holding(self.now - timedelta(days=2), Grain.DAY).start
        found = [
            StoredProfile(
                ProfileKey(number, "live", 0, 0, PartKind.SERVING, grain,
                           last - timedelta(days=back)),
                1, 100 + back, Part(),
            )
            for back in range(12)
            for grain in (Grain.HOUR, Grain.DAY)
        ]  # fmt: skip
        write_profiles(self.connection, self.project_id, model_id, found)
        self._insert(
            tables.intake_batch,
            {"model_id": model_id, "kind": "requests", "accepted": 90, "duplicate": 0,
             "conflict": 0, "rejected": 0, "violations": 0,
             "received_at": self.now - timedelta(days=2)},
        )  # fmt: skip
        day = Window(last, last + timedelta(days=1))
        write_measurements(
            self.connection, self.project_id, model_id,
            [
                Measurement(check, method, 1, Subject((number,), "live", 0, column), day, outcome,
                            "psi", Direction.HIGHER_IS_WORSE, self.now)
                for check, method, column, outcome in (
                    ("drift", "psi", "wind", Failed("the profile of this day can't be read")),
                    ("quality", "auc", "", TooFew(0, 50, "labels")),
                    ("calibration", "debiased_error", "", TooFew(0, 500, "labels")),
                )
            ],
        )  # fmt: skip

    def _work(self, model_id: int) -> None:
        done = {"model_id": model_id, "worker": "worker-1", "fence": 1, "lease_until": self.now,
                "runs": 1, "failures": 0, "rows_read": 51, "started_at": self.now,
                "finished_at": self.now, "error": None}  # fmt: skip
        hours = list(self._hours())[-60:]
        rows = [{**done, "job": "profile", "window_start": each.start, "state": "done"}
                for each in hours]  # fmt: skip
        rows.append(
            {**done, "job": "checks-day", "window_start": hours[0].start, "state": "failed",
             "failures": 3, "finished_at": None, "error": "DatabaseUnavailable: Postgres is away"}
        )  # fmt: skip
        self._insert(tables.job_window, *rows)
        self.connection.execute(
            sa.insert(tables.heartbeat),
            [
                {"worker": "worker-1", "role": "worker", "started_at": self.now,
                 "beat_at": self.now},
                {"worker": "collector-1", "role": "collector", "started_at": self.now,
                 "beat_at": self.now - timedelta(minutes=20)},
            ],
        )  # fmt: skip
