"""The published synthetic data sets (tests/data/README.md), read once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DATA = Path(__file__).parents[3] / "data"
REFERENCE = 50_000
CHUNK = 5_000


@dataclass(frozen=True, eq=False)
class CarLoan:
    """100,000 requests; the first 50,000 are the reference."""

    score: Floats
    predicted: Floats
    repaid: Floats
    car_value: Floats
    debt_to_income: Floats

    def chunk(self, number: int) -> slice:
        """The rows of one of the ten later chunks of 5,000."""
        return slice(REFERENCE + number * CHUNK, REFERENCE + (number + 1) * CHUNK)


@cache
def car_loan() -> CarLoan:
    """Scores are whole percents."""
    table = pq.read_table(DATA / "car_loan.parquet")
    read = {name: table[name].to_numpy().astype(np.float64) for name in table.column_names}
    return CarLoan(
        score=read["score_percent"] / 100,
        predicted=read["predicted"],
        repaid=read["repaid"],
        car_value=read["car_value"],
        debt_to_income=read["debt_to_income_ratio"],
    )


@dataclass(frozen=True, eq=False)
class CarPrices:
    """Prices predicted and realised; the first 20,000 rows are of the reference."""

    features: Floats
    predicted: Floats
    price: Floats
    n_reference: int = 20_000
    size: int = 6_000

    def chunk(self, number: int) -> slice:
        """The rows of one of the ten later chunks of 6,000."""
        start = self.n_reference + number * self.size
        return slice(start, start + self.size)


@cache
def car_prices() -> CarPrices:
    """Categories are numbered in the order of their names."""
    table = pq.read_table(DATA / "car_price.parquet")
    columns = []
    for name in table.column_names:
        values = table[name].to_numpy(zero_copy_only=False)
        if values.dtype == object:
            values = np.unique(values, return_inverse=True)[1]
        columns.append(values.astype(np.float64))
    by_name = dict(zip(table.column_names, columns, strict=True))
    price, predicted = by_name.pop("y_true"), by_name.pop("y_pred")
    return CarPrices(np.column_stack(list(by_name.values())), predicted, price)
