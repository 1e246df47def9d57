"""A year of a whole project: models with hourly profiles, measurements, runs and alerts.

One model of thirty days is written by the product's own store; the rest are copies of its rows in
SQL, moved by months and given to other models, so that a year of 20 models takes minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from rich.progress import track
from sqlalchemy.engine import Connection, Engine

from monitor.deployment import Tags
from monitor.store.engine import Role, transaction
from monitor.store.models import apply_contract, model_number, register_deployment
from tests.dashboard_seed import MODEL, Seeded, contract_of, seed

MONTH = timedelta(days=30)


@dataclass(frozen=True)
class Year:
    """What was written, in rows."""

    seeded: Seeded
    models: tuple[str, ...]
    rows: dict[str, int]


def fill(engine: Engine, now: datetime, models: int = 20, months: int = 12,
         alerts: int = 5_000) -> Year:  # fmt: skip
    """Fill an empty, migrated database."""
    seeded = seed(engine, now)
    names = (MODEL, *(f"model-{number:02d}" for number in range(2, models + 1)))
    numbers = {MODEL: (seeded.model_id, {n: n for n in seeded.deployment_ids})}
    with transaction(engine, seeded.project_id, Role.OWNER) as connection:
        for name in names[1:]:
            numbers[name] = _model(connection, seeded, name, now)
    for name in track(names, "Months of each model"):
        with transaction(engine, seeded.project_id, Role.OWNER) as connection:
            for month in range(months):
                if name != MODEL or month:
                    _month(connection, seeded, *numbers[name], month)
    with transaction(engine, seeded.project_id, Role.OWNER) as connection:
        _alerts(connection, seeded, names, alerts, months)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("analyze"))
    return Year(seeded, names, _counts(engine, seeded.project_id))


def _model(
    connection: Connection, seeded: Seeded, name: str, now: datetime
) -> tuple[int, dict[int, int]]:
    """A model like the first one; its number, and its deployments by those of the first."""
    apply_contract(connection, seeded.project_id, contract_of(name), source="c.yaml", by="ada")
    number = model_number(connection, seeded.project_id, name)
    deployments = {}
    for place, old in enumerate(seeded.deployment_ids):
        tags = Tags.of({"model_version": "7", "runtime_version": f"1.{place}"})
        made = register_deployment(connection, seeded.project_id, number, tags, f"v{place}", now)
        deployments[old] = made[0]
    return number, deployments


def _month(
    connection: Connection, seeded: Seeded, number: int, deployments: dict[int, int], month: int
) -> None:
    values = {
        "project": seeded.project_id, "source": seeded.model_id, "model": number,
        "back": MONTH * month, "old": list(deployments), "new": list(deployments.values()),
    }  # fmt: skip
    for statement in _COPIES:
        connection.execute(sa.text(statement), values)


_MAPPED = "(cast(:new as int[]))[array_position(cast(:old as int[]), {})]"
_ONE = _MAPPED.format("deployment_id")
_COPIES = (
    f"""insert into profile (project_id, model_id, deployment_id, leg, segment_id, binning_id, part,
        grain, window_start, contract_version, n, body)
    select :project, :model, {_ONE}, leg, segment_id, binning_id, part, grain,
        window_start - :back, contract_version, n, body
    from profile where project_id = :project and model_id = :source
        and window_start > (select max(window_start) - interval '30 days' from profile
                            where model_id = :source)
        and deployment_id = any(cast(:old as int[])) on conflict do nothing""",
    f"""insert into prediction_block (project_id, model_id, window_start, deployment_id, leg, n,
        labelled, body)
    select :project, :model, window_start - :back, {_ONE}, leg, n, labelled, body
    from prediction_block where project_id = :project and model_id = :source
        and window_start > (select max(window_start) - interval '30 days' from prediction_block
                            where model_id = :source)
        and deployment_id = any(cast(:old as int[])) on conflict do nothing""",
    """insert into measurement (project_id, model_id, check_name, method, method_version,
        deployment_ids, leg, segment_id, column_name, window_start, window_end, baseline_id, state,
        value, low, high, level, n, n_reference, unit, direction, reason, detail, known_at)
    select :project, :model, check_name, method, method_version,
        (select array_agg((cast(:new as int[]))[array_position(cast(:old as int[]), each)])
         from unnest(deployment_ids) as each),
        leg, segment_id, column_name, window_start - :back, window_end - :back, baseline_id, state,
        value, low, high, level, n, n_reference, unit, direction, reason, detail, known_at - :back
    from measurement where project_id = :project and model_id = :source
        and window_start > (select max(window_start) - interval '30 days' from measurement
                            where model_id = :source)
        and deployment_ids <@ cast(:old as int[]) on conflict do nothing""",
    """insert into job_window (project_id, model_id, job, window_start, state, fence, worker,
        lease_until, runs, failures, rows_read, started_at, finished_at)
    select :project, :model, job, hour - :back, 'done', 1, 'w', hour, 1, 0, 100, hour - :back,
        hour - :back + interval '1 minute'
    from unnest(array['profile', 'checks-hour', 'watch-hours']) as job,
        generate_series(now() - interval '30 days', now(), interval '1 hour') as hour
    on conflict do nothing""",
)


def _alerts(
    connection: Connection, seeded: Seeded, names: tuple[str, ...], wanted: int, months: int
) -> None:
    """Copies of the seeded alerts over the year, nine in ten of them resolved; each told once."""
    values = {
        "project": seeded.project_id, "names": list(names), "wanted": wanted, "months": months,
    }  # fmt: skip
    for statement in _ALERTS:
        connection.execute(sa.text(statement), values)


_ALERTS = (
    """insert into alert (project_id, fingerprint, rule, model, state, data_state, severity, owner,
        response, episode, since, fired_at, resolved_at, resolved_reason, acknowledged_by,
        acknowledged_at, body, config_version, standing, settled)
    select :project, md5(fingerprint || n), rule,
        (cast(:names as text[]))[1 + n % cardinality(cast(:names as text[]))],
        case when n % 10 = 0 then 'firing' else 'resolved' end, data_state, severity, owner,
        response, episode, moved, moved,
        case when n % 10 = 0 then null else moved + interval '1 day' end,
        case when n % 10 = 0 then null else 'recovered' end, null, null,
        body, config_version, 'new', true
    from (select *, row_number() over (order by alert.id, copy) as n,
            since - interval '1 hour' * (copy * 8640 * :months / 12 / (:wanted / 6 + 1)) as moved
          from alert, generate_series(1, :wanted / (select count(*) from alert) + 1) as copy
          where alert.project_id = :project) as made
    where n <= :wanted""",
    """insert into alert_transition (project_id, alert_id, episode, from_state, to_state, reason,
        at, recorded_at, body)
    select :project, id, episode, 'ok', 'firing', 'breach_held', since, since, '{}' from alert
    where id not in (select alert_id from alert_transition)""",
    """insert into alert_transition (project_id, alert_id, episode, from_state, to_state, reason,
        at, recorded_at, body)
    select :project, id, episode, 'firing', 'resolved', 'recovered', resolved_at, resolved_at, '{}'
    from alert where state = 'resolved'""",
    """insert into delivery (project_id, delivery_key, receiver, severity, event_type, body,
        alert_ids, group_key, state, attempts, created_at, due_at, finished_at)
    select :project, 'msg_' || md5('copy' || id), 'on-call', severity, 'finding.opened',
        '{"title": "told", "lines": []}', array[id], '', 'sent', 1, since, since, since
    from alert""",
)


def _counts(engine: Engine, project_id: int) -> dict[str, int]:
    names = ("profile", "measurement", "job_window", "alert", "alert_transition", "delivery")
    with transaction(engine, project_id, Role.OWNER) as connection:
        return {
            name: int(connection.scalar(sa.text(f"select count(*) from {name}")) or 0)
            for name in names
        }
