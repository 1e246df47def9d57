"""Signals come as labels under their own name; the kind says what a value may be."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from monitor.contract import Task
from monitor.contract_quality import Label, Signal
from monitor.intake.arrow_labels import ARROW_LABELS
from monitor.intake.base import IntakeContext
from monitor.intake.files import read_chunks
from monitor.intake.json_labels import JSON_LABELS, NDJSON_LABELS
from monitor.records import LabelBatch, RejectionReason
from tests.unit.intake.factories import array, context_of, contract_of, lines, stream

SIGNALS = (
    Signal(name="appealed", kind="event", direction="higher_is_worse"),
    Signal(name="stars", kind="rating", direction="lower_is_worse", scale=(1, 5)),
    Signal(name="preferred", kind="preference", direction="lower_is_worse"),
    Signal(name="polite", kind="rubric", direction="lower_is_worse"),
)


def context(task: Task = Task.BINARY, *, label: bool = True, positive: Any = None) -> IntakeContext:
    declared = Label(name="default", positive=positive) if label else None
    return context_of(contract=contract_of(task=task, label=declared, signals=SIGNALS))


def sent(name: Any, value: Any, number: int = 0) -> dict[str, Any]:
    record = {"request_id": f"r-{number}", "value": value, "observed_at": "2026-09-01T11:00:00Z"}
    return record if name is ... else {**record, "label": name}


def parse(*records: Any, given: IntakeContext | None = None) -> LabelBatch:
    given = given or context()
    batch = NDJSON_LABELS.parse(lines(records), given)
    other = JSON_LABELS.parse(array(records), given)
    assert batch.table.equals(other.table)
    assert batch.rejections == other.rejections
    return batch


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("appealed", True, (1.0, None)),
        ("appealed", 0, (0.0, None)),
        ("stars", 4, (4.0, None)),
        ("stars", 4.5, (4.5, None)),
        ("stars", 1, (1.0, None)),
        ("stars", 5.0, (5.0, None)),
        ("preferred", "win", (None, "win")),
        ("preferred", "tie", (None, "tie")),
        ("polite", False, (0.0, None)),
        ("polite", 1.0, (1.0, None)),
    ],
)
@pytest.mark.parametrize("task", [Task.BINARY, Task.MULTICLASS, Task.RANKING])
def test_values_are_stored_by_the_kind_whatever_the_task(
    task: Task, name: str, value: Any, stored: tuple[float | None, str | None]
) -> None:
    batch = parse(sent(name, value), given=context(task))
    assert batch.rejections == ()
    (row,) = batch.table.to_pylist()
    assert (row["label_name"], row["value"], row["text"]) == (name, *stored)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("appealed", 2, "true, false, 1 or 0"),
        ("appealed", "yes", "true, false, 1 or 0"),
        ("stars", 0.99, "a number from 1 to 5"),
        ("stars", 6, "a number from 1 to 5"),
        ("stars", True, "a number from 1 to 5"),
        ("stars", "4", "a number from 1 to 5"),
        ("stars", 10**400, "a number from 1 to 5"),
        ("preferred", "WIN", "win, loss or tie"),
        ("preferred", 1, "win, loss or tie"),
        ("polite", 0.5, "true, false, 1 or 0"),
    ],
)
def test_other_values_are_refused_with_what_is_wanted(name: str, value: Any, wanted: str) -> None:
    batch = parse(sent(name, value))
    assert batch.table.num_rows == 0
    (one,) = batch.rejections
    assert one.reason is RejectionReason.BAD_LABEL
    assert wanted in one.message
    assert repr(name) in one.message


def test_a_signal_without_a_value_is_refused() -> None:
    (one,) = parse(sent("stars", None)).rejections
    assert one.reason is RejectionReason.MISSING_LABEL


def test_a_record_without_a_name_is_the_label() -> None:
    batch = parse(sent(..., True), sent(None, 0), sent("default", 1), sent("stars", 2))
    assert batch.rejections == ()
    names = ["default", "default", "default", "stars"]
    assert batch.table["label_name"].to_pylist() == names


def test_a_contract_without_a_label_takes_signals_by_name_only() -> None:
    batch = parse(sent("stars", 2), sent(..., 1), sent("other", 1), given=context(label=False))
    assert batch.table["label_name"].to_pylist() == ["stars"]
    missing, unknown = batch.rejections
    assert missing.reason is unknown.reason is RejectionReason.UNKNOWN_LABEL
    told = "declares only the signals 'appealed', 'stars', 'preferred', 'polite'"
    assert missing.message.startswith("label is missing;")
    assert unknown.message.startswith("no label 'other';")
    assert told in missing.message
    assert told in unknown.message


def test_unknown_names_are_told_what_is_declared() -> None:
    (one,) = parse(sent("defautl", 1)).rejections
    assert "the label 'default' and the signals 'appealed'" in one.message
    alone = context_of(contract=contract_of(label=Label(name="default")))
    (one,) = parse(sent("stars", 1), given=alone).rejections
    assert one.message.endswith("declares only the label 'default'")


def test_arrow_takes_the_same_values() -> None:
    times = ["2026-09-01T11:00:00Z"] * 2
    wins = {"request_id": ["a", "b"], "label": ["preferred"] * 2, "value": ["win", "draw"],
            "observed_at": times}  # fmt: skip
    batch = ARROW_LABELS.parse(stream(pa.table(wins)), context())
    assert batch.table["text"].to_pylist() == ["win"]
    assert "win, loss or tie" in batch.rejections[0].message
    stars = {**wins, "label": ["stars"] * 2, "value": [3.5, float("nan")]}
    batch = ARROW_LABELS.parse(stream(pa.table(stars)), context())
    assert batch.table["value"].to_pylist() == [3.5]
    assert len(batch.rejections) == 1


@pytest.mark.parametrize(
    ("task", "positive", "label"), [(Task.BINARY, "late", "late"), (Task.MULTICLASS, None, "7")]
)
def test_a_csv_file_may_mix_text_labels_and_signals(
    tmp_path: Path, task: Task, positive: Any, label: str
) -> None:
    rows = [("default", label), ("stars", "4.5"), ("preferred", "tie"), ("appealed", "TRUE"),
            ("", label), ("polite", "0"), ("stars", "9")]  # fmt: skip
    with (tmp_path / "a.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["request_id", "label", "value", "observed_at"])
        writer.writerows([(f"r{n}", *row, "2026-09-01T11:00:00Z") for n, row in enumerate(rows)])
    given = context(task, positive=positive)
    (chunk,) = read_chunks(tmp_path / "a.csv", given.contract, labels=True)
    batch = chunk.parse(given)
    found = [(r["label_name"], r["value"], r["text"]) for r in batch.table.to_pylist()]
    assert found == [
        ("default", None, label),
        ("stars", 4.5, None),
        ("preferred", None, "tie"),
        ("appealed", 1.0, None),
        ("default", None, label),
        ("polite", 0.0, None),
    ]
    assert [one.place for one in batch.rejections] == [6]
