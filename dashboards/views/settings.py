"""Settings: contract and alert rules in force and their history. Read only: files are the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
import streamlit as st

from dashboards import kit, words
from dashboards.frame import Frame, begin, number_parameter
from dashboards.pick import pick_model
from monitor.reports.history import (
    Applied,
    changes,
    contract_text,
    contract_versions,
    rule_versions,
    rules_text,
)
from monitor.reports.models import ModelFacts


def draw_versions(
    frame: Frame, what: str, name: str, found: Sequence[Applied], text_of: Callable[[int], str]
) -> None:
    """The versions as a table, the chosen one's text and what it changed.

    `name` is the parameter of the address that keeps the choice.
    """
    newest = found[0]
    st.caption(
        f"In force: version {newest.version}, applied by {words.code(newest.by)}"
        f" {words.escape(words.moment(newest.at, frame.zone))}."
    )
    rows = [
        (each.version, words.moment(each.at, frame.zone), words.clean(each.by)) for each in found
    ]
    table = pd.DataFrame(rows, columns=["version", "applied", "by"])
    kit.table(table, f"Versions of the {what}, the one in force first", numbers=["version"])
    chosen = _chosen(what, name, [each.version for each in found])
    text = text_of(chosen)
    _draw_changes(what, found, chosen, text, text_of)
    with st.expander(f"The whole {what}, version {chosen}"):
        st.code(kit.clean_lines(text) or " ", language=None, wrap_lines=True)


def _chosen(what: str, name: str, versions: list[int]) -> int:
    wanted = number_parameter(name)
    if wanted is not None and wanted not in versions:
        kit.failed(f"There is no version {wanted} of the {what}", "The newest is shown.")
    first = wanted if wanted in versions else versions[0]
    picked = st.selectbox(
        f"Version of the {what}", versions, index=versions.index(first), key=f"{name}:{first}"
    )
    if picked != first:
        st.query_params[name] = str(picked)
        st.rerun()
    return int(picked)


def _draw_changes(
    what: str, found: Sequence[Applied], chosen: int, text: str, text_of: Callable[[int], str]
) -> None:
    older = [each.version for each in found if each.version < chosen]
    if not older:
        st.markdown(f"No older version of the {what} is kept: there is nothing to compare with.")
        return
    said = changes(text_of(older[0]), text, (f"version {older[0]}", f"version {chosen}"))
    st.markdown(f"**What version {chosen} changed**")
    if not said:
        st.markdown("Nothing: the text is the same.")
        return
    st.caption("Lines with − were taken out, lines with + were put in.")
    st.code(kit.clean_lines(said), language=None, wrap_lines=True)


def draw_contract(frame: Frame, model: ModelFacts) -> None:
    """The contract of the model."""
    st.header("Contract")
    found = frame.ask(contract_versions, model.id)
    if not found:
        kit.empty(
            "This model has no contract", "Apply one.", "inferwatch contract apply contract.yaml"
        )
        return
    draw_versions(
        frame, "contract", "contract_version", found,
        lambda version: frame.ask(contract_text, model.id, version) or "",
    )  # fmt: skip


def draw_rules(frame: Frame) -> None:
    """The alert rules of the project."""
    st.header("Alert rules")
    found = frame.ask(rule_versions)
    if not found:
        kit.empty(
            "No alert rules are in force", "Nobody is told of anything until some are applied.",
            "inferwatch alerts apply alerts.yaml",
        )  # fmt: skip
        return
    draw_versions(
        frame, "alert rules", "rules_version", found,
        lambda version: frame.ask(rules_text, version) or "",
    )  # fmt: skip


def render() -> None:
    """Draw the page."""
    frame = begin("Settings")
    st.caption("Read only. Change the files and apply them; who did it and when is kept here.")
    model = pick_model(frame)
    draw_contract(frame, model)
    draw_rules(frame)


render()
