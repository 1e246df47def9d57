"""Language models: a section of the serving page."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import kit, words
from dashboards.frame import Frame
from monitor.measurement import Failed, Measured, Outcome, TooFew
from monitor.reports.language import SHARES, LanguageReport, language_of
from monitor.reports.models import ModelFacts
from monitor.windows import Window

NAMES = {
    "cached_token_share": ("prompt tokens from a cache", "share"),
    "draft_acceptance": ("drafted tokens that were accepted", "share"),
    "accepted_length": ("tokens a verification step", ""),
    "reasoning_token_share": ("output tokens that are reasoning", "share"),
    "refusal_rate": ("answers that decline", "share"),
    "empty_output_rate": ("empty answers", "share"),
    "repeated_output_rate": ("answers that repeat themselves", "share"),
    "truncated_rate": ("cut off", "share"),
    "policy_hit_rate": ("answers that met a policy rule", "share"),
    "inter_token_p50": ("gap between tokens, p50", "ms"),
    "inter_token_p95": ("gap between tokens, p95", "ms"),
    "inter_token_p99": ("gap between tokens, p99", "ms"),
    "user_tokens_p50": ("tokens a second for a user, after the first, p50", ""),
    "user_tokens_p5": ("tokens a second for a user, after the first, slowest 5 %", ""),
    "user_tokens_overall_p50": ("tokens a second for a user, waiting included, p50", ""),
    "user_tokens_overall_p5": ("tokens a second for a user, waiting included, slowest 5 %", ""),
    "system_tokens": ("tokens a second of the whole service", ""),
}


def draw_language(frame: Frame, model: ModelFacts, window: Window) -> None:
    """Tokens, first tokens and answers; nothing for models without such fields."""
    found: LanguageReport | None = frame.ask(language_of, model.name, window)
    if found is None:
        return
    st.header("Language model")
    if found.n == 0:
        kit.empty("No request in these days", "Choose other days, or send requests.")
        return
    rates = [
        {"what": NAMES[name][0], "value": told(outcome, NAMES[name][1])}
        for name, outcome in found.rates.items()
        if name in NAMES
    ]
    if rates:
        kit.table(pd.DataFrame(rates), "Numbers of the language model")
    _draw_first_tokens(found)
    _draw_lengths(found)
    reasons = [
        {"generation ended with": words.clean(word), "share": told(outcome, "share")}
        for word, outcome in found.reasons.items()
    ]
    if reasons:
        kit.table(pd.DataFrame(reasons), "Finish reasons")
    for name, size in found.cache.items():
        st.caption(words.escape(f"Key-value cache of {name}: {size / 2**20:,.0f} MiB, estimated"
                                " from the declared architecture."))  # fmt: skip


def _draw_first_tokens(found: LanguageReport) -> None:
    rows: dict[str, dict[str, str]] = {}
    for (method, word), outcome in found.first_tokens.items():
        name = method.removeprefix("first_token_")
        rows.setdefault(word, {"first token, from": words.clean(word)})[name] = told(outcome, "ms")
    if rows:
        kit.table(pd.DataFrame(list(rows.values())), "First-token times by where they begin")
        st.caption("First-token times that begin elsewhere are never put together.")


def _draw_lengths(found: LanguageReport) -> None:
    rows = [
        {"tokens": words.clean(row.column)}
        | {f"p{share * 100:g}": words.number(value, "")
           for share, value in zip(SHARES, row.quantiles, strict=True)}
        for row in found.lengths
    ]  # fmt: skip
    if rows:
        kit.table(pd.DataFrame(rows), "Lengths in tokens")


def told(outcome: Outcome, unit: str) -> str:
    """An outcome in a cell."""
    if isinstance(outcome, Measured):
        return words.measured(
            outcome.value, outcome.low, outcome.high, outcome.level, outcome.n, unit
        )
    if isinstance(outcome, TooFew):
        return f"too few: {outcome.n:,} of {outcome.needed:,} {outcome.reason}"
    return outcome.reason if isinstance(outcome, Failed) else "–"
