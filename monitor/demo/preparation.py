"""What a replay needs beside a database: flights, trained model, deployments, reference file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from monitor.demo.bodies import training_table
from monitor.demo.classifier import (
    THRESHOLD,
    TRAINING_FIRST_DAY,
    TRAINING_LAST_DAY,
    LateArrivalModel,
    out_of_fold_scores,
    train,
)
from monitor.demo.deployments import assign_deployments
from monitor.demo.flights import Flights
from monitor.demo.options import DemoOptions
from monitor.demo.plant import rollout_day

TRAINING_FILE = "training.parquet"


@dataclass(frozen=True)
class Prepared:
    """The flights to replay, who answers which, the model, and the file of its training months."""

    flights: Flights
    assigned: NDArray[np.int8]
    model: LateArrivalModel
    training_file: Path


def prepare(year: Flights, options: DemoOptions) -> Prepared:
    """Train on January to March and write that reference file; choose the flights to replay.

    The seed decides the split of requests only: the model is the same in every run.
    """
    training = year.between(TRAINING_FIRST_DAY, TRAINING_LAST_DAY)
    options.home.mkdir(parents=True, exist_ok=True)
    file = options.home / TRAINING_FILE
    pq.write_table(training_table(training, out_of_fold_scores(training), THRESHOLD), file)
    flights = year.between(options.first_day, options.last_day)
    assigned = assign_deployments(flights, rollout_day(options.plant), options.seed)
    return Prepared(flights, assigned, train(training), file)
