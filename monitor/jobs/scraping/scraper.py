"""Reads the targets that are due, several at once: a slow server holds up nobody else.

Claims put a target off by its pause, so that two workers never read it at once; and a page that is
read twice all the same adds nothing twice.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from alerts.channels.outbound import Outbound
from monitor.errors import DatabaseNotReady, DatabaseUnavailable
from monitor.intake.server_metrics.points import MetricRead
from monitor.intake.server_metrics.prometheus_text import UnreadableMetrics, read_prometheus
from monitor.intake.server_metrics.registry import is_known_metric, servers_of
from monitor.jobs.scraping.page import PageUnread, read_page
from monitor.scrape_targets import ScrapeTarget
from monitor.store.engine import Role, told_without_values, transaction
from monitor.store.models import model_numbers_by_any_name
from monitor.store.scrape_targets import claim_due, note_failure, note_read
from monitor.store.server_readings import KeptMetrics, keep_metrics

log = logging.getLogger("inferwatch.scrape")

AT_ONCE = 8


@dataclass
class Scraper:
    """Reads what is due whenever `tick` is called; `tick` never waits for a server."""

    engine: Engine
    environment: Mapping[str, str]
    clock: Callable[[], datetime]
    http: Outbound
    _pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(AT_ONCE, thread_name_prefix="scrape")
    )
    _busy: set[tuple[int, str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tick(self, project_ids: Iterable[int]) -> int:
        """Begin to read what is due; how many were begun."""
        begun = 0
        for project_id in project_ids:
            with transaction(self.engine, project_id, Role.WORKER) as connection:
                due = claim_due(connection, project_id, self.clock())
            for target in due:
                if self._begin(project_id, target.name):
                    self._pool.submit(self._read_one, project_id, target)
                    begun += 1
        return begun

    def close(self) -> None:
        """Wait for pages that are being read."""
        self._pool.shutdown()

    def _begin(self, project_id: int, name: str) -> bool:
        with self._lock:
            free = (project_id, name) not in self._busy
            self._busy.add((project_id, name))
            return free

    def _read_one(self, project_id: int, target: ScrapeTarget) -> None:
        try:
            scrape(self.engine, project_id, target, self.environment, self.clock, self.http)
        except (DatabaseUnavailable, DatabaseNotReady) as error:
            log.warning("page not kept target=%s reason=%s", target.name, error)
        except Exception as error:
            # Of a database error no values are logged.
            traceback = None if isinstance(error, DBAPIError) else error
            told = told_without_values(error)
            log.error("page not kept target=%s: %s", target.name, told, exc_info=traceback)
        finally:
            with self._lock:
                self._busy.discard((project_id, target.name))


def scrape(
    engine: Engine,
    project_id: int,
    target: ScrapeTarget,
    environment: Mapping[str, str],
    clock: Callable[[], datetime],
    http: Outbound,
) -> KeptMetrics | None:
    """Read one page and keep it; None, noted with the target, when it can't be read."""
    try:
        text = read_page(http, target, environment)
        now = clock()
        read = read_prometheus(text, now, is_known_metric)
    except (PageUnread, UnreadableMetrics) as error:
        log.info("page unread target=%s reason=%s", target.name, error)
        with transaction(engine, project_id, Role.WORKER) as connection:
            note_failure(connection, project_id, target, str(error), clock())
        return None
    with transaction(engine, project_id, Role.WORKER) as connection:
        kept = keep_page(connection, project_id, target, read)
        note_read(connection, project_id, target.name, told_of(read, kept), now)
    return kept


def keep_page(
    connection: Connection, project_id: int, target: ScrapeTarget, read: MetricRead
) -> KeptMetrics:
    """Add what a page says to the readings of its models."""
    numbers = model_numbers_by_any_name(connection, project_id)

    def find(names: Sequence[str]) -> int | None:
        return next((numbers[name] for name in names if name in numbers), None)

    own = [numbers[name] for name in target.models if name in numbers]
    return keep_metrics(connection, project_id, target.name, read.points, find, own)


def told_of(read: MetricRead, kept: KeptMetrics) -> dict[str, Any]:
    """What a page held, for `scrape list`."""
    return {
        "servers": list(servers_of({point.name for point in read.points})),
        "series": len(read.points),
        "readings": kept.readings,
        "left_out": {**kept.left_out, **dict.fromkeys(read.reasons, 1)},
        "unknown_models": kept.unknown_models,
    }
