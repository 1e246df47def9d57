"""Schema and rejections: what was refused and why, by day, and which values broke the contract."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from dashboards import charts, kit, words
from dashboards.frame import Frame, begin
from dashboards.pick import pick_model
from dashboards.sidebar import chosen_range
from monitor.access import Right
from monitor.reports.models import ModelFacts
from monitor.reports.rejected import Rejected, rejected

NO_MODEL = "no known model"
UNTOLD = "not known"
SENDERS = 30


def draw_counts(frame: Frame, found: Rejected) -> None:
    """Refused records by day and reason."""
    st.header("Refused records")
    st.caption("By the day of arrival. Records of no known model are counted with every model.")
    if not found.total:
        kit.empty(
            "No record was refused in these days",
            f"{words.plural(found.records, 'record')} came in. Only what can't be placed or stored"
            " is refused.",
        )
        return
    sums = found.counts.groupby("reason")["n"].sum().sort_values(ascending=False)
    told = ", ".join(f"{_words(name)} {words.whole(n)}" for name, n in sums.items())
    said = f"{words.plural(found.total, 'record')} refused: {told}."
    st.markdown(words.escape(said))
    rows = [
        (words.moment(row.at, frame.zone)[:10], _words(row.reason), _words(row.kind),
         words.whole(row.n))
        for row in found.counts.groupby(["at", "reason", "kind"], as_index=False)["n"].sum()
        .itertuples()
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["day", "reason", "sent as", "records"])
    charts.draw(_bars(frame, found.counts), f"Refused records by day. {said}", table, "refused")
    draw_senders(found)


def draw_senders(found: Rejected) -> None:
    """Refused records by reason and by who sent them."""
    st.subheader("Which producer sent them")
    st.caption("The name of the API key, and what the sender calls itself, which nobody checks.")
    sums = found.counts.groupby(["reason", "sent_with", "producer"], as_index=False)["n"].sum()
    rows = [
        (_words(row.reason), *_sender(row.sent_with, row.producer), words.whole(row.n))
        for row in sums.sort_values("n", ascending=False, kind="stable").head(SENDERS).itertuples()
    ]
    names = ["reason", "API key", "producer", "records"]
    kit.table(pd.DataFrame(rows, columns=names), "Refused records by reason and producer")
    if len(sums) > SENDERS:
        st.caption(f"{words.whole(len(sums) - SENDERS)} rarer ones are left out.")


def _sender(key: str, producer: str) -> tuple[str, str]:
    return words.clean(key) or UNTOLD, words.clean(producer) or UNTOLD


def _bars(frame: Frame, counts: pd.DataFrame) -> Any:
    shown = pd.DataFrame(
        {
            "at": charts.wall_clock(counts["at"], frame.zone),
            "series": counts["reason"].map(_words),
            "n": counts["n"],
            "when": [words.moment(at, frame.zone)[:10] for at in counts["at"]],
        }
    )
    axis = alt.X("utcyearmonthdate(at):O", title=None, axis=alt.Axis(labelOverlap=True))
    legend = alt.Legend(orient="bottom", title=None, labelLimit=260, columns=2)
    colour = alt.Color("series:N", scale=alt.Scale(range=list(charts.PALETTE)), legend=legend)
    tooltip = [
        alt.Tooltip("when:N", title="day"),
        alt.Tooltip("series:N", title="reason"),
        alt.Tooltip("n:Q", title="records", format=","),
    ]
    count = alt.Y("sum(n):Q", title="refused records", axis=alt.Axis(tickMinStep=1, format=",d"))
    bars = alt.Chart(shown).mark_bar(size=40)
    return bars.encode(x=axis, y=count, color=colour, tooltip=tooltip).properties(
        height=charts.HEIGHT
    )


def draw_examples(frame: Frame, found: Rejected) -> None:
    """The newest refused records: place, reason and masked excerpt."""
    if not found.examples:
        return
    st.header("Newest refused records")
    rows = [
        (
            words.moment(one.at, frame.zone, seconds=True), _words(one.kind),
            words.whole(one.place), _words(one.reason), words.clean(one.message),
            words.clean(one.request) or "–", words.clean(one.excerpt),
            "this model" if one.of_model else NO_MODEL, *_sender(one.sent_with, one.producer),
        )
        for one in found.examples
    ]  # fmt: skip
    names = ["arrived", "sent as", "place in the body, from 0", "reason", "what was wrong",
             "request", "excerpt, masked", "of", "API key", "producer"]  # fmt: skip
    kit.table(pd.DataFrame(rows, columns=names), "Newest refused records, with masked excerpts")


def draw_broken(frame: Frame, model: ModelFacts, found: Rejected) -> None:
    """Values that were stored as missing because they break the contract."""
    st.header("Values that break the contract")
    st.caption(
        "These records were stored, the value left empty and the reason counted."
        f" {words.plural(found.violations, 'value')} in these days, by arrival."
    )
    if not found.broken:
        kit.empty("No value broke the contract in these days", "There is no example to show.")
        return
    rows = [
        (words.clean(one.column), _words(one.reason), words.moment(one.day, frame.zone)[:10],
         words.clean(one.example))
        for one in found.broken
    ]  # fmt: skip
    names = ["column", "reason", "day", "newest example, masked"]
    kit.table(pd.DataFrame(rows, columns=names), "Values that break the contract, by column")
    known = {column.name for column in model.columns}
    with st.container(horizontal=True):
        for name in dict.fromkeys(one.column for one in found.broken if one.column in known):
            frame.link("column", f"Column {name}", model=model.name, column=name)


def _words(name: str) -> str:
    return words.clean(str(name).replace("_", " "))


def render() -> None:
    """Draw the page."""
    frame = begin("Schema and rejections")
    model = pick_model(frame)
    window = chosen_range(frame, frame.now, f"schema:{model.id}")
    found = frame.ask(rejected, model.id, window, frame.zone.key)
    draw_counts(frame, found)
    if frame.may(Right.SEE_ROWS):
        draw_examples(frame, found)
    draw_broken(frame, model, found)
    frame.link("settings", f"Contract of {model.name}", model=model.name)


render()
