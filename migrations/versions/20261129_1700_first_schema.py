"""Create the first schema: tables, roles of least right, row-level security, functions.

phase: pre = runs before the new program starts, the old one still works on it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Text
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None
phase = "pre"

ROW_SECURITY = (
    "alert",
    "alert_config",
    "alert_transition",
    "baseline",
    "binning",
    "contract",
    "delivery",
    "delivery_attempt",
    "deployment",
    "intake_half",
    "job_window",
    "label_orphan",
    "measurement",
    "model",
    "prediction_block",
    "profile",
    "rejection",
    "sample",
    "segment",
    "violation_example",
)

ROLES = ("inferwatch_ingest", "inferwatch_worker", "inferwatch_dashboard", "inferwatch_export")
PROJECT = "project_id = nullif(current_setting('app.project', true), '')::int"

GRANTS = {
    "inferwatch_ingest": {
        "select": "project, api_key, model, contract, deployment, intake_half, violation_example",
        "insert": "request_log, label, intake_mark, intake_batch, label_mark, rejection,"
        " violation_example, deployment, intake_half",
        "delete": "intake_half",
    },
    "inferwatch_worker": {
        "select": "project, model, contract, deployment, segment, request_log, label, label_mark,"
        " label_orphan, intake_mark, intake_batch, rejection, binning, baseline, profile,"
        " prediction_block, sample, job_window, heartbeat, measurement, alert_config, alert,"
        " alert_transition, delivery, delivery_attempt, intake_half",
        "insert": "intake_mark, segment, label_orphan, binning, baseline, profile, prediction_block, sample,"
        " job_window, heartbeat, measurement, alert, alert_transition, delivery, delivery_attempt",
        "update": "label_orphan, profile, prediction_block, sample, job_window, heartbeat, alert,"
        " delivery, binning",
        "delete": "intake_mark, label_mark, label_orphan, profile, prediction_block, sample,"
        " intake_half, heartbeat",
    },
    "inferwatch_dashboard": {
        "select": "model, contract, deployment, segment, intake_batch, intake_mark, rejection,"
        " violation_example, label_orphan, binning, baseline, profile, prediction_block, sample,"
        " job_window, heartbeat, measurement, alert_config, alert, alert_transition, delivery,"
        " delivery_attempt",
        # Taking alerts on and closing them: the state, its history and the message that is owed.
        "insert": "alert, alert_transition, delivery",
        "update": "alert",
    },
    "inferwatch_export": {
        "select": "model, contract, deployment, segment, binning, baseline, profile, job_window,"
        " measurement, alert_config, alert, alert_transition, delivery, delivery_attempt",
    },
}

ENSURE_REQUEST_PARTITION = """
create function ensure_request_partition(day date) returns boolean
language plpgsql security definer set search_path = pg_catalog, public as $body$
declare
  name text := 'request_log_' || to_char(day, 'YYYYMMDD');
  low timestamptz := day::timestamp at time zone 'UTC';
  high timestamptz := (day + 1)::timestamp at time zone 'UTC';
begin
  if to_regclass('public.' || name) is not null then return false; end if;
  perform pg_advisory_xact_lock(7205301149);
  -- Not to_regclass again: it may still remember that the table was not there before the wait.
  if exists (select from pg_class c where c.relnamespace = 'public'::regnamespace and c.relname = name)
  then return false; end if;
  -- Made apart and attached: PARTITION OF would queue behind an open read and stop every COPY.
  execute format('create table public.%I (like public.request_log including defaults including constraints)', name);
  execute format('alter table public.%I add constraint %I check (event_time >= %L and event_time < %L)',
                 name, name || '_day', low, high);
  execute format('alter table public.%I add primary key (project_id, model_id, leg, event_time, request_id)', name);
  execute format('alter table public.request_log attach partition public.%I for values from (%L) to (%L)',
                 name, low, high);
  execute format('alter table public.%I drop constraint %I', name, name || '_day');
  return true;
end $body$
"""

ENSURE_LABEL_PARTITION = """
create function ensure_label_partition(day date) returns boolean
language plpgsql security definer set search_path = pg_catalog, public as $body$
declare
  first date := date_trunc('month', day::timestamp)::date;
  name text := 'label_' || to_char(first, 'YYYYMM');
  low timestamptz := first::timestamp at time zone 'UTC';
  high timestamptz := (first + interval '1 month')::timestamp at time zone 'UTC';
begin
  if to_regclass('public.' || name) is not null then return false; end if;
  perform pg_advisory_xact_lock(7205301149);
  -- Not to_regclass again: it may still remember that the table was not there before the wait.
  if exists (select from pg_class c where c.relnamespace = 'public'::regnamespace and c.relname = name)
  then return false; end if;
  execute format('create table public.%I (like public.label including defaults including constraints)', name);
  execute format('alter table public.%I add constraint %I check (observed_at >= %L and observed_at < %L)',
                 name, name || '_month', low, high);
  execute format('alter table public.%I add primary key (project_id, model_id, label_name, observed_at,'
                 ' request_id, source, revision)', name);
  execute format('alter table public.label attach partition public.%I for values from (%L) to (%L)',
                 name, low, high);
  execute format('alter table public.%I drop constraint %I', name, name || '_month');
  return true;
end $body$
"""

ABSORB_REQUESTS = """
create function absorb_requests() returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $body$
begin
  with first as (
    select distinct on (project_id, model_id, leg, event_time, request_id) *
    from pg_temp.request_stage order by project_id, model_id, leg, event_time, request_id, place
  ), added as (
    insert into request_log
    select project_id, model_id, leg, event_time, request_id, deployment_id, contract_version, outcome,
           outcome_reason, received_at, violations, numbers, texts
    from first order by project_id, model_id, leg, event_time, request_id
    on conflict do nothing
    returning project_id, model_id, leg, event_time, request_id
  )
  update pg_temp.request_stage s set status = 0
  from first f join added a using (project_id, model_id, leg, event_time, request_id)
  where s.place = f.place;
  update pg_temp.request_stage s
  set status = case when (r.deployment_id, r.outcome, r.outcome_reason, r.violations, r.numbers, r.texts)
      is not distinct from (s.deployment_id, s.outcome, s.outcome_reason, s.violations, s.numbers, s.texts)
      then 1 else 2 end
  from request_log r
  where s.status is null and r.project_id = s.project_id and r.model_id = s.model_id and r.leg = s.leg
    and r.event_time = s.event_time and r.request_id = s.request_id;
end $body$
"""

ABSORB_LABELS = """
create function absorb_labels() returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $body$
declare
  waiting record;
  newest record;
begin
  -- Ties of observed_at are rare: a corrected label sent with the same time becomes a new revision.
  -- Correctors of one model take turns, so that each sees the newest revision.
  perform pg_advisory_xact_lock(72054, model_id) from (select distinct model_id from pg_temp.label_stage) m;
  for waiting in select * from pg_temp.label_stage order by place loop
    select l.revision, l.value, l.text into newest from label l
    where l.project_id = waiting.project_id and l.model_id = waiting.model_id
      and l.label_name = waiting.label_name and l.observed_at = waiting.observed_at
      and l.request_id = waiting.request_id and l.source = waiting.source
    order by l.revision desc limit 1;
    if found and (newest.value, newest.text) is not distinct from (waiting.value, waiting.text) then
      update pg_temp.label_stage set status = 1 where place = waiting.place;
    else
      insert into label values (
        waiting.project_id, waiting.model_id, waiting.label_name, waiting.observed_at,
        waiting.request_id, waiting.source, coalesce(newest.revision + 1, 0), waiting.arrived_at,
        waiting.event_time, waiting.leg, waiting.value, waiting.text);
      update pg_temp.label_stage set status = 0 where place = waiting.place;
    end if;
  end loop;
end $body$
"""

CREATE_ROLE = """
do $body$ begin
  if not exists (select from pg_roles where rolname = '{role}') then
    begin
      create role {role} nologin nosuperuser nobypassrls noinherit;
    exception when duplicate_object or unique_violation then null;
    end;
  end if;
  if not pg_has_role(current_user, '{role}', 'member') or not (select rolsuper from pg_roles where rolname = current_user) then
    execute format('grant {role} to %I', current_user);
  end if;
end $body$
"""


def secure() -> None:
    """Roles of least right, row-level security and the functions that ingest may call."""
    for role in ROLES:
        op.execute(CREATE_ROLE.format(role=role))
        op.execute(f"grant usage on schema public to {role}")
        for right, tables in GRANTS[role].items():
            op.execute(f"grant {right} on {tables} to {role}")
    # Reviewers of pages may see which projects exist, never the hashing key.
    op.execute(
        "grant select (id, name, created_at) on project to inferwatch_dashboard, inferwatch_export"
    )
    for table in ROW_SECURITY:
        op.execute(f"alter table {table} enable row level security, force row level security")
        op.execute(f"create policy own_project on {table} using ({PROJECT}) with check ({PROJECT})")
    for table in ("profile", "prediction_block", "sample", "baseline"):
        # The bodies are compressed already; a second compression would only cost time.
        op.execute(f"alter table {table} alter column body set storage external")
    op.execute("create sequence fence")
    op.execute("grant usage on sequence fence to inferwatch_worker")
    for function, name in (
        (ENSURE_REQUEST_PARTITION, "ensure_request_partition(date)"),
        (ENSURE_LABEL_PARTITION, "ensure_label_partition(date)"),
        (ABSORB_REQUESTS, "absorb_requests()"),
        (ABSORB_LABELS, "absorb_labels()"),
    ):
        op.execute(function)
        op.execute(f"revoke execute on function {name} from public")
        op.execute(f"grant execute on function {name} to inferwatch_ingest, inferwatch_worker")


def upgrade() -> None:
    # ### commands auto generated by Alembic - please adjust! ###
    op.create_table(
        "alert",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("data_state", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("response", sa.Text(), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("fired_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("resolved_reason", sa.Text(), nullable=True),
        sa.Column("acknowledged_by", sa.Text(), nullable=True),
        sa.Column("acknowledged_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("body", postgresql.JSONB(astext_type=Text()), nullable=False),
        sa.Column("config_version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert")),
        sa.UniqueConstraint(
            "project_id", "fingerprint", name=op.f("uq_alert_project_id_fingerprint")
        ),
    )
    op.create_index("ix_alert_state", "alert", ["project_id", "state"], unique=False)
    op.create_table(
        "alert_config",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("applied_by", sa.Text(), nullable=False),
        sa.Column(
            "applied_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("project_id", "version", name=op.f("pk_alert_config")),
    )
    op.create_table(
        "delivery",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("delivery_key", sa.Text(), nullable=False),
        sa.Column("receiver", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("event_type", sa.Text(), nullable=False),
        sa.Column("body", postgresql.JSONB(astext_type=Text()), nullable=False),
        sa.Column("alert_ids", sa.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'waiting'"), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state in ('waiting', 'sent', 'dead')", name=op.f("ck_delivery_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        sa.UniqueConstraint(
            "project_id", "delivery_key", name=op.f("uq_delivery_project_id_delivery_key")
        ),
    )
    op.create_index(
        "ix_delivery_waiting",
        "delivery",
        ["project_id", "due_at"],
        unique=False,
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_table(
        "heartbeat",
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("beat_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("worker", name=op.f("pk_heartbeat")),
    )
    op.create_table(
        "intake_batch",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column(
            "received_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("accepted", sa.Integer(), nullable=False),
        sa.Column("duplicate", sa.Integer(), nullable=False),
        sa.Column("conflict", sa.Integer(), nullable=False),
        sa.Column("rejected", sa.Integer(), nullable=False),
        sa.Column("violations", sa.Integer(), nullable=False),
        sa.CheckConstraint("kind in ('requests', 'labels')", name=op.f("ck_intake_batch_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intake_batch")),
    )
    op.create_index(
        "ix_intake_batch_model",
        "intake_batch",
        ["project_id", "model_id", "received_at"],
        unique=False,
    )
    op.create_table(
        "intake_half",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("half", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column(
            "received_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("half in ('request', 'response')", name=op.f("ck_intake_half_half")),
        sa.PrimaryKeyConstraint(
            "project_id", "model_id", "source", "request_id", "half", name=op.f("pk_intake_half")
        ),
    )
    op.create_table(
        "intake_mark",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("leg", sa.Text(), nullable=False),
        sa.Column("grain", sa.Integer(), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intake_mark")),
    )
    op.create_index(
        "ix_intake_mark_window",
        "intake_mark",
        ["project_id", "model_id", "grain", "window_start"],
        unique=False,
    )
    op.create_table(
        "job_window",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("runs", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failures", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("rows_read", sa.BigInteger(), nullable=True),
        sa.Column(
            "started_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state in ('due', 'running', 'done', 'failed')", name=op.f("ck_job_window_state")
        ),
        sa.PrimaryKeyConstraint(
            "project_id", "model_id", "job", "window_start", name=op.f("pk_job_window")
        ),
    )
    op.create_index(
        "ix_job_window_open",
        "job_window",
        ["project_id", "job"],
        unique=False,
        postgresql_where=sa.text("state <> 'done'"),
    )
    op.create_table(
        "label",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("label_name", sa.Text(), nullable=False),
        sa.Column("observed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("revision", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("arrived_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("event_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leg", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("text", sa.Text(), nullable=True),
        sa.CheckConstraint("(value is null) <> (text is null)", name=op.f("ck_label_one_value")),
        sa.PrimaryKeyConstraint(
            "project_id",
            "model_id",
            "label_name",
            "observed_at",
            "request_id",
            "source",
            "revision",
            name=op.f("pk_label"),
        ),
        postgresql_partition_by="RANGE (observed_at)",
    )
    op.create_table(
        "label_mark",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("first_observed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_observed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("arrived_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_label_mark")),
    )
    op.create_index(
        "ix_label_mark_model", "label_mark", ["project_id", "model_id", "id"], unique=False
    )
    op.create_table(
        "label_orphan",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("label_name", sa.Text(), nullable=False),
        sa.Column("request_key", sa.BigInteger(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("observed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("arrived_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("event_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leg", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id",
            "model_id",
            "label_name",
            "request_key",
            "source",
            "observed_at",
            "arrived_at",
            name=op.f("pk_label_orphan"),
        ),
    )
    op.create_table(
        "measurement",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("check_name", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("method_version", sa.SmallInteger(), nullable=False),
        sa.Column("deployment_ids", sa.ARRAY(sa.Integer()), nullable=False),
        sa.Column("leg", sa.Text(), nullable=False),
        sa.Column("segment_id", sa.Integer(), nullable=False),
        sa.Column("column_name", sa.Text(), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("window_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("baseline_id", sa.Integer(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("low", sa.Double(), nullable=True),
        sa.Column("high", sa.Double(), nullable=True),
        sa.Column("level", sa.Double(), nullable=True),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("n_reference", sa.BigInteger(), nullable=True),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("direction", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("detail", postgresql.JSONB(astext_type=Text()), nullable=False),
        sa.Column("known_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(state = 'measured') = (reason is null)",
            name=op.f("ck_measurement_reason_when_not_measured"),
        ),
        sa.CheckConstraint(
            "(state = 'measured') = (value is not null)",
            name=op.f("ck_measurement_value_when_measured"),
        ),
        sa.CheckConstraint(
            "state in ('measured', 'too_few', 'failed')", name=op.f("ck_measurement_state")
        ),
        sa.CheckConstraint(
            "cardinality(deployment_ids) > 0", name=op.f("ck_measurement_has_deployment")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_measurement")),
        sa.UniqueConstraint(
            "project_id",
            "model_id",
            "check_name",
            "method",
            "column_name",
            "segment_id",
            "leg",
            "deployment_ids",
            "window_start",
            "window_end",
            "baseline_id",
            "known_at",
            name="uq_measurement_identity",
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_index(
        "ix_measurement_read",
        "measurement",
        ["project_id", "model_id", "check_name", "window_end"],
        unique=False,
    )
    op.create_table(
        "prediction_block",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deployment_id", sa.Integer(), nullable=False),
        sa.Column("leg", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("labelled", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id",
            "model_id",
            "window_start",
            "deployment_id",
            "leg",
            name=op.f("pk_prediction_block"),
        ),
    )
    op.create_table(
        "profile",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("deployment_id", sa.Integer(), nullable=False),
        sa.Column("leg", sa.Text(), nullable=False),
        sa.Column("segment_id", sa.Integer(), nullable=False),
        sa.Column("binning_id", sa.Integer(), nullable=False),
        sa.Column("part", sa.SmallInteger(), nullable=False),
        sa.Column("grain", sa.Integer(), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("contract_version", sa.Integer(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id",
            "model_id",
            "part",
            "grain",
            "segment_id",
            "binning_id",
            "window_start",
            "deployment_id",
            "leg",
            name=op.f("pk_profile"),
        ),
    )
    op.create_table(
        "project",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash_key", sa.LargeBinary(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("octet_length(hash_key) = 16", name=op.f("ck_project_hash_key_length")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
        sa.UniqueConstraint("name", name=op.f("uq_project_name")),
    )
    op.create_table(
        "rejection",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("excerpt", sa.Text(), nullable=False),
        sa.Column(
            "received_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rejection")),
    )
    op.create_index(
        "ix_rejection_model", "rejection", ["project_id", "model_id", "received_at"], unique=False
    )
    op.create_table(
        "request_log",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("leg", sa.Text(), nullable=False),
        sa.Column("event_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("deployment_id", sa.Integer(), nullable=False),
        sa.Column("contract_version", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.SmallInteger(), nullable=False),
        sa.Column("outcome_reason", sa.Text(), nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("violations", sa.ARRAY(sa.Integer()), nullable=True),
        sa.Column("numbers", sa.ARRAY(sa.Double()), nullable=False),
        sa.Column("texts", sa.ARRAY(sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "model_id", "leg", "event_time", "request_id", name=op.f("pk_request_log")
        ),
        postgresql_partition_by="RANGE (event_time)",
    )
    op.create_table(
        "sample",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("day", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deployment_id", sa.Integer(), nullable=False),
        sa.Column("leg", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "model_id", "day", "deployment_id", "leg", name=op.f("pk_sample")
        ),
    )
    op.create_table(
        "violation_example",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("column_name", sa.Text(), nullable=False),
        sa.Column("reason", sa.SmallInteger(), nullable=False),
        sa.Column("day", sa.DateTime(timezone=True), nullable=False),
        sa.Column("example", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id",
            "model_id",
            "column_name",
            "reason",
            "day",
            name=op.f("pk_violation_example"),
        ),
    )
    op.create_table(
        "alert_transition",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("alert_id", sa.BigInteger(), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("from_state", sa.Text(), nullable=False),
        sa.Column("to_state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=True),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "recorded_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("body", postgresql.JSONB(astext_type=Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["alert_id"], ["alert.id"], name=op.f("fk_alert_transition_alert_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_transition")),
    )
    op.create_index(
        "ix_alert_transition_alert",
        "alert_transition",
        ["project_id", "alert_id", "id"],
        unique=False,
    )
    op.create_table(
        "api_key",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("scopes", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_api_key_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
        sa.UniqueConstraint("prefix", name=op.f("uq_api_key_prefix")),
    )
    op.create_table(
        "delivery_attempt",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("delivery_id", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["delivery_id"], ["delivery.id"], name=op.f("fk_delivery_attempt_delivery_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery_attempt")),
    )
    op.create_table(
        "model",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("risk_tier", sa.Text(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_model_project_id")),
        sa.PrimaryKeyConstraint("project_id", "id", name=op.f("pk_model")),
        sa.UniqueConstraint("id", name=op.f("uq_model_id")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_model_project_id_name")),
    )
    op.create_table(
        "baseline",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("binning_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=True),
        sa.Column("window_end", sa.DateTime(timezone=True), nullable=True),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("sample", sa.LargeBinary(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("kind in ('file', 'production')", name=op.f("ck_baseline_kind")),
        sa.ForeignKeyConstraint(
            ["project_id", "model_id"],
            ["model.project_id", "model.id"],
            name=op.f("fk_baseline_project_id_model_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_baseline")),
        sa.UniqueConstraint(
            "project_id",
            "model_id",
            "name",
            "version",
            name=op.f("uq_baseline_project_id_model_id_name_version"),
        ),
    )
    op.create_table(
        "binning",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("body", postgresql.JSONB(astext_type=Text()), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("retired", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["project_id", "model_id"],
            ["model.project_id", "model.id"],
            name=op.f("fk_binning_project_id_model_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_binning")),
        sa.UniqueConstraint(
            "project_id", "model_id", "version", name=op.f("uq_binning_project_id_model_id_version")
        ),
    )
    op.create_table(
        "contract",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("body", postgresql.JSONB(astext_type=Text()), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("layout", postgresql.JSONB(astext_type=Text()), nullable=False),
        sa.Column("applied_by", sa.Text(), nullable=False),
        sa.Column(
            "applied_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["project_id", "model_id"],
            ["model.project_id", "model.id"],
            name=op.f("fk_contract_project_id_model_id"),
        ),
        sa.PrimaryKeyConstraint("project_id", "model_id", "version", name=op.f("pk_contract")),
    )
    op.create_table(
        "deployment",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("tags", postgresql.JSONB(astext_type=Text()), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("overflow", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column(
            "first_seen_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["project_id", "model_id"],
            ["model.project_id", "model.id"],
            name=op.f("fk_deployment_project_id_model_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deployment")),
        sa.UniqueConstraint(
            "project_id",
            "model_id",
            "digest",
            name=op.f("uq_deployment_project_id_model_id_digest"),
        ),
        sa.UniqueConstraint(
            "project_id", "model_id", "name", name=op.f("uq_deployment_project_id_model_id_name")
        ),
    )
    op.create_table(
        "segment",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("definition", postgresql.JSONB(astext_type=Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id", "model_id"],
            ["model.project_id", "model.id"],
            name=op.f("fk_segment_project_id_model_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_segment")),
        sa.UniqueConstraint(
            "project_id",
            "model_id",
            "definition",
            name=op.f("uq_segment_project_id_model_id_definition"),
        ),
    )
    # ### end Alembic commands ###
    secure()
