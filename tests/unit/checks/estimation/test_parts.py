"""Reading a labels part: what was served, and what came true, against a count in plain Python."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pytest

from monitor.checks.estimation.realised import realised_binary
from monitor.checks.estimation.served import ServedScores
from monitor.profiles.labels import BINARY, NO_SCORE, SCORE_CELLS, UNIT, pack_binary
from monitor.profiles.part import Part

Row = tuple[int, float | None, int, int, int]
"""Predicted class, score, label (2: none), delay bucket, entity group."""


def rows_of(seed: int, n: int = 400) -> list[Row]:
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        score = None if rng.random() < 0.05 else round(rng.random(), 3)
        predicted = 2 if rng.random() < 0.05 else int((score or 0) >= 0.5)
        label = 2 if rng.random() < 0.3 else int(rng.random() < (score or 0.5))
        found.append((predicted, score, label, rng.randrange(32), rng.randrange(20)))
    return found


def part_of(rows: list[Row]) -> Part:
    sums: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for predicted, score, label, delay, group in rows:
        cell = NO_SCORE if score is None else min(int(score * SCORE_CELLS), SCORE_CELLS - 1)
        one = [np.array([value]) for value in (predicted, cell, label, delay, group)]
        fixed = 0 if score is None else round(score * UNIT)
        square = 0 if score is None else round(score * score * UNIT)
        entry = sums[int(pack_binary(*one)[0])]
        for place, value in enumerate((1, fixed, square, fixed if label == 1 else 0)):
            entry[place] += value
    keys = sorted(sums)
    return Part({}, {BINARY: (np.array(keys), np.array([sums[key] for key in keys]))})


def judged(rows: list[Row]) -> list[tuple[int, float, int]]:
    return [(p, s, y) for p, s, y, _, _ in rows if p < 2 and s is not None]


def by_hand(rows: list[tuple[int, float, int]]) -> dict[str, float]:
    tp = sum(p == 1 and y == 1 for p, _, y in rows)
    wrong = sum(p != y for p, _, y in rows)
    cells = [(min(int(s * SCORE_CELLS), SCORE_CELLS - 1), y) for _, s, y in rows]
    pairs = [(a > b) + 0.5 * (a == b) for a, y in cells if y for b, z in cells if not z]
    return {
        "accuracy": 1 - wrong / len(rows),
        "f1": 2 * tp / (2 * tp + wrong),
        "auc": sum(pairs) / len(pairs),
        "brier": sum((s - y) ** 2 for _, s, y in rows) / len(rows),
    }


@pytest.mark.parametrize("seed", range(5))
def test_realised_measures_are_those_of_the_labelled_rows(seed: int) -> None:
    rows = rows_of(seed)
    found, n = realised_binary(part_of(rows))
    labelled = [row for row in judged(rows) if row[2] < 2]
    assert n == len(labelled)
    wanted = by_hand(labelled)
    brier = wanted.pop("brier")
    assert {name.value: found[name] for name in found if name != "brier"} == pytest.approx(wanted)
    # positives of a cell are taken at the cell's mean score
    assert found["brier"] == pytest.approx(brier, abs=1 / SCORE_CELLS)


def test_silence_counts_as_negative_where_only_positives_are_told() -> None:
    rows = rows_of(1)
    found, n = realised_binary(part_of(rows), silence_is_negative=True)
    told = [(p, s, int(y == 1)) for p, s, y in judged(rows)]
    assert n == len(told)
    wanted = by_hand(told)
    for name in ("accuracy", "f1", "auc"):
        assert found[name] == pytest.approx(wanted[name])


def test_served_rows_are_counted_with_and_without_a_label() -> None:
    rows = rows_of(2)
    served = ServedScores.of_part(part_of(rows))
    every = judged(rows)
    assert served.n == len(every)
    assert served.chosen.sum() == sum(p for p, _, _ in every)
    assert served.score_sums.sum() == pytest.approx(sum(s for _, s, _ in every), abs=1e-6)
    assert served.square_sums.sum() == pytest.approx(sum(s * s for _, s, _ in every), abs=1e-6)
    assert np.all(np.diff(served.score) > 0)


def test_a_part_without_rows_serves_and_realises_nothing() -> None:
    assert ServedScores.of_part(Part()).n == 0
    assert realised_binary(Part()) == ({}, 0)
