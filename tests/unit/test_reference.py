"""Reference files and the draft of a contract that they give."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from monitor.contract import ColumnRole, ColumnType, Task
from monitor.contract_file import COLUMNS, HEAD, LABEL, column_place, read_contract, write_contract
from monitor.errors import ConfigurationError
from monitor.reference import read_reference
from monitor.reference_columns import Seen, look_at
from monitor.reference_draft import draft_contract, model_name


def test_an_empty_csv_field_is_missing_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b'\xef\xbb\xbfland,n\nNA,1\n"",2\n,3\nnull,\n')

    table = read_reference(path)

    assert table["land"].to_pylist() == ["NA", "", None, "null"]
    assert table["n"].to_pylist() == [1, 2, 3, None]


def test_all_formats_give_the_same_rows(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "rows.feather")
    (tmp_path / "rows.CSV").write_text("a,b\n1,x\n2,\n")

    for name in ("rows.parquet", "rows.feather", "rows.CSV"):
        assert read_reference(tmp_path / name).to_pydict() == table.to_pydict()


def test_a_folder_named_like_a_partition_adds_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "year=2013"
    folder.mkdir()
    pyarrow.parquet.write_table(pa.table({"a": [1]}), folder / "rows.parquet")

    assert read_reference(folder / "rows.parquet").column_names == ["a"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"x,y,x,y\n1,2,3,4\n", "more than once: 'x', 'y'"),
        ("a.csv", b"x\n", "holds no rows"),
        ("a.csv", b"", "can't be read"),
        ("a.csv", b"x,y\n1\n", "can't be read"),
        ("a.csv", b"\xff\xfe\x00", "can't be read"),
        ("a.parquet", b"PAR1", "can't be read"),
        ("a.parquet", None, "does not exist"),
        ("a.ndjson", b"null\n", "known are .parquet, .csv"),
        ("a", b"", "known are .parquet, .csv"),
    ],
)
def test_a_file_that_can_not_be_used_is_named_with_the_reason(
    tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigurationError) as caught:
        read_reference(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_two_columns_of_one_name_in_parquet_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table([pa.array([1]), pa.array([2])], ["x", "x"]), path)

    with pytest.raises(ConfigurationError, match="more than once: 'x'"):
        read_reference(path)


MOMENT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array([True, None]), ColumnType.BOOLEAN),
        (pa.array([1, 2], pa.uint8()), ColumnType.INTEGER),
        (pa.array([1.0, 2.5], pa.float32()), ColumnType.NUMBER),
        (pa.array(["a", "b"] * 3), ColumnType.CATEGORY),
        (pa.array(["a", "b"] * 3).dictionary_encode(), ColumnType.CATEGORY),
        (pa.array(["a", "b", "c"]), ColumnType.TEXT),
        (pa.array(["x" * 513] * 9), ColumnType.TEXT),
        (pa.array([MOMENT]), ColumnType.TIMESTAMP),
        (pa.array([[1.0, 2.0], None, [3.0, 4.0]]), ColumnType.VECTOR),
        (pa.array([["x"], ["y", "z"]]), ColumnType.RANKED_LIST),
        (pa.nulls(3), ColumnType.CATEGORY),
        (pa.array([[1.0], [2.0, 3.0]]), None),
        (pa.array([{"a": 1}]), None),
        (pa.array([b"\x00"]), None),
        (pa.array([[]], pa.list_(pa.float64())), None),
    ],
)
def test_types_are_told_from_values(values: pa.Array, kind: ColumnType | None) -> None:
    assert look_at(pa.chunked_array([values])).type is kind


def test_more_than_a_thousand_texts_are_no_categories() -> None:
    def seen(distinct: int) -> Seen:
        return look_at(pa.chunked_array([[f"v{k % distinct}" for k in range(4_000)]]))

    assert seen(1_000).type is ColumnType.CATEGORY
    assert seen(1_001).type is ColumnType.TEXT


def test_values_that_would_be_violations_are_pointed_at() -> None:
    def note(values: list[Any], kind: pa.DataType | None = None) -> str:
        return look_at(pa.chunked_array([pa.array(values, kind)])).note

    assert "2 values are NaN or infinite" in note([1.0, float("nan"), float("inf")])
    assert "beyond 2^53" in note([2**53 + 1])
    assert "beyond 2^53" not in note([2**53])
    assert "no zone" in note([date(2026, 3, 1)])


def frame() -> pa.Table:
    n = 40
    return pa.table(
        {
            "request_id": [f"r{k}" for k in range(n)],
            "event_time": [MOMENT] * n,
            "customer_id": list(range(n)),
            "credit_score": [300.0 + k for k in range(n)],
            "default_probability": [k / n for k in range(n)],
            "second_score": [k / n for k in range(n)],
            "predicted_default": [k % 2 == 0 for k in range(n)],
            "region": [None if k == 0 else "ns"[k % 2] for k in range(n)],
            "blob": [b"x"] * n,
            "target": [k % 3 == 0 for k in range(n)],
        }
    )


def test_roles_come_from_names_and_values() -> None:
    contract, comments = draft_contract(frame(), "credit")

    roles = {each.name: each.role for each in contract.columns}
    assert roles == {
        "customer_id": ColumnRole.FEATURE,
        "credit_score": ColumnRole.FEATURE,
        "default_probability": ColumnRole.SCORE,
        "second_score": ColumnRole.FEATURE,
        "predicted_default": ColumnRole.PREDICTION,
        "region": ColumnRole.FEATURE,
    }
    assert contract.column("default_probability").range == (0.0, 1.0)
    assert contract.column("credit_score").range is None
    assert contract.column("region").nullable
    assert contract.column("region").categories is None
    assert contract.task is Task.BINARY
    for name in ("request_id", "event_time", "blob", "target"):
        assert f"{name}: left out" in comments[COLUMNS]
    assert "name: target" in comments[LABEL]
    assert "role entity" in comments[column_place("customer_id")]
    assert "Seen: 300 to 339, none missing." in comments[column_place("credit_score")]
    assert "range: [300, 339]" in comments[column_place("credit_score")]
    assert "2.5 % missing" in comments[column_place("region")]
    assert "categories: [n, s]" in comments[column_place("region")]
    assert "40 reference rows" in comments[HEAD]
    assert read_contract(write_contract(contract, comments), "draft") == contract


@pytest.mark.parametrize(
    ("predictions", "task"),
    [
        (["a", "b"] * 10, Task.BINARY),
        (["a", "b", "c"] * 10, Task.MULTICLASS),
        ([1.5 * k for k in range(10)], Task.REGRESSION),
        ([0, 1] * 5, Task.BINARY),
    ],
)
def test_the_task_is_guessed_from_the_prediction(predictions: list[Any], task: Task) -> None:
    contract, _ = draft_contract(pa.table({"prediction": predictions}), "m")

    assert contract.task is task


def test_a_table_without_a_usable_column_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="request_id: left out"):
        draft_contract(pa.table({"request_id": ["a"], "label": [1]}), "m")


@pytest.mark.parametrize(
    ("text", "name"), [("My Model (v2)", "my-model-v2"), ("__", "model"), ("é" * 3 + "x", "x")]
)
def test_names_of_files_become_names_of_models(text: str, name: str) -> None:
    assert model_name(text) == name
    assert draft_contract(pa.table({"a": [1]}), name)[0].model == name


def test_a_name_that_no_model_can_have_is_refused_with_one_that_it_can() -> None:
    with pytest.raises(ConfigurationError, match="write for example 'my-model'"):
        draft_contract(pa.table({"a": [1]}), "My Model")
