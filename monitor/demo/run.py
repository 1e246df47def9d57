"""The run of the demo from an empty database to a summary. Knows no terminal."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from monitor.calendar import local_month
from monitor.demo.comparisons import compare_pairs
from monitor.demo.control import TrafficControl
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
from monitor.demo.plan import BodyKind, PlannedBody, Step, in_steps, plan_bodies
from monitor.demo.plant import FIRST_DAY, rollout_day
from monitor.demo.preparation import Prepared, prepare
from monitor.demo.progress import Advance, Teller
from monitor.demo.receiver import WebhookReceiver
from monitor.demo.replay import Replay
from monitor.demo.router import Router
from monitor.demo.sender import Counts, Sender
from monitor.demo.summary import Summary
from monitor.windows import Window

SPRING = Window(
    local_month(datetime(2013, 4, 15, tzinfo=UTC), NEW_YORK).start,
    local_month(datetime(2013, 5, 15, tzinfo=UTC), NEW_YORK).end,
)


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

    def replay(
        self,
        place: Installation,
        prepared: Prepared,
        receiver: WebhookReceiver,
        control: TrafficControl,
    ) -> Summary:
        """Send everything in event time, run the jobs after each step, deliver, and sum up."""
        with self._stage("Freezing the training months as a baseline", "baseline", None):
            freeze_training(place, prepared.training_file)
        bodies = plan_bodies(prepared.flights)
        mature = _mature(bodies[-1].moment, place)
        log = self.options.home / "collector.log"
        with collector(place, log) as address:
            sender = Sender.to(address, place.key, place.contract.model)
            with sender.client:
                numbers = [sender.register(each.name, each.tags()) for each in DEPLOYMENTS]
                router = Router(prepared.model, self.options.plant)
                replay = Replay(
                    prepared.flights, prepared.assigned, router, numbers, self.options.seed,
                    lambda: control.traffic,
                )  # fmt: skip
                self._send_and_watch(place, replay, sender, bodies, control)
        self._watch(place, mature, control)
        with self._stage("Comparing the deployments", "compare", None):
            compared = compare_pairs(place, numbers, mature)
        replayed = Window(SPRING.start, mature)
        subjects = Subjects(
            place.project_id, place.model().model_id, place.contract, numbers, replayed
        )
        verified = len(receiver.received()) + control.verified
        work = Work(self.counts, verified, self.stages, compared)
        return summarise(place.engine, subjects, work)

    def _send_and_watch(
        self,
        place: Installation,
        replay: Replay,
        sender: Sender,
        bodies: Sequence[PlannedBody],
        control: TrafficControl,
    ) -> None:
        """Step by step: replay it, then let the scheduled jobs see it."""
        plant = self.options.plant
        day = rollout_day(plant) if plant is None else plant.start
        began = datetime.combine(day, time(12), UTC)
        for step in in_steps(bodies, NEW_YORK, lambda: (began, *control.moments)):
            with self._stage(f"Replaying {_named(step)}", "replay", step.rows) as advance:

                def told(rows: int, due: np.datetime64, advance: Advance = advance) -> None:
                    advance(rows, str(due.astype("datetime64[m]")))

                for kind, counts in replay.run(step.bodies, sender, told).items():
                    self.counts[kind] += counts
            self._watch(place, step.end + timedelta(hours=1), control)
            if step.end == SPRING.end and self.options.first_day == FIRST_DAY:
                freeze_spring(place, SPRING)

    def _watch(self, place: Installation, now: datetime, control: TrafficControl) -> None:
        control.stand_at(now)
        with self._stage(f"Running the jobs as of {now:%Y-%m-%d}", "jobs", None) as advance:
            run_jobs(place, now, lambda done: advance(done, ""))
            deliver_messages(place, now)

    @contextmanager
    def _stage(self, title: str, name: str, total: int | None) -> Iterator[Advance]:
        started = clock.monotonic()
        with self.teller.stage(title, total) as advance:
            yield advance
        self.stages[name] = self.stages.get(name, 0.0) + clock.monotonic() - started


def _mature(last: datetime, place: Installation) -> datetime:
    """When the last label of a replay that ends in this month can't change any more."""
    label = place.contract.label
    if label is None:
        raise AssertionError("the demo's contract declares a label")
    end = local_month(last, NEW_YORK).end
    return end + label.max_age + label.correction_time + timedelta(days=1)


def _named(step: Step) -> str:
    """The month or the day that a step replays."""
    first, last = (each.moment.astimezone(ZoneInfo(NEW_YORK)) for each in step.ends)
    if first.date() == last.date():
        return f"{last.day} {last:%B %Y}"
    return f"{last:%B %Y}" if (last - first).days > 26 else f"to {last.day} {last:%B %Y}"
