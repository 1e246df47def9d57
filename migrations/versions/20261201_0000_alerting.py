"""Alerts that reach somebody: standing, silences, responses, drills, what receivers know.

phase: pre = runs before the new program starts, the old one still works on it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Text
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None
phase = "pre"

PROJECT = "project_id = nullif(current_setting('app.project', true), '')::int"
TABLES = (
    *("notice_clock", "receiver_state", "rehearsal", "response_action", "response_switch", "silence"),
)
FILLED = ("alert", "delivery", "notice_clock")
# Who was told of an alert that is open during the upgrade need not be told again.
TOLD = """
update alert set
    settled = state <> 'firing',
    body = body || jsonb_build_object('told', coalesce((
        select jsonb_object_agg(receiver, jsonb_build_object(
            'episode', alert.episode, 'event', 'opened', 'at', told_at, 'times', 1, 'excess', null))
        from (select receiver, max(created_at) as told_at from delivery
              where delivery.project_id = alert.project_id and alert.id = any(alert_ids)
                and event_type = 'finding.opened'
              group by receiver) as owed
        where alert.state = 'firing' and (alert.body ->> 'told_episode')::int = alert.episode
    ), '{}'::jsonb))
"""


def upgrade() -> None:
    op.create_table('notice_clock',
    sa.Column('project_id', sa.Integer(), autoincrement=False, nullable=False),
    sa.Column('due_at', sa.DateTime(timezone=True), nullable=True),
    sa.PrimaryKeyConstraint('project_id', name=op.f('pk_notice_clock'))
    )
    op.create_table('receiver_state',
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('receiver', sa.Text(), nullable=False),
    sa.Column('disabled_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('not_before', sa.DateTime(timezone=True), nullable=True),
    sa.Column('reason', sa.Text(), nullable=True),
    sa.Column('changed_by', sa.Text(), nullable=False),
    sa.Column('changed_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('project_id', 'receiver', name=op.f('pk_receiver_state'))
    )
    op.create_table('rehearsal',
    sa.Column('id', sa.Integer(), sa.Identity(always=True), nullable=False),
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('rule', sa.Text(), nullable=False),
    sa.Column('config_version', sa.Integer(), nullable=False),
    sa.Column('by', sa.Text(), nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('passed', sa.Boolean(), nullable=False),
    sa.Column('body', postgresql.JSONB(astext_type=Text()), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_rehearsal'))
    )
    op.create_index('ix_rehearsal_rule', 'rehearsal', ['project_id', 'rule', 'at'], unique=False)
    op.create_table('response_switch',
    sa.Column('id', sa.Integer(), sa.Identity(always=True), nullable=False),
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('stopped', sa.Boolean(), nullable=False),
    sa.Column('by', sa.Text(), nullable=False),
    sa.Column('reason', sa.Text(), nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_response_switch'))
    )
    op.create_table('silence',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('matchers', postgresql.JSONB(astext_type=Text()), nullable=False),
    sa.Column('author', sa.Text(), nullable=False),
    sa.Column('reason', sa.Text(), nullable=False),
    sa.Column('starts_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('ends_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('ended_by', sa.Text(), nullable=True),
    sa.Column('ended_at', sa.DateTime(timezone=True), nullable=True),
    sa.CheckConstraint('ends_at >= starts_at', name=op.f('ck_silence_span')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_silence'))
    )
    op.create_index('ix_silence_ends', 'silence', ['project_id', 'ends_at'], unique=False)
    op.create_table('response_action',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('alert_id', sa.BigInteger(), nullable=True),
    sa.Column('episode', sa.Integer(), nullable=False),
    sa.Column('rule', sa.Text(), nullable=False),
    sa.Column('response', sa.Text(), nullable=False),
    sa.Column('action', sa.Text(), nullable=False),
    sa.Column('model', sa.Text(), nullable=False),
    sa.Column('deployment_ids', postgresql.ARRAY(sa.Integer()), nullable=False),
    sa.Column('dry_run', sa.Boolean(), nullable=False),
    sa.Column('drill', sa.Boolean(), server_default=sa.text('false'), nullable=False),
    sa.Column('state', sa.Text(), nullable=False),
    sa.Column('reason', sa.Text(), nullable=True),
    sa.Column('requested_by', sa.Text(), nullable=False),
    sa.Column('requested_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('delivery_key', sa.Text(), nullable=True),
    sa.Column('outcome', sa.Text(), nullable=True),
    sa.Column('outcome_detail', sa.Text(), nullable=True),
    sa.Column('outcome_by', sa.Text(), nullable=True),
    sa.Column('outcome_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('outcome_due_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('returns', sa.BigInteger(), nullable=True),
    sa.Column('body', postgresql.JSONB(astext_type=Text()), nullable=False),
    sa.CheckConstraint("state in ('refused', 'waiting', 'requested', 'done', 'failed', 'returned')", name=op.f('ck_response_action_state')),
    sa.ForeignKeyConstraint(['alert_id'], ['alert.id'], name=op.f('fk_response_action_alert_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_response_action')),
    sa.UniqueConstraint('project_id', 'delivery_key', name=op.f('uq_response_action_project_id_delivery_key'))
    )
    op.create_index('ix_response_action_alert', 'response_action', ['project_id', 'alert_id'], unique=False)
    op.create_index('ix_response_action_open', 'response_action', ['project_id'], unique=False, postgresql_where=sa.text("state in ('waiting', 'requested', 'done')"))
    op.create_index('ix_response_action_model', 'response_action', ['project_id', 'model', 'requested_at'], unique=False)
    op.add_column('alert', sa.Column('standing', sa.Text(), server_default=sa.text("'new'"), nullable=False))
    op.add_column('alert', sa.Column('noticed_at', sa.DateTime(timezone=True), nullable=True))
    op.add_column('alert', sa.Column('snoozed_until', sa.DateTime(timezone=True), nullable=True))
    op.add_column('alert', sa.Column('settled', sa.Boolean(), server_default=sa.text('false'), nullable=False))
    op.create_index('ix_alert_unsettled', 'alert', ['project_id'], unique=False, postgresql_where=sa.text('not settled'))
    op.add_column('delivery', sa.Column('group_key', sa.Text(), server_default=sa.text("''"), nullable=False))
    op.add_column('delivery', sa.Column('leased_by', sa.Text(), nullable=True))
    op.add_column('delivery', sa.Column('resent_at', sa.DateTime(timezone=True), nullable=True))
    op.add_column('delivery', sa.Column('fallback_key', sa.Text(), nullable=True))
    op.create_index('ix_delivery_created', 'delivery', ['project_id', 'created_at'], unique=False)
    op.create_index('ix_delivery_order', 'delivery', ['project_id', 'receiver', 'group_key', 'id'], unique=False, postgresql_where=sa.text("state = 'waiting'"))
    op.create_index('ix_delivery_untold', 'delivery', ['project_id', 'receiver', 'id'], unique=False, postgresql_where=sa.text("state = 'dead' and fallback_key is null"))
    op.create_index('ix_delivery_attempt_delivery', 'delivery_attempt', ['project_id', 'delivery_id', 'id'], unique=False)
    op.add_column('model', sa.Column('retired_at', sa.DateTime(timezone=True), nullable=True))
    op.add_column('model', sa.Column('retired_by', sa.Text(), nullable=True))
    for table in TABLES:
        op.execute(f"alter table {table} enable row level security, force row level security")
        op.execute(f"create policy own_project on {table} using ({PROJECT}) with check ({PROJECT})")
        op.execute(f"grant select, insert, update on {table} to inferwatch_worker")
        op.execute(f"grant select on {table} to inferwatch_dashboard, inferwatch_export")
    # What people do from pages: silences, responses, and having notifications planned at once.
    op.execute("grant insert, update on silence, notice_clock, response_action to inferwatch_dashboard")
    op.execute("grant insert on response_switch to inferwatch_dashboard")
    # Without FORCE for a moment: the owner sees no project's rows otherwise.
    for table in FILLED:
        op.execute(f"alter table {table} no force row level security")
    op.execute(TOLD)
    op.execute(
        "insert into notice_clock (project_id, due_at)"
        " select distinct project_id, '1970-01-01 00:00:00+00'::timestamptz from alert where not settled"
    )
    for table in FILLED:
        op.execute(f"alter table {table} force row level security")
