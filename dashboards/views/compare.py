"""Two sets of deployments side by side: what differs in them, whether that can be told apart, and
which is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from dashboards import charts, compare_charts, kit, words
from dashboards.as_of import choose_known_by
from dashboards.frame import Frame, begin, parameter
from dashboards.pick import pick_model
from monitor.reports.comparisons import (
    ComparisonFacts,
    canary_frame,
    comparison_now,
    comparisons,
    metric_frame,
    newest_comparison,
    overlap_frame,
)
from monitor.reports.models import DeploymentFacts, ModelFacts, deployments

VERDICTS: dict[str, tuple[str, str, kit.Colour]] = {
    "better": (":material/thumb_up:", "better", "green"),
    "worse": (":material/thumb_down:", "worse", "red"),
    "no difference": (":material/drag_handle:", "no difference", "blue"),
    "different": (":material/swap_horiz:", "different", "violet"),
    "inconclusive": (":material/hourglass_empty:", "inconclusive", "gray"),
    "confounded": (":material/call_split:", "confounded", "orange"),
}
CANARY = {
    "harm": "harm beyond",
    "no worse": "no worse than",
    "undecided": "undecided about",
}
NOW = "now"
Sides = tuple[tuple[int, ...], tuple[int, ...]]


def pick_sides(served: Sequence[DeploymentFacts], first: Sides) -> Sides:
    """The deployments of both sides, kept in the address as numbers."""
    titles = {one.id: words.escape(one.title) for one in served}
    picked = []
    for column, name, default in zip(st.columns(2), ("a", "b"), first, strict=True):
        wanted = _numbers(parameter(name), titles) or [n for n in default if n in titles]
        with column:
            chosen = st.pills(
                f"Deployments {name}", list(titles), selection_mode="multi", default=wanted,
                format_func=titles.__getitem__, key=f"side:{name}:{','.join(map(str, wanted))}",
            )  # fmt: skip
        if set(chosen) != set(wanted):
            st.query_params[name] = ",".join(str(number) for number in chosen)
            st.query_params.pop(NOW, None)
            st.rerun()
        picked.append(tuple(sorted(chosen)))
    return picked[0], picked[1]


def _numbers(text: str | None, titles: Mapping[int, str]) -> list[int]:
    found = [int(part) for part in (text or "").split(",") if part.isascii() and part.isdigit()]
    return [number for number in dict.fromkeys(found) if number in titles]


def first_sides(served: Sequence[DeploymentFacts], stored: Sequence[ComparisonFacts]) -> Sides:
    """Those compared last, else the two deployments that began last."""
    if stored:
        return stored[0].a, stored[0].b
    never = datetime.min.replace(tzinfo=UTC)
    began = sorted(served, key=lambda one: (one.first_request or never, one.id))
    return (began[-2].id,), (began[-1].id,)


def chosen_comparison(frame: Frame, model: ModelFacts, sides: Sides) -> ComparisonFacts | None:
    """The newest stored comparison of these sides, or one made now when a person asks for it."""
    a, b = sides
    stored = frame.ask(newest_comparison, model.id, a, b, frame.known_by)
    if frame.known_by is not None:
        return stored
    if st.button("Compare now", icon=":material/play_arrow:"):
        st.query_params[NOW] = "1"
    if parameter(NOW) is None:
        return stored
    with st.spinner("Reading profiles"):
        return frame.ask(comparison_now, model.name, a, b, None, 0.02, True)


def draw_comparison(frame: Frame, found: ComparisonFacts) -> None:
    """The verdict, the tags that differ, and one section a factor."""
    kit.badge(found.verdict, VERDICTS)
    st.markdown(f"**{words.escape(found.sentence)}**")
    made = f"stored by {found.made_by}" if found.made_by else "made now, not stored"
    span = words.span(found.window.start, found.window.end, frame.zone)
    known = words.moment(found.known_at, frame.zone)
    st.caption(words.escape(f"{span}, leg {found.leg}; {made}, as known {known}"))
    st.header("What differs")
    differing = found.body.get("differing") or ()
    rows = [(one["group"], one["tag"], one["a"], one["b"]) for one in differing]
    table = pd.DataFrame(rows, columns=["factor", "tag", "a", "b"]).fillna("unknown")
    kit.table(table, found.differs)
    for place, result in enumerate(found.results):
        draw_result(found, result, place)


def draw_result(found: ComparisonFacts, result: Mapping[str, Any], place: int) -> None:
    """One factor: what it rests on, the overlap, every metric, the canary."""
    if len(found.results) > 1:
        st.header(f"Effect of {words.escape(str(result['factor']))} alone")
        kit.badge(str(result["verdict"]), VERDICTS)
        st.markdown(words.escape(str(result["sentence"])))
    for caution in result.get("cautions") or ():
        st.markdown(f":material/info: {words.escape(caution)}")
    st.header("The same traffic?")
    draw_overlap(found, result, place)
    st.header("Crude and adjusted")
    draw_metrics(result, place)
    for one in result.get("canary") or ():
        draw_canary(one, place)


def draw_overlap(found: ComparisonFacts, result: Mapping[str, Any], place: int) -> None:
    """How much of each side has a counterpart on the other."""
    shared, frame = result["overlap"], overlap_frame(result)
    time = "slot of time" if shared["control"] == "matched" else "hour of the day, by weekend"
    said = (
        f"{words.number(shared['share_a'], 'share')} of a's requests and"
        f" {words.number(shared['share_b'], 'share')} of b's have a counterpart in the same slice"
        f" and {time}: {words.whole(shared['strata_shared'])} of"
        f" {words.whole(shared['strata'])} strata are shared."
    )
    st.markdown(words.escape(said))
    labelled = result.get("labelled") or {}
    told = [
        f"{side}: {words.whole(labels)} of {words.whole(n)} requests have a label"
        for side, (labels, n) in labelled.items()
        if n
    ]
    if told:
        st.caption(words.escape("; ".join(told) + ". Both are equally old."))
    numbers = frame.rename(columns=lambda name: name.replace("_", " "))
    charts.draw(
        compare_charts.overlap_bars(frame, found.a_title, found.b_title), said, numbers,
        f"overlap:{place}",
    )  # fmt: skip


def draw_metrics(result: Mapping[str, Any], place: int) -> None:
    """Differences as a chart in units of ε, and every number as a table."""
    frame = metric_frame(result)
    table = pd.DataFrame([_told(row) for row in frame.to_dict("records")])
    kit.table(table, "Every metric: crude and adjusted values of a and b, difference, verdict")
    drawable = frame["difference"].notna() & (frame["epsilon"].fillna(0) > 0)
    if drawable.any():
        said = "; ".join(
            f"{row['metric']} {words.number(row['difference'], row['unit'])} {row['verdict']}"
            for row in frame[drawable].to_dict("records")
        )
        description = f"Adjusted differences b − a in units of ε, with 95 % intervals: {said}."
        st.caption("Filled: adjusted, with its 95 % interval. Hollow: crude, for comparison.")
        charts.draw(compare_charts.differences(frame), description, table, f"differences:{place}")


def _told(row: Mapping[Any, Any]) -> dict[str, str]:
    unit = row["unit"]

    def both(name: str) -> str:
        return " → ".join(words.number(row[f"{name}_{side}"], unit) for side in "ab")

    measured = pd.notna(row["difference"])
    return {
        "metric": words.clean(row["metric"]),
        "verdict": row["verdict"] if measured else f"{row['verdict']} ({row['reason']})",
        "crude a → b": both("crude"),
        "adjusted a → b": both("adjusted"),
        "b − a": words.number(row["difference"], unit) if measured else "",
        "95 % interval": words.interval(row["low"], row["high"], row["level"], unit),
        "n a / b": f"{words.whole(row['n_a'])} / {words.whole(row['n_b'])}",
        "interval by": row["method"] or "",
    }


def draw_canary(one: Mapping[str, Any], place: int) -> None:
    """How the bets on harm and on "no worse" went."""
    steps = canary_frame(one)
    mean = "" if one["mean"] is None else f", mean difference of losses {one['mean']:+.4f}"
    said = (
        f"Canary by {one['metric']}: {CANARY.get(one['verdict'], one['verdict'])}"
        f" {one['tolerance']:g} after {words.plural(one['pairs'], 'pair')}{mean}."
    )
    st.markdown(f"**{words.escape(said)}**")
    if len(steps):
        chart = compare_charts.canary_lines(steps, float(one["alpha"]))
        charts.draw(chart, said, steps, f"canary:{place}:{one['metric']}")


def draw_stored(frame: Frame, stored: Sequence[ComparisonFacts]) -> None:
    """Comparisons that were kept, newest first."""
    if not stored:
        return
    st.header("Stored comparisons")
    rows = [
        (
            *(words.moment(one.known_at, frame.zone), words.clean(one.a_title)),
            *(words.clean(one.b_title), words.span(one.window.start, one.window.end, frame.zone)),
            *(one.verdict, words.clean(one.made_by or "")),
        )
        for one in stored
    ]
    columns = ["made", "a", "b", "window", "verdict", "by"]
    kit.table(pd.DataFrame(rows, columns=columns), "Stored comparisons, newest first")


def render() -> None:
    """Draw the page."""
    frame = begin("Compare")
    model = pick_model(frame)
    served = frame.ask(deployments, model.id)
    if len(served) < 2:
        kit.empty(
            "There is nothing to compare yet",
            f"This model has {words.plural(len(served), 'deployment')}. Send requests with the"
            " version tags of two.",
        )
        return
    choose_known_by(frame)
    stored = frame.ask(comparisons, model.id, frame.known_by)
    sides = pick_sides(served, first_sides(served, stored))
    if not all(sides) or set(sides[0]) & set(sides[1]):
        kit.empty("Choose two sides", "At least one deployment each, none of them on both.")
        return
    found = chosen_comparison(frame, model, sides)
    if found is None:
        kit.empty(
            "These deployments have not been compared",
            "Press the button, or compare and keep the result:",
            f"inferwatch compare {model.name} --a {_list(sides[0])} --b {_list(sides[1])}",
        )
    else:
        draw_comparison(frame, found)
    draw_stored(frame, stored)


def _list(numbers: Sequence[int]) -> str:
    return ",".join(str(number) for number in numbers)


render()
