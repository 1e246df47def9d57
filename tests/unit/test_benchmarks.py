"""The benchmarks' own parts that time nothing: figures, tables, files, command lines, material."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from benchmarks import drift, intake, intervals, labels
from benchmarks.bodies import arrow_bodies, ndjson_bodies, sliced, with_repeats
from benchmarks.data import (
    CATEGORIES,
    NUMBERS,
    benchmark_contract,
    event_times,
    make_columns,
    request_ids,
)
from benchmarks.interval_worlds.base import Reading, Rng, World, between, printed
from benchmarks.interval_worlds.registry import worlds_by_key
from benchmarks.label_material import (
    DELAY,
    MOST_EXTRA,
    Month,
    corrections,
    labelled_contract,
    make_labels,
    make_requests,
    served_by,
)
from benchmarks.label_receipt import label_lines
from benchmarks.processes import cpu_seconds, family, parent
from benchmarks.stored_rows import with_envelope
from benchmarks.table import Bar, bars_json, plain, show_bars, write_json, written
from benchmarks.timing import Results, Run, Spread, alternate
from monitor.measurement import Measured, TooFew

START = datetime(2026, 3, 1, tzinfo=UTC)


def results(**seconds: list[float]) -> Results:
    """Runs of 100 rows each."""
    runs = {name: [Run(one, 100) for one in values] for name, values in seconds.items()}
    return Results(runs, [0.5] * len(next(iter(seconds.values()))))


def test_ratios_are_taken_round_by_round() -> None:
    found = results(ours=[1.0, 2.0, 9.0], other=[2.0, 4.0, 9.0])
    assert found.rate_ratio("ours", "other") == Spread(2.0, 1.0, 2.0)
    assert found.time_ratio("ours", "other") == Spread(0.5, 0.5, 1.0)
    assert found.rate("ours") == Spread(50.0, 100 / 9, 100.0)


def test_every_contender_runs_once_a_round_and_another_one_begins() -> None:
    ran: list[str] = []

    def contender(name: str) -> Callable[[], Run]:
        def run() -> Run:
            ran.append(name)
            return Run(1.0, 1)

        return run

    heard: list[tuple[int, str]] = []
    found = alternate(
        {name: contender(name) for name in "abc"},
        2,
        lambda number, name: heard.append((number, name)),
    )
    assert ran == ["a", "b", "c", "b", "c", "a"]
    assert heard == [(1, "a"), (1, "b"), (1, "c"), (2, "b"), (2, "c"), (2, "a")]
    assert [len(found.runs[name]) for name in "abc"] == [2, 2, 2]
    assert len(found.loads) == 2


@pytest.mark.parametrize(
    ("median", "at_least", "held"),
    [(0.5, True, True), (0.499, True, False), (0.5, False, True), (0.501, False, False)],
)
def test_a_bar_is_held_by_the_median(median: float, at_least: bool, held: bool) -> None:
    bar = Bar("key", "what", Spread(median, 0.0, 9.0), 0.5, at_least)
    assert bar.held is held
    assert bar.wanted == ("≥ 0.5" if at_least else "≤ 0.5")


def test_json_has_every_ratio_under_its_key_with_range_and_verdict(tmp_path: Path) -> None:
    bars = [Bar("read_ratio", "", Spread(1.234567, 1.0, 2.5), 2, at_least=False)]
    file = tmp_path / "new folder" / "results.json"
    write_json(file, {**bars_json(bars), **results(a=[1.0]).as_json()})
    assert json.loads(file.read_text()) == {
        "read_ratio": 1.2346,
        "bars": {"read_ratio": {"low": 1.0, "high": 2.5, "bar": "≤ 2", "held": True}},
        "load_average": [0.5],
        "runs": {"a": [{"seconds": 1.0, "rows": 100}]},
    }
    assert list(file.parent.iterdir()) == [file]


def test_the_table_says_what_is_not_held() -> None:
    output = StringIO()
    bars = [
        Bar("a", "kept", Spread(3.0, 2.0, 4.0), 2),
        Bar("b", "missed", Spread(1.0, 0.5, 1.5), 2),
    ]
    show_bars(Console(file=output, width=100), "Ratios", bars)
    kept, missed = (line for line in output.getvalue().splitlines() if "≥ 2" in line)
    assert "kept" in kept
    assert "3.00 [2.00–4.00]" in kept
    assert "NOT" not in kept
    assert "NOT held" in missed


@pytest.mark.parametrize(
    ("value", "text"), [(12_345.6, "12,346"), (99.94, "99.9"), (9.994, "9.99"), (0.128, "0.13")]
)
def test_figures_have_about_three_digits(value: float, text: str) -> None:
    assert plain(value) == text
    assert written(Spread(value, value, value), "ms") == f"{text} [{text}–{text}] ms"


def test_command_line_of_drift() -> None:
    plain_run = drift.parse([])
    assert (plain_run.rows, plain_run.rounds, plain_run.json) == (1_000_000, 3, None)
    assert plain_run.small_reference_rows == 20_000
    quick = drift.parse(["--quick", "--json", "out.json"])
    assert (quick.rows, quick.rounds, quick.json) == (50_000, 1, Path("out.json"))
    assert quick.peer_rows <= quick.rows
    assert drift.parse(["--rows", "1000"]).peer_rows == 1_000
    assert drift.parse(["--database-url", "postgresql://x"]).database_url == "postgresql://x"


def test_command_line_of_intake() -> None:
    plain_run = intake.parse([])
    assert (plain_run.batches, plain_run.workers, plain_run.rounds) == (100, 2, 5)
    quick = intake.parse(["--quick"])
    assert (quick.batches, quick.rounds) == (20, 1)
    assert intake.parse(["--batches", "1"]).batches == 2


def test_command_line_of_labels() -> None:
    plain_run = labels.parse([], datetime(2026, 3, 1, 5, tzinfo=UTC))
    assert (plain_run.month.labelled, plain_run.rounds, plain_run.body_labels) == (
        999_990, 3, 10_000,
    )  # fmt: skip
    assert plain_run.month.end + DELAY + MOST_EXTRA < datetime(2026, 3, 1, tzinfo=UTC)
    smoke = labels.parse(["--smoke", "--json", "out.json"])
    assert (smoke.month.labelled, smoke.rounds, smoke.json) == (15_000, 1, Path("out.json"))


def test_too_few_labels_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        labels.parse(["--rows", "2999"])
    assert "--rows is at least 3000" in capsys.readouterr().err


@pytest.mark.parametrize("module", [drift, intake, labels])
def test_no_rounds_are_refused(module: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        module.parse(["--rounds", "0"])
    assert "--rounds is at least 1" in capsys.readouterr().err


def test_rows_have_the_promised_columns_and_nulls() -> None:
    table = make_columns(20_000, seed=5)
    assert table.equals(make_columns(20_000, seed=5))
    assert not table.equals(make_columns(20_000, seed=6))
    assert table.column_names == [column.name for column in benchmark_contract().columns]
    numbers = [name for name in table.column_names if pa.types.is_floating(table[name].type)]
    texts = [name for name in table.column_names if pa.types.is_string(table[name].type)]
    assert (len(numbers), len(texts)) == (NUMBERS, CATEGORIES)
    for name in table.column_names:
        assert 0.01 < table[name].null_count / 20_000 < 0.03
    assert {len(table[name].unique().drop_null()) for name in texts} == {12}


def sent(n: int) -> pa.Table:
    """Rows as a sender has them."""
    return with_envelope(make_columns(n, 1), request_ids(n, 2), event_times(n, START, 3_600), 7)


def test_bodies_hold_every_row_once() -> None:
    tables = sliced(sent(25), 10)
    assert [table.num_rows for table in tables] == [10, 10, 5]
    lines = ndjson_bodies(tables)
    records = [json.loads(line) for body in lines.bodies for line in body.splitlines()]
    assert (lines.rows, lines.new, len(records)) == (25, 25, 25)
    assert len({record["request_id"] for record in records}) == 25
    assert records[0]["event_time"] == "2026-03-01T00:00:00Z"
    assert records[0]["deployment"] == 7
    streams = arrow_bodies(tables, new=20)
    read = [pa.ipc.open_stream(body).read_all() for body in streams.bodies]
    assert pa.concat_tables(read).to_pylist() == pa.concat_tables(tables).to_pylist()
    assert (streams.rows, streams.new) == (25, 20)


def test_repeats_come_from_the_body_before() -> None:
    tables = sliced(sent(300), 100)
    mixed = with_repeats(tables, 0.02)
    ids = [set(table["request_id"].to_pylist()) for table in mixed]
    assert [table.num_rows for table in mixed] == [100, 100, 100]
    assert len(ids[0] & ids[1]) == len(ids[1] & ids[2]) == 2
    assert len(ids[0] | ids[1] | ids[2]) == 296


def test_times_are_spread_over_the_span() -> None:
    micros = event_times(4, START, 3_600).cast(pa.int64()).to_numpy()
    assert np.diff(micros).tolist() == [900_000_000] * 3


def test_processes_and_their_cpu_are_found() -> None:
    assert parent(os.getpid()) == os.getppid()
    assert os.getpid() in family(os.getppid())
    assert cpu_seconds([os.getpid()]) > 0


def test_a_process_that_ended_has_no_parent_and_used_nothing() -> None:
    beyond_every_limit = 1 << 22
    assert parent(beyond_every_limit) is None
    assert cpu_seconds([beyond_every_limit]) == 0


def pairs(table: pa.Table, name: str) -> list[tuple[str, Any]]:
    """Request id and another column, row by row."""
    return list(zip(table["request_id"].to_pylist(), table[name].to_pylist(), strict=True))


def test_every_request_of_the_month_gets_a_label_a_month_later() -> None:
    month = Month(START, days=30, a_day=20)
    requests = make_requests(month, [7, 8, 9])
    assert (requests.num_rows, month.labelled) == (640, 600)
    made = make_labels(requests, month)
    sent_at = dict(pairs(requests, "event_time"))
    observed = made["observed_at"].to_pylist()
    assert observed == sorted(observed)
    assert len(set(made["request_id"].to_pylist())) == 600
    for name, moment in zip(made["request_id"].to_pylist(), observed, strict=True):
        assert START <= sent_at[name] < month.end
        assert DELAY <= moment - sent_at[name] <= DELAY + MOST_EXTRA


def test_deployments_follow_each_other_with_a_canary() -> None:
    served = served_by(30_000, [7, 8, 9])
    for third, number in enumerate([7, 8, 9]):
        mine = served[third * 10_000 : (third + 1) * 10_000]
        assert 0.88 < (mine == number).mean() < (0.92 if number < 9 else 1.1)
        assert set(mine) == {number, min(number + 1, 9)}


def test_corrections_turn_labels_of_one_day_and_come_last() -> None:
    month = Month(START, days=30, a_day=50)
    requests = make_requests(month, [7])
    first = make_labels(requests, month)
    wrong = corrections(requests, month, day=9, share=0.01)
    known = dict(pairs(first, "value"))
    assert wrong.num_rows == 15
    assert wrong["request_id"].to_pylist() == requests["request_id"].to_pylist()[500:515]
    for name, value in pairs(wrong, "value"):
        assert value is not known[name]
    assert min(wrong["observed_at"].to_pylist()) > max(first["observed_at"].to_pylist())


def test_lines_say_what_the_table_says() -> None:
    month = Month(START, days=30, a_day=4)
    made = make_labels(make_requests(month, [7]), month)
    records = [json.loads(line) for line in label_lines(made).splitlines()]
    assert [record["request_id"] for record in records] == made["request_id"].to_pylist()
    assert [record["value"] for record in records] == made["value"].to_pylist()
    for record, moment in zip(records, made["observed_at"].to_pylist(), strict=True):
        assert datetime.fromisoformat(record["observed_at"]) == moment


def test_the_labelled_contract_has_a_label_and_a_segment() -> None:
    contract = labelled_contract()
    assert contract.columns == benchmark_contract().columns
    assert contract.label is not None
    assert contract.label.max_age > DELAY + MOST_EXTRA
    assert len(contract.segments) == 1


def test_the_memory_high_water_of_a_stretch_is_told() -> None:
    """In a process of its own: this one may give back what earlier tests held at any moment."""
    program = """
import os
from benchmarks.processes import MemoryWatch, peak_megabytes
watch = MemoryWatch()
held = b"x" * (40 << 20)
while_held = watch.peak()
del held
print(while_held, watch.peak(), peak_megabytes([os.getpid()]))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    while_held, afterwards, whole = (float(each) for each in ran.stdout.split())
    assert 39 < while_held < 60
    assert afterwards == pytest.approx(while_held, abs=1)
    assert whole > afterwards


def test_command_line_of_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    plain_run = intervals.parse([])
    assert (plain_run.draws, plain_run.seed, plain_run.json) == (2_000, 1, None)
    smoke = intervals.parse(["--smoke", "--seed", "9", "--json", "out.json"])
    assert (smoke.draws, smoke.seed, smoke.json) == (40, 9, Path("out.json"))
    for wrong, told in (("--draws=0", "--draws is at least 1"), ("--only=moon", "no world's name")):
        with pytest.raises(SystemExit):
            intervals.parse([wrong])
        assert told in capsys.readouterr().err


def test_limits_are_read_as_printed() -> None:
    assert between("a", 0.1, 0.3, 0.3, "m") == Reading("a", "m", True, 0.3 - 0.1)
    assert between("a", None, 0.3, 0.4, "m") == Reading("a", "m", False, None)
    measured = Measured(0.2, 60, 0.1, 0.3, 0.95, detail={"interval_method": "Wilson"})
    assert [one.method for one in printed("a", measured, 0.2, "other")] == ["Wilson"]
    assert list(printed("a", TooFew(9, 50), 0.2)) == []
    assert list(printed("a", Measured(0.2, 60), 0.2)) == []


@pytest.mark.parametrize(
    ("coverage", "conservative", "held"),
    [(0.909, False, False), (0.911, False, True), (0.999, False, True), (1.0, True, True)],
)
def test_an_interval_holds_within_two_errors(
    coverage: float, conservative: bool, held: bool
) -> None:
    assert intervals.holds(coverage, 0.01, conservative=conservative) is held
    assert not intervals.holds(1.0, 0.005, conservative=False)


def a_world(low: float, high: float) -> World:
    """Limits that lie `low` below and `high` above a normal estimate of 0."""

    def draw(rng: Rng) -> Iterator[Reading]:
        value = float(rng.normal())
        yield between("normal", value - low, value + high, 0.0, "z")

    return World("part", "made up", 1, "0 by construction", lambda: draw)


def test_coverage_is_that_of_the_limits() -> None:
    (right,) = intervals.rows_of(a_world(1.96, 1.96), 4_000, 1)
    assert right.coverage == pytest.approx(0.95, abs=0.014)  # four Monte-Carlo errors
    assert (right.held, right.draws, right.mean_width) == (True, 4_000, 3.92)
    (narrow,) = intervals.rows_of(a_world(1.0, 1.0), 4_000, 1)
    assert narrow.coverage == pytest.approx(0.6827, abs=0.03)
    assert not narrow.held
    told = intervals.summary([right, narrow])
    assert (told["held_all"], told["held"], told["of"]) == (False, 1, 2)
    assert told["worst"]["coverage"] == narrow.coverage
    assert intervals.rows_of(a_world(1.0, 1.0), 4_000, 1) == [narrow]
    assert intervals.rows_of(a_world(1.0, 1.0), 4_000, 2) != [narrow]


def test_worlds_of_the_product_are_measured_and_written(tmp_path: Path) -> None:
    file = tmp_path / "intervals.json"
    chosen = ["--only", "paired: right or wrong", "--draws", "60", "--workers", "1"]
    intervals.main([*chosen, "--json", str(file)])
    found = json.loads(file.read_text())
    assert [row["n"] for row in found["rows"]] == [50, 1_000]
    for row in found["rows"]:
        assert row["interval"] == "paired share difference"
        assert row["method"] == "Newcombe (1998, method 10)"
        assert (row["draws"], row["not_printed"], row["truth"]) == (60, 0, "closed form")
        assert 0.85 < row["coverage"] <= 1
    assert found["summary"]["of"] == 2


PARTS = ("quality", "calibration", "maturity", "estimates", "groups", "stratified", "comparison",
         "serving", "paired", "signals", "DISDE")  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_every_part_has_a_small_and_a_larger_world(part: str) -> None:
    sizes = {world.n for world in worlds_by_key().values() if world.part == part}
    assert len(sizes) > 1
    assert max(sizes) >= 3 * min(sizes)
