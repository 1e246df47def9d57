"""One declared column of a request: its type, role, unit, range, and where its values come from.

Pure values, checked when made.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, field_validator, model_validator

from monitor.contract_base import MAX_NAME_LENGTH, Frozen
from monitor.contract_embedding import RECORD_PARTS, Embedding
from monitor.fields import standard_field

RESERVED_NAMES = frozenset(
    {
        *("request_id", "event_time", "model", "leg", "deployment", "tags", "outcome"),
        *("outcome_reason", "received_at", "contract_version", "deployment_id", "project_id"),
        "violations",
    }
)


class ColumnType(StrEnum):
    """How a column's values are read and stored."""

    NUMBER = "number"
    INTEGER = "integer"
    CATEGORY = "category"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    TEXT = "text"
    VECTOR = "vector"
    CLASS_SCORES = "class_scores"
    RANKED_LIST = "ranked_list"


class ColumnRole(StrEnum):
    """What a column is for."""

    FEATURE = "feature"
    PREDICTION = "prediction"
    SCORE = "score"
    SEGMENT = "segment"
    ENTITY = "entity"
    PARENT = "parent"
    TIMING = "timing"
    COUNT = "count"
    COST = "cost"
    FLAG = "flag"
    HUMAN_ACTION = "human_action"
    USER_IMPACT = "user_impact"
    WEIGHT = "weight"


class Sensitivity(StrEnum):
    """How examples of a column may be shown: public as they are, everything else masked."""

    PUBLIC = "public"
    INTERNAL = "internal"
    PERSONAL = "personal"
    SPECIAL = "special"


class Column(Frozen):
    """One declared column of a request."""

    name: str = Field(min_length=1, max_length=MAX_NAME_LENGTH)
    type: ColumnType
    role: ColumnRole = ColumnRole.FEATURE
    unit: str | None = None
    range: tuple[float | None, float | None] | None = None
    categories: tuple[str, ...] | None = None
    size: int | None = Field(default=None, ge=1, le=4096)
    nullable: bool = False
    sensitivity: Sensitivity = Sensitivity.INTERNAL
    keep_text: bool = False
    importance: float = Field(default=1.0, gt=0, le=1000, allow_inf_nan=False)
    field: str | None = None
    taken_from: str | None = Field(default=None, max_length=MAX_NAME_LENGTH * 2)
    embedding: Embedding | None = None
    description: str | None = None

    @field_validator("field")
    @classmethod
    def _field_is_known(cls, name: str | None) -> str | None:
        if name is not None and standard_field(name) is None:
            raise ValueError(f"{name!r} is no standard field; docs/producers.md lists them")
        return name

    @field_validator("taken_from")
    @classmethod
    def _place_is_one(cls, place: str | None) -> str | None:
        part, _, rest = (place or "inputs.x").partition(".")
        if part not in RECORD_PARTS or not rest:
            raise ValueError(
                f"{place!r} is no place in a producer's record;"
                f" write {', '.join(f'{each}.NAME' for each in RECORD_PARTS[:-1])}"
                f" or {RECORD_PARTS[-1]}.NAME"
            )
        return place

    @field_validator("name")
    @classmethod
    def _name_is_usable(cls, name: str) -> str:
        if name in RESERVED_NAMES:
            raise ValueError(
                f"{name!r} is a word of the request envelope; name the column otherwise"
            )
        if not name.isprintable():
            raise ValueError("a column name holds printable characters only")
        return name

    @model_validator(mode="after")
    def _parts_fit_the_type(self) -> Self:
        numeric = {ColumnType.NUMBER, ColumnType.INTEGER}
        if self.range is not None:
            low, high = self.range
            if self.type not in numeric:
                raise ValueError(f"range is for number and integer columns, not {self.type}")
            if low is not None and high is not None and not low <= high:
                raise ValueError(f"range [{low}, {high}] is empty; write the lower end first")
        if self.categories is not None and self.type not in {
            ColumnType.CATEGORY,
            ColumnType.CLASS_SCORES,
        }:
            raise ValueError(
                f"categories are for category and class_scores columns, not {self.type}"
            )
        if self.categories is not None and len(set(self.categories)) != len(self.categories):
            raise ValueError("categories hold a value twice")
        if self.type is ColumnType.CLASS_SCORES and not self.categories:
            raise ValueError("a class_scores column lists its classes in categories")
        sized = {ColumnType.VECTOR, ColumnType.RANKED_LIST}
        if self.type in sized and self.size is None:
            raise ValueError(f"a {self.type} column says its size")
        if self.size is not None and self.type not in sized:
            raise ValueError(f"size is for vector and ranked_list columns, not {self.type}")
        if self.keep_text and self.type is not ColumnType.TEXT:
            raise ValueError("keep_text is for text columns")
        return self

    @model_validator(mode="after")
    def _embedding_fits(self) -> Self:
        if self.embedding is None:
            return self
        if self.type is not ColumnType.VECTOR:
            raise ValueError(f"embedding is for vector columns, not {self.type}")
        if self.taken_from is not None or self.field is not None:
            raise ValueError("a column has one of embedding, field and taken_from")
        if self.embedding.share < 1 and not self.nullable:
            raise ValueError("with embedding.share below 1 the column says nullable: true")
        return self
