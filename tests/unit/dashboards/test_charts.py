"""Frames for line charts: where a line is broken."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pandas as pd

from dashboards.charts import line_frame


def series_frame(days: list[tuple[int, str]]) -> pd.DataFrame:
    at = pd.to_datetime([f"2026-01-{day:02}" for day, _ in days], utc=True)
    return pd.DataFrame(
        {
            "at": at,
            "end": at + pd.Timedelta(days=1),
            "deployments": [name for _, name in days],
            **dict.fromkeys(("value", "low", "high", "level"), 0.5),
            "n": 100,
            "unit": "share",
            "maturity": "",
        },
        index=[7] * len(days),  # indexes of filtered frames repeat
    )


def pieces(days: list[tuple[int, str]]) -> list[int]:
    found = line_frame(series_frame(days), ZoneInfo("UTC"), "deployments")
    return found["piece"].tolist()


def test_days_in_a_row_are_one_piece() -> None:
    assert pieces([(1, "a"), (2, "a"), (3, "a")]) == [0, 0, 0]


def test_a_gap_begins_a_new_piece_of_its_series_only() -> None:
    days = [(1, "a"), (2, "a"), (9, "a"), (10, "a"), (1, "b"), (2, "b"), (3, "b")]
    assert pieces(days) == [0, 0, 1, 1, 0, 0, 0]
    assert pieces(days[::-1]) == [0, 0, 0, 1, 1, 0, 0]


def test_one_window_and_none() -> None:
    assert pieces([(5, "a")]) == [0]
    assert pieces([]) == []
