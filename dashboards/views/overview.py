"""First page: what is wrong, what can't be seen, which models there are, whether all works."""

from __future__ import annotations

import streamlit as st

from dashboards import findings, kit, sparkline, words
from dashboards.frame import Frame, begin, number_parameter
from dashboards.promise_view import PROMISES
from dashboards.sidebar import choose_days, range_of_address
from dashboards.system_health import draw_health
from monitor.reports.overview import BlindSpot, ModelLine, Overview, overview
from monitor.reports.paging import Page, cut_page
from monitor.reports.time_range import RANGES
from monitor.windows import Window

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
    st.header("Blind spots")
    with st.container(border=True):
        for spot in spots[:10]:
            left, middle, right = st.columns([1.5, 2.5, 4], vertical_alignment="center")
            with left:
                frame.link("model", spot.model, icon=kit.STATES["blind"][0], model=spot.model)
            since = f" since {words.moment(spot.since, frame.zone)}" if spot.since else ""
            utc = words.in_utc(spot.since, frame.zone)
            middle.markdown(f"**{words.escape(spot.what + since)}**", help=utc)
            right.markdown(f"What to do: {words.escape(spot.remedy)}")
    if len(spots) > 10:
        st.caption(f"{words.whole(len(spots) - 10)} more; they are told at each model below.")


def draw_models(frame: Frame, page: Page[ModelLine]) -> None:
    """The strip of models, those with the worst news first."""
    st.header("Models")
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
        icon, _, colour = PROMISES[line.promise.value]
        st.badge(line.promise.words, icon=icon, color=colour)
        if not (line.firing or line.pending or line.blind_spots):
            st.badge("nothing to report", icon=kit.STATES["ok"][0], color="green")
    days = len(activity.daily)
    title = f"Requests, {words.plural(days, 'day')} with data" if days else "Requests"
    st.metric(title, words.whole(activity.requests))
    if days:
        counts = [count for _, count in activity.daily]
        first, last = (activity.daily[place][0] for place in (0, -1))
        sparkline.draw_bars(
            counts,
            f"Requests a day from {first:%Y-%m-%d} to {last:%Y-%m-%d} (UTC): {min(counts):,} to"
            f" {max(counts):,}, the newest day {counts[-1]:,}",
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


def _days(frame: Frame) -> tuple[int, Window | None]:
    """The days of traffic and label coverage: the newest of each model, or those chosen."""
    window = choose_days(frame)
    if window is not None:
        return 0, window
    return RANGES[range_of_address()].days, None


def render() -> None:
    """Draw the page."""
    frame = begin("Overview")
    page = frame.ask(overview, frame.now.replace(second=0, microsecond=0), *_days(frame))
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
