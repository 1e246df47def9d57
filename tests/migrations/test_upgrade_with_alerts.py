"""An upgrade while alerts fire: who was told before need not be told again, and ends are owed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from monitor.store import schema
from monitor.store.engine import Role, transaction
from monitor.store.notices import is_plan_due, unsettled
from tests.conftest import opened

AT = datetime(2026, 3, 1, tzinfo=UTC)
RULES = """
owners: [{name: risk-ml, people: [ada@example.org], receiver: on-call}]
receivers: [{name: on-call, channel: webhook, url: "https://x.example", secret_env: S}]
rules:
  - {name: moved, when: {check: drift}, above: 0.2, severity: ticket, owner: risk-ml,
     response: investigate}
"""
INSERT_ALERT = sa.text(
    "insert into alert (project_id, fingerprint, rule, model, state, data_state, severity, owner,"
    " response, episode, since, body, config_version) values (1, :key, 'moved', 'credit', :state,"
    " 'ok', 'ticket', 'risk-ml', 'investigate', 2, :at, cast(:body as jsonb), 1) returning id"
)
INSERT_DELIVERY = sa.text(
    "insert into delivery (project_id, delivery_key, receiver, severity, event_type, body,"
    " alert_ids, due_at, created_at) values (1, :key, 'on-call', 'ticket', 'finding.opened', '{}',"
    " array[cast(:alert as bigint)], :at, :at)"
)
BODY = """{"labels": {"project": "p", "model": "credit", "check": "drift", "column": "%s"},
 "pending_since": null, "last_reading": null, "last_judged": null, "breaches": 1, "clears": 0,
 "version": 1, "resolved_by": null, "comment": null, "told_episode": %s}"""


def test_who_was_told_of_an_alert_that_fires_is_not_told_again(empty_database_url: str) -> None:
    with opened(empty_database_url) as engine:
        schema.upgrade(engine, "0003")
        with transaction(engine, None, Role.OWNER) as connection:
            connection.execute(
                sa.text("insert into project (name, hash_key) values ('p', decode(:k, 'hex'))"),
                {"k": "00" * 16},
            )
        with transaction(engine, 1, Role.OWNER) as connection:
            connection.execute(
                sa.text(
                    "insert into alert_config (project_id, version, source, applied_by)"
                    " values (1, 1, :source, 'ada')"
                ),
                {"source": RULES},
            )
            for key, state, told in (
                ("told", "firing", "2"),
                ("earlier", "firing", "1"),
                ("over", "resolved", "2"),
            ):
                row: dict[str, Any] = {"key": key, "state": state, "at": AT}
                number = connection.scalar(INSERT_ALERT, {**row, "body": BODY % (key, told)})
                connection.execute(INSERT_DELIVERY, {"key": key, "alert": number, "at": AT})

        schema.upgrade(engine)

        with transaction(engine, 1, Role.WORKER) as connection:
            assert is_plan_due(connection, 1, AT)
            found = {each.alert.fingerprint: each.alert for each in unsettled(connection, 1).alerts}
        assert set(found) == {"told", "earlier"}
        told = found["told"].told["on-call"]
        assert (told.episode, told.event.value, told.at) == (2, "opened", AT)
        assert found["earlier"].told == {}
