"""Tables of evidence: the audit chain, its signed heads, legal holds, certificates of deletion.

An audit entry is written by the database function `audit_append` alone (see its migration), which
row triggers call for the deeds that matter. No role may insert, change or delete one.
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
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from monitor.store.metadata import identity, metadata, of_model, when

audit_entry = Table(
    "audit_entry",
    metadata,
    Column("project_id", Integer, nullable=False),
    Column("seq", BigInteger, nullable=False),
    when("at"),
    Column("actor", Text, nullable=False),
    Column("deed", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("hash", Text, nullable=False),
    PrimaryKeyConstraint("project_id", "seq"),
    ForeignKeyConstraint(["project_id"], ["project.id"]),
)
"""`body` is canonical JSON and holds everything, the hash of the entry before too; `hash` is its
SHA-256. The other columns repeat what is looked for."""

audit_due = Table(
    "audit_due",
    metadata,
    identity(BigInteger),
    Column("project_id", Integer, nullable=False),
    Column("actor", Text, nullable=False),
    Column("deed", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", JSONB, nullable=False),
    ForeignKeyConstraint(["project_id"], ["project.id"]),
)
"""Deeds of transactions that see one moment and so can't see the newest entry. The next entry, or
whoever reads the chain, appends them first."""

audit_head = Table(
    "audit_head",
    metadata,
    Column("project_id", Integer, nullable=False),
    Column("seq", BigInteger, nullable=False),
    when("signed_at"),
    Column("body", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    Column("key", Text, nullable=False),
    when("sent_at", nullable=True),
    PrimaryKeyConstraint("project_id", "seq"),
    ForeignKeyConstraint(["project_id"], ["project.id"]),
)
"""Where the chain ended when it was signed. `sent_at`: when a copy reached the place outside."""

legal_hold = Table(
    "legal_hold",
    metadata,
    identity(),
    Column("project_id", Integer, nullable=False),
    Column("model_id", Integer),
    Column("classes", ARRAY(Text), nullable=False),
    Column("reason", Text, nullable=False),
    Column("placed_by", Text, nullable=False),
    when("placed_at", now=True),
    Column("released_by", Text),
    when("released_at", nullable=True),
    Column("release_reason", Text),
    of_model(),
    Index("ix_legal_hold_model", "project_id", "model_id"),
)
"""Nothing of these classes is deleted while it stands; without a model it is of all models."""

deletion = Table(
    "deletion",
    metadata,
    identity(BigInteger),
    Column("project_id", Integer, nullable=False),
    Column("model_id", Integer),
    Column("kind", Text, nullable=False),
    Column("by", Text, nullable=False),
    when("at", now=True),
    Column("body", JSONB, nullable=False),
    of_model(),
    CheckConstraint("kind in ('retention', 'erasure')", name="kind"),
    Index("ix_deletion_at", "project_id", "at"),
)
"""What was deleted for good: `body` holds classes, counts, the span of time and hashes."""
