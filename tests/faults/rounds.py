"""Rounds of faults: events go on while something is killed or refuses; then all must arrive."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from monitor.postgres.process import free_port
from monitor.postgres.server import EmbeddedServer
from monitor.store import projects, schema
from monitor.store.dead_letters import send_missed_again
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.hand_over import apply_alert_rules
from monitor.store.receivers import enable_receiver
from tests.faults.oracle import SEVERITIES, Oracle, Verdict, compare, received
from tests.faults.processes import Processes
from tests.faults.programs import Place

RULES = """
owners:
  - {name: team, people: [ada@example.org], receiver: chat}
receivers:
  - {name: pager, channel: webhook, url_env: PAGER_URL, secret_env: SECRET,
     private_addresses_allowed: true}
  - {name: chat, channel: webhook, url_env: CHAT_URL, secret_env: SECRET,
     private_addresses_allowed: true}
  - {name: mail, channel: webhook, url_env: MAIL_URL, secret_env: SECRET,
     private_addresses_allowed: true}
delivery:
  fallback: mail
  storm: {messages: 100000, within: 1m}
  dead_mans_switch: {url_env: SWITCH_URL, every: 1m, private_addresses_allowed: true}
rules:
  - name: page-rule
    when: {check: oracle, severity: page}
    above: 0.5
    severity: page
    owner: team
    receiver: pager
    response: investigate
    runbook: https://runbooks.test/page
    impact: Somebody is hurt.
  - name: ticket-rule
    when: {check: oracle, severity: ticket}
    above: 0.5
    severity: ticket
    owner: team
    receiver: chat
    response: investigate
"""
KILLED = ("judge", "scheduler-1", "scheduler-2", "database", "receiver")
WAYS: dict[str, dict[str, Any]] = {
    "500": {"status": 500},
    "429": {"status": 429, "retry_after": 60},
    "410": {"status": 410},
    "slow": {"status": 200, "slow": True},
    "never": {"status": 200, "never": True},
}
FAULTS = (*(f"kill {name}" for name in KILLED), *WAYS, "down 6 h", "two kills")
EVENTS, PATIENCE = 12, 90.0
STEP, MOST_WAITED = timedelta(minutes=1), timedelta(hours=30)


@dataclass
class Round:
    """One round: what was done, what came of it, and how long it took until all had arrived."""

    number: int
    fault: str
    verdict: Verdict
    drain_seconds: float
    drain_simulated: timedelta
    early: int = 0
    violations: dict[str, int] = field(default_factory=dict)


@dataclass
class Scene:
    """The parts of a fault run."""

    place: Place
    processes: Processes
    oracle: Oracle
    rng: random.Random
    violations: dict[str, int] = field(default_factory=dict)

    def behave(self, **ways: dict[str, Any]) -> None:
        """How the receiver answers from now on at these paths; at others with 200."""
        new = self.place.behaviour.with_suffix(".new")
        new.write_text(json.dumps(ways), "utf-8")
        new.replace(self.place.behaviour)


@contextmanager
def scene(seed: int) -> Iterator[Scene]:
    """A database, a receiver, a judge and two schedulers, all real processes."""
    folder = Path(tempfile.mkdtemp(prefix="inferwatch-faults-"))
    folder.chmod(0o755)
    server = EmbeddedServer(folder / "home")
    running = server.start(child_of_this_process=True)
    try:
        place = _prepared(running.url, folder)
        rng = random.Random(seed)
        made = Scene(place, Processes(place, server), Oracle(place, rng), rng)
        made.oracle.prepare()
        made.behave()
        made.processes.start_all()
        try:
            yield made
        finally:
            made.processes.stop_all()
    finally:
        server.stop(immediate=True)
        shutil.rmtree(folder, ignore_errors=True)


def _prepared(url: str, folder: Path) -> Place:
    engine = make_engine(url)
    schema.upgrade(engine)
    with transaction(engine, None, Role.OWNER) as connection:
        project = projects.ensure_project(connection, "default")
    apply_alert_rules(engine, project, RULES, name="faults", by="tests", now=datetime.now(UTC))
    engine.dispose()
    place = Place(url, project, free_port(None), folder)
    place.clock.set_back()
    return place


def play(at: Scene, number: int, fault: str) -> Round:
    """One round with one kind of fault; all that was ever issued is compared at its end.

    A violation counts for the round that brought it.
    """
    heard_before, known = len(received(at.place)), dict(at.violations)
    _with_fault(at, fault)
    at.behave()
    at.processes.start_all()
    began, clock_began = time.monotonic(), at.place.clock()
    at.oracle.clear_all()
    _mend(at)
    _drain(at)
    verdict = compare(at.place, at.oracle)
    early = _early(received(at.place)[heard_before:]) if fault == "429" else 0
    at.violations.update(verdict.violations)
    found = {name: n for name, n in verdict.violations.items() if n != known.get(name)}
    found |= {"early": early} if early else {}
    return Round(
        number, fault, verdict, time.monotonic() - began, at.place.clock() - clock_began, early,
        found,
    )  # fmt: skip


def _with_fault(at: Scene, fault: str) -> None:
    if fault in WAYS:
        target = at.rng.choice(list(SEVERITIES.values()))
        at.oracle.issue(2)
        at.behave(**{target: WAYS[fault]})
        _issue_slowly(at, lambda: None)
        time.sleep(1.0)
    elif fault == "down 6 h":
        at.processes.kill("receiver")
        for _ in range(12):
            at.oracle.issue(1)
            at.place.clock.advance(timedelta(minutes=30))
            time.sleep(0.4)
    else:
        names = [fault.removeprefix("kill ")] if fault != "two kills" else at.rng.sample(KILLED, 2)
        _issue_slowly(at, lambda: _kill(at, names))


def _issue_slowly(at: Scene, once: Callable[[], None]) -> None:
    """Events one after the other; the fault strikes at a random moment among them."""
    moment = at.rng.randrange(EVENTS)
    for number in range(EVENTS):
        at.oracle.issue(1)
        time.sleep(at.rng.uniform(0.0, 0.15))
        if number == moment:
            once()


def _kill(at: Scene, names: list[str]) -> None:
    for name in names:
        time.sleep(at.rng.uniform(0.0, 0.4))
        if name == "database":
            at.processes.kill_database()
        else:
            at.processes.kill(name)


def _mend(at: Scene) -> None:
    """What a person does about receivers that asked for nothing more: enable them again."""
    engine = make_engine(at.place.database_url, pool_size=1)
    project, now = at.place.project_id, at.place.clock()
    try:
        for receiver in SEVERITIES.values():
            with transaction(engine, project, Role.WORKER) as connection:
                since = enable_receiver(connection, project, receiver, "tests", now)
                if since is not None:
                    send_missed_again(connection, project, receiver, since, now)
    finally:
        engine.dispose()


def _drain(at: Scene) -> None:
    """Wait until nothing is owed; waits that were asked for, and those between tries, pass at once.

    Raises AssertionError when it does not come to an end.
    """
    end, waited, quiet = time.monotonic() + PATIENCE, timedelta(), 0
    while quiet < 2:
        assert time.monotonic() < end, (
            f"still owed after {PATIENCE:.0f} s: {_owed(at)}; programs that ended by themselves: "
            f"{at.processes.ended() or 'none'}"
        )
        time.sleep(0.25)
        owed = _owed(at)
        quiet = quiet + 1 if not any(owed.values()) else 0
        if owed["later"] and not owed["now"] and waited < MOST_WAITED:
            at.place.clock.advance(STEP)
            waited += STEP


def _owed(at: Scene) -> dict[str, int]:
    """What is still to be done: now, and by the clock of the processes later."""
    query = """
      with waiting as (
        select greatest(due_at, coalesce(not_before, due_at)) as due_at,
               coalesce(lease_until > %(now)s, false) as is_on_its_way
        from delivery left join receiver_state using (project_id, receiver)
        where state = 'waiting'
      )
      select (select count(*) from oracle_issue where not taken)
             + (select count(*) from alert where not settled)
             + (select count(*) from waiting where is_on_its_way or due_at <= %(now)s) as now,
             (select count(*) from waiting where due_at > %(now)s) as later
    """
    with psycopg.connect(at.place.database_url) as connection:
        project = str(at.place.project_id)
        connection.execute("select set_config('app.project', %s, false)", (project,))
        row = connection.execute(query, {"now": at.place.clock()}).fetchone()
    assert row is not None
    return {"now": row[0], "later": row[1]}


def _early(requests: list[dict[str, Any]]) -> int:
    """Requests that came although the receiver had asked for a wait, a moment after it had.

    What was on its way at that moment is none.
    """
    early, waits = 0, {}
    for each in requests:
        at = datetime.fromisoformat(each["clock"])
        asked, until = waits.get(each["receiver"], (0.0, at))
        if each["real"] > asked + 1.5 and at < until:
            early += 1
        if each["retry_after"] is not None and each["status"] == 429:
            asked_now = asked if at < until else each["real"]
            waits[each["receiver"]] = (asked_now, at + timedelta(seconds=each["retry_after"]))
    return early


def all_rounds(
    at: Scene, count: int, told: Callable[[Round], None] = lambda _: None
) -> list[Round]:
    """Every kind of fault in turn, in an order of its own each time."""
    done: list[Round] = []
    while len(done) < count:
        kinds = list(FAULTS)
        at.rng.shuffle(kinds)
        for fault in kinds[: count - len(done)]:
            done.append(play(at, len(done) + 1, fault))
            told(done[-1])
    return done
