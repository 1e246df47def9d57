"""Stages on the serving page: the critical path, and what each stage would save at most."""

from __future__ import annotations

import altair as alt
import pandas as pd
import streamlit as st

from dashboards import charts, kit, words
from monitor.checks.stages import PathTimes, StageTimes
from monitor.reports.operation import OperationReport

SAVED = {"on average": "saves", "at the p95": "saves_tail"}


def draw_stages(report: OperationReport) -> None:
    """Which stage to shorten; nothing where the contract declares none."""
    if not report.has_stages:
        return
    st.header("Which stage to shorten")
    if report.path is None:
        kit.too_few(
            "No request has stage times in these days",
            "They come as fields stage.NAME of a producer, or as the columns that the contract's"
            " stages name.",
        )
        return
    path = report.path
    with st.container(horizontal=True):
        st.metric("Critical path, mean", words.number(path.mean, "ms"), width=190)
        st.metric("Critical path, p50", words.number(path.p50, "ms"), width=190)
        p95 = "too few" if path.p95 is None else words.number(path.p95, "ms")
        st.metric("Critical path, p95", p95, width=190)
        if path.unexplained is not None:
            told = words.number(path.unexplained, "ms")
            st.metric("Latency beyond it, mean", told, width=210)
    st.markdown(words.escape(_advice(path)))
    _draw_chart(path)
    st.caption(
        f"{words.whole(path.n)} requests with stage times, {words.whole(path.left_out)} without."
        " Upper bounds: the rest is taken to stay as it is. A stage beside a longer one saves"
        " nothing however long it takes."
    )


def _advice(path: PathTimes) -> str:
    mean, tail = path.most_saving(), path.most_saving(tail=True)
    told = []
    if mean is not None:
        told.append(f"On average {mean.name} costs most: without it a request would take"
                    f" {words.number(mean.saves, 'ms')} less at most.")  # fmt: skip
    if tail is not None and tail.saves_tail is not None:
        told.append(f"For slow requests it is {tail.name}: the p95 would be"
                    f" {words.number(tail.saves_tail, 'ms')} lower at most.")  # fmt: skip
    return " ".join(told)


def _draw_chart(path: PathTimes) -> None:
    rows = [
        {"stage": words.clean(each.name), "saved": how, "value": value,
         "text": words.number(value, "ms")}
        for each in path.stages
        for how, value in (("on average", each.saves), ("at the p95", each.saves_tail))
        if value is not None
    ]  # fmt: skip
    order = [words.clean(each.name) for each in path.stages]
    chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title="saves at most, ms"),
            y=alt.Y("stage:N", sort=order, title=None),
            yOffset=alt.YOffset("saved:N", sort=list(SAVED)),
            color=alt.Color("saved:N", sort=list(SAVED),
                            scale=alt.Scale(domain=list(SAVED), range=list(charts.PALETTE[:2])),
                            legend=alt.Legend(orient="bottom", title=None)),
            tooltip=[alt.Tooltip("stage:N"), alt.Tooltip("saved:N"), alt.Tooltip("text:N")],
        )
        .properties(height=110 + 44 * len(order))
    )  # fmt: skip
    told = "; ".join(f"{each.name} {words.number(each.saves, 'ms')}" for each in path.stages)
    table = pd.DataFrame([_row(each, path) for each in path.stages])
    charts.draw(chart, f"What each stage would save at most on average: {told}", table, "stages")


def _row(each: StageTimes, path: PathTimes) -> dict[str, str]:
    return {
        "stage": words.clean(each.name),
        "column": words.clean(each.column),
        "mean": words.number(each.mean, "ms"),
        "p95": _ms(each.p95),
        "on the path": words.number(each.on_path / path.n, "share"),
        "saves on average": words.number(each.saves, "ms"),
        "saves at the p95": _ms(each.saves_tail, path.tail_resolution),
        "half saves on average": words.number(each.halved, "ms"),
        "half saves at the p95": _ms(each.halved_tail, path.tail_resolution),
        "requests": words.whole(each.n),
    }


def _ms(value: float | None, fine: float | None = None) -> str:
    if value is None:
        return "too few"
    small = fine is not None and value < fine
    return f"under {words.number(fine, 'ms')}" if small else words.number(value, "ms")
