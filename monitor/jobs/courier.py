"""Delivers all the time: many receivers at once, so that a slow one holds up nobody else.

Each message is sent by a thread of its own. A receiver has a few messages on their way at most, and
one while it fails; messages of one group follow each other (see `monitor.store.outbox`). Claims are
renewed while a message is being sent.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from monitor.errors import DatabaseUnavailable
from monitor.jobs.dead_letters import tell_dead
from monitor.jobs.deliver import Sender, claim_due, send_one
from monitor.store.alert_book import RulesInForce, rules_in_force
from monitor.store.engine import Role, transaction
from monitor.store.outbox import OwedDelivery, Room, renew_leases

log = logging.getLogger("inferwatch.courier")

AT_ONCE, TO_ONE_RECEIVER, TO_A_FAILING_ONE = 32, 4, 1
RENEW_AFTER_SECONDS, LONGEST_SECONDS = 8.0, 300.0


@dataclass(frozen=True)
class _OnItsWay:
    project_id: int
    owed: OwedDelivery
    began: float


@dataclass
class Courier:
    """Sends what is due whenever `tick` is called, and goes on by itself while more is due."""

    sender: Sender
    _pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(AT_ONCE, thread_name_prefix="courier")
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _on_their_way: dict[int, _OnItsWay] = field(default_factory=dict)
    _failing: set[tuple[int, str]] = field(default_factory=set)
    _closed: bool = False

    def tick(self, project_ids: Iterable[int]) -> int:
        """Renew claims, tell of dead letters, start sending what is due; how many were started."""
        started = 0
        for project_id in project_ids:
            self._renew(project_id)
            with transaction(self.sender.engine, project_id, Role.WORKER) as connection:
                rules = rules_in_force(connection, project_id)
            tell_dead(
                self.sender.engine, project_id, rules, self.sender.clock(), self.sender.public_url
            )
            started += self._start(project_id)
        return started

    def close(self) -> None:
        """Start nothing more and wait for what is on its way."""
        with self._lock:
            self._closed = True
        self._pool.shutdown(wait=True)

    def _start(self, project_id: int) -> int:
        with self._lock:
            if self._closed:
                return 0
            owed = claim_due(self.sender, project_id, self._room(project_id))
            if not owed:
                return 0
            with transaction(self.sender.engine, project_id, Role.WORKER) as connection:
                rules = rules_in_force(connection, project_id)
            for one in owed:
                self._on_their_way[one.id] = _OnItsWay(project_id, one, time.monotonic())
                self._pool.submit(self._send, project_id, one, rules)
            return len(owed)

    def _room(self, project_id: int) -> Room:
        busy = Counter(
            each.owed.receiver
            for each in self._on_their_way.values()
            if each.project_id == project_id
        )
        failing = {name for number, name in self._failing if number == project_id}
        room = {
            name: max(0, (TO_A_FAILING_ONE if name in failing else TO_ONE_RECEIVER) - busy[name])
            for name in busy.keys() | failing
        }
        return Room(AT_ONCE - len(self._on_their_way), TO_ONE_RECEIVER, room)

    def _send(self, project_id: int, owed: OwedDelivery, rules: RulesInForce | None) -> None:
        try:
            sent = send_one(self.sender, project_id, owed, rules)
            which = (project_id, owed.receiver)
            with self._lock:
                (self._failing.discard if sent else self._failing.add)(which)
        except DatabaseUnavailable as error:
            log.warning("attempt not recorded delivery=%s reason=%s", owed.key, error)
        except Exception:
            log.exception("sending broke delivery=%s", owed.key)
        finally:
            with self._lock:
                self._on_their_way.pop(owed.id, None)
        self._go_on(project_id)

    def _go_on(self, project_id: int) -> None:
        """A place is free and perhaps the next message of the group may follow."""
        try:
            self._start(project_id)
        except DatabaseUnavailable as error:
            log.warning("nothing claimed reason=%s", error)  # the next tick tries again

    def _renew(self, project_id: int) -> None:
        """Keep the claims of what takes long; what takes far too long is left to be sent anew."""
        now = time.monotonic()
        with self._lock:
            long = [
                each.owed
                for each in self._on_their_way.values()
                if each.project_id == project_id
                and RENEW_AFTER_SECONDS < now - each.began < LONGEST_SECONDS
            ]
        if long:
            with transaction(self.sender.engine, project_id, Role.WORKER) as connection:
                renew_leases(connection, project_id, long, self.sender.clock())
