"""Profiles of rows against slow counting in plain Python, and merges against wholes."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.contract import Contract
from monitor.layout import extend
from monitor.profiles.binning import Binning, fit_binning
from monitor.profiles.build import build_parts
from monitor.profiles.cells import CategoryCells, NumberCells
from monitor.profiles.columns import column_counts, violation_counts
from monitor.profiles.fitting import fit_number_cells
from monitor.profiles.pairs import pair_sums, pair_views
from monitor.profiles.part import Part, PartKind, merge
from monitor.profiles.rows import RequestRows
from monitor.records import REQUEST_SCHEMA, ViolationReason, violation_code
from tests.unit.profiles.factories import contract_of, one_group, request_table, rows_of

AWKWARD = ("a.b", "c[0]", "with space", "名前", "*", "$")
CONTRACT = contract_of(
    *({"name": name, "type": "number", "nullable": True} for name in AWKWARD[:3]),
    *({"name": name, "type": "category", "nullable": True} for name in AWKWARD[3:]),
    {"name": "ms", "type": "number", "role": "timing", "nullable": True},
)
LAYOUT = extend(None, CONTRACT)
BINNING = Binning(
    {
        "a.b": NumberCells((-1.0, 0.0, 5e-324, 1.0), 0.0, 1.0, 1.0, (-1500, -500, 0, 500, 1500)),
        "c[0]": NumberCells(tuple(np.linspace(-3, 3, 60).tolist()), 0.25, 0.7),
        "with space": NumberCells((0.0,), 1.0, 2.0),
        "名前": CategoryCells(("x", "名"), ("z",)),
        "*": CategoryCells(()),
        "$": CategoryCells(("x",)),
        "ms": NumberCells((1.0, 10.0), 0.0, 1e-6),
    }
)

number = st.none() | st.floats(-4, 4) | st.sampled_from([0.0, 1.0, -1.0, 1e18, -1e18])
text = st.none() | st.sampled_from(["x", "名", "z", "never"])
code = st.builds(
    violation_code, st.integers(0, len(CONTRACT.columns)), st.sampled_from(list(ViolationReason))
)
row = st.fixed_dictionaries(
    {c.name: (number if c.type == "number" else text) for c in CONTRACT.columns}
    | {"violations": st.lists(code, max_size=3), "outcome": st.integers(1, 8)}
)


def rows_from(records: list[dict[str, Any]]) -> RequestRows:
    values = {c.name: [r[c.name] for r in records] for c in CONTRACT.columns}
    table = request_table(
        LAYOUT,
        values,
        violations=[r["violations"] for r in records],
        outcome=[r["outcome"] for r in records],
    )
    return RequestRows.from_table(table, LAYOUT, CONTRACT)


def built(rows: RequestRows, groups: Any, n_groups: int) -> list[dict[PartKind, Part]]:
    kinds = (PartKind.COLUMNS, PartKind.PAIRS, PartKind.SERVING)
    return build_parts(rows, BINNING, CONTRACT, LAYOUT, groups, n_groups, kinds)


def slow_cell(cells: NumberCells | CategoryCells, value: Any) -> int:
    if value is None:
        return cells.n_cells - 1
    if isinstance(cells, NumberCells):
        return sum(value >= edge for edge in cells.edges)
    if value in cells.top:
        return cells.top.index(value)
    return cells.other if value in cells.known else cells.new


def slow_sums(cells: NumberCells, values: list[float]) -> list[int]:
    """The fixed-point sums in Python integers of any size."""
    units = [np.rint((v - cells.centre) / cells.scale * 65_536) for v in values]
    limited = [int(max(-(2**26), min(2**26, u))) for u in units]
    clipped = sum(abs(u) > 2**26 for u in units)
    squares = [q * q for q in limited]
    high, low = sum(s >> 26 for s in squares), sum(s % 2**26 for s in squares)
    return [len(values), sum(limited), high, low, clipped]


@settings(max_examples=60, deadline=None)
@given(st.lists(row, min_size=1, max_size=30))
def test_counts_and_sums_equal_slow_counting(records: list[dict[str, Any]]) -> None:
    part = built(rows_from(records), np.zeros(len(records), int), 1)[0][PartKind.COLUMNS]
    for name, cells in BINNING.views.items():
        values = [r[name] for r in records]
        counted = Counter(slow_cell(cells, value) for value in values)
        assert part.dense[f"cells/{name}"].tolist() == [counted[k] for k in range(cells.n_cells)]
        if isinstance(cells, NumberCells):
            finite = [v for v in values if v is not None]
            assert part.dense[f"sums/{name}"].tolist() == slow_sums(cells, finite)
    named = Counter(
        (CONTRACT.columns[c // 64 - 1].name if c >= 64 else "", ViolationReason(c % 64))
        for r in records
        for c in r["violations"]
    )
    found = {
        (name, reason): n
        for name in ["", *BINNING.views]
        for reason, n in violation_counts(part, name).items()
    }
    assert found == dict(named)


@settings(max_examples=60, deadline=None)
@given(st.lists(row, min_size=1, max_size=30), st.integers(1, 5), st.randoms(use_true_random=False))
def test_merged_parts_equal_the_whole_in_any_row_order(
    records: list[dict[str, Any]], n_groups: int, random: Any
) -> None:
    groups = np.array([random.randrange(n_groups) for _ in records])
    pieces = built(rows_from(records), groups, n_groups)
    random.shuffle(pieces)
    shuffled = random.sample(records, len(records))
    whole = built(rows_from(shuffled), np.zeros(len(records), int), 1)[0]
    for kind, part in whole.items():
        assert merge([piece[kind] for piece in pieces]).to_bytes() == part.to_bytes()


@settings(max_examples=30, deadline=None)
@given(st.lists(row, min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_rows_in_several_groups_or_none(records: list[dict[str, Any]], random: Any) -> None:
    wide = np.array([[0, random.randrange(-1, 3)] for _ in records])
    wide[wide[:, 1] == 0, 1] = 1
    found = built(rows_from(records), wide, 3)
    for group in range(3):
        members = [r for r, ids in zip(records, wide, strict=True) if group in ids]
        alone = built(
            rows_from(members or records), np.zeros(len(members or records), int) - (not members), 1
        )[0]
        for kind in alone:
            assert found[group][kind].canonical() == alone[kind].canonical()


def test_many_tiles_give_the_same_as_numpy() -> None:
    rng = np.random.default_rng(11)
    n = 40_000
    values = rng.normal(size=n).round(3)
    contract = contract_of({"name": "x", "type": "number", "nullable": True})
    rows = _rows_of_matrix(contract, values[:, None], rng.random((n, 1)) < 0.1)
    binning = fit_binning(rows, contract)
    cells = binning.views["x"]
    assert isinstance(cells, NumberCells)
    groups = rng.integers(0, 7, n)
    parts = build_parts(rows, binning, contract, rows.layout, groups, 7)
    for group in range(7):
        mine = rows.numbers[groups == group, 0]
        finite = mine[~np.isnan(mine)]
        expected = np.bincount(
            np.searchsorted(cells.edges, finite, "right"), minlength=cells.n_cells
        )
        expected[-1] = len(mine) - len(finite)
        counts = column_counts(parts[group][PartKind.COLUMNS], binning, "x")
        assert counts.counts.tolist() == expected.tolist()
        assert counts.n_finite == len(finite)
        assert counts.mean == pytest.approx(finite.mean(), abs=cells.scale / 65_536)
        assert counts.sd == pytest.approx(finite.std(ddof=1), rel=1e-5)


def test_pair_sums_equal_integer_products() -> None:
    records = [
        {"a.b": a, "c[0]": c, "with space": w, "名前": None, "*": None, "$": None, "ms": 2.0}
        | {"violations": [], "outcome": 1}
        for a, c, w in [(0.5, -2.0, None), (None, 1.0, 1.0), (-3.0, 2.9, 0.0), (0.0, None, None)]
    ]
    part = built(rows_from(records), np.zeros(4, int), 1)[0][PartKind.PAIRS]
    pairs = pair_sums(part, BINNING)
    assert pairs.views == ("a.b", "c[0]", "with space", "ms")
    for i, one in enumerate(pairs.views):
        for j, other in enumerate(pairs.views):
            both = [(r[one], r[other]) for r in records if None not in (r[one], r[other])]
            scores = [
                int(BINNING.views[v].scores()[slow_cell(BINNING.views[v], x)])  # type: ignore[union-attr]
                for pair in both
                for v, x in zip((one, other), pair, strict=True)
            ]
            assert pairs.n[i, j] == len(both)
            assert pairs.sums[i, j] == sum(
                a * b for a, b in zip(scores[::2], scores[1::2], strict=True)
            )


def test_squares_beyond_64_bits_stay_exact() -> None:
    # public case pub-054 (tensorflow/data-validation#48)
    contract = contract_of({"name": "x", "type": "integer"})
    rows = rows_of(contract, {"x": [4_000_000_000, -4_000_000_000, 0]})
    binning = fit_binning(rows, contract)
    part = build_parts(rows, binning, contract, rows.layout, one_group(rows), 1)[0][
        PartKind.COLUMNS
    ]
    counts = column_counts(part, binning, "x")
    assert counts.mean == pytest.approx(0.0, abs=1e-6)
    assert counts.sd == pytest.approx(4_000_000_000.0, rel=1e-9)
    assert counts.clipped == 0


def test_whole_numbers_have_exact_moments() -> None:
    values = np.random.default_rng(5).integers(0, 90, 1_000).astype(float)
    contract = contract_of({"name": "age", "type": "integer"})
    rows = rows_of(contract, {"age": values.tolist()})
    binning = fit_binning(rows, contract)
    part = build_parts(rows, binning, contract, rows.layout, one_group(rows), 1)[0][
        PartKind.COLUMNS
    ]
    counts = column_counts(part, binning, "age")
    assert counts.mean == pytest.approx(values.mean(), rel=1e-15)
    assert counts.sd == pytest.approx(values.std(ddof=1), rel=1e-14)


def test_a_column_absent_from_some_shards_counts_as_missing() -> None:
    # public case pub-055 (tensorflow/data-validation#58): three of six shards lack the column
    old = contract_of({"name": "x", "type": "number"})
    new = contract_of({"name": "x", "type": "number"}, {"name": "y", "type": "number"})
    old_layout = extend(None, old)
    layout = extend(old_layout, new)
    binning = Binning(
        {"x": fit_number_cells(np.arange(3.0)), "y": fit_number_cells(np.arange(3.0))}
    )
    shards = []
    for shard in range(6):
        has_it = shard % 2 == 0
        used = layout if has_it else old_layout
        values = {"x": [1.0, 2.0]} | ({"y": [0.0, 1.0]} if has_it else {})
        table = request_table(used, values, ids=[f"{shard}-0", f"{shard}-1"])
        rows = RequestRows.from_table(table, layout, new)
        shards.append(
            build_parts(rows, binning, new, layout, one_group(rows), 1)[0][PartKind.COLUMNS]
        )
    counts = column_counts(merge(shards), binning, "y")
    assert (counts.n, counts.n_missing, counts.n_finite) == (12, 6, 6)
    # a shard profiled before the column existed holds no counts of it at all
    narrow = Binning({"x": binning.views["x"]})
    table = request_table(old_layout, {"x": [1.0, 2.0]})
    rows = RequestRows.from_table(table, old_layout, old)
    before = build_parts(rows, narrow, old, old_layout, one_group(rows), 1)[0][PartKind.COLUMNS]
    assert column_counts(before, binning, "y").n == 0
    assert column_counts(merge([before, *shards]), binning, "y").n == 12
    assert column_counts(merge([before, *shards]), binning, "x").n == 14


def test_empty_groups_have_zero_counts_and_no_moments() -> None:
    part = built(rows_from([_plain_record()]), np.array([1]), 2)[0][PartKind.COLUMNS]
    counts = column_counts(part, BINNING, "a.b")
    assert (counts.n, counts.mean, counts.sd) == (0, None, None)
    nothing = column_counts(Part(), BINNING, "名前")
    assert nothing.counts.tolist() == [0] * 5


def test_all_missing_and_constant_columns() -> None:
    contract = contract_of({"name": "gone", "type": "number"}, {"name": "same", "type": "number"})
    rows = rows_of(contract, {"gone": [None] * 4, "same": [7.25] * 4})
    binning = fit_binning(rows, contract)
    part = build_parts(rows, binning, contract, rows.layout, one_group(rows), 1)[0][
        PartKind.COLUMNS
    ]
    gone, same = (column_counts(part, binning, name) for name in ("gone", "same"))
    assert (gone.n, gone.n_missing, gone.mean) == (4, 4, None)
    assert (same.n_missing, same.mean, same.sd) == (0, 7.25, 0.0)


def test_violations_of_a_derived_view_are_those_of_its_column() -> None:
    contract = contract_of({"name": "note", "type": "text"}, {"name": "gone", "type": "number"})
    rows = rows_of(
        contract, {"note": [3, 4], "gone": [1, 2]}, violations=[[64 + 9], [64 + 9, 128 + 3, 14]]
    )
    binning = fit_binning(rows, contract)
    part = build_parts(rows, binning, contract, rows.layout, one_group(rows), 1)[0][
        PartKind.COLUMNS
    ]
    assert column_counts(part, binning, "note.length").violations == {ViolationReason.TOO_LONG: 2}
    assert violation_counts(part, "") == {ViolationReason.UNKNOWN_COLUMN: 1}


def test_wide_frames_stay_within_three_times_their_size() -> None:
    # public case pub-067 (alvarodiez20/pysuricata#207)
    matrix = np.random.default_rng(207).standard_normal((16_000, 750))
    contract = contract_of(*({"name": f"n{k}", "type": "number"} for k in range(750)))
    rows = _rows_of_matrix(contract, matrix, None)
    cells = fit_number_cells(matrix[:2_000, 0])
    binning = Binning({f"n{k}": cells for k in range(750)})
    tracemalloc.start()
    try:
        parts = build_parts(rows, binning, contract, rows.layout, one_group(rows), 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert matrix.nbytes == 96_000_000
    assert peak < 288_000_000
    assert column_counts(parts[0][PartKind.COLUMNS], binning, "n749").n == 16_000


def _plain_record() -> dict[str, Any]:
    values = {c.name: (1.0 if c.type == "number" else "x") for c in CONTRACT.columns}
    return values | {"violations": [], "outcome": 1}


def _rows_of_matrix(
    contract: Contract, matrix: np.ndarray, absent: np.ndarray | None
) -> RequestRows:
    """Rows without texts straight from a matrix."""
    n, width = matrix.shape
    layout = extend(None, contract)
    flat = pa.array(matrix.ravel(), mask=None if absent is None else absent.ravel())
    empty = request_table(layout, {contract.columns[0].name: [0.0]}).slice(0, 0)
    first = request_table(layout, {contract.columns[0].name: [0.0]})
    columns = {
        name: pa.array([first[name][0].as_py()] * n, empty[name].type)
        for name in REQUEST_SCHEMA.names
    }
    columns["request_id"] = pa.array([f"r{k}" for k in range(n)])
    columns["numbers"] = pa.ListArray.from_arrays(
        pa.array(np.arange(n + 1) * width, pa.int32()), flat
    )
    return RequestRows.from_table(pa.table(columns, REQUEST_SCHEMA), layout, contract)


def test_the_first_views_of_columns_go_before_their_second_ones() -> None:
    cells = NumberCells((0.0, 1.0))
    vectors = [f"v{k}" for k in range(30)]
    names = [f"{v}.{part}" for v in vectors for part in ("norm", "projection1", "projection2")]
    names += [f"x{k}" for k in range(50)]
    columns = {name: name.split(".")[0] for name in names if "." in name}
    chosen = pair_views(Binning(dict.fromkeys(names, cells), columns))
    assert len(chosen) == 100
    assert [name for name in names if name in chosen] == list(chosen)
    assert sum(name.endswith("norm") for name in chosen) == 30
    assert sum(name.startswith("x") for name in chosen) == 50
    assert [n for n in chosen if n.endswith("projection1")] == [
        f"v{k}.projection1" for k in range(20)
    ]
    plain = Binning({f"x{k}": cells for k in range(120)})
    assert pair_views(plain) == tuple(f"x{k}" for k in range(100))


@given(st.integers(1, 64), st.integers(1, 900))
@settings(max_examples=25, deadline=None)
def test_vector_views_are_counted_the_same_in_any_tiles(size: int, n: int) -> None:
    rng = np.random.default_rng(size * 1_000 + n)
    contract = contract_of({"name": "v", "type": "vector", "size": size})
    rows = rows_of(contract, {"v": rng.normal(size=(n, size)).tolist()})
    binning = fit_binning(rows, contract)
    halves = np.arange(n) % 2
    whole = build_parts(rows, binning, contract, rows.layout, one_group(rows), 1)[0]
    apart = build_parts(rows, binning, contract, rows.layout, halves, 2)
    for kind in (PartKind.COLUMNS, PartKind.PAIRS):
        for name, values in whole[kind].dense.items():
            assert np.array_equal(values, sum(part[kind].dense[name] for part in apart))
