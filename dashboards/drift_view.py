"""Drift of all columns of a model by time."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import cell_charts, charts, kit, words
from dashboards.frame import Frame, parameter
from dashboards.pick import choose
from monitor.reports.baselines import BaselineName, baselines
from monitor.reports.drift_matrix import OWN_BASELINE, DriftMatrix, drift_matrix
from monitor.reports.model import Mark
from monitor.reports.models import ModelFacts
from monitor.windows import Window

WORST_LINKED = 8


def draw_drift(frame: Frame, model: ModelFacts, window: Window, happened: tuple[Mark, ...]) -> None:
    """The heat map, what happened meanwhile, and links to the columns that moved most."""
    st.header("Drift of all columns")
    st.caption("A changed distribution is a reason to look, no verdict on quality.")
    left, right = st.columns(2)
    with right:
        baseline = _picked_baseline(frame, model)
    wanted = parameter("question")
    found = frame.ask(
        drift_matrix,
        model.id,
        window,
        wanted,
        baseline.id if baseline else None,
        frame.known_by,
        frame.deployments,
    )
    if found.choice is None:
        kit.empty(
            "No drift was measured in these days",
            "It needs a baseline and closed windows: choose other days, or check that jobs run.",
        )
        return
    with left:
        choose("Question", found.choices, "question", first=found.choice, told=_question)
    if found.scale is None or not found.frame["value"].notna().any():
        _nothing_measured(found)
        return
    description = _description(found, baseline)
    st.caption(words.escape(description))
    chart = cell_charts.heat_map(found.frame, found.columns, found.unit, frame.zone, happened)
    charts.marks_caption(happened)
    charts.draw(chart, description, _told(frame, found), "drift")
    _happened(frame, happened)
    st.markdown("**Columns that moved most**")
    with st.container(horizontal=True):
        for name in found.columns[:WORST_LINKED]:
            frame.link("column", name, model=model.name, column=_column_of(model, name))


def _picked_baseline(frame: Frame, model: ModelFacts) -> BaselineName | None:
    known = frame.ask(baselines, model.id)
    if not known:
        return None
    return choose("Baseline", known, "baseline", told=_title, written=lambda each: str(each.id))


def _title(baseline: BaselineName) -> str:
    return f"{baseline.name} version {baseline.version}, {words.whole(baseline.n)} rows"


def _question(choice: str) -> str:
    check, _, method = choice.partition(" ")
    name = method.replace("_", " ")
    return (
        f"Drift: {name}" if check == "drift" else "Deployments against each other in the same hours"
    )


def _column_of(model: ModelFacts, view: str) -> str:
    """The contract's column behind a profiled view, which may have a suffix: `note.length`."""
    names = {column.name for column in model.columns}
    if view in names:
        return view
    stem = view.removesuffix(" (derived)").rpartition(".")[0]
    return stem if stem in names else view


def _nothing_measured(found: DriftMatrix) -> None:
    if found.frame.empty:
        kit.empty("Nothing was measured against this baseline", "Choose another baseline or days.")
        return
    failed = found.frame[found.frame["state"] == "failed"]
    if not failed.empty:
        kit.failed("Drift could not be measured", str(failed["reason"].iloc[-1]))
        return
    reason = str(found.frame["reason"].iloc[-1])
    kit.too_few("Too few rows for drift", f"{reason}. Choose days with more requests.")


def _description(found: DriftMatrix, baseline: BaselineName | None) -> str:
    worst = found.frame.loc[found.frame["value"].idxmax()]
    check, _, method = (found.choice or "").partition(" ")
    against = f" against {baseline.name}" if check == "drift" and baseline else ""
    if method == OWN_BASELINE:
        against = " against what its hours should show"
    more = f"; {words.plural(found.left_out, 'column')} moved less" if found.left_out else ""
    return (
        f"{method.replace('_', ' ')} of {words.plural(len(found.columns), 'column')}{against},"
        f" windows of a {found.scale}, the worst deployment counts; most: {worst['column']} with"
        f" {words.number(float(found.frame['value'].max()), found.unit)}"
        f" ({worst['deployments']}){more}."
        " Outlined: not measured."
    )


def _told(frame: Frame, found: DriftMatrix) -> pd.DataFrame:
    worst = found.frame.sort_values("value", ascending=False, na_position="last").head(500)
    return pd.DataFrame(
        {
            "column": worst["column"],
            "window": [
                words.span(start, end, frame.zone)
                for start, end in zip(worst["at"], worst["end"], strict=True)
            ],
            "value": [words.number(value, found.unit) for value in worst["value"]],
            "state": worst["state"].str.replace("_", " "),
            "rows": worst["n"].map(words.whole),
            "deployments": worst["deployments"],
        }
    )


def _happened(frame: Frame, happened: tuple[Mark, ...]) -> None:
    """The lines of the chart in words."""
    if not happened:
        return
    with st.expander(f"What happened in these days: {words.plural(len(happened), 'thing')}"):
        rows = [
            (words.moment(mark.at, frame.zone), charts.MARKS[mark.kind][0], mark.text)
            for mark in happened
        ]
        kit.table(pd.DataFrame(rows, columns=["when", "what", "name"]), "Lines of the chart")
