"""Tables of quality with late labels: curves, estimators, golden sets, reviews, comparisons.

phase: pre = runs before the new program starts, the old one still works on it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Text
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None
phase = "pre"

PROJECT = "project_id = nullif(current_setting('app.project', true), '')::int"
TABLES = (
    *("comparison", "delay_curve", "estimator", "explanation", "golden_run", "golden_set"),
    *("review_draw", "review_item"),
)


def upgrade() -> None:
    op.create_table('comparison',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('model_id', sa.Integer(), nullable=False),
    sa.Column('leg', sa.Text(), nullable=False),
    sa.Column('deployments_a', postgresql.ARRAY(sa.Integer()), nullable=False),
    sa.Column('deployments_b', postgresql.ARRAY(sa.Integer()), nullable=False),
    sa.Column('window_start', sa.DateTime(timezone=True), nullable=False),
    sa.Column('window_end', sa.DateTime(timezone=True), nullable=False),
    sa.Column('verdict', sa.Text(), nullable=False),
    sa.Column('body', postgresql.JSONB(astext_type=Text()), nullable=False),
    sa.Column('made_by', sa.Text(), nullable=False),
    sa.Column('known_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['project_id', 'model_id'], ['model.project_id', 'model.id'], name=op.f('fk_comparison_project_id_model_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_comparison'))
    )
    op.create_index('ix_comparison_model', 'comparison', ['project_id', 'model_id', 'known_at'], unique=False)
    op.create_table('delay_curve',
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('model_id', sa.Integer(), nullable=False),
    sa.Column('leg', sa.Text(), nullable=False),
    sa.Column('segment_id', sa.Integer(), nullable=False),
    sa.Column('predicted', sa.SmallInteger(), nullable=False),
    sa.Column('known_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('n', sa.BigInteger(), nullable=False),
    sa.Column('body', postgresql.JSONB(astext_type=Text()), nullable=False),
    sa.ForeignKeyConstraint(['project_id', 'model_id'], ['model.project_id', 'model.id'], name=op.f('fk_delay_curve_project_id_model_id')),
    sa.PrimaryKeyConstraint('project_id', 'model_id', 'leg', 'segment_id', 'predicted', 'known_at', name=op.f('pk_delay_curve'))
    )
    op.create_table('estimator',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('model_id', sa.Integer(), nullable=False),
    sa.Column('leg', sa.Text(), nullable=False),
    sa.Column('method', sa.Text(), nullable=False),
    sa.Column('version', sa.Integer(), nullable=False),
    sa.Column('window_start', sa.DateTime(timezone=True), nullable=False),
    sa.Column('window_end', sa.DateTime(timezone=True), nullable=False),
    sa.Column('known_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('n', sa.BigInteger(), nullable=False),
    sa.Column('summary', postgresql.JSONB(astext_type=Text()), nullable=False),
    sa.Column('body', sa.LargeBinary(), nullable=False),
    sa.ForeignKeyConstraint(['project_id', 'model_id'], ['model.project_id', 'model.id'], name=op.f('fk_estimator_project_id_model_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_estimator')),
    sa.UniqueConstraint('project_id', 'model_id', 'leg', 'method', 'known_at', name=op.f('uq_estimator_project_id_model_id_leg_method_known_at'))
    )
    op.create_table('explanation',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('model_id', sa.Integer(), nullable=False),
    sa.Column('leg', sa.Text(), nullable=False),
    sa.Column('method', sa.Text(), nullable=False),
    sa.Column('window_start', sa.DateTime(timezone=True), nullable=False),
    sa.Column('window_end', sa.DateTime(timezone=True), nullable=False),
    sa.Column('reference_start', sa.DateTime(timezone=True), nullable=False),
    sa.Column('reference_end', sa.DateTime(timezone=True), nullable=False),
    sa.Column('body', postgresql.JSONB(astext_type=Text()), nullable=False),
    sa.Column('made_by', sa.Text(), nullable=False),
    sa.Column('known_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['project_id', 'model_id'], ['model.project_id', 'model.id'], name=op.f('fk_explanation_project_id_model_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_explanation'))
    )
    op.create_index('ix_explanation_model', 'explanation', ['project_id', 'model_id', 'known_at'], unique=False)
    op.create_table('golden_run',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('model_id', sa.Integer(), nullable=False),
    sa.Column('set_name', sa.Text(), nullable=False),
    sa.Column('set_version', sa.Integer(), nullable=False),
    sa.Column('leg', sa.Text(), nullable=False),
    sa.Column('deployment_id', sa.Integer(), nullable=False),
    sa.Column('reference_id', sa.Integer(), nullable=True),
    sa.Column('verdict', sa.Text(), nullable=False),
    sa.Column('body', postgresql.JSONB(astext_type=Text()), nullable=False),
    sa.Column('judged_by', sa.Text(), nullable=False),
    sa.Column('known_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['project_id', 'model_id'], ['model.project_id', 'model.id'], name=op.f('fk_golden_run_project_id_model_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_golden_run'))
    )
    op.create_index('ix_golden_run_model', 'golden_run', ['project_id', 'model_id', 'known_at'], unique=False)
    op.create_table('golden_set',
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('model_id', sa.Integer(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('version', sa.Integer(), nullable=False),
    sa.Column('digest', sa.Text(), nullable=False),
    sa.Column('body', postgresql.JSONB(astext_type=Text()), nullable=False),
    sa.Column('source', sa.Text(), nullable=False),
    sa.Column('applied_by', sa.Text(), nullable=False),
    sa.Column('applied_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['project_id', 'model_id'], ['model.project_id', 'model.id'], name=op.f('fk_golden_set_project_id_model_id')),
    sa.PrimaryKeyConstraint('project_id', 'model_id', 'name', 'version', name=op.f('pk_golden_set'))
    )
    op.create_table('review_draw',
    sa.Column('id', sa.Integer(), sa.Identity(always=True), nullable=False),
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('model_id', sa.Integer(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('window_start', sa.DateTime(timezone=True), nullable=False),
    sa.Column('window_end', sa.DateTime(timezone=True), nullable=False),
    sa.Column('population', sa.BigInteger(), nullable=False),
    sa.Column('plan', postgresql.JSONB(astext_type=Text()), nullable=False),
    sa.Column('drawn_by', sa.Text(), nullable=False),
    sa.Column('drawn_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['project_id', 'model_id'], ['model.project_id', 'model.id'], name=op.f('fk_review_draw_project_id_model_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_review_draw')),
    sa.UniqueConstraint('project_id', 'model_id', 'name', name=op.f('uq_review_draw_project_id_model_id_name'))
    )
    op.create_table('review_item',
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('draw_id', sa.Integer(), nullable=False),
    sa.Column('place', sa.Integer(), nullable=False),
    sa.Column('request_id', sa.Text(), nullable=False),
    sa.Column('event_time', sa.DateTime(timezone=True), nullable=False),
    sa.Column('leg', sa.Text(), nullable=False),
    sa.Column('deployment_id', sa.Integer(), nullable=False),
    sa.Column('stratum', sa.Text(), nullable=False),
    sa.Column('probability', sa.Double(), nullable=False),
    sa.Column('raters', postgresql.ARRAY(sa.Text()), nullable=False),
    sa.CheckConstraint('probability > 0 and probability <= 1', name=op.f('ck_review_item_probability')),
    sa.ForeignKeyConstraint(['draw_id'], ['review_draw.id'], name=op.f('fk_review_item_draw_id')),
    sa.PrimaryKeyConstraint('project_id', 'draw_id', 'place', name=op.f('pk_review_item'))
    )
    for table in TABLES:
        op.execute(f"alter table {table} enable row level security, force row level security")
        op.execute(f"create policy own_project on {table} using ({PROJECT}) with check ({PROJECT})")
        op.execute(f"grant select, insert, update on {table} to inferwatch_worker")
        op.execute(f"grant select on {table} to inferwatch_dashboard, inferwatch_export")
    # Items name requests: they go when the raw rows go.
    op.execute("grant delete on review_item to inferwatch_worker")
    op.execute("alter table estimator alter column body set storage external")
