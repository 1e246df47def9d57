"""First page: what is wrong, what can't be seen, which models there are, whether all works."""

from __future__ import annotations

import streamlit as st

from dashboards import findings, kit, words
from dashboards.frame import Frame, begin, number_parameter
from dashboards.system_health import draw_health
from monitor.reports.overview import BlindSpot, ModelLine, Overview, overview
from monitor.reports.paging import Page, cut_page

MODELS_A_PAGE = 12


def draw_counts(page: Overview) -> None:
    """One line of bad news; blind spots are bad news too."""
    counts = page.counts
    with st.container(horizontal=True, gap="small"):
        kit.count_badge(counts.page, "page", ":material/e911_emergency:", "red")
        kit.count_badge(counts.ticket, "ticket", ":material/confirmation_number:", "orange")
        kit.count_badge(counts.notice, "notice", ":material/info:", "blue")
        kit.count_badge(len(page.blind_spots), "blind spot", ":material/visibility_off:", "orange")
    said = [
        f"{words.whole(counts.pending)} pending",
        f"{words.whole(counts.acknowledged)} taken on",
    ]
    st.caption(
        f"Alerts that fire now, of which {said[1]}; {said[0]}. Blind spots are what can't be seen."
    )


def draw_blind_spots(frame: Frame, spots: tuple[BlindSpot, ...]) -> None:
    """What can't be seen, since when, and what to do."""
    if not spots:
        return
    st.subheader("Blind spots")
    with st.container(border=True):
        for spot in spots[:10]:
            left, middle, right = st.columns([1.5, 2.5, 4], vertical_alignment="center")
            with left:
                frame.link("model", spot.model, icon=kit.STATES["blind"][0], model=spot.model)
            since = f" since {words.moment(spot.since, frame.zone)}" if spot.since else ""
            middle.markdown(f"**{words.escape(spot.what + since)}**")
            right.markdown(f"What to do: {words.escape(spot.remedy)}")
    if len(spots) > 10:
        st.caption(f"{words.whole(len(spots) - 10)} more; they are told at each model below.")


def draw_models(frame: Frame, page: Page[ModelLine]) -> None:
    """The strip of models, those with the worst news first."""
    st.subheader("Models")
    columns = st.columns(3)
    for place, line in enumerate(page.rows):
        with columns[place % 3], st.container(border=True):
            _draw_model(frame, line)
    if page.pages > 1:
        kit.pager(page, "models_page")


def _draw_model(frame: Frame, line: ModelLine) -> None:
    activity = line.activity
    frame.link("model", line.name, model=line.name)
    with st.container(horizontal=True):
        if line.firing:
            st.badge(
                f"{words.whole(line.firing)} firing", icon=kit.STATES["firing"][0], color="red"
            )
        if line.pending:
            st.badge(
                f"{words.whole(line.pending)} pending",
                icon=kit.STATES["pending"][0],
                color="orange",
            )
        if line.blind_spots:
            kit.count_badge(len(line.blind_spots), "blind spot", kit.STATES["blind"][0], "orange")
        if not (line.firing or line.pending or line.blind_spots):
            st.badge("nothing to report", icon=kit.STATES["ok"][0], color="green")
    days = len(activity.daily)
    st.metric(
        f"Requests, newest {words.plural(days, 'day')}" if days else "Requests",
        words.whole(activity.requests),
        chart_data=[count for _, count in activity.daily] or None,
        chart_type="bar",
    )
    st.caption("  \n".join(_facts(frame, line)))


def _facts(frame: Frame, line: ModelLine) -> list[str]:
    activity = line.activity
    facts = [f"Newest batch {words.ago(activity.last_requests, frame.now)}"]
    if activity.newest_event is not None:
        facts.append(
            f"Events up to {words.escape(words.moment(activity.newest_event, frame.zone))}"
        )
    if line.has_label and activity.label_coverage is not None:
        share = words.number(activity.label_coverage, "share")
        facts.append(f"Labels for {share} of {words.whole(activity.predictions)} predictions")
    elif line.has_label:
        facts.append("No predictions that could have a label yet")
    else:
        facts.append("The contract declares no label")
    if activity.deployment is not None:
        began = words.escape(words.moment(activity.deployed_at, frame.zone))
        facts.append(f"Newest deployment {words.code(activity.deployment)} from {began}")
    facts.append(f"Owner {words.code(line.owner)}, risk {words.escape(line.risk_tier)}")
    return facts


def render() -> None:
    """Draw the page."""
    frame = begin("Overview")
    page = frame.ask(overview, frame.now.replace(second=0, microsecond=0))
    if not page.models:
        kit.empty(
            "This project has no model yet",
            "Apply a contract; then send requests to the collector with the project's key.",
            "inferwatch contract apply contract.yaml",
        )
        draw_health(frame)
        return
    draw_counts(page)
    findings.draw_list(frame)
    draw_blind_spots(frame, page.blind_spots)
    draw_models(frame, cut_page(page.models, number_parameter("models_page") or 1, MODELS_A_PAGE))
    draw_health(frame)


render()
