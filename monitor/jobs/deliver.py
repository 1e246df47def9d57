"""Sends owed messages: claim with a lease, send without a transaction, record the attempt.

`deliver` sends what is due and returns; `monitor.jobs.courier` does it all the time. Both send
through here.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection, Engine

from alerts.channels.base import Receipt
from alerts.channels.outbound import Outbound
from alerts.channels.registry import open_channel
from alerts.codec import message_from_json
from alerts.config import AlertConfig
from alerts.errors import SendFailed, SendFailure
from alerts.groups import EventType
from alerts.model import Severity
from alerts.retry import next_attempt
from monitor.errors import DatabaseUnavailable
from monitor.jobs.dead_letters import tell_dead
from monitor.store.actions import take_answer
from monitor.store.alert_book import RulesInForce, plan_now, rules_in_force
from monitor.store.engine import Role, transaction
from monitor.store.outbox import (
    LEASE,
    OwedDelivery,
    Room,
    claim_deliveries,
    record_attempt,
    wait_behind,
    wake_receiver,
)
from monitor.store.receivers import (
    ReceiverState,
    disable_receiver,
    enabled_since,
    give_up_disabled,
    hold_receiver,
    receiver_states,
)

log = logging.getLogger("inferwatch.deliver")

NO_RECEIVER = "no_receiver"
_CLAIM_SPARE = timedelta(seconds=5)


@dataclass(frozen=True)
class Sender:
    """What sending needs. `public_url` begins the links in messages about deliveries."""

    engine: Engine
    environment: Mapping[str, str]
    rng: random.Random
    clock: Callable[[], datetime]
    worker: str
    public_url: str
    http: Outbound


@dataclass(frozen=True)
class Attempt:
    """How one attempt went. `seen` is what was known of the receiver when it began."""

    outcome: str
    detail: str
    receipt: Receipt | None = None
    failure: SendFailed | None = None
    permanent: bool = False
    seen: ReceiverState | None = None

    @property
    def is_sent(self) -> bool:
        """Whether the receiver took the message."""
        return self.outcome == "sent"

    @property
    def says_gone(self) -> bool:
        """Whether the receiver asked to be sent nothing any more."""
        return self.failure is not None and self.failure.disable_receiver


def deliver(
    engine: Engine,
    project_id: int,
    now: datetime,
    environment: Mapping[str, str],
    rng: random.Random,
    *,
    worker: str = "command",
    public_url: str = "",
) -> int:
    """Send everything of a project that is due at `now`; how many messages were taken.

    What fails is tried again by a later call, when its wait is over.
    """
    taken = 0
    with Outbound() as http, ThreadPoolExecutor(Room().total) as pool:
        sender = Sender(engine, environment, rng, lambda: now, worker, public_url, http)
        while True:
            with transaction(engine, project_id, Role.WORKER) as connection:
                rules = rules_in_force(connection, project_id)
            owed = claim_due(sender, project_id, Room())
            tries = [pool.submit(send_one, sender, project_id, one, rules) for one in owed]
            taken += sum(each.result() for each in tries)
            if not owed and not tell_dead(engine, project_id, rules, now, public_url):
                return taken


def claim_due(sender: Sender, project_id: int, room: Room) -> list[OwedDelivery]:
    """What is due and free, claimed for this sender; what can't be sent is given up first."""
    now = sender.clock()
    with transaction(sender.engine, project_id, Role.WORKER) as connection:
        if give_up_disabled(connection, project_id, now):
            plan_now(connection, project_id)
        return claim_deliveries(connection, project_id, now, room, sender.worker)


def send_one(
    sender: Sender, project_id: int, owed: OwedDelivery, rules: RulesInForce | None
) -> bool:
    """Try one claimed delivery and record how it went; whether it was taken."""
    began = time.monotonic()
    attempt = _try(sender, project_id, owed, rules.config if rules else None)
    if not attempt.is_sent:
        log.warning("delivery failed delivery=%s outcome=%s", owed.key, attempt.outcome)
    while True:
        try:
            with transaction(sender.engine, project_id, Role.WORKER) as connection:
                _record(connection, sender, project_id, owed, attempt)
            return attempt.is_sent
        except DatabaseUnavailable:
            # While the claim lasts nobody else sends it, so it pays to wait for the database.
            if time.monotonic() - began > (LEASE - _CLAIM_SPARE).total_seconds():
                raise
            time.sleep(0.5)


def _try(
    sender: Sender, project_id: int, owed: OwedDelivery, config: AlertConfig | None
) -> Attempt:
    receivers = {each.name: each for each in config.receivers} if config is not None else {}
    if owed.receiver not in receivers:
        detail = f"the rules have no receiver {owed.receiver!r} any more"
        return Attempt(NO_RECEIVER, detail, permanent=True)
    with transaction(sender.engine, project_id, Role.WORKER) as connection:
        state = receiver_states(connection, project_id).get(owed.receiver)
    try:
        channel = open_channel(receivers[owed.receiver], sender.environment)
        receipt = channel.send(
            message_from_json(owed.body),
            delivery_id=owed.key, now=sender.clock(), http=sender.http,
        )  # fmt: skip
    except SendFailed as error:
        return Attempt(
            error.reason.value, str(error), failure=error, permanent=error.permanent, seen=state
        )
    except Exception as error:
        # One message that a channel can't make must not keep the others back.
        log.exception("channel broke delivery=%s receiver=%s", owed.key, owed.receiver)
        return Attempt(SendFailure.CHANNEL_ERROR.value, type(error).__name__)
    status = f"status {receipt.status}" if receipt.status is not None else "taken"
    return Attempt("sent", f"{status} {receipt.answer}".rstrip(), receipt)


def _record(
    connection: Connection, sender: Sender, project_id: int, owed: OwedDelivery, attempt: Attempt
) -> None:
    """Write down how it went, and what follows for the receiver and for those who wait."""
    now = sender.clock()
    if attempt.says_gone and enabled_since(connection, project_id, owed.receiver, attempt.seen):
        # It asked for nothing more, but a person has enabled it since: that is the newer word.
        attempt = Attempt(attempt.outcome, attempt.detail)
    next_due = None if attempt.is_sent or attempt.permanent else _next(owed, now, attempt, sender)
    held = record_attempt(
        connection, project_id, owed, outcome=attempt.outcome, detail=attempt.detail, now=now,
        next_due=next_due,
    )  # fmt: skip
    if attempt.is_sent:
        wake_receiver(connection, project_id, owed.receiver, now)
        if owed.event == EventType.RESPONSE_REQUESTED and attempt.receipt is not None:
            answer = attempt.receipt.content
            take_answer(connection, project_id, owed.key, answer, owed.receiver, now)
    elif attempt.failure is not None:
        _obey(connection, project_id, owed, attempt.failure, now, next_due)
    if not held or attempt.is_sent:
        return
    if next_due is not None:
        wait_behind(connection, project_id, owed, now)
    else:
        plan_now(connection, project_id)  # a page that reached nobody goes to the next step


def _obey(
    connection: Connection,
    project_id: int,
    owed: OwedDelivery,
    failure: SendFailed,
    now: datetime,
    next_due: datetime | None,
) -> None:
    """What the receiver asked for holds for all its messages."""
    if failure.disable_receiver:
        disable_receiver(connection, project_id, owed.receiver, failure.detail, now)
        give_up_disabled(connection, project_id, now)
    elif failure.retry_after is not None:
        hold_receiver(connection, project_id, owed.receiver, now + failure.retry_after, now)
    elif failure.reason is SendFailure.RATE_LIMITED and next_due is not None:
        hold_receiver(connection, project_id, owed.receiver, next_due, now)


def _next(owed: OwedDelivery, now: datetime, attempt: Attempt, sender: Sender) -> datetime | None:
    return next_attempt(
        owed.attempts,
        Severity(owed.severity),
        owed.first_at,
        now,
        retry_after=attempt.failure.retry_after if attempt.failure is not None else None,
        rng=sender.rng,
    )
