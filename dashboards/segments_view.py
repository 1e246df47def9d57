"""One column by segment: a part of the column's page."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import kit, words
from dashboards.frame import Frame
from monitor.reports.baselines import BaselineName
from monitor.reports.column_segments import FEWEST_ROWS, SegmentLine, column_segments
from monitor.reports.models import ModelFacts
from monitor.windows import Window

DECLARE = (
    "Give a column the role segment in the contract; then its values are segments, and the other"
    " columns are profiled for each."
)


def draw_segments(
    frame: Frame, model: ModelFacts, view: str, window: Window, baseline: BaselineName | None
) -> None:
    """Where in the traffic the column moved, each segment held against itself before."""
    st.header("Segments")
    if baseline is None:
        kit.empty("There is no baseline yet", "It is made of the reference or the first requests.")
        return
    asked = (model.id, view, window, baseline.id, frame.deployment)
    found = frame.ask(column_segments, *asked)
    if not found:
        kit.empty("No segment was profiled in these days", DECLARE)
        return
    st.caption(
        "Each segment against itself in as many days before. Moved: the share of its rows that lie"
        " in other cells than before; chance alone moves a few per cent of small segments."
    )
    st.markdown(words.escape(_sentence(found)))
    kit.table(pd.DataFrame([_row(line) for line in found]), f"{view} by segment, now and before")


def _sentence(found: tuple[SegmentLine, ...]) -> str:
    most = found[0]
    if most.moved is None:
        return f"No segment has {FEWEST_ROWS} rows both now and before."
    rows = words.number(most.moved, "share")
    return f"Most rows moved in {most.name}: {rows} of its {words.whole(most.n)} rows."


def _row(line: SegmentLine) -> dict[str, str]:
    return {
        "segment": words.clean(line.name),
        "rows": words.whole(line.n),
        "rows before": words.whole(line.n_before),
        "moved": "too few rows" if line.moved is None else words.number(line.moved, "share"),
        "missing": words.number(line.missing, "share"),
        "missing before": words.number(line.missing_before, "share"),
        "mean": words.number(line.mean),
        "mean before": words.number(line.mean_before),
    }
