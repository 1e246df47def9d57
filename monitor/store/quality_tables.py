"""Tables of quality with late labels: delay curves, estimators, golden sets, reviews, comparisons.

Each holds the parts that are looked for as columns, and the rest as one JSON or binary body.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from monitor.store.metadata import identity, metadata, model_key, of_model, when

delay_curve = Table(
    "delay_curve",
    metadata,
    *model_key(),
    Column("leg", Text, nullable=False),
    Column("segment_id", Integer, nullable=False),
    Column("predicted", SmallInteger, nullable=False),
    when("known_at"),
    Column("n", BigInteger, nullable=False),
    Column("body", JSONB, nullable=False),
    PrimaryKeyConstraint("project_id", "model_id", "leg", "segment_id", "predicted", "known_at"),
    of_model(),
)
"""How soon labels come: `predicted` is the class, -1 for all. One row each time it was learned."""

estimator = Table(
    "estimator",
    metadata,
    identity(BigInteger),
    *model_key(),
    Column("leg", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("version", Integer, nullable=False),
    when("window_start"),
    when("window_end"),
    when("known_at"),
    Column("n", BigInteger, nullable=False),
    Column("summary", JSONB, nullable=False),
    Column("body", LargeBinary, nullable=False),
    UniqueConstraint("project_id", "model_id", "leg", "method", "known_at"),
    of_model(),
)
"""What estimates of quality without labels rest on: fitted on the labelled window it names."""

golden_set = Table(
    "golden_set",
    metadata,
    *model_key(),
    Column("name", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("body", JSONB, nullable=False),
    Column("source", Text, nullable=False),
    Column("applied_by", Text, nullable=False),
    when("applied_at", now=True),
    PrimaryKeyConstraint("project_id", "model_id", "name", "version"),
    of_model(),
)

golden_run = Table(
    "golden_run",
    metadata,
    identity(BigInteger),
    *model_key(),
    Column("set_name", Text, nullable=False),
    Column("set_version", Integer, nullable=False),
    Column("leg", Text, nullable=False),
    Column("deployment_id", Integer, nullable=False),
    Column("reference_id", Integer),
    Column("verdict", Text, nullable=False),
    Column("body", JSONB, nullable=False),
    Column("judged_by", Text, nullable=False),
    when("known_at"),
    Index("ix_golden_run_model", "project_id", "model_id", "known_at"),
    of_model(),
)
"""A judged replay of a golden set, or of shadow pairs, by one deployment."""

review_draw = Table(
    "review_draw",
    metadata,
    identity(),
    *model_key(),
    Column("name", Text, nullable=False),
    when("window_start"),
    when("window_end"),
    Column("population", BigInteger, nullable=False),
    Column("plan", JSONB, nullable=False),
    Column("drawn_by", Text, nullable=False),
    when("drawn_at", now=True),
    UniqueConstraint("project_id", "model_id", "name"),
    of_model(),
)

review_item = Table(
    "review_item",
    metadata,
    Column("project_id", Integer, nullable=False),
    Column("draw_id", Integer, nullable=False),
    Column("place", Integer, nullable=False),
    Column("request_id", Text, nullable=False),
    when("event_time"),
    Column("leg", Text, nullable=False),
    Column("deployment_id", Integer, nullable=False),
    Column("stratum", Text, nullable=False),
    Column("probability", Double, nullable=False),
    Column("raters", ARRAY(Text), nullable=False),
    PrimaryKeyConstraint("project_id", "draw_id", "place"),
    CheckConstraint("probability > 0 and probability <= 1", name="probability"),
    ForeignKeyConstraint(["draw_id"], ["review_draw.id"]),
)
"""A request that somebody is asked to rate, with the probability that the draw took it."""

comparison = Table(
    "comparison",
    metadata,
    identity(BigInteger),
    *model_key(),
    Column("leg", Text, nullable=False),
    Column("deployments_a", ARRAY(Integer), nullable=False),
    Column("deployments_b", ARRAY(Integer), nullable=False),
    when("window_start"),
    when("window_end"),
    Column("verdict", Text, nullable=False),
    Column("body", JSONB, nullable=False),
    Column("made_by", Text, nullable=False),
    when("known_at"),
    Index("ix_comparison_model", "project_id", "model_id", "known_at"),
    of_model(),
)

explanation = Table(
    "explanation",
    metadata,
    identity(BigInteger),
    *model_key(),
    Column("leg", Text, nullable=False),
    Column("method", Text, nullable=False),
    when("window_start"),
    when("window_end"),
    when("reference_start"),
    when("reference_end"),
    Column("body", JSONB, nullable=False),
    Column("made_by", Text, nullable=False),
    when("known_at"),
    Index("ix_explanation_model", "project_id", "model_id", "known_at"),
    of_model(),
)
"""Why quality changed between two windows, as far as stored samples tell."""
