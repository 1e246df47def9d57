"""One column: its distribution against a baseline, its history, and broken values."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import cell_charts, charts, findings, kit, words
from dashboards.as_of import choose_known_by
from dashboards.frame import Frame, begin, number_parameter
from dashboards.pick import choose, pick_column, pick_model
from dashboards.seasonal_view import draw_seasonal
from dashboards.segments_view import draw_segments
from dashboards.sidebar import chosen_range
from monitor.reports.baselines import BaselineName
from monitor.reports.column import (
    ColumnReport,
    Distribution,
    column_report,
    violation_examples,
)
from monitor.reports.measurements import Filter
from monitor.reports.model import marks, newest_moment
from monitor.reports.models import ModelFacts
from monitor.reports.series import series
from monitor.windows import Window


def draw_facts(model: ModelFacts, column: str) -> None:
    """What the contract says of the column."""
    facts = next(each for each in model.columns if each.name == column)
    said = [words.escape(f"{facts.type} {facts.role}"), words.escape(f"{facts.sensitivity} data")]
    if facts.unit:
        said.append(f"unit {words.code(facts.unit)}")
    if facts.range:
        low, high = ("open" if end is None else f"{end:g}" for end in facts.range)
        said.append(words.escape(f"allowed {low} to {high}"))
    st.caption(" · ".join(said))


def pick_baseline(report: ColumnReport) -> None:
    """The choice of baseline, kept in the address."""
    if report.baseline is None or len(report.baselines) < 2:
        return
    choose("Baseline", report.baselines, "baseline", first=report.baseline, told=_title,
           written=lambda each: str(each.id))  # fmt: skip


def _title(baseline: BaselineName) -> str:
    return f"{baseline.name} version {baseline.version}, {words.whole(baseline.n)} rows"


def draw_distribution(frame: Frame, report: ColumnReport, window: Window) -> None:
    """Shares by cell in the column's own units, and the cells that moved most."""
    st.header("Distribution against the baseline")
    if report.missing_reason:
        kit.empty("There is no distribution to show", report.missing_reason)
        return
    for found in report.distributions:
        _draw_view(frame, found, report.baseline, window)


def _draw_view(
    frame: Frame, found: Distribution, baseline: BaselineName | None, window: Window
) -> None:
    now, then = found.current, found.baseline
    with st.container(horizontal=True):
        st.metric("Rows now", words.whole(now.n), width=170)
        st.metric("Rows in the baseline", words.whole(then.n), width=170)
        if now.mean is not None and then.mean is not None:
            change = words.number(now.mean - then.mean)
            st.metric("Mean now", words.number(now.mean), f"{change} to the baseline",
                      delta_color="off", width=220)  # fmt: skip
        if now.sd is not None:
            st.metric("Standard deviation", words.number(now.sd), width=170)
    moved = found.moved_most()
    sentences = [
        f"{label}: {words.number(before, 'share')} then, {words.number(after, 'share')} now"
        for label, before, after in zip(
            moved["label"], moved["baseline"], moved["current"], strict=True
        )
        if before != after
    ]
    days = words.span(window.start, window.end, frame.zone)
    title = _title(baseline) if baseline else ""
    description = f"Shares of {found.view} by cell, {days} against {title}. " + "; ".join(sentences)
    left, right = st.columns([3, 2])
    with left:
        charts.draw(
            cell_charts.distribution(found.frame), description, _told(found.frame), found.view
        )
    with right:
        st.markdown(f"**{words.code(found.view)}, cells that moved most**")
        st.text("\n".join(sentences) or "No cell moved.")


def _told(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "cell": frame["label"],
            "share now": [words.number(value, "share") for value in frame["current"]],
            "rows now": frame["current_n"].map(words.whole),
            "share in the baseline": [words.number(value, "share") for value in frame["baseline"]],
            "rows in the baseline": frame["baseline_n"].map(words.whole),
        }
    )


def draw_history(
    frame: Frame, model: ModelFacts, views: list[str], window: Window, baseline_id: int | None
) -> None:
    """Drift against the chosen baseline by one method over time."""
    st.header("Drift over time")
    happened = frame.ask(marks, model.name, model.id, window)
    for place, view in enumerate(views, 1):
        found = frame.ask(
            series,
            model.id,
            window,
            Filter(checks=("drift",), column=view, baseline_id=baseline_id),
        )
        remedy = "It needs a baseline and closed windows with rows: choose other days."
        if not kit.series_state(found, f"drift of {view}", remedy):
            continue
        methods = sorted(set(found.shown["method"]))
        first = "psi" if "psi" in methods else methods[0]
        method = choose("Method", methods, f"method_{place}", first=first, told=words.plain)
        chosen = found.of(method)
        rows = charts.line_frame(chosen, frame.zone, "deployments")
        unit = str(chosen["unit"].iloc[-1])
        name = method.replace("_", " ")
        chart = charts.lines(rows, name, unit=unit, marks=happened, zone=frame.zone, zero=True)
        description = f"{name} of {view} over time; newest: {rows.iloc[-1]['text']}."
        charts.draw(chart, description, rows[["when", "series", "text"]], f"drift:{view}")


def draw_missing(
    frame: Frame, model: ModelFacts, report: ColumnReport, views: list[str], window: Window
) -> None:
    """The share of rows without a value, against the baseline and over time."""
    st.header("Missing and invalid values")
    if report.distributions:
        now, then = report.distributions[0].current, report.distributions[0].baseline
        told = [
            f"{words.whole(side.missing)} of {words.whole(side.n)} rows"
            f" ({words.number(side.missing / max(side.n, 1), 'share')})"
            for side in (now, then)
        ]
        st.markdown(words.escape(f"Missing now {told[0]}, in the baseline {told[1]}."))
    baseline_id = report.baseline.id if report.baseline else None
    found = frame.ask(
        series,
        model.id,
        window,
        Filter(checks=("missing",), column=views[0], baseline_id=baseline_id),
    )
    if not kit.series_state(found, "missing values", "Choose other days, or check that jobs run."):
        return
    rows = charts.line_frame(found.shown, frame.zone, "deployments")
    chart = charts.lines(rows, "missing", unit="share", zone=frame.zone, zero=True)
    description = f"Share of rows without a value; newest: {rows.iloc[-1]['text']}."
    charts.draw(chart, description, rows[["when", "series", "text"]], "missing")


def draw_violations(
    frame: Frame, model: ModelFacts, column: str, report: ColumnReport, window: Window
) -> None:
    """How often values broke the contract, by reason, with masked examples."""
    st.markdown("**Invalid, by reason**")
    found = report.violations
    if found.empty:
        st.caption(":material/check: No value of this column broke the contract in these days.")
    else:
        totals = found.groupby("reason")["n"].sum().sort_values(ascending=False)
        n = report.distributions[0].current.n if report.distributions else 0
        said = ", ".join(
            f"{reason} {words.whole(count)}" + (f" ({words.number(count / n, 'share')})" * (n > 0))
            for reason, count in totals.items()
        )
        description = f"Values that broke the contract a day, by reason: {said}."
        told = found.assign(at=[f"{at:%Y-%m-%d}" for at in found["at"]],
                            n=found["n"].map(words.whole))  # fmt: skip
        st.caption(words.escape(description))
        charts.draw(cell_charts.violation_bars(found), description, told, "violations")
    examples = frame.ask(violation_examples, model.id, column, window)
    if examples:
        st.markdown("**Examples, masked**")
        rows = [(f"{each.day:%Y-%m-%d}", each.reason, each.example) for each in examples]
        kit.table(pd.DataFrame(rows, columns=["day", "reason", "example"]), "Masked examples")


def render() -> None:
    """Draw the page."""
    frame = begin("Column")
    model = pick_model(frame, by_deployment=True, by_segment=True)
    column = pick_column(model)
    window = chosen_range(frame, frame.ask(newest_moment, model.id), f"column:{model.id}")
    choose_known_by(frame)
    draw_facts(model, column)
    frame.link("model", f"All of {model.name}", model=model.name)
    report = frame.ask(
        column_report,
        model.id,
        column,
        window,
        number_parameter("baseline"),
        frame.deployment,
        frame.segment,
    )
    pick_baseline(report)
    draw_distribution(frame, report, window)
    views = [found.view for found in report.distributions] or [column]
    baseline_id = report.baseline.id if report.baseline else None
    draw_history(frame, model, views, window, baseline_id)
    happened = frame.ask(marks, model.name, model.id, window)
    draw_seasonal(frame, model, column, window, happened)
    draw_segments(frame, model, views[0], window, report.baseline)
    draw_missing(frame, model, report, views, window)
    draw_violations(frame, model, column, report, window)
    findings.draw_list(frame, model=model.name, column=column)


render()
