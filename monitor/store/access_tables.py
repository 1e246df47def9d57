"""Tables of who may look: accounts, roles in projects, sessions, one-time links, failed logins.

Secrets that are random are kept as SHA-256, passwords as argon2id. Only the owner and the gate
before the pages read these tables.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from monitor.access import AccessRole
from monitor.store.metadata import identity, metadata, when

_ROLES = ", ".join(f"'{role}'" for role in AccessRole)

account = Table(
    "account",
    metadata,
    identity(),
    Column("login", Text, nullable=False, unique=True),
    Column("password", Text),
    Column("everywhere", Text),
    Column("oidc_issuer", Text),
    Column("oidc_subject", Text),
    Column("created_by", Text, nullable=False),
    when("created_at", now=True),
    when("disabled_at", nullable=True),
    UniqueConstraint("oidc_issuer", "oidc_subject"),
    CheckConstraint(f"everywhere in ({_ROLES})", name="everywhere_known"),
    CheckConstraint("login = lower(login)", name="login_lower"),
)
"""A person. `everywhere` is the role in all projects without a membership of their own."""

membership = Table(
    "membership",
    metadata,
    Column("account_id", Integer, nullable=False),
    Column("project_id", Integer, nullable=False),
    Column("role", Text, nullable=False),
    Column("granted_by", Text, nullable=False),
    when("granted_at", now=True),
    PrimaryKeyConstraint("account_id", "project_id"),
    ForeignKeyConstraint(["account_id"], ["account.id"]),
    ForeignKeyConstraint(["project_id"], ["project.id"]),
    CheckConstraint(f"role in ({_ROLES})", name="role_known"),
)

session = Table(
    "session",
    metadata,
    identity(BigInteger),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("account_id", Integer, nullable=False),
    Column("method", Text, nullable=False),
    Column("address", Text, nullable=False),
    when("created_at"),
    when("seen_at"),
    when("expires_at"),
    when("revoked_at", nullable=True),
    Column("revoked_by", Text),
    ForeignKeyConstraint(["account_id"], ["account.id"]),
    Index("ix_session_account_id", "account_id"),
)
"""One sign-in of one browser. `expires_at` is the end whatever happens; idle ones end before."""

one_time_link = Table(
    "one_time_link",
    metadata,
    identity(),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("account_id", Integer),
    Column("created_by", Text, nullable=False),
    when("created_at"),
    when("expires_at"),
    when("used_at", nullable=True),
    ForeignKeyConstraint(["account_id"], ["account.id"]),
)
"""A link that signs in once. Without an account it makes the first one, and only the first."""

login_attempt = Table(
    "login_attempt",
    metadata,
    identity(BigInteger),
    Column("login_digest", LargeBinary, nullable=False),
    Column("address", Text, nullable=False),
    when("at"),
    Index("ix_login_attempt_login_digest", "login_digest", "at"),
    Index("ix_login_attempt_address", "address", "at"),
    Index("ix_login_attempt_at", "at"),
)
"""Attempts that failed or are under way, for a while. What was typed is kept as a hash."""
