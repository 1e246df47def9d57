"""Groups: how each is treated and judged, the worst one, and what lost quality is due to."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import group_charts, kit, words
from dashboards.as_of import choose_known_by
from dashboards.explanation_view import draw_explanations
from dashboards.frame import Frame, begin
from dashboards.group_charts import interval_text, points
from dashboards.pick import pick_model
from dashboards.sidebar import chosen_range
from monitor.reports.groups import (
    METHOD_WORDS,
    SELECTION,
    AdjustedRow,
    GroupRow,
    GroupsReport,
    Worst,
    groups,
    violating,
)
from monitor.reports.model import newest_moment
from monitor.reports.models import ModelFacts

# Icon, word and colour of each verdict: never colour alone.
VERDICTS: dict[str, tuple[str, str, kit.Colour]] = {
    "violates": (":material/gavel:", "violates", "red"),
    "passes": (":material/check_circle:", "passes", "green"),
    "inconclusive": (":material/help:", "inconclusive", "gray"),
    "reference": (":material/flag:", "reference", "blue"),
    "differs": (":material/difference:", "differs", "orange"),
    "no_difference_seen": (":material/check_circle:", "no difference seen", "green"),
    "too_few": (":material/hourglass_empty:", "too few", "gray"),
    "failed": (":material/error:", "failed", "red"),
    "confirmed": (":material/verified:", "confirmed", "red"),
    "not_confirmed": (":material/help:", "not confirmed", "gray"),
    "reversed": (":material/sync_problem:", "turns round", "red"),
    "more_than_half": (":material/sync_problem:", "changes by more than half", "orange"),
    "none": (":material/check_circle:", "stays", "green"),
}
MARKS = {
    "violates": "▼", "passes": "●", "inconclusive": "■", "reference": "◆", "differs": "▼",
    "no_difference_seen": "●", "too_few": "○", "failed": "✕", "confirmed": "▼",
    "not_confirmed": "■", "reversed": "⇄", "more_than_half": "⇄", "none": "●",
}  # fmt: skip
NO_GAP = 0.0


def verdict_text(verdict: str) -> str:
    """A verdict in a table's cell: a sign and its word."""
    word = VERDICTS[verdict][1] if verdict in VERDICTS else words.clean(verdict)
    return f"{MARKS.get(verdict, '·')} {word}"


def draw_month(frame: Frame, model: ModelFacts, report: GroupsReport) -> None:
    """Which month is shown, and how it came out."""
    if report.window is None:
        kit.empty(
            "No month of groups was measured in these days",
            "A month is measured when it has ended. Name segment columns under fairness in the"
            " contract to compare their groups.",
        )
        return
    found = list(violating(report))
    with st.container(horizontal=True):
        if report.columns:
            kit.count_badge(len(found), "violation", VERDICTS["violates"][0], "red")
        what = "groups below the least ratio beyond doubt in " if report.columns else ""
        st.caption(
            words.escape(
                f"{what}{_month(frame, report)},"
                f" deployments {', '.join(map(str, report.deployment_ids))}, known at"
                f" {words.moment(report.known_at, frame.zone)}"
            )
        )
    _draw_columns(report, model)
    _draw_adjusted(report.adjusted)
    st.header("Worst groups")
    if report.worst is not None:
        _draw_worst(report.worst)
    else:
        kit.empty(
            "The worst group was not sought yet",
            "It is sought once the month's labels are in: label.max_age after the month's end.",
        )


def _month(frame: Frame, report: GroupsReport) -> str:
    if report.window is None:
        return ""
    return words.span(report.window.start, report.window.end, frame.zone)


def _draw_columns(report: GroupsReport, model: ModelFacts) -> None:
    if not report.columns:
        kit.empty(
            "No groups are compared with each other",
            "Name segment columns under fairness in the contract; only the worst group is sought"
            " without it.",
        )
        return
    columns = list(report.columns)
    left, right = st.columns(2)
    column = left.selectbox("Groups of", columns, key=f"groups:{model.id}")
    methods = [name for name in METHOD_WORDS if report.of(column, name)]
    method = right.selectbox(
        "Compared by", methods, format_func=METHOD_WORDS.__getitem__, key=f"compared:{model.id}"
    )
    rows = report.of(column, method)
    st.header(words.escape(f"{column}: {METHOD_WORDS[method]}"))
    _draw_picture(rows, column, method)
    table = _table(rows, method)
    kit.table(table, f"{METHOD_WORDS[method]} by {column}")
    st.caption(
        "Worst first. Intervals hold for all groups together. Ranked by: the rate drawn towards the"
        " mean of all groups, as small groups are extreme by chance. Groups below 50 rows are"
        " counted, not shown."
    )


def _draw_picture(rows: tuple[GroupRow, ...], column: str, method: str) -> None:
    shown = [row for row in rows if row.value is not None]
    if not shown:
        kit.too_few(
            f"No group of {column} has enough rows", rows[0].reason or "Wait for more rows."
        )
        return
    title = "ratio to the best group" if method == SELECTION else "gap to the largest group"
    described = "; ".join(
        f"{row.group} {verdict_text(row.verdict)[2:]}: {interval_text(row)}" for row in shown
    )
    at = shown[0].least_ratio if shown[0].least_ratio is not None else NO_GAP
    chart = group_charts.intervals(shown, title, at=at, unit=shown[0].unit)
    st.altair_chart(chart, alt=words.clean(f"{title} by {column}: {described}"), key="intervals")


def _table(rows: tuple[GroupRow, ...], method: str) -> pd.DataFrame:
    ratio = "ratio to the best" if method == SELECTION else "gap to the largest"
    return pd.DataFrame(
        [
            (
                row.group,
                verdict_text(row.verdict),
                interval_text(row),
                words.number(row.rate, "share") if row.rate is not None else "–",
                words.number(row.shrunk, "share") if row.shrunk is not None else "–",
                words.whole(row.n),
            )
            for row in rows
        ],
        columns=["group", "verdict", ratio, "rate", "ranked by", "rows"],
    )


def _draw_adjusted(rows: tuple[AdjustedRow, ...]) -> None:
    if not rows:
        return
    st.header("Does a gap stay when another column is held fixed?")
    table = pd.DataFrame(
        [
            (
                f"{row.column} = {row.group} against {row.reference}",
                row.by,
                verdict_text(row.flag),
                points(row.crude),
                _held_fixed(row),
            )
            for row in rows
        ],
        columns=["favourable answers", "held fixed", "the gap", "gap", "gap held fixed"],
    )
    kit.table(table, "Gaps of favourable answers, crude and with a second column held fixed")


def _held_fixed(row: AdjustedRow) -> str:
    if row.value is None:
        return row.reason or "too few"
    return f"{points(row.value)}, 95 % interval {points(row.low)} to {points(row.high)}"


def _draw_worst(worst: Worst) -> None:
    if not worst.found:
        kit.too_few("No worst group can be named", worst.reason or "")
        return
    st.caption(
        f"Of {words.whole(worst.searched)} groups of {words.whole(worst.rows)} labelled sampled"
        " rows. Found on one half of the entities; only the other half, which did not choose them,"
        " says whether they are worse."
    )
    gap = points if worst.unit == "share" else words.number
    table = pd.DataFrame(
        [
            (
                one.group,
                verdict_text("confirmed" if one.confirmed else "not_confirmed"),
                f"z {one.z_discovered:.1f}, n {words.whole(one.n_discovered)}",
                f"{gap(one.gap)}, 95 % interval {gap(one.low)} to {gap(one.high)},"
                f" n {words.whole(one.n)}",
                f"{one.p_confirmed:.2g}",
            )
            for one in worst.found
        ],
        columns=[
            "group",
            "verdict",
            "discovery",
            "confirmation: more errors than the rest",
            "p-value",
        ],
    )
    kit.table(table, "Groups that do worse than the rest, discovery and confirmation side by side")


def render() -> None:
    """Draw the page."""
    frame = begin("Groups")
    model = pick_model(frame)
    window = chosen_range(frame, frame.ask(newest_moment, model.id), f"groups:{model.id}")
    choose_known_by(frame)
    report = frame.ask(groups, model.id, window, frame.known_by)
    if report.window is None:
        report = frame.ask(groups, model.id, None, frame.known_by)
    draw_month(frame, model, report)
    draw_explanations(frame, model)
    frame.link("model", f"All of {model.name}", model=model.name)


render()
