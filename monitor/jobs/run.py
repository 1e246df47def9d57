"""Runs the jobs: one tick over all models, or tick after tick until nothing is due."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from alerts.channels.outbound import Outbound
from monitor.jobs.base import JobContext, JobReport
from monitor.jobs.conditions.look import look_at_conditions
from monitor.jobs.deliver import deliver
from monitor.jobs.notify import notify
from monitor.jobs.registry import JOBS, Job
from monitor.jobs.respond import respond
from monitor.jobs.restate import restate
from monitor.store.action_orders import Outside
from monitor.store.bulk import BulkConnections
from monitor.store.engine import Role, transaction
from monitor.store.models import ModelContext, model_context, model_names
from monitor.store.tables import project

Clock = Callable[[], datetime]
Progress = Callable[[str, JobReport], None]


@dataclass(frozen=True)
class Runner:
    """What running jobs needs: connections, a name, the outside address, a clock and secrets.

    `revision_pause` is handed to the jobs (see JobContext). `only_project` leaves the other
    projects of the database alone.
    """

    engine: Engine
    bulk: BulkConnections
    worker: str
    public_url: str
    clock: Clock
    environment: Mapping[str, str]
    rng: random.Random
    revision_pause: timedelta = timedelta(days=1)
    only_project: int | None = None
    api_url: str = ""

    def tick(self, jobs: Collection[str] | None = None, progress: Progress | None = None) -> int:
        """Run every job of every model until it finds nothing more; how many windows were done.

        Jobs follow each other in the order of the data: labels join what is profiled, checks read
        what is joined.
        """
        done = 0
        for name, number in self.projects():
            for model in self.models(number):
                for job, run in JOBS:
                    if jobs is None or job in jobs:
                        done += self._exhaust(job, run, name, model, progress)
                notify(self.engine, number, self.clock(), self.public_url, self.api_url)
                respond(self.engine, number, self.clock(), self.outside)
        return done

    def notify_due(self) -> int:
        """Plan the notifications that are due; how many messages became owed."""
        return sum(
            notify(self.engine, number, self.clock(), self.public_url, self.api_url)
            for _, number in self.projects()
        )

    @property
    def outside(self) -> Outside:
        """Where pages and the HTTP API are reached."""
        return Outside(self.public_url, self.api_url)

    def restate_due(self, http: Outbound) -> int:
        """State again to receivers that forget what they were told of; how many alerts."""
        return sum(
            restate(self.engine, number, self.clock(), self.environment, self.outside, http)
            for _, number in self.projects()
        )

    def respond_due(self) -> int:
        """Ask for the automatic actions that are due; how many became owed."""
        return sum(
            respond(self.engine, number, self.clock(), self.outside)
            for _, number in self.projects()
        )

    def look_at_conditions(self) -> int:
        """Judge what rules ask about the system itself; how many alerts changed."""
        return sum(
            look_at_conditions(self.engine, number, name, list(self.models(number)), self.clock())
            for name, number in self.projects()
        )

    def _exhaust(
        self, job: str, run: Job, name: str, model: ModelContext, progress: Progress | None
    ) -> int:
        done = 0
        while (report := run(self._context(name, model))) != JobReport():
            done += report.done
            if progress is not None:
                progress(job, report)
            if report.failed:
                break
        return done

    def catch_up(
        self, jobs: Collection[str] | None = None, progress: Progress | None = None
    ) -> int:
        """Tick until a whole tick finds nothing to do; how many windows were done.

        Conditions are looked at when all is done, so that a backlog is none while it is worked off.
        """
        total = 0
        while done := self.tick(jobs, progress):
            total += done
        if jobs is None and self.look_at_conditions():
            self.notify_due()
        return total

    def deliver_due(self) -> int:
        """Try the deliveries that are due; how many were sent."""
        return sum(
            deliver(
                self.engine, number, self.clock(), self.environment, self.rng,
                worker=self.worker, public_url=self.public_url,
            )
            for _, number in self.projects()
        )  # fmt: skip

    def projects(self) -> list[tuple[str, int]]:
        """Name and number of every project that this runner serves."""
        with transaction(self.engine, None, Role.WORKER) as connection:
            rows = connection.execute(
                sa.select(project.c.name, project.c.id).order_by(project.c.id)
            )
            return [(row.name, row.id) for row in rows if self.only_project in (None, row.id)]

    def models(self, project_id: int) -> Iterator[ModelContext]:
        """Every model of a project with its newest contract."""
        with transaction(self.engine, project_id, Role.WORKER) as connection:
            key = connection.scalar(sa.select(project.c.hash_key).where(project.c.id == project_id))
            found = [
                model_context(connection, project_id, name, bytes(key or b""))
                for name in model_names(connection, project_id)
            ]
        yield from (one for one in found if one is not None)

    def _context(self, project_name: str, model: ModelContext) -> JobContext:
        return JobContext(
            engine=self.engine,
            bulk=self.bulk,
            project=project_name,
            model=model,
            worker=self.worker,
            now=self.clock(),
            public_url=self.public_url,
            revision_pause=self.revision_pause,
        )
