"""The loss of a request by task."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.contract import Task
from monitor.jobs.labelled_sample import row_losses
from monitor.profiles.block import PredictionBlock

NAN = np.nan


def block(task: Task, score: list[float], predicted: list[int], label: list[float]):
    n = len(label)
    zeros = np.zeros(n, np.int64)
    return PredictionBlock(
        task=task,
        keys=np.arange(n),
        event_time=zeros,
        score=np.array(score, np.float64),
        predicted=np.array(predicted, np.int16),
        group=zeros.astype(np.int8),
        segment_ids=np.zeros((n, 0), np.int32),
        class_scores=np.zeros((n, 0), np.int32),
        items=np.zeros((n, 0), np.int64),
        label=np.array(label, np.float64),
        observed_at=zeros,
        arrived_at=zeros,
        source_rank=zeros.astype(np.int16),
    )


@pytest.mark.parametrize("task", [Task.BINARY, Task.MULTICLASS])
def test_a_wrong_class_costs_one(task: Task) -> None:
    made = block(task, [0.9, 0.2, 0.9, 0.9], [1, 0, 1, -1], [1, 1, NAN, 1])
    assert row_losses(made)[:2].tolist() == [0, 1]
    assert np.isnan(row_losses(made)[2:]).all()


def test_numbers_cost_their_absolute_error() -> None:
    made = block(Task.REGRESSION, [3.0, NAN, 1.0], [-1, -1, -1], [1.5, 1.0, NAN])
    assert row_losses(made)[0] == 1.5
    assert np.isnan(row_losses(made)[1:]).all()


def test_ranked_lists_have_no_loss_of_their_own() -> None:
    assert np.isnan(row_losses(block(Task.RANKING, [NAN], [-1], [5.0]))).all()
