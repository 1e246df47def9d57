"""Cells: which value falls where, words for them, scores, and the JSON they are stored as."""

from __future__ import annotations

import json
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.profiles.binning import Binning
from monitor.profiles.cells import CategoryCells, NumberCells, NumberKind, rank_normal_scores

AWKWARD = ["a.b", "a[0]", "with space", "名前", "*", "$", "a/b", 'quote"', ""]


def test_number_cells_are_half_open_with_missing_last() -> None:
    cells = NumberCells((0.0, 1.0, 5.0))
    values = np.array([-1.0, 0.0, 0.999, 1.0, 4.9, 5.0, np.inf, -np.inf, np.nan])
    assert cells.assign(values).tolist() == [0, 1, 1, 2, 2, 3, 3, 0, 4]
    assert cells.n_cells == 5
    assert cells.missing == 4


def test_labels_name_ranges_single_values_and_ends() -> None:
    cells = NumberCells((0.0, float(np.nextafter(0, 1)), 2.5))
    assert cells.labels() == ("below 0", "0", "above 0 to 2.5", "2.5 and above", "missing")
    flag = NumberCells((0.0, 5e-324, 1.0, 1.0000000000000002), kind=NumberKind.BOOLEAN)
    assert flag.labels()[1] == "false"
    assert flag.labels()[3] == "true"
    when = NumberCells((1_378_040_400.0,), kind=NumberKind.TIMESTAMP)
    assert when.labels()[0] == "below 2013-09-01 13:00:00"


def test_midpoints_stand_for_data_cells_without_overflow() -> None:
    assert NumberCells((0.0, 1.0, 5.0)).midpoints().tolist() == [0.0, 0.5, 3.0, 5.0]
    assert np.isfinite(NumberCells((-1.7e308, 1.7e308)).midpoints()).all()


def test_scores_are_normal_quantiles_of_middle_ranks() -> None:
    counts = np.array([10, 30, 60])
    shares = (counts + 0.5) / 101.5
    middle = [shares[0] / 2, shares[0] + shares[1] / 2, 1 - shares[2] / 2]
    expected = [round(NormalDist().inv_cdf(m) * 1024) for m in middle]
    assert list(rank_normal_scores(counts)) == expected
    cells = NumberCells((0.0, 1.0), cell_scores=rank_normal_scores(counts))
    assert cells.scores().tolist() == [*expected, 0]
    assert NumberCells((0.0, 1.0)).scores().tolist() == [
        -991,
        0,
        991,
        0,
    ]  # norm.ppf(1/6) = -0.96742


@pytest.mark.parametrize(
    "edges", [(), (1.0, 1.0), (2.0, 1.0), (0.0, float("inf")), tuple(map(float, range(127)))]
)
def test_impossible_edges_are_refused(edges: tuple[float, ...]) -> None:
    with pytest.raises(AssertionError):
        NumberCells(edges)


def test_category_cells_tell_top_other_new_and_missing_apart() -> None:
    cells = CategoryCells(("x", "y"), ("z",))
    assert cells.assign(["y", "z", "never", None, "x"]).tolist() == [1, 2, 3, 4, 0]
    assert cells.labels() == ("x", "y", "other", "new", "missing")
    assert cells.assign([]).tolist() == []
    chunked = pa.chunked_array([["x"], [None, "q"]])
    assert cells.assign(chunked).tolist() == [0, 4, 3]


def test_unseen_values_are_other_when_the_reference_had_too_many() -> None:
    assert CategoryCells(("x",), (), complete=False).assign(["q"]).tolist() == [1]


@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20, unique=True
    ),
    st.lists(st.sampled_from(AWKWARD), unique=True, min_size=2),
)
def test_binning_survives_json_with_any_name(edges: list[float], names: list[str]) -> None:
    cuts = tuple(sorted({edge + 0.0 for edge in edges}))
    number = NumberCells(cuts, 1.5, 2.5, 3.5, tuple(range(len(cuts) + 1)))
    views = dict.fromkeys(names[:-1], number)
    binning = Binning(views | {names[-1]: CategoryCells(("名",), ("b",), False)}, {names[0]: "c"})
    read = Binning.from_json(json.dumps(binning.to_json()))
    assert read == binning
    assert list(read.views) == names
    assert read.number_views() == tuple(names[:-1])
    assert read.column_of(names[0]) == "c"
