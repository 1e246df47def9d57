"""Language models: tokens, first tokens, caches, drafts, and how answers end.

First-token times that begin elsewhere are never put together: the place of the column names where
they begin. Tokens per second of a user and of the whole service are two numbers.
"""

from __future__ import annotations

import math

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import LEVEL, normal_quantile, wilson_limits
from monitor.checks.serving import percentiles, quantile_of
from monitor.contract import Contract
from monitor.measurement import Measured, Outcome
from monitor.profiles.part import Part
from monitor.profiles.serving import log_totals, serving_columns, value_counts
from monitor.profiles.serving_derived import (
    MEAN_GAP,
    TOKENS_PER_SECOND,
    TOKENS_PER_SECOND_OVERALL,
    derived_name,
)
from monitor.profiles.serving_splits import split_name, split_values
from monitor.profiles.serving_sums import RatioSums, ratio_sums
from monitor.profiles.serving_words import flag_counts, unnamed_words, word_counts
from monitor.profiles.standard_columns import column_holding, flag_columns, word_columns

MIN_RATIO_ROWS, MIN_SHARE_ROWS = 30, 1
RATIOS = {
    "cached_token_share": ("cached_tokens", "prompt_tokens", 0.0),
    "draft_acceptance": ("accepted_draft_tokens", "draft_tokens", 0.0),
    "accepted_length": ("accepted_draft_tokens", "draft_steps", 1.0),
    "reasoning_token_share": ("reasoning_tokens", "output_tokens", 0.0),
}
"""Method: fields of numerator and denominator, and what is added (a step yields a token itself)."""
FLAGS = {
    "refusal_rate": "refusal",
    "empty_output_rate": "empty_output",
    "repeated_output_rate": "repeated_output",
    "truncated_rate": "truncated",
}
SLOWEST = {"p5": 0.05, "p50": 0.5}


def ratio_of_sums(sums: RatioSums, *, plus: float = 0.0, share: bool = True) -> Outcome:
    """Σa/Σb over requests that have both, with limits by linearisation.

    r = Σa/Σb; var(r) = Σ(a - r b)² / (n (n-1)) / b̄² (Cochran 1977, Sampling Techniques, 6.4).
    Longer prompts weigh more, as they do on the machine. Not for fewer than 30 requests.
    """
    value = limits = None
    if sums.b:
        value = sums.a / sums.b
    if value is not None and sums.n >= 2:
        squares = max(0.0, sums.aa - 2 * value * sums.ab + value * value * sums.bb)
        spread = math.sqrt(squares / (sums.n * (sums.n - 1))) / (sums.b / sums.n)
        wide = normal_quantile(LEVEL) * spread
        low, high = value - wide, value + wide
        limits = (max(0.0, low) + plus, (min(1.0, high) if share else high) + plus)
    told = {"left_out": sums.left_out} if sums.left_out else {}
    floors = (Floor(sums.n, MIN_RATIO_ROWS, "requests with both counts"),)
    shown = None if value is None else value + plus
    return measured_above(floors, shown, sums.n, limits, told, "no such tokens")


def token_ratios(part: Part, contract: Contract) -> dict[str, Outcome]:
    """Cached share, acceptance of drafts and the like, where the contract has both columns."""
    served = serving_columns(contract)
    found = {}
    for method, (above, below, plus) in RATIOS.items():
        first, second = column_holding(contract, above), column_holding(contract, below)
        if first is None or second is None or not {first.name, second.name} <= set(served):
            continue
        sums = ratio_sums(part, first.name, second.name)
        found[method] = ratio_of_sums(sums, plus=plus, share=not plus)
    return found


def answer_flags(part: Part, contract: Contract) -> dict[str, Outcome]:
    """Shares of answers that decline, are empty, repeat themselves or were cut off; policy hits."""
    found = {}
    for method, field in FLAGS.items():
        column = column_holding(contract, field)
        if column is not None and column.name in flag_columns(contract):
            counts = flag_counts(part, column.name)
            found[method] = _share(counts.yes, counts.n, f"requests that tell {field}")
    hits = column_holding(contract, "policy_hits")
    if hits is not None and hits.name in serving_columns(contract):
        values, rows = value_counts(part, hits.name)
        told = "requests that tell their policy hits"
        found["policy_hit_rate"] = _share(int(rows[values > 0].sum()), int(rows.sum()), told)
    return found


def finish_reasons(part: Part, contract: Contract) -> dict[str, Outcome]:
    """Share of each reason among requests that tell one."""
    column = column_holding(contract, "finish_reason")
    if column is None or column.name not in word_columns(contract):
        return {}
    counts = word_counts(part, column.name)
    n = sum(counts.values()) + unnamed_words(part, column.name)
    return {word: _share(count, n, "requests with a reason") for word, count in counts.items()}


def first_token_times(part: Part, contract: Contract) -> dict[tuple[str, str], Outcome]:
    """By (percentile, where the time begins); nothing where no request says where."""
    column, by = (column_holding(contract, f) for f in ("first_token_time", "first_token_from"))
    if column is None or by is None:
        return {}
    return {
        (f"first_token_{name}", word): outcome
        for word in split_values(part, column.name, by.name)
        for name, outcome in percentiles(part, split_name(column.name, by.name, word)).items()
    }


def token_rates(part: Part, contract: Contract, seconds: float) -> dict[str, Outcome]:
    """Gaps between tokens, tokens per second that a user sees, and of the service as a whole."""
    tokens = column_holding(contract, "output_tokens")
    if tokens is None or tokens.name not in serving_columns(contract):
        return {}
    found: dict[str, Outcome] = {
        f"inter_token_{name}": outcome
        for name, outcome in percentiles(part, derived_name(MEAN_GAP)).items()
    }
    for method, name in (("user_tokens", TOKENS_PER_SECOND),
                         ("user_tokens_overall", TOKENS_PER_SECOND_OVERALL)):  # fmt: skip
        values, rows = value_counts(part, derived_name(name))
        for label, share in SLOWEST.items():
            found[f"{method}_{label}"] = quantile_of(values, rows, share)
    totals = log_totals(part, tokens.name)
    # A sum over all requests: it has no sampling error, and 0 is a measured 0.
    found["system_tokens"] = Measured(totals.total / seconds, totals.n)
    return found


def language_rates(part: Part, contract: Contract, seconds: float) -> dict[str, Outcome]:
    """Every number of the whole service in one window that names no word."""
    return {
        **token_ratios(part, contract),
        **answer_flags(part, contract),
        **token_rates(part, contract, seconds),
    }


def _share(events: int, n: int, what: str) -> Outcome:
    value, limits = (events / n, wilson_limits(events, n)) if n else (None, None)
    floors = (Floor(n, MIN_SHARE_ROWS, what),)
    return measured_above(floors, value, n, limits, {"count": events}, f"no {what}")
