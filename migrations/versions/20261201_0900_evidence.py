"""Evidence: the audit chain and its signed heads, legal holds, certificates of deletion.

phase: pre = runs before the new program starts, the old one still works on it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None
phase = "pre"

PROJECT = "project_id = nullif(current_setting('app.project', true), '')::int"
TABLES = ("audit_entry", "audit_due", "audit_head", "legal_hold", "deletion")
ROLES = "inferwatch_ingest, inferwatch_worker, inferwatch_dashboard, inferwatch_export"

# RFC 8785 for what entries hold. Keys are plain ASCII, so byte order is its order of keys; numbers
# that a double can't hold exactly, and fractions, are written as text, so none is ever rounded.
AUDIT_JSON = r"""
create function audit_json(value jsonb) returns text
language plpgsql immutable strict set search_path = pg_catalog, public, pg_temp as $body$
declare
  written text;
begin
  case jsonb_typeof(value)
    when 'object' then
      if exists (select from jsonb_object_keys(value) key where key !~ '^[ -~]*$') then
        raise exception 'an audit entry has keys of plain ASCII only';
      end if;
      select '{' || coalesce(string_agg(to_json(key)::text || ':' || audit_json(item), ','
                             order by key collate "C"), '') || '}'
      into written from jsonb_each(value) as pair(key, item);
    when 'array' then
      select '[' || coalesce(string_agg(audit_json(item), ',' order by place), '') || ']'
      into written from jsonb_array_elements(value) with ordinality as each(item, place);
    when 'number' then
      if value::numeric = trunc(value::numeric) and abs(value::numeric) < 9007199254740992 then
        written := trunc(value::numeric)::bigint::text;
      else
        written := to_json(value::text)::text;
      end if;
    when 'string' then
      written := to_json(value #>> '{}')::text;
    else
      written := value::text;
  end case;
  return written;
end $body$
"""

# Called with the project's lock held, at READ COMMITTED: each statement sees what was committed.
AUDIT_LINK = """
create function audit_link(of_project int, actor text, deed text, subject text, detail jsonb)
returns bigint
language plpgsql set search_path = pg_catalog, public, pg_temp as $body$
declare
  newest record;
  moment timestamptz;
  written text;
begin
  select e.seq, e.hash, e.at into newest from audit_entry e
  where e.project_id = of_project order by e.seq desc limit 1;
  moment := greatest(clock_timestamp(), newest.at);
  written := audit_json(jsonb_build_object(
    'actor', actor, 'deed', deed, 'subject', subject, 'detail', detail,
    'seq', coalesce(newest.seq, 0) + 1, 'previous', coalesce(newest.hash, repeat('0', 64)),
    'at', to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'project', (select p.name from project p where p.id = of_project)));
  insert into audit_entry (project_id, seq, at, actor, deed, subject, body, hash)
  values (of_project, coalesce(newest.seq, 0) + 1, moment, actor, deed, subject, written,
          encode(sha256(convert_to(written, 'UTF8')), 'hex'));
  return coalesce(newest.seq, 0) + 1;
end $body$
"""

AUDIT_DRAIN = """
create function audit_drain(of_project int) returns bigint
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $body$
declare
  before text := coalesce(current_setting('app.project', true), '');
  due record;
  done bigint := 0;
begin
  perform set_config('app.project', of_project::text, true);
  perform pg_advisory_xact_lock(72056, of_project);
  for due in delete from audit_due d where d.project_id = of_project returning d.* loop
    perform audit_link(of_project, due.actor, due.deed, due.subject, due.detail);
    done := done + 1;
  end loop;
  perform set_config('app.project', before, true);
  return done;
end $body$
"""

AUDIT_APPEND = """
create function audit_append(of_project int, actor text, deed text, subject text, detail jsonb)
returns bigint
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $body$
declare
  before text := coalesce(current_setting('app.project', true), '');
  who text := coalesce(nullif(current_setting('inferwatch.actor', true), ''), nullif(actor, ''),
                       session_user::text);
  written bigint;
begin
  if before not in ('', of_project::text) then
    raise exception 'an audit entry belongs to the project of its transaction'
      using errcode = 'insufficient_privilege';
  end if;
  perform set_config('app.project', of_project::text, true);
  if current_setting('transaction_isolation') = 'read committed' then
    perform audit_drain(of_project);
    written := audit_link(of_project, who, deed, subject, detail);
  else
    -- A transaction that sees one moment can't see the newest entry: the next append links it.
    insert into audit_due (project_id, actor, deed, subject, detail)
    values (of_project, who, deed, subject, detail);
  end if;
  perform set_config('app.project', before, true);
  return written;
end $body$
"""

# Arguments: the deed (one that ends with _ goes on with the row's reason, kind or state), the
# column with the actor, the column of the subject (=text is that text), then columns of the
# detail; #column is the SHA-256 of a text, %column that of bytes.
AUDIT_ROW = r"""
create function audit_row() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $body$
declare
  row jsonb := to_jsonb(new);
  deed text := tg_argv[0];
  subject text := row ->> tg_argv[2];
  detail jsonb := '{}';
  wanted text;
  name text;
  value text;
begin
  if right(deed, 1) = '_' then
    deed := deed || case when tg_table_name = 'alert_transition' then row ->> 'reason'
                         when tg_table_name = 'deletion' then row ->> 'kind'
                         else row ->> 'state' end;
  end if;
  if left(tg_argv[2], 1) = '=' then
    subject := substr(tg_argv[2], 2);
  elsif tg_argv[2] = 'model_id' then
    subject := coalesce((select m.name from model m where m.id = (row ->> 'model_id')::int),
                        'all models');
  end if;
  foreach wanted in array tg_argv[3:] loop
    name := ltrim(wanted, '#%');
    value := row ->> name;
    detail := detail || jsonb_build_object(name, case
      when value is null then 'null'::jsonb
      when left(wanted, 1) = '#' then
        to_jsonb('sha256:' || encode(sha256(convert_to(value, 'UTF8')), 'hex'))
      when left(wanted, 1) = '%' then
        to_jsonb('sha256:' || encode(sha256(decode(substr(value, 3), 'hex')), 'hex'))
      else row -> name end);
  end loop;
  perform audit_append(new.project_id, row ->> tg_argv[1], deed, coalesce(subject, ''), detail);
  return null;
end $body$
"""

AUDIT_KEPT = """
create function audit_kept() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $body$
begin
  raise exception '% is never changed or deleted', tg_table_name
    using errcode = 'insufficient_privilege';
end $body$
"""

DEEDS = (
    # table, event, condition, arguments
    ("contract", "insert", None, "contract_applied applied_by model_id version #source"),
    ("baseline", "insert", None,
     "baseline_set created_by model_id name version kind source n window_start window_end %body"),
    ("alert_config", "insert", None, "rules_applied applied_by =rules version #source"),
    ("api_key", "insert", None, "key_created created_by prefix name scopes expires_at"),
    ("api_key", "update", "old.revoked_at is null and new.revoked_at is not null",
     "key_revoked - prefix name revoked_at"),
    ("silence", "insert", None,
     "silence_created author id matchers reason starts_at ends_at"),
    ("silence", "update", "old.ended_at is null and new.ended_at is not null",
     "silence_ended ended_by id ended_at"),
    ("alert_transition", "insert", "new.by is not null",
     "alert_ by alert_id episode from_state to_state comment at"),
    ("response_action", "insert", None,
     "response_ requested_by model id response action alert_id rule deployment_ids dry_run drill"
     " reason"),
    ("response_action", "update",
     "new.outcome is not null and new.outcome is distinct from old.outcome",
     "response_outcome outcome_by model id state outcome outcome_detail outcome_at"),
    ("response_switch", "insert", None, "responses_switched by =responses stopped reason"),
    ("model", "update", "old.retired_at is null and new.retired_at is not null",
     "model_retired retired_by name retired_at"),
    ("incident", "update",
     "new.verdict is not null and new.verdict_at is distinct from old.verdict_at",
     "incident_judged verdict_by model_id id verdict verdict_comment verdict_at"),
    ("legal_hold", "insert", None, "hold_placed placed_by model_id id classes reason"),
    ("legal_hold", "update", "old.released_at is null and new.released_at is not null",
     "hold_released released_by model_id id classes release_reason"),
    ("deletion", "insert", None, "deleted_by_ by model_id id body"),
)  # fmt: skip


def upgrade() -> None:
    _chain()
    _deletions()
    for table in TABLES:
        op.execute(f"alter table {table} enable row level security, force row level security")
        op.execute(f"create policy own_project on {table} using ({PROJECT}) with check ({PROJECT})")
    for function in (AUDIT_JSON, AUDIT_LINK, AUDIT_DRAIN, AUDIT_APPEND, AUDIT_ROW, AUDIT_KEPT):
        op.execute(function)
    for name in ("audit_link(int, text, text, text, jsonb)", "audit_row()", "audit_kept()"):
        op.execute(f"revoke execute on function {name} from public")
    for name in ("audit_append(int, text, text, text, jsonb)", "audit_drain(int)"):
        op.execute(f"revoke execute on function {name} from public")
        op.execute(f"grant execute on function {name} to {ROLES}")
    _rights()
    _triggers()


def _rights() -> None:
    readers = "inferwatch_worker, inferwatch_dashboard, inferwatch_export"
    op.execute(f"grant select on {', '.join(TABLES)} to {readers}")
    op.execute("grant insert, update (sent_at) on audit_head to inferwatch_worker")
    op.execute("grant insert on deletion to inferwatch_worker")


def _triggers() -> None:
    op.execute("create trigger kept before update or delete on audit_entry"
               " for each row execute function audit_kept()")  # fmt: skip
    op.execute("create trigger kept before delete on audit_head"
               " for each row execute function audit_kept()")  # fmt: skip
    op.execute("create trigger kept_as_signed before update of project_id, seq, signed_at, body,"
               " signature, key on audit_head for each row execute function audit_kept()")  # fmt: skip
    op.execute("create trigger kept before update or delete on deletion"
               " for each row execute function audit_kept()")  # fmt: skip
    for table in ("audit_entry", "audit_head", "deletion"):
        op.execute(f"create trigger never_emptied before truncate on {table}"
                   " for each statement execute function audit_kept()")  # fmt: skip
    for number, (table, event, condition, arguments) in enumerate(DEEDS):
        when = f"when ({condition})" if condition else ""
        given = ", ".join(f"'{word}'" for word in arguments.split())
        # Deferred to the commit: the project's lock is then the last one taken, and a short one.
        op.execute(
            f"create constraint trigger audit_{number} after {event} on {table}"
            f" deferrable initially deferred for each row {when}"
            f" execute function audit_row({given})"
        )


def _chain() -> None:
    op.create_table(
        "audit_entry",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("deed", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        _of_project("audit_entry"),
        sa.PrimaryKeyConstraint("project_id", "seq", name=op.f("pk_audit_entry")),
    )
    op.create_table(
        "audit_due",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("deed", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", postgresql.JSONB(), nullable=False),
        _of_project("audit_due"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_due")),
    )
    op.create_table(
        "audit_head",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("signed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("signature", sa.LargeBinary(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        _of_project("audit_head"),
        sa.PrimaryKeyConstraint("project_id", "seq", name=op.f("pk_audit_head")),
    )


def _deletions() -> None:
    op.create_table(
        "legal_hold",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=True),
        sa.Column("classes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("placed_by", sa.Text(), nullable=False),
        sa.Column("placed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"),
                  nullable=False),
        sa.Column("released_by", sa.Text(), nullable=True),
        sa.Column("released_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("release_reason", sa.Text(), nullable=True),
        _of_model("legal_hold"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_legal_hold")),
    )  # fmt: skip
    op.create_index("ix_legal_hold_model", "legal_hold", ["project_id", "model_id"], unique=False)
    op.create_table(
        "deletion",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"),
                  nullable=False),
        sa.Column("body", postgresql.JSONB(), nullable=False),
        _of_model("deletion"),
        sa.CheckConstraint("kind in ('retention', 'erasure')", name=op.f("ck_deletion_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deletion")),
    )  # fmt: skip
    op.create_index("ix_deletion_at", "deletion", ["project_id", "at"], unique=False)


def _of_project(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project_id"], ["project.id"], name=op.f(f"fk_{table}_project_id_project")
    )


def _of_model(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project_id", "model_id"],
        ["model.project_id", "model.id"],
        name=op.f(f"fk_{table}_project_id_model_id_model"),
    )
