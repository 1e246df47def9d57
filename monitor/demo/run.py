"""The run of the demo from an empty database to a summary. Knows no terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from monitor.calendar import local_month
from monitor.demo.comparisons import compare_pairs
from monitor.demo.dataset import NEW_YORK, load_flights
from monitor.demo.deployments import DEPLOYMENTS
from monitor.demo.findings import Subjects, Work, summarise
from monitor.demo.options import DemoOptions
from monitor.demo.orchestrate import (
    Installation,
    collector,
    deliver_messages,
    freeze_spring,
    freeze_training,
    run_jobs,
)
from monitor.demo.plan import BodyKind, Step, by_month, plan_bodies
from monitor.demo.plant import FIRST_DAY
from monitor.demo.preparation import Prepared, prepare
from monitor.demo.progress import Advance, Teller
from monitor.demo.receiver import WebhookReceiver
from monitor.demo.replay import Replay
from monitor.demo.router import Router
from monitor.demo.sender import Counts, Sender
from monitor.demo.summary import Summary
from monitor.windows import Window

SPRING_MONTHS = 2
FIRST_MOMENT = local_month(datetime.fromisoformat("2013-04-15T12:00:00+00:00"), NEW_YORK).start


@dataclass
class Run:
    """One run: what was counted so far, and how long each stage took."""

    options: DemoOptions
    teller: Teller
    counts: dict[BodyKind, Counts] = field(
        default_factory=lambda: {kind: Counts() for kind in BodyKind}
    )
    stages: dict[str, float] = field(default_factory=dict)

    def prepare(self) -> Prepared:
        """Read the flights, train the model."""
        with self._stage("Reading the flights and training the model", "prepare", None):
            return prepare(load_flights(), self.options)

    def replay(self, place: Installation, prepared: Prepared, receiver: WebhookReceiver) -> Summary:
        """Send everything in event time, run the jobs each month, deliver, and sum up."""
        with self._stage("Freezing the training months as a baseline", "baseline", None):
            freeze_training(place, prepared.training_file)
        steps = list(by_month(plan_bodies(prepared.flights), NEW_YORK))
        log = self.options.home / "collector.log"
        with collector(place, log) as address:
            sender = Sender.to(address, place.key, place.contract.model)
            with sender.client:
                numbers = [sender.register(each.name, each.tags()) for each in DEPLOYMENTS]
                router = Router(prepared.model, self.options.plant)
                replay = Replay(
                    prepared.flights, prepared.assigned, router, numbers, self.options.seed
                )
                self._send_and_watch(place, replay, sender, steps)
        self._watch(place, _mature(steps, place))
        with self._stage("Comparing the deployments", "compare", None):
            compared = compare_pairs(place, numbers, _mature(steps, place))
        replayed = Window(FIRST_MOMENT, _mature(steps, place))
        subjects = Subjects(
            place.project_id, place.model().model_id, place.contract, numbers, replayed
        )
        work = Work(self.counts, len(receiver.received()), self.stages, compared)
        return summarise(place.engine, subjects, work)

    def _send_and_watch(
        self, place: Installation, replay: Replay, sender: Sender, steps: Sequence[Step]
    ) -> None:
        """Month by month: replay it, then let the scheduled jobs see it."""
        for number, step in enumerate(steps, start=1):
            title = f"Replaying {_month_before(step.end)}"
            with self._stage(title, "replay", step.rows) as advance:

                def told(rows: int, due: np.datetime64, advance: Advance = advance) -> None:
                    advance(rows, str(due.astype("datetime64[m]")))

                for kind, counts in replay.run(step.bodies, sender, told).items():
                    self.counts[kind] += counts
            self._watch(place, step.end + timedelta(hours=1))
            if number == SPRING_MONTHS and self.options.first_day == FIRST_DAY:
                freeze_spring(place, Window(FIRST_MOMENT, step.end))

    def _watch(self, place: Installation, now: datetime) -> None:
        with self._stage(f"Running the jobs as of {now:%Y-%m-%d}", "jobs", None) as advance:
            run_jobs(place, now, lambda done: advance(done, ""))
        with self._stage("Delivering messages", "deliver", None):
            deliver_messages(place)

    @contextmanager
    def _stage(self, title: str, name: str, total: int | None) -> Iterator[Advance]:
        started = time.monotonic()
        with self.teller.stage(title, total) as advance:
            yield advance
        self.stages[name] = self.stages.get(name, 0.0) + time.monotonic() - started


def _mature(steps: Sequence[Step], place: Installation) -> datetime:
    """When the last label can't change any more."""
    label = place.contract.label
    if label is None:
        raise AssertionError("the demo's contract declares a label")
    return steps[-1].end + label.max_age + label.correction_time + timedelta(days=1)


def _month_before(end: datetime) -> str:
    return f"{end - timedelta(days=2):%B %Y}"
