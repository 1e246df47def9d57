"""The choice of a model and a column, kept in the address."""

from __future__ import annotations

import streamlit as st

from dashboards import kit
from dashboards.frame import Frame, parameter
from dashboards.sidebar import pick_deployment
from monitor.reports.models import ModelFacts, model_facts, model_names


def pick_model(frame: Frame, *, by_deployment: bool = False) -> ModelFacts:
    """The model of the address or of the list; ends the page when there is none.

    `by_deployment`: the page can show one deployment alone, so that too is chosen.
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
        for other in ("deployment", "column", "baseline"):
            st.query_params.pop(other, None)
    if picked != first or parameter(name) != picked:
        st.query_params[name] = picked
    if picked != first:
        st.rerun()
    return picked
