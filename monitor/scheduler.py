"""The ticker: APScheduler in UTC with a memory job store. Which windows run is in the database.

A lost, doubled or late tick is harmless: every job asks the database what is due and claims it.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from apscheduler.schedulers.blocking import BlockingScheduler
from sqlalchemy.engine import Engine

from alerts.channels.alertmanager import Alertmanager
from alerts.channels.outbound import Outbound
from monitor.errors import DatabaseNotReady, DatabaseUnavailable
from monitor.evidence.signing import SigningKey
from monitor.installation_key import signing_key
from monitor.jobs.audit_heads import HeadKeeper
from monitor.jobs.courier import Courier
from monitor.jobs.dead_man import DeadMan
from monitor.jobs.deliver import Sender
from monitor.jobs.keep_house import (
    beat,
    drop_expired_labels,
    drop_expired_requests,
    forget_expired,
    forget_marks_of_parts,
    give_up_orphans,
    prepare_partitions,
)
from monitor.jobs.run import Runner
from monitor.jobs.scheduled_reports import build_due_reports
from monitor.jobs.scraping.scraper import Scraper
from monitor.settings import Settings
from monitor.store.access_purge import forget_sign_ins
from monitor.store.engine import Role, transaction
from monitor.store.server_readings import forget_server_readings

log = logging.getLogger("inferwatch.scheduler")

JOBS_SECONDS, BEAT_SECONDS, HOUSE_SECONDS = 20, 15, 3600
NOTIFY_SECONDS, DELIVER_SECONDS, SWITCH_SECONDS, SCRAPE_SECONDS = 1, 1, 5, 1
REPORTS_SECONDS = 300
CONDITIONS_SECONDS, RESTATE_SECONDS = 60, int(Alertmanager.restates.total_seconds())


def worker_name() -> str:
    """A name for this process that no other process has."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


def utc_now() -> datetime:
    """The wall clock; handed to everything below as an argument."""
    return datetime.now(UTC)


@dataclass
class Worker:
    """The scheduled work of one process."""

    engine: Engine
    runner: Runner
    started_at: datetime
    _http: Outbound = field(default_factory=Outbound)
    heads: HeadKeeper | None = None

    def __post_init__(self) -> None:
        runner = self.runner
        self._dead_man = DeadMan(self.engine, runner.environment, self._http)
        self._courier = Courier(
            Sender(
                self.engine, runner.environment, runner.rng, runner.clock, runner.worker,
                runner.public_url, self._http,
            )
        )  # fmt: skip
        self._scraper = Scraper(self.engine, runner.environment, runner.clock, self._http)

    def scheduler(self) -> BlockingScheduler:
        """A scheduler with all ticks declared; `start()` blocks until `shutdown()`."""
        made = BlockingScheduler(timezone=UTC)
        for name, seconds, work in (
            ("house", HOUSE_SECONDS, self.keep_house),
            ("beat", BEAT_SECONDS, self.say_alive),
            ("jobs", JOBS_SECONDS, self.run_jobs),
            ("conditions", CONDITIONS_SECONDS, self.look_at_conditions),
            ("notify", NOTIFY_SECONDS, self.notify_due),
            ("deliver", DELIVER_SECONDS, self.deliver_due),
            ("switch", SWITCH_SECONDS, self.call_switches),
            ("scrape", SCRAPE_SECONDS, self.scrape_due),
            ("restate", RESTATE_SECONDS, self.restate_due),
            ("reports", REPORTS_SECONDS, self.build_reports),
            ("audit", HOUSE_SECONDS, self.sign_heads),
        ):
            made.add_job(
                guarded(name, work),
                "interval",
                seconds=seconds,
                id=name,
                next_run_time=utc_now(),
                coalesce=True,
                max_instances=1,
                misfire_grace_time=None,
            )
        return made

    def run_jobs(self) -> None:
        """Everything that is due."""
        self.runner.catch_up()

    def look_at_conditions(self) -> None:
        """Ages, backlogs and late data, also while a long job runs."""
        self.runner.look_at_conditions()

    def restate_due(self) -> None:
        """What receivers forget that keep no alert over a restart."""
        self.runner.restate_due(self._http)

    def build_reports(self) -> None:
        """Reports whose period is over and settled."""
        for _, number in self.runner.projects():
            build_due_reports(
                self.engine, number, self.runner.clock(), self.runner.public_url, _own_key
            )

    def notify_due(self) -> None:
        """Plan what is owed and which actions are due, and begin to send it at once."""
        if self.runner.notify_due() + self.runner.respond_due():
            self.deliver_due()

    def deliver_due(self) -> None:
        """Begin to send what is due; slow receivers are waited for elsewhere."""
        self._courier.tick(number for _, number in self.runner.projects())

    def call_switches(self) -> None:
        """Tell the outside that all is well, if it is."""
        for _, number in self.runner.projects():
            self._dead_man.call_due(number, self.runner.clock())

    def scrape_due(self) -> None:
        """Begin to read the metrics of servers that are due."""
        self._scraper.tick(number for _, number in self.runner.projects())

    def sign_heads(self) -> None:
        """The day's signed head of each audit chain; a copy goes outside where one is wanted."""
        if self.heads is None:
            return
        for _, number in self.runner.projects():
            self.heads.keep(number, self.runner.clock(), self._http)

    def close(self) -> None:
        """Wait for messages that are on their way and for pages that are being read."""
        self._scraper.close()
        self._courier.close()
        self._http.close()

    def say_alive(self) -> None:
        """A heartbeat, so that a dead worker shows on the overview."""
        beat(self.engine, self.runner.worker, "worker", self.started_at, utc_now())

    def keep_house(self) -> None:
        """Partitions ahead, retention behind, what waited too long."""
        now = utc_now()
        prepare_partitions(self.engine, now)
        models = [m for _, number in self.runner.projects() for m in self.runner.models(number)]
        for what, drop in (("request days", drop_expired_requests),
                           ("label months", drop_expired_labels)):  # fmt: skip
            dropped = drop(self.engine, models, now)
            if dropped:
                log.info("retention dropped %s=%d oldest=%s", what, len(dropped), dropped[0].date())
        with transaction(self.engine, None, Role.WORKER) as connection:
            forget_sign_ins(connection, now)
        for model in models:
            with transaction(self.engine, model.project_id, Role.WORKER) as connection:
                forget_expired(connection, model, now)
                give_up_orphans(connection, model, now)
                forget_marks_of_parts(connection, now)
                forget_server_readings(connection, now)


def _own_key() -> SigningKey:
    return signing_key(Settings.from_environment())


def guarded(name: str, work: Callable[[], None]) -> Callable[[], None]:
    """The work, with an outage of Postgres as one log line: the next tick tries again."""

    def run() -> None:
        try:
            work()
        except (DatabaseUnavailable, DatabaseNotReady) as error:
            log.warning("tick skipped tick=%s reason=%s", name, error)

    run.__name__ = name
    return run
