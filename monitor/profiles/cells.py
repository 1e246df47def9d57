"""The cells a column's values are counted in. Pure; the reference decides them, once.

Cell numbers are stable: data cells first, the missing cell last. Checks see counts per cell and
these objects, never a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.profiles.arrays import CellNumbers, Floats, Integers
from monitor.profiles.binner import Binner

MAX_EDGES = 126
MAX_TOP = 50
MAX_KNOWN = 10_000
SCORE_UNIT = 1024
MISSING = "missing"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NumberKind(StrEnum):
    """How the labels of number cells are written."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True)
class NumberCells:
    """Cells of a number-like view, cut at fixed edges.

    Cell 0 lies below `edges[0]`, cell i is `[edges[i-1], edges[i])`, the last data cell starts at
    the last edge, and one more cell counts missing values: n_cells = len(edges) + 2. A cell
    `[v, nextafter(v))` counts one value alone.
    `centre`, `scale` > 0 place the fixed-point sums; `reference_sd` is the sample standard
    deviation of the reference (0 for a constant). `cell_scores` holds the rank-normal score of
    each data cell in units of 1/1024; left empty, equal shares are assumed.
    """

    edges: tuple[float, ...]
    centre: float = 0.0
    scale: float = 1.0
    reference_sd: float = 1.0
    cell_scores: tuple[int, ...] = ()
    kind: NumberKind = NumberKind.NUMBER

    def __post_init__(self) -> None:
        edges = np.asarray(self.edges, np.float64)
        if not 1 <= len(edges) <= MAX_EDGES:
            raise AssertionError(f"number cells have 1 to {MAX_EDGES} edges, not {len(edges)}")
        if not (np.isfinite(edges).all() and (edges[1:] > edges[:-1]).all()):
            raise AssertionError("edges of number cells are finite and strictly increasing")
        if not (self.scale > 0 and np.isfinite([self.scale, self.centre]).all()):
            raise AssertionError(f"scale {self.scale} and centre {self.centre} must be finite")
        if self.cell_scores and len(self.cell_scores) != len(edges) + 1:
            raise AssertionError("number cells have one score a data cell")

    @property
    def n_cells(self) -> int:
        """Data cells plus the missing one."""
        return len(self.edges) + 2

    @property
    def missing(self) -> int:
        """Number of the missing cell."""
        return len(self.edges) + 1

    def assign(self, values: Floats) -> CellNumbers:
        """The cell of each value, float64[n] -> int32[n]; NaN is missing, infinities are outer."""
        return self._binner.assign(values)

    @cached_property
    def _binner(self) -> Binner:
        return Binner(np.asarray(self.edges, np.float64))

    def scores(self) -> Integers:
        """Rank-normal score of each cell times 1024, int64[n_cells]; 0 for the missing cell.

        The score of a cell is the normal quantile of the middle rank of its reference share.
        """
        data = self.cell_scores or rank_normal_scores(np.ones(self.n_cells - 1, np.int64))
        return np.asarray([*data, 0], np.int64)

    def midpoints(self) -> Floats:
        """A value that stands for each data cell, float64[n_cells - 1]; outer cells: their edge."""
        edges = np.asarray(self.edges, np.float64)
        inner = edges[:-1] / 2 + edges[1:] / 2
        return np.concatenate((edges[:1], inner, edges[-1:]))

    def labels(self) -> tuple[str, ...]:
        """The cells in words, in the column's units, e.g. `below 3`, `3 to 5`, `5`, `missing`."""
        return self._labels

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        edges = self.edges
        written = [self._write(edge) for edge in edges]
        inner = [
            written[i]
            if edges[i + 1] == np.nextafter(edges[i], np.inf)
            else f"{self._write_start(i)} to {written[i + 1]}"
            for i in range(len(edges) - 1)
        ]
        last = len(edges) - 1
        alone = last > 0 and edges[last] == np.nextafter(edges[last - 1], np.inf)
        above = f"above {written[last - 1]}" if alone else f"{written[last]} and above"
        return (f"below {written[0]}", *inner, above, MISSING)

    def _write_start(self, place: int) -> str:
        """A range that begins just above a single value says so."""
        edges = self.edges
        alone = place > 0 and edges[place] == np.nextafter(edges[place - 1], np.inf)
        return f"above {self._write(edges[place - 1])}" if alone else self._write(edges[place])

    def _write(self, value: float) -> str:
        if self.kind is NumberKind.BOOLEAN and value in (0.0, 1.0):
            return "true" if value else "false"
        if self.kind is NumberKind.TIMESTAMP and abs(value) < 6e10:
            moment = _EPOCH + timedelta(seconds=round(value))
            return f"{moment:%Y-%m-%d %H:%M:%S}"
        return f"{value:.6g}"

    def to_json(self) -> dict[str, Any]:
        """A JSON value that `from_json` reads back exactly."""
        return {
            "edges": list(self.edges),
            "centre": self.centre,
            "scale": self.scale,
            "reference_sd": self.reference_sd,
            "cell_scores": list(self.cell_scores),
            "kind": str(self.kind),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> NumberCells:
        """Read what `to_json` wrote."""
        return cls(
            tuple(map(float, value["edges"])),
            float(value["centre"]),
            float(value["scale"]),
            float(value["reference_sd"]),
            tuple(map(int, value["cell_scores"])),
            NumberKind(value["kind"]),
        )


@dataclass(frozen=True)
class CategoryCells:
    """Cells of a category view: the top values, other, new, missing; n_cells = len(top) + 3.

    `known` are values seen in the reference beyond the top: they count as other. Anything else is
    new, unless the reference had more than 10,000 values (`complete` is False): then nobody can
    say, and it counts as other.
    """

    top: tuple[str, ...]
    known: tuple[str, ...] = ()
    complete: bool = True

    def __post_init__(self) -> None:
        if len(self.top) > MAX_TOP or len(self.known) > MAX_KNOWN:
            raise AssertionError(f"at most {MAX_TOP} top and {MAX_KNOWN} known values")

    @property
    def n_cells(self) -> int:
        """Top values plus other, new and missing."""
        return len(self.top) + 3

    @property
    def other(self) -> int:
        """Number of the cell of known values outside the top."""
        return len(self.top)

    @property
    def new(self) -> int:
        """Number of the cell of values the reference did not have."""
        return len(self.top) + 1

    @property
    def missing(self) -> int:
        """Number of the missing cell."""
        return len(self.top) + 2

    @cached_property
    def _lookup(self) -> dict[str | None, int]:
        lookup: dict[str | None, int] = dict.fromkeys(self.known, self.other)
        lookup |= {value: cell for cell, value in enumerate(self.top)}
        lookup[None] = self.missing
        return lookup

    def cells_of(self, values: Iterable[str | None]) -> CellNumbers:
        """The cell of each value of a short list (a dictionary); None is missing."""
        unseen = self.new if self.complete else self.other
        return np.asarray([self._lookup.get(value, unseen) for value in values], np.int32)

    def assign(self, values: pa.Array | pa.ChunkedArray | Iterable[str | None]) -> CellNumbers:
        """The cell of each value, text[n] -> int32[n]; null is missing."""
        if not isinstance(values, pa.Array | pa.ChunkedArray):
            values = pa.array(list(values), pa.string())
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        encoded = values.dictionary_encode(null_encoding="encode")
        cells = self.cells_of(encoded.dictionary.to_pylist())
        places = encoded.indices.to_numpy(zero_copy_only=False)
        return cells[places] if len(cells) else np.zeros(0, np.int32)

    def labels(self) -> tuple[str, ...]:
        """The cells in words."""
        return (*self.top, "other", "new", MISSING)

    def to_json(self) -> dict[str, Any]:
        """A JSON value that `from_json` reads back exactly."""
        return {"top": list(self.top), "known": list(self.known), "complete": self.complete}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CategoryCells:
        """Read what `to_json` wrote."""
        return cls(tuple(value["top"]), tuple(value["known"]), bool(value["complete"]))


ViewCells = NumberCells | CategoryCells


def rank_normal_scores(counts: Integers) -> tuple[int, ...]:
    """Normal quantile of each cell's middle rank, times 1024 and rounded (van der Waerden scores).

    `counts` int[k] are reference counts; half a row is added to each cell so that empty cells and
    the outermost ones have a finite score.
    """
    shares = (np.asarray(counts, np.float64) + 0.5) / (np.sum(counts) + 0.5 * len(counts))
    middle = np.cumsum(shares) - shares / 2
    return tuple(round(NormalDist().inv_cdf(float(rank)) * SCORE_UNIT) for rank in middle)
