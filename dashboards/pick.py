"""Choices of a page that stand in its address: the model, a column, and those inside a section."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

from dashboards import kit
from dashboards.frame import Frame, parameter
from dashboards.sidebar import pick_deployment, pick_segment
from monitor.reports.models import ModelFacts, model_facts, model_names
from monitor.reports.series import Series

Option = TypeVar("Option")


def choose(
    title: str,
    options: Sequence[Option],
    name: str,
    *,
    first: Option | None = None,
    told: Callable[[Option], str] = str,
    written: Callable[[Option], str] = str,
    as_buttons: bool = False,
) -> Option:
    """One of the options, from the address's parameter `name` or by hand; `first` needs no word
    there. `written` is how an option stands in the address; what is none of them counts as `first`.
    """
    usual = options[0] if first is None else first
    wanted = parameter(name)
    at = next((each for each in options if written(each) == wanted), usual)
    key = f"{name}:{written(at)}"
    if as_buttons:
        picked = st.segmented_control(
            title, options, default=at, key=key, required=True, format_func=told
        )
    else:
        index = [written(each) for each in options].index(written(at))
        picked = st.selectbox(title, options, index=index, key=key, format_func=told)
    if picked is not None and written(picked) != written(at):
        if written(picked) == written(usual):
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = written(picked)
        st.rerun()
    return at


def choose_scale(found: Series, name: str) -> None:
    """The choice of window length where there are several; `name` is read before `found` is."""
    if len(found.scales) > 1 and found.scale is not None:
        choose("Windows", found.scales, name, first=found.scale, told=kit.scale_words,
               as_buttons=True)  # fmt: skip


def pick_model(
    frame: Frame, *, by_deployment: bool = False, by_segment: bool = False
) -> ModelFacts:
    """The model of the address or of the list; ends the page when there is none.

    `by_deployment`, `by_segment`: the page can show one of them alone, so that too is chosen.
    """
    names = [model.name for model in frame.ask(model_names)]
    if not names:
        kit.empty(
            "This project has no model yet",
            "Apply a contract; that makes the model.",
            "inferwatch contract apply contract.yaml",
        )
        st.stop()
    model = frame.ask(model_facts, _picked("Model", "model", names))
    if by_deployment:
        pick_deployment(frame, model)
    elif frame.deployment is not None:
        st.caption(":material/filter_alt_off: This page shows all deployments together.")
    if by_segment:
        pick_segment(frame, model)
    elif parameter("segment") is not None:
        st.caption(":material/filter_alt_off: This page shows all requests, of every segment.")
    return model


def pick_column(model: ModelFacts) -> str:
    """The column of the address or of the contract's list; ends the page when there is none."""
    names = [column.name for column in model.columns]
    if not names:
        kit.empty("This model has no contract", "Apply one: it declares the columns.")
        st.stop()
    return _picked("Column", "column", names)


def _picked(title: str, name: str, options: list[str]) -> str:
    wanted = parameter(name)
    if wanted is not None and wanted not in options:
        kit.failed(f"There is no such {name}", f"{wanted} is not known here; choose another.")
        wanted = None
    first = wanted if wanted is not None else options[0]
    with st.sidebar:
        picked = st.selectbox(title, options, index=options.index(first), key=f"{name}:{first}")
    if picked != first and name == "model":  # what belongs to the model that was left
        for other in ("deployment", "segment", "column", "baseline"):
            st.query_params.pop(other, None)
    if picked != first or parameter(name) != picked:
        st.query_params[name] = picked
    if picked != first:
        st.rerun()
    return picked
