"""The contract's values: durations, rules of columns, rules between parts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from monitor.contract import (
    RESERVED_NAMES,
    Column,
    ColumnRole,
    ColumnType,
    Contract,
)
from monitor.contract_base import format_duration, parse_duration


def contract(**changes: Any) -> Contract:
    value = {
        "model": "credit",
        "owner": "risk",
        "purpose": "Scores applications.",
        "task": "binary",
        "columns": [
            {"name": "age", "type": "integer"},
            {"name": "region", "type": "category"},
            {"name": "score", "type": "number", "role": "score"},
        ],
        **changes,
    }
    return Contract.model_validate(value)


@given(st.integers(min_value=1, max_value=10**9))
def test_a_duration_reads_back_what_is_written(seconds: int) -> None:
    length = timedelta(seconds=seconds)

    assert parse_duration(format_duration(length)) == length


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("6h", 21_600), (" 7d ", 604_800)]
)
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "7", "d", "-7d", "1.5h", "7 days", "٧d", None, 7, "9" * 11 + "s"]
)
def test_what_is_no_duration_is_refused_with_examples(text: Any) -> None:
    with pytest.raises(ValueError, match="write for example 90s, 10m, 6h, 7d or 2w"):
        parse_duration(text)


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_names_of_the_envelope_can_not_be_columns(name: str) -> None:
    with pytest.raises(ValidationError, match="word of the request envelope"):
        Column(name=name, type=ColumnType.NUMBER)


@pytest.mark.parametrize("name", ["", "a\nb", "a\x00b", "\u200b", "x" * 201])
def test_unusable_column_names(name: str) -> None:
    with pytest.raises(ValidationError):
        Column(name=name, type=ColumnType.NUMBER)


@pytest.mark.parametrize(
    ("requests", "fits"), [("43d", False), ("44d", True), ("1056h", True), ("1055h", False)]
)
def test_requests_are_kept_until_labels_can_not_change_any_more(requests: str, fits: bool) -> None:
    wanted = {
        "label": {"name": "defaulted", "max_age": "30d", "correction_time": "14d"},
        "retention": {"requests": requests},
    }
    if fits:
        assert contract(**wanted).label is not None
    else:
        with pytest.raises(ValidationError, match="late labels would find no request"):
            contract(**wanted)


def test_without_a_label_any_retention_is_fine() -> None:
    assert contract(retention={"requests": "1h"}).retention.requests == timedelta(hours=1)


@pytest.mark.parametrize(
    "role", [ColumnRole.PREDICTION, ColumnRole.SCORE, ColumnRole.ENTITY, ColumnRole.WEIGHT]
)
def test_some_roles_are_held_by_one_column(role: ColumnRole) -> None:
    columns = [{"name": name, "type": "number", "role": role.value} for name in ("a", "b")]
    with pytest.raises(ValidationError, match=f"only one column may have the role {role}"):
        contract(columns=columns)


def test_all_problems_between_parts_are_told_together() -> None:
    with pytest.raises(ValidationError) as caught:
        contract(segments=["age", "nowhere", ["region", "region"], []])

    text = str(caught.value)
    assert "'age' is a integer" in text
    assert "'nowhere' is not declared" in text
    assert text.count("names a column twice or none") == 2


def test_segments_and_roles_are_found() -> None:
    found = contract(segments=["region"])

    assert found.segment_keys() == (("region",),)
    score = found.single(ColumnRole.SCORE)
    assert score is not None
    assert score.name == "score"
    assert found.single(ColumnRole.ENTITY) is None
    assert found.column("age").type is ColumnType.INTEGER
    with pytest.raises(KeyError):
        found.column("nowhere")


def test_the_stored_form_reads_back_equal() -> None:
    made = contract(
        label={"name": "y", "positive": True, "max_age": "2w"},
        segments=["region"],
        lateness={"profiles": "90s"},
    )

    assert Contract.model_validate(made.model_dump(mode="json")) == made
