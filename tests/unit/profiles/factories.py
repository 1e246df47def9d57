"""Small contracts and request tables for the tests of profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.contract import Column, Contract
from monitor.layout import Layout, extend
from monitor.profiles.rows import RequestRows
from monitor.records import REQUEST_SCHEMA

START = datetime(2013, 9, 1, 13, tzinfo=UTC)


def contract_of(*columns: Mapping[str, Any], task: str = "binary", **more: Any) -> Contract:
    """A contract with these columns."""
    return Contract(
        model="flights",
        owner="ops",
        purpose="test",
        task=task,
        columns=tuple(Column(**column) for column in columns),
        **more,
    )


def request_table(
    layout: Layout,
    values: Mapping[str, Sequence[Any]],
    *,
    ids: Sequence[str] | None = None,
    times: Sequence[datetime] | None = None,
    **envelope: Sequence[Any],
) -> pa.Table:
    """A table with REQUEST_SCHEMA; `values` by column, lists for columns of several slots.

    A text column takes its length, or a list of its numbers.
    """
    n = len(next(iter(values.values())))
    numbers: list[list[float | None]] = [[None] * layout.number_width for _ in range(n)]
    texts: list[list[str | None]] = [[None] * layout.text_width for _ in range(n)]
    for name, column in values.items():
        slot = layout.slot(name)
        for row, value in enumerate(column):
            given = value if isinstance(value, list | tuple) else [value]
            if slot.number_width:
                for k, item in enumerate(given):
                    numbers[row][slot.number_start + k] = None if item is None else float(item)
            else:
                for k, item in enumerate(given):
                    texts[row][slot.text_start + k] = item
    plain: dict[str, Sequence[Any]] = {
        "project_id": [1] * n,
        "model_id": [1] * n,
        "leg": ["live"] * n,
        "event_time": times or [START + timedelta(seconds=k) for k in range(n)],
        "request_id": ids or [f"r{k}" for k in range(n)],
        "deployment_id": [1] * n,
        "contract_version": [1] * n,
        "outcome": [1] * n,
        "outcome_reason": [None] * n,
        "received_at": [START] * n,
        "violations": [[] for _ in range(n)],
        "numbers": numbers,
        "texts": texts,
    }
    return pa.table(plain | envelope, REQUEST_SCHEMA)


def rows_of(contract: Contract, values: Mapping[str, Sequence[Any]], **more: Any) -> RequestRows:
    """Rows of a contract's first layout."""
    layout = extend(None, contract)
    return RequestRows.from_table(request_table(layout, values, **more), layout, contract)


def one_group(rows: RequestRows) -> np.ndarray[Any, np.dtype[np.int64]]:
    """All rows in group 0."""
    return np.zeros(len(rows), np.int64)


def narrow_text_layout(contract: Contract) -> Layout:
    """The layout of a contract of one text column, as written before texts had descriptors."""
    stored = extend(None, contract).to_json()
    stored["slots"][0]["number_width"] = 1
    return Layout.from_json(stored)
