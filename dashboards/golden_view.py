"""Verdicts on golden sets and shadow pairs: cards of the model's page."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import kit, words
from dashboards.frame import Frame, number_parameter
from monitor.reports.golden import ColumnFacts, RunFacts, golden_runs
from monitor.reports.models import ModelFacts

PARAMETER = "golden_page"
FAILED_SHOWN = 20
VERDICTS: dict[str, tuple[str, str, kit.Colour]] = {
    "passed": (":material/check_circle:", "passed", "green"),
    "failed": (":material/cancel:", "failed", "red"),
    "too_few": (":material/hourglass_empty:", "too few pairs", "gray"),
    "identical": (":material/equal:", "identical", "green"),
    "outputs_only": (":material/difference:", "answers differ", "blue"),
    "better": (":material/trending_up:", "better", "green"),
    "worse": (":material/trending_down:", "worse", "red"),
    "no_difference_shown": (":material/balance:", "no difference shown", "gray"),
    "confounded": (":material/call_split:", "confounded", "orange"),
}


def draw_golden(frame: Frame, model: ModelFacts) -> None:
    """The newest verdicts, each with what it rests on and where to roll back to."""
    st.header("Golden sets and shadow pairs")
    page = frame.ask(golden_runs, model.id, number_parameter(PARAMETER) or 1, frame.known_by)
    if page.total == 0:
        kit.empty(
            "No golden set was judged yet",
            "Write inputs with expected outputs, apply them, replay them against each deployment"
            " and judge; or send shadow requests under the live request's id.",
            "inferwatch golden apply golden.yaml",
        )
        return
    for one in page.rows:
        _draw_run(frame, one)
    if page.pages > 1:
        kit.pager(page, PARAMETER)


def _draw_run(frame: Frame, one: RunFacts) -> None:
    with st.container(border=True):
        left, middle, right = st.columns([1.4, 3, 2.6], vertical_alignment="center")
        with left:
            kit.badge(one.verdict, VERDICTS)
        middle.markdown(f"**{words.code(one.subject)}**  \ndeployment {words.code(one.deployment)}")
        against = f"against {words.code(one.reference)}  \n" if one.reference else ""
        moment = words.escape(words.moment(one.known_at, frame.zone))
        right.markdown(f"{against}{moment}, by {words.code(one.judged_by)}")
        _draw_reason(one)
        if one.columns or one.failed:
            with st.expander(f"What it rests on: {words.plural(len(one.columns), 'column')}"):
                _draw_evidence(one)


def _draw_reason(one: RunFacts) -> None:
    lines = [words.escape(one.why[:1].upper() + one.why[1:]) + "."]
    if one.kinds:
        parts = [
            f"{name.replace('_', ' ')} {right} of {n}" for name, (right, n) in one.kinds.items()
        ]
        lines.append(words.escape(f"Passed: {', '.join(parts)}."))
    if one.roll_back:
        lines.append(f":material/undo: **{words.escape(one.roll_back)}**")
    st.markdown("  \n".join(lines))
    told = " ".join(text for text in (one.differs, one.versus) if text)
    if told:
        st.caption(words.escape(told))


def _draw_evidence(one: RunFacts) -> None:
    if one.failed:
        rows = [
            (each.id, each.kind.replace("_", " "), each.reason)
            for each in one.failed[:FAILED_SHOWN]
        ]
        kit.table(
            pd.DataFrame(rows, columns=["case", "kind", "what was wrong"]),
            f"Failed cases of {one.subject}",
        )
        if len(one.failed) > FAILED_SHOWN:
            st.caption(f"{words.whole(len(one.failed) - FAILED_SHOWN)} more are not shown.")
    if one.columns:
        names = ["output", "compared", "largest", "mean", "beyond tolerance", "rounded to"]
        kit.table(
            pd.DataFrame([_cells(each) for each in one.columns], columns=names),
            f"Differences of {one.subject}",
        )


def _cells(one: ColumnFacts) -> tuple[str, ...]:
    return (
        one.column,
        words.whole(one.n),
        words.number(one.largest),
        words.number(one.mean),
        words.whole(one.beyond),
        one.rounding or "–",
    )
