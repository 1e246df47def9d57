"""Who may look: accounts, roles in projects, sessions, one-time links, failed sign-ins.

phase: pre = runs before the new program starts, the old one still works on it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None
phase = "pre"

GATE = "inferwatch_gate"
ROLES = "('viewer', 'engineer', 'on-call', 'reviewer', 'admin')"

CREATE_ROLE = f"""
do $body$ begin
  if not exists (select from pg_roles where rolname = '{GATE}') then
    begin
      create role {GATE} nologin nosuperuser nobypassrls noinherit;
    exception when duplicate_object or unique_violation then null;
    end;
  end if;
  if not pg_has_role(current_user, '{GATE}', 'member') or not (select rolsuper from pg_roles where rolname = current_user) then
    execute format('grant {GATE} to %I', current_user);
  end if;
end $body$
"""


def moment(name: str, *, nullable: bool = False, now: bool = False) -> sa.Column:
    default = sa.text("now()") if now else None
    return sa.Column(name, sa.DateTime(timezone=True), server_default=default, nullable=nullable)


def upgrade() -> None:
    op.create_table(
        "account",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("login", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("everywhere", sa.Text(), nullable=True),
        sa.Column("oidc_issuer", sa.Text(), nullable=True),
        sa.Column("oidc_subject", sa.Text(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=False),
        moment("created_at", now=True),
        moment("disabled_at", nullable=True),
        sa.CheckConstraint(f"everywhere in {ROLES}", name=op.f("ck_account_everywhere_known")),
        sa.CheckConstraint("login = lower(login)", name=op.f("ck_account_login_lower")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_account")),
        sa.UniqueConstraint("login", name=op.f("uq_account_login")),
        sa.UniqueConstraint(
            "oidc_issuer", "oidc_subject", name=op.f("uq_account_oidc_issuer_oidc_subject")
        ),
    )
    op.create_table(
        "membership",
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("granted_by", sa.Text(), nullable=False),
        moment("granted_at", now=True),
        sa.CheckConstraint(f"role in {ROLES}", name=op.f("ck_membership_role_known")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_membership_account_id")
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_membership_project_id")
        ),
        sa.PrimaryKeyConstraint("account_id", "project_id", name=op.f("pk_membership")),
    )
    _signing_in()
    _rights()


def _signing_in() -> None:
    op.create_table(
        "session",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        moment("created_at"),
        moment("seen_at"),
        moment("expires_at"),
        moment("revoked_at", nullable=True),
        sa.Column("revoked_by", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name=op.f("fk_session_account_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session")),
        sa.UniqueConstraint("digest", name=op.f("uq_session_digest")),
    )
    op.create_index("ix_session_account_id", "session", ["account_id"])
    op.create_table(
        "one_time_link",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=False),
        moment("created_at"),
        moment("expires_at"),
        moment("used_at", nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_one_time_link_account_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_one_time_link")),
        sa.UniqueConstraint("digest", name=op.f("uq_one_time_link_digest")),
    )
    op.create_table(
        "login_attempt",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("login_digest", sa.LargeBinary(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        moment("at"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_attempt")),
    )
    op.create_index("ix_login_attempt_login_digest", "login_attempt", ["login_digest", "at"])
    op.create_index("ix_login_attempt_address", "login_attempt", ["address", "at"])
    op.create_index("ix_login_attempt_at", "login_attempt", ["at"])


def _rights() -> None:
    """Of the pages nobody reads these tables but the gate, which may read nothing else."""
    op.execute(CREATE_ROLE)
    op.execute(f"grant usage on schema public to {GATE}")
    op.execute(f"grant select, insert on account, session, login_attempt to {GATE}")
    op.execute(f"grant select on membership, one_time_link to {GATE}")
    op.execute(f"grant update (password, oidc_issuer, oidc_subject) on account to {GATE}")
    op.execute(f"grant update (seen_at, revoked_at, revoked_by) on session to {GATE}")
    op.execute(f"grant update (used_at) on one_time_link to {GATE}")
    op.execute(f"grant delete on login_attempt to {GATE}")
