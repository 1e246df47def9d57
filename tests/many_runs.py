"""A project with very many rows: what a list must not load at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from monitor.store.engine import Role, transaction
from monitor.store.projects import ensure_project
from tests.database import DatabaseServer
from tests.seeded_database import Template, copy_of

NAME = "many"
FILL = """
insert into model (project_id, name, owner, purpose, risk_tier)
  select :project, 'model-' || lpad(i::text, 3, '0'), 'team', 'many', 'low'
  from generate_series(1, 200) i;
insert into job_window (project_id, model_id, job, window_start, state, fence, worker, lease_until)
  select :project, m.id, 'checks-day', timestamptz '2026-01-01 00:00Z' + d * interval '1 day',
         case when d = 7 then 'failed' else 'done' end, 1, 'w', now()
  from model m, generate_series(0, 29) d where m.project_id = :project;
insert into measurement (project_id, model_id, check_name, method, method_version, deployment_ids,
    leg, segment_id, column_name, window_start, window_end, state, value, n, unit, direction,
    detail, known_at)
  select :project, m.id, 'drift', 'psi', 1, array[1], 'live', 0, 'column ' || c,
         timestamptz '2026-01-01 00:00Z' + d * interval '1 day',
         timestamptz '2026-01-02 00:00Z' + d * interval '1 day', 'measured', 0.1, 100, 'psi',
         'higher_is_worse', '{}', now()
  from model m, generate_series(0, 29) d, generate_series(1, 20) c where m.project_id = :project;
insert into alert (project_id, fingerprint, rule, model, state, data_state, severity, owner,
    response, episode, since, body, config_version)
  select :project, 'f' || i, 'rule', 'model-' || lpad((i % 200 + 1)::text, 3, '0'),
         case when i % 3 = 0 then 'resolved' else 'firing' end, 'ok',
         case when i % 100 = 0 then 'page' else 'notice' end, 'team', 'investigate', 1,
         timestamptz '2026-01-01 00:00Z' + i * interval '1 minute',
         '{"labels": {}, "last_reading": null, "last_judged": null, "pending_since": null,
           "breaches": 0, "clears": 0, "version": 1, "resolved_by": null, "comment": null}', 1
  from generate_series(1, 6000) i;
analyze;
"""


@pytest.fixture(scope="session")
def many_runs(
    postgres_server: DatabaseServer, seeded_template: Template
) -> Iterator[tuple[str, str]]:
    """Address and project: 200 models, 6,000 job windows, 120,000 measurements, 6,000 alerts."""
    copies = copy_of(postgres_server, seeded_template)
    found = next(copies)
    with transaction(found.engine, None, Role.OWNER) as connection:
        project_id = ensure_project(connection, NAME)
    with transaction(found.engine, project_id, Role.OWNER) as connection:
        for statement in FILL.split(";\n"):
            if statement.strip():
                connection.execute(sa.text(statement), {"project": project_id})
    yield found.url, NAME
    copies.close()
