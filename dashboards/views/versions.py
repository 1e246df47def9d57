"""Versions: which deployments served when, how they differ, what contradicts, how they did."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import charts, kit, words
from dashboards.frame import Frame, begin
from dashboards.golden_view import draw_golden
from dashboards.pick import pick_model
from dashboards.sidebar import chosen_range
from monitor.reports.deployments import tag_conflicts
from monitor.reports.model import Traffic, newest_moment, traffic
from monitor.reports.models import DeploymentFacts, ModelFacts, deployments
from monitor.windows import Window


def draw_traffic(frame: Frame, found: Traffic) -> None:
    """Who served when, one colour a deployment."""
    st.header("Who served when")
    if found.requests == 0:
        kit.empty(
            "No requests in these days",
            "Choose other days, or check that the producer sends and the profile job runs.",
        )
        return
    shares = _shares(found)
    told = ", ".join(f"{name} {words.number(share, 'share')}" for name, share in shares.items())
    description = f"Requests a {found.bucket} by deployment; in all: {told}."
    table = pd.DataFrame(
        [
            (words.moment(row.at, frame.zone), row.deployment, words.whole(row.n))
            for row in found.frame.itertuples()
        ],
        columns=[found.bucket, "deployment", "requests"],
    )
    chart = charts.traffic_bars(found.frame, found.bucket, frame.zone, ())
    charts.draw(chart, description, table, "served")


def _shares(found: Traffic) -> dict[str, float]:
    sums = found.frame.groupby("deployment", sort=False)["n"].sum()
    return {str(name): int(n) / found.requests for name, n in sums.items()}


def draw_deployments(frame: Frame, known: tuple[DeploymentFacts, ...], found: Traffic) -> None:
    """One line a deployment, the newest first, with what it changed against the one before."""
    st.header("Deployments")
    if not known:
        kit.empty(
            "No deployment was seen yet",
            "The first request registers its version tags; they can also be registered ahead.",
        )
        return
    shares = _shares(found) if found.requests else {}
    rows = [
        (
            words.whole(each.id), words.clean(each.title),
            words.moment(each.first_request, frame.zone),
            words.moment(each.last_request, frame.zone),
            words.number(shares.get(each.title, 0.0), "share"),
            words.clean(", ".join(each.changed) or "–"),
            words.clean(each.tags),
        )
        for each in reversed(known)
    ]  # fmt: skip
    names = ["number", "name", "first seen", "last seen", "share of these days",
             "differs from the one before in", "tags"]  # fmt: skip
    kit.table(pd.DataFrame(rows, columns=names), "Deployments, the newest first")


def draw_compare(frame: Frame, model: ModelFacts, known: tuple[DeploymentFacts, ...]) -> None:
    """The way to the comparison of the two newest deployments."""
    if len(known) < 2:
        st.caption("There is nothing to compare before a second deployment served.")
        return
    a, b = known[-2], known[-1]
    frame.link(
        "compare", f"Compare {a.title} with {b.title}", model=model.name, a=str(a.id), b=str(b.id)
    )


def draw_conflicts(frame: Frame, model: ModelFacts) -> None:
    """Two sources that say different things of one tag."""
    st.header("Conflicts of tags")
    found = frame.ask(tag_conflicts, model.id)
    if not found:
        st.markdown(":material/check_circle: No source contradicts another about a tag.")
        return
    rows = [
        (
            words.clean(each.what), words.whole(each.requests),
            words.moment(each.first_at, frame.zone), words.moment(each.last_at, frame.zone),
        )
        for each in found
    ]  # fmt: skip
    names = ["what, and what to do", "requests", "first", "last"]
    kit.table(pd.DataFrame(rows, columns=names), "Conflicts of tags, those seen last first")


def render() -> None:
    """Draw the page."""
    frame = begin("Versions")
    model = pick_model(frame)
    newest = frame.ask(newest_moment, model.id)
    window: Window = chosen_range(frame, newest, f"versions:{model.id}")
    known = frame.ask(deployments, model.id)
    found = frame.ask(traffic, model.id, window, frame.zone.key)
    draw_traffic(frame, found)
    draw_deployments(frame, known, found)
    draw_compare(frame, model, known)
    draw_conflicts(frame, model)
    draw_golden(frame, model)
    frame.link("model", f"All of {model.name}", model=model.name)


render()
