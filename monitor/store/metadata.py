"""The one metadata that every table belongs to, and columns that many tables share."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Identity,
    Integer,
    MetaData,
    func,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def when(name: str, *, nullable: bool = False, now: bool = False) -> Column[object]:
    default = func.now() if now else None
    return Column(name, DateTime(timezone=True), nullable=nullable, server_default=default)


def identity(kind: type[Integer] | type[BigInteger] = Integer) -> Column[object]:
    return Column("id", kind, Identity(always=True), primary_key=True)


def model_key() -> tuple[Column[object], Column[object]]:
    return Column("project_id", Integer, nullable=False), Column(
        "model_id", Integer, nullable=False
    )


def of_model() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["project_id", "model_id"], ["model.project_id", "model.id"])
