"""Why quality changed: the newest explanation, in sentences, with its parts and rankings."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import charts, group_charts, kit, words
from dashboards.frame import Frame
from dashboards.pick import choose
from monitor.reports.explanations import Explanation, explanations
from monitor.reports.models import ModelFacts

COMMAND = "inferwatch explain MODEL --window FROM/TO --reference FROM/TO"
SHOWN = 10


def draw_explanations(frame: Frame, model: ModelFacts) -> None:
    """The choice of explanation and what it says."""
    found = frame.ask(explanations, model.id, frame.known_by)
    st.header("Loss of quality explained")
    if not found:
        kit.empty(
            "No change of quality was explained yet",
            "Compare a time of worse quality with a better one; both need all their labels.",
            COMMAND.replace("MODEL", words.clean(model.name)),
        )
        return
    place = 0
    if len(found) > 1:
        titles = [_title(frame, one) for one in found]
        place = choose("Explanation", range(len(found)), "explanation", told=titles.__getitem__)
    _draw(frame, found[place])


def _title(frame: Frame, one: Explanation) -> str:
    now = words.span(one.window.start, one.window.end, frame.zone)
    then = words.span(one.reference.start, one.reference.end, frame.zone)
    made = words.moment(one.known_at, frame.zone)
    return f"{now} against {then}, made {made}"


def _draw(frame: Frame, one: Explanation) -> None:
    st.caption(words.escape(f"{_title(frame, one)} by {one.made_by}"))
    if one.reason is not None:
        kit.too_few("This change could not be explained", one.reason)
        return
    for sentence in one.sentences:
        st.markdown(f"- {words.escape(sentence)}")
    table = pd.DataFrame(
        [(part.words, part.value_text, part.limits_text) for part in one.parts],
        columns=["part", "change", "95 % interval"],
    )
    told = "; ".join(f"{part.words} {part.value_text}" for part in one.parts)
    charts.draw(
        group_charts.parts(one.parts, one.unit),
        f"Parts of the change of the loss: {told}.",
        table,
        "parts",
    )
    st.caption(words.escape(one.rows_sentence))
    _draw_columns(one)
    _draw_segments(one)


def _draw_columns(one: Explanation) -> None:
    st.markdown("**Columns, by how much of the change goes with their changed mix**")
    if not one.columns:
        st.caption(words.escape(one.columns_reason))
        return
    rows = [
        (each.name, each.share_text, each.limits_text, each.rows_text)
        for each in one.columns[:SHOWN]
    ]
    names = ["column", "share explained", "95 % interval", "effective rows"]
    kit.table(pd.DataFrame(rows, columns=names), "Columns ranked by the share of the change")
    st.caption("Shares overlap and do not add up to 100 %.")


def _draw_segments(one: Explanation) -> None:
    names = ["segment", "contribution", "95 % interval", "rows", "loss then", "loss now"]
    for key, segments in one.segments.items():
        st.markdown(f"**Segments of {words.code(key)}, by what they carry of the change**")
        rows = [each.cells for each in segments[:SHOWN]]
        kit.table(pd.DataFrame(rows, columns=names), f"Segments of {key}")
