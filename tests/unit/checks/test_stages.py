"""Critical paths: the worked numbers, a slow oracle for graphs, and what is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from monitor.checks.stages import PathTimes, path_of, stage_measurements, time_above
from monitor.contract import Contract
from monitor.contract_file import read_contract
from monitor.errors import ConfigurationError
from monitor.measurement import Measured, TooFew
from monitor.profiles.critical_path import path_times
from monitor.profiles.part import Part, merge
from monitor.profiles.serving import build_serving_parts
from tests.unit.profiles.factories import contract_of, one_group, rows_of

NAMES = ("input", "retrieval", "model", "output")


def contract(*stages: dict[str, Any], unit: str = "ms", **more: Any) -> Contract:
    columns = [
        {"name": f"t_{name}", "type": "number", "role": "timing", "unit": unit, "nullable": True,
         "field": f"stage.{name}"}
        for name in NAMES
    ]  # fmt: skip
    latency = {"name": "latency", "type": "number", "role": "timing", "nullable": True}
    return contract_of(
        *columns, latency, stages=list(stages) or [{"name": name} for name in NAMES], **more
    )


def part_of(made: Contract, **values: list[float | None]) -> Part:
    n = len(next(iter(values.values())))
    every: dict[str, list[Any]] = {column.name: [None] * n for column in made.columns}
    every |= {name if name == "latency" else f"t_{name}": v for name, v in values.items()}
    rows = rows_of(made, every)
    return build_serving_parts(rows, made, rows.layout, one_group(rows), 1)[0]


def worked(n: int = 40, **targets: float) -> PathTimes:
    made = contract()
    part = part_of(
        made, input=[20.0] * n, retrieval=[180.0] * n, model=[900.0] * n, output=[30.0] * n,
        latency=[1200.0] * n,
    )  # fmt: skip
    found = path_of(part, made, targets)
    assert found is not None
    return found


def test_stages_of_20_180_900_and_30_ms_make_1130_ms() -> None:
    assert worked().mean == pytest.approx(1130, abs=1e-6)
    assert worked().unexplained == pytest.approx(70, abs=1e-6)


def test_halving_the_last_of_them_saves_15_ms() -> None:
    found = worked()
    assert found.stages[3].halved == pytest.approx(15, abs=1e-6)
    assert found.stages[3].halved_tail == pytest.approx(15, abs=1e-6)
    assert found.tail_resolution == pytest.approx(1130 / 64)


def test_retrieval_at_100_ms_saves_80_ms() -> None:
    assert worked(retrieval=100.0).stages[1].saves_at_target == pytest.approx(80, abs=1e-6)


def test_the_p95_of_a_path_is_within_a_cell_of_the_exact_one() -> None:
    made = contract()
    times = np.random.default_rng(4).lognormal(6, 1, 999)
    found = path_of(part_of(made, model=times.tolist()), made)
    assert found is not None
    assert found.p95 == pytest.approx(np.sort(times)[949], rel=1 / 64)


def test_a_target_above_the_time_saves_nothing() -> None:
    assert worked(retrieval=200.0).stages[1].saves_at_target == 0


def test_the_stage_to_shorten_is_the_one_whose_time_costs_most() -> None:
    most = worked().most_saving()
    assert most is not None
    assert (most.name, most.on_path) == ("model", 40)
    assert most.saves == pytest.approx(900, abs=1e-6)


def test_the_mean_and_the_tail_can_name_different_stages() -> None:
    made = contract()
    slow = [5.0] * 90 + [2_000.0] * 10
    part = part_of(made, input=[1.0] * 100, model=[300.0] * 100, retrieval=slow)
    found = path_of(part, made)
    assert found is not None
    mean, tail = found.most_saving(), found.most_saving(tail=True)
    assert (mean and mean.name, tail and tail.name) == ("model", "retrieval")


def test_a_stage_beside_a_longer_one_saves_nothing() -> None:
    made = contract(
        {"name": "input"}, {"name": "retrieval"}, {"name": "model", "after": ["input"]},
        {"name": "output", "after": ["retrieval", "model"]},
    )  # fmt: skip
    part = part_of(
        made, input=[20.0] * 30, retrieval=[180.0] * 30, model=[900.0] * 30, output=[30.0] * 30
    )
    found = path_of(part, made, {"retrieval": 100.0})
    assert found is not None
    assert found.mean == pytest.approx(950)
    retrieval, model = found.stages[1], found.stages[2]
    assert (retrieval.saves, retrieval.on_path, retrieval.saves_at_target) == (0, 0, 0)
    assert model.saves == pytest.approx(720), "then retrieval is the longer one"


def test_path_times_agree_with_all_paths_walked_one_by_one() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        k = int(rng.integers(1, 7))
        before = [[j for j in range(i) if rng.random() < 0.4] for i in range(k)]
        times = [rng.exponential(100, 5) for _ in range(k)]

        def longest(stage: int, row: int, b: Any = before, t: Any = times) -> float:
            return float(t[stage][row]) + max((longest(j, row) for j in b[stage]), default=0.0)

        expected = [max(longest(stage, row) for stage in range(k)) for row in range(5)]
        assert path_times(times, before) == pytest.approx(expected)


def test_seconds_are_told_in_milliseconds() -> None:
    made = contract(unit="s")
    found = path_of(part_of(made, input=[0.02], model=[0.9]), made, {"model": 500.0})
    assert found is not None
    assert found.mean == pytest.approx(920)
    assert found.stages[2].mean == pytest.approx(900)
    assert found.stages[2].saves_at_target == pytest.approx(400)


def test_a_stage_that_did_not_run_is_0_and_a_negative_time_leaves_the_request_out() -> None:
    made = contract()
    found = path_of(
        part_of(made, input=[20.0, 20.0, None, -5.0], retrieval=[None, 80.0, None, 1.0]), made
    )
    assert found is not None
    assert (found.n, found.left_out) == (2, 2)
    assert found.mean == pytest.approx(60)
    assert found.p95 is None, "20 requests are wanted for a p95"


def test_counts_of_another_order_of_stages_are_not_taken_for_these() -> None:
    one, other = contract(), contract({"name": "input"}, {"name": "model", "after": []})
    part = part_of(one, input=[20.0] * 30, model=[900.0] * 30)
    assert path_of(part, one) is not None
    assert path_of(part, other) is None
    found = stage_measurements(part, other)
    assert {type(outcome) for outcome in found.values()} == {TooFew}


def test_measurements_of_stages_have_limits_where_they_can() -> None:
    made = contract()
    part = part_of(made, input=[20.0] * 30, model=[900.0] * 30)
    found = stage_measurements(merge([part, part]), made)
    saved, share = found["saves_mean", "t_model"], found["on_path_share", "t_model"]
    assert isinstance(saved, Measured)
    assert isinstance(share, Measured)
    assert saved.value == pytest.approx(900)
    assert (share.value, share.n) == (1.0, 60)
    assert share.low is not None
    assert share.low < 1


def test_time_above_a_limit_takes_no_time_below_it() -> None:
    made = contract()
    part = part_of(made, input=[10.0, 50.0, 300.0, 0.0, None])
    assert time_above(part, "t_input", 100.0) == pytest.approx(200)
    assert time_above(part, "t_input", 0.0) == pytest.approx(360)


def test_all_mistakes_in_stages_are_told_at_once() -> None:
    with pytest.raises(ValidationError) as caught:
        contract(
            {"name": "input"}, {"name": "input"}, {"name": "model", "after": ["output"]},
            {"name": "unheard"}, {"name": "output", "column": "nowhere"},
        )  # fmt: skip
    for words in ("'input' is declared twice", "after 'output', which is not listed above",
                  "no timing column holds stage.unheard", "'nowhere' is no number"):  # fmt: skip
        assert words in str(caught.value)


def test_mistakes_in_stages_of_a_file_are_told_with_their_lines() -> None:
    text = """model: chat
owner: me
purpose: test
task: binary
columns:
  - {name: a, type: number, role: timing, field: stage.a}
  - {name: b, type: number, role: timing, unit: parsec, field: stage.b}
stages:
  - {name: a}
  - {name: b, after: [c]}
"""
    with pytest.raises(ConfigurationError) as caught:
        read_contract(text, "chat.yaml")
    assert [(each.line, each.place) for each in caught.value.problems] == [(10, "stages[1]")] * 2
    with pytest.raises(ConfigurationError) as caught:
        read_contract(text.replace("after: [c]", "aftr: []"), "chat.yaml")
    assert "unknown key 'aftr'; did you mean 'after'?" in str(caught.value)
