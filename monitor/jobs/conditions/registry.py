"""Every condition that rules may ask for. A new one is a line here."""

from __future__ import annotations

from monitor.jobs.conditions.base import Condition
from monitor.jobs.conditions.data import (
    label_age,
    overflow,
    rejected_share,
    request_age,
    schema_break,
)
from monitor.jobs.conditions.servers import server_condition, server_unread
from monitor.jobs.conditions.work import (
    dead_deliveries,
    failed,
    overdue,
    receiver_disabled,
    undelivered_age,
    without_outcome,
)

CONDITIONS: tuple[Condition, ...] = (
    Condition("request_age", "hours", request_age),
    Condition("label_age", "hours", label_age),
    Condition("rejected_share", "share", rejected_share),
    Condition("schema_break", "share", schema_break),
    Condition("overflow_requests", "requests", overflow),
    Condition("failed_windows", "windows", failed, is_count=True),
    Condition("overdue_windows", "windows", overdue, is_count=True),
    Condition("undelivered_age", "hours", undelivered_age),
    Condition("dead_deliveries", "messages", dead_deliveries, is_count=True),
    Condition("receiver_disabled", "receivers", receiver_disabled, is_count=True),
    Condition("actions_without_outcome", "actions", without_outcome, is_count=True),
    Condition("server_queue_length", "requests", server_condition("queue_length")),
    Condition("server_queue_time", "ms", server_condition("queue_time")),
    Condition("server_cache_usage", "share", server_condition("cache_usage")),
    Condition("server_preemptions", "requests", server_condition("preemptions"), is_count=True),
    Condition("server_restarts", "restarts", server_condition("restarts"), is_count=True),
    Condition("server_unread", "minutes", server_unread),
)
