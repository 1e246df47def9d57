"""Sends owed messages: claim with a lease, send without a transaction, record the attempt."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy.engine import Engine

from alerts.channels.outbound import Outbound
from alerts.channels.registry import open_channel
from alerts.codec import message_from_json
from alerts.config import AlertConfig
from alerts.errors import SendFailed
from alerts.model import Severity
from alerts.retry import next_attempt
from monitor.store.alert_book import rules_in_force
from monitor.store.engine import Role, transaction
from monitor.store.outbox import OwedDelivery, claim_deliveries, record_attempt

log = logging.getLogger("inferwatch.deliver")
CLAIMED_AT_ONCE = 20


def deliver(
    engine: Engine,
    project_id: int,
    now: datetime,
    environment: Mapping[str, str],
    rng: random.Random,
) -> int:
    """Try every delivery of a project that is due; how many were sent."""
    with transaction(engine, project_id, Role.WORKER) as connection:
        rules = rules_in_force(connection, project_id)
        owed = claim_deliveries(connection, project_id, now, CLAIMED_AT_ONCE) if rules else []
    if rules is None or not owed:
        return 0
    sent = 0
    with Outbound() as http:
        for one in owed:
            sent += _attempt(engine, project_id, one, rules.config, now, environment, rng, http)
    return sent


def _attempt(
    engine: Engine,
    project_id: int,
    owed: OwedDelivery,
    config: AlertConfig,
    now: datetime,
    environment: Mapping[str, str],
    rng: random.Random,
    http: Outbound,
) -> bool:
    outcome, next_due = "sent", None
    try:
        if owed.receiver not in {receiver.name for receiver in config.receivers}:
            outcome, detail = (
                "no_receiver",
                f"the rules have no receiver {owed.receiver!r} any more",
            )
        else:
            channel = open_channel(config.receiver(owed.receiver), environment)
            message = message_from_json(owed.body)
            receipt = channel.send(message, delivery_id=owed.key, now=now, http=http)
            detail = f"status {receipt.status}" if receipt.status is not None else "taken"
    except SendFailed as error:
        outcome, detail = error.reason.value, str(error)
        if not error.permanent:
            next_due = _next(owed, now, error.retry_after, rng)
        log.warning("delivery failed delivery=%s outcome=%s", owed.key, outcome)
    with transaction(engine, project_id, Role.WORKER) as connection:
        record_attempt(
            connection, project_id, owed, outcome=outcome, detail=detail, now=now, next_due=next_due
        )
    return outcome == "sent"


def _next(
    owed: OwedDelivery, now: datetime, retry_after: timedelta | None, rng: random.Random
) -> datetime | None:
    return next_attempt(
        owed.attempts,
        Severity(owed.severity),
        owed.created_at,
        now,
        retry_after=retry_after,
        rng=rng,
    )
