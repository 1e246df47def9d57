import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from monitor.contract import Task
from monitor.contract_quality import Label
from monitor.errors import RequestRefused
from monitor.intake import files
from monitor.intake.csv_records import write_number
from monitor.intake.json_requests import NDJSON_REQUESTS
from monitor.records import RejectionReason, RequestBatch
from monitor.records import ViolationReason as Reason
from tests.unit.intake.factories import (
    cell,
    context_of,
    contract_of,
    lines,
    record,
    violations,
)

CONTEXT = context_of(max_records=10_000)


def read(path: Path, given: Any = CONTEXT, *, labels: bool = False) -> list[Any]:
    return [
        (chunk.parse(given), chunk.first_place, chunk.done_share)
        for chunk in files.read_chunks(path, given.contract, labels=labels)
    ]


def one_batch(path: Path) -> RequestBatch:
    ((batch, first, share),) = read(path)
    assert (first, share) == (0, 1.0)
    return batch


def write_csv(path: Path, records: list[dict[str, Any]]) -> Path:
    """The records as a spreadsheet program would write them; lists and tags as JSON."""

    def text(value: Any) -> str:
        if isinstance(value, (list, dict)):
            return json.dumps(value)
        return "" if value is None else str(value)

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(records[0])
        writer.writerows([[text(value) for value in each.values()] for each in records])
    return path


NOTES = ('a "b", c\nd', "Größe 3,50 €: ЖУК 😀", "日本 語", "A1 - ٣")
RECORDS = [
    record(n, age=n / 7, visits=n, note=NOTES[n % 4], place=[0.1, n], deployment=7)
    for n in range(20)
]


def test_every_kind_of_file_gives_the_rows_of_a_body(tmp_path: Path) -> None:
    batch = NDJSON_REQUESTS.parse(lines(RECORDS), CONTEXT)
    wanted = batch.table
    # 19 characters, 5 words, 3 digits, G Ж У К, ö ß € Ж У К 😀, and the comma and the colon
    assert cell(batch, 1, "note", CONTEXT)[:6] == [
        19,
        5,
        *(count / 19 for count in (3, 4, 7, 2)),
    ]
    pq.write_table(pa.Table.from_pylist(RECORDS), tmp_path / "a.parquet")
    (tmp_path / "a.ndjson").write_bytes(lines(RECORDS))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines(RECORDS)))
    write_csv(tmp_path / "a.csv", RECORDS)
    (tmp_path / "b.CSV.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    for path in sorted(tmp_path.iterdir()):
        assert one_batch(path).table.equals(wanted), path.name


def test_chunks_tell_where_they_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK_ROWS", 8)
    pq.write_table(pa.Table.from_pylist(RECORDS), tmp_path / "a.parquet")
    (tmp_path / "a.ndjson").write_bytes(lines(RECORDS).replace(b"\n", b"\n\n"))
    write_csv(tmp_path / "a.csv", RECORDS)
    for path in sorted(tmp_path.iterdir()):
        chunks = read(path)
        assert [(first, batch.table.num_rows) for batch, first, _ in chunks] == [
            (0, 8),
            (8, 8),
            (16, 4),
        ]
        assert chunks[-1][2] == 1.0


def test_pub_057_a_name_twice_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y,y\n7,8,9\n70,80,90\n")
    with pytest.raises(RequestRefused) as caught:
        read(path)
    assert caught.value.reason == "duplicate_columns"
    assert "'y'" in str(caught.value)
    assert "'x'" not in str(caught.value)


def test_cells_are_read_by_declared_types(tmp_path: Path) -> None:
    changes: tuple[dict[str, str], ...] = (
        {"age": "abc", "country": "77", "member": "TRUE", "count": "3.0"},
        {"age": "1,5", "country": "XX", "member": "yes", "count": "9007199254740993"},
        {"age": "nan", "country": "DE", "member": "0", "count": ""},
        {"age": "+5.", "country": "FR", "member": "1", "count": "007"},
    )
    path = write_csv(tmp_path / "a.csv", [record(n, **change) for n, change in enumerate(changes)])
    batch = one_batch(path)
    assert violations(batch) == [
        [("age", Reason.WRONG_TYPE)],
        [
            ("age", Reason.WRONG_TYPE),
            ("count", Reason.INTEGER_TOO_LARGE),
            ("member", Reason.WRONG_TYPE),
            ("country", Reason.UNKNOWN_CATEGORY),
        ],
        [("age", Reason.NOT_A_NUMBER), ("count", Reason.NULL)],
        [],
    ]
    stored = [
        [cell(batch, row, name, CONTEXT) for name in ("age", "count", "member", "country")]
        for row in (0, 3)
    ]
    assert stored == [[None, 3.0, 1.0, "77"], [5.0, 7.0, 1.0, "FR"]]


@pytest.mark.parametrize(
    ("cell_text", "token"),
    [
        ("1", "1"),
        (" 0.10 ", "0.10"),
        ("-1e-7", "-1e-7"),
        (".5", "0.5"),
        ("5.", "5.0"),
        ("+5", "5"),
        ("007", "7"),
        ("-inf", "-Infinity"),
        ("NaN", "NaN"),
        ("1_000", '"1_000"'),
        ("٣", '"\\u0663"'),
        ("0x10", '"0x10"'),
        ("9" * 500, "9" * 500),
    ],
)
def test_numbers_are_passed_on_digit_for_digit(cell_text: str, token: str) -> None:
    assert write_number(cell_text) == token


def test_odd_rows_and_bytes_cost_only_themselves(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    head = b"request_id,event_time,shop,new\n"
    time = b"2026-09-01T10:00:00Z"
    path.write_bytes(
        head
        + b"a,%b,north,1\n\n" % time
        + b"b,%b,south\n" % time
        + b"c,%b,\xff,\n" % time
        + b"d,2026-09-01 10:00:00,east,2\n"
    )
    batch = one_batch(path)
    assert batch.table["request_id"].to_pylist() == ["a", "c"]
    assert [(r.place, r.reason) for r in batch.rejections] == [
        (1, RejectionReason.UNREADABLE),
        (3, RejectionReason.TIME_WITHOUT_ZONE),
    ]
    assert batch.rejections[0].message == "the row has 3 cells, the header 4"
    assert ("shop", Reason.UNSTORABLE_TEXT) in violations(batch)[1]
    assert ("", Reason.UNKNOWN_COLUMN) in violations(batch)[0]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"x", "unsupported_type"),
        ("a.parquet", b"PAR1nonsensePAR1", "unreadable"),
        ("a.ndjson.gz", gzip.compress(b"{}\n" * 9, mtime=0)[:-5], "unreadable"),
        ("a.ndjson.gz", b"no gzip", "unreadable"),
        ("a.csv", b"", "empty_body"),
        ("a.csv", b"\n1\n", "empty_body"),
    ],
)
def test_files_that_can_not_be_read(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RequestRefused) as caught:
        read(tmp_path / name)
    assert caught.value.reason == reason
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("task", "positive", "cells", "stored"),
    [
        (Task.BINARY, None, ["1", "false", "True"], [1.0, 0.0, 1.0]),
        (Task.BINARY, "1", ["1", "0", "x"], ["1", "0", "x"]),
        (Task.REGRESSION, None, ["1.5", "-2", "1e3"], [1.5, -2.0, 1000.0]),
        (Task.MULTICLASS, None, ["1", "true", "cat"], ["1", "true", "cat"]),
        (Task.RANKING, None, ["1", "2", "item"], [1.0, 2.0, "item"]),
    ],
)
def test_labels_of_a_csv_file(
    tmp_path: Path, task: Task, positive: Any, cells: list[str], stored: list[Any]
) -> None:
    label = Label(name="default", positive=positive)
    given = context_of(contract=contract_of(task=task, label=label))
    path = tmp_path / "labels.csv"
    rows = [f"r-{n},{value},2026-09-01T10:00:00Z,\n" for n, value in enumerate(cells)]
    path.write_text("request_id,value,observed_at,source\n" + "".join(rows))
    ((batch, _, _),) = read(path, given, labels=True)
    assert batch.rejections == ()
    table = batch.table
    found = zip(table["value"].to_pylist(), table["text"].to_pylist(), strict=True)
    assert [text if number is None else number for number, text in found] == stored
