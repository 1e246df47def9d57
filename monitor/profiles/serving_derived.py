"""Logarithmic cells of what follows from several columns of one request.

Each is a column of the serving part by the name `derived_name(NAME)`:

- tokens_per_second: tokens after the first one per second of decoding, what a reader sees;
- tokens_per_second_overall: output tokens per second of latency, waiting included;
- inter_token_time: milliseconds from one output token to the next, on average over the request.

Decoding time is decode_time, else latency − first_token_time where the request says that its first
token's time begins at the arrival as its latency does. Requests with fewer than two output tokens
or no such time have none of the first and third.
"""

from __future__ import annotations

import numpy as np

from monitor.contract import Contract
from monitor.profiles.arrays import Floats
from monitor.profiles.serving_rows import ServingRows
from monitor.profiles.standard_columns import canonical_factor, measured_column, word_columns

TOKENS_PER_SECOND = "tokens_per_second"
TOKENS_PER_SECOND_OVERALL = "tokens_per_second_overall"
MEAN_GAP = "inter_token_time"
_FROM_ARRIVAL = "arrival"


def derived_name(name: str) -> str:
    """The name of a derived column: no declared column begins with a line end."""
    return f"\n{name}"


def add_derived(serving: ServingRows, contract: Contract) -> None:
    """Add what the contract's columns allow."""
    tokens = _canonical(serving, contract, "output_tokens")
    if tokens is None:
        return
    decode = _decode_time(serving, contract)
    if decode is not None:
        usable = (tokens >= 2) & (decode > 0)
        gap = np.divide(decode, tokens - 1, where=usable, out=np.full(len(tokens), np.nan))
        rate = np.divide(1e3, gap, where=usable, out=np.full(len(tokens), np.nan))
        serving.add_log(derived_name(TOKENS_PER_SECOND), rate)
        serving.add_log(derived_name(MEAN_GAP), gap)
    latency = _canonical(serving, contract, "latency")
    if latency is not None:
        usable = (tokens >= 1) & (latency > 0)
        rate = np.full(len(tokens), np.nan)
        np.divide(tokens * 1e3, latency, where=usable, out=rate)
        serving.add_log(derived_name(TOKENS_PER_SECOND_OVERALL), rate)


def _decode_time(serving: ServingRows, contract: Contract) -> Floats | None:
    told = _canonical(serving, contract, "decode_time")
    first = _canonical(serving, contract, "first_token_time")
    latency = _canonical(serving, contract, "latency")
    begins = [c for c in word_columns(contract) if _holds(contract, c, "first_token_from")]
    if first is None or latency is None or not begins:
        return told
    words = serving.words(begins[0])
    arrival = words.names.index(_FROM_ARRIVAL) if _FROM_ARRIVAL in words.names else -2
    rest = np.where(words.codes == arrival, latency - first, np.nan)
    return rest if told is None else np.where(np.isnan(told), rest, told)


def _holds(contract: Contract, column: str, field: str) -> bool:
    return (contract.column(column).field or column) == field


def _canonical(serving: ServingRows, contract: Contract, field: str) -> Floats | None:
    column = measured_column(contract, field)
    factor = canonical_factor(column) if column is not None else None
    if column is None or factor is None:
        return None
    values = serving.number(column.name)
    return values if factor == 1.0 else values * factor
