"""A language model in a span: tokens, first tokens, answers, and its key-value cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.engine import Engine

from monitor.checks.language import finish_reasons, first_token_times, language_rates
from monitor.contract import Contract
from monitor.contract_language import kv_cache_bytes
from monitor.measurement import Outcome
from monitor.profiles.part import Part, PartKind, merge
from monitor.profiles.serving import outcome_counts, quantile, serving_columns
from monitor.profiles.standard_columns import column_holding
from monitor.reports.database import reading
from monitor.reports.operation import whole_hours
from monitor.store.models import ModelContext, model_context
from monitor.store.profile_rows import read_window
from monitor.windows import Window

FIELDS = ("prompt_tokens", "output_tokens", "first_token_time", "finish_reason")
LENGTHS = ("prompt_tokens", "output_tokens")
SHARES = (0.05, 0.5, 0.95, 0.99)


@dataclass(frozen=True)
class LengthRow:
    """Quantiles of a count of tokens, in the order of SHARES; within 1/129 of themselves."""

    column: str
    quantiles: tuple[float, ...]


@dataclass(frozen=True)
class LanguageReport:
    """One model's live requests. `cache` in bytes by request length: a median and a long one."""

    window: Window
    n: int
    rates: Mapping[str, Outcome]
    first_tokens: Mapping[tuple[str, str], Outcome]
    reasons: Mapping[str, Outcome]
    lengths: tuple[LengthRow, ...]
    cache: Mapping[str, float]


def language_of(
    engine: Engine, project_id: int, model_name: str, window: Window
) -> LanguageReport | None:
    """The report of a model by its name; None for models without such fields."""
    with reading(engine, project_id) as connection:
        context = model_context(connection, project_id, model_name, b"")
    if context is None or all(column_holding(context.contract, f) is None for f in FIELDS):
        return None
    return language_report(engine, project_id, context, window)


def language_report(
    engine: Engine, project_id: int, context: ModelContext, window: Window, leg: str = "live"
) -> LanguageReport:
    """The report of the whole hours that the span touches."""
    span = whole_hours(window)
    with reading(engine, project_id) as connection:
        stored = read_window(connection, project_id, context.model_id, PartKind.SERVING, span)
    part = merge([each.part for each in stored if each.key.leg == leg])
    contract = context.contract
    return LanguageReport(
        span,
        sum(outcome_counts(part).values()),
        language_rates(part, contract, (span.end - span.start).total_seconds()),
        first_token_times(part, contract),
        finish_reasons(part, contract),
        tuple(_lengths(part, contract)),
        _cache(part, contract),
    )


def _lengths(part: Part, contract: Contract) -> list[LengthRow]:
    found = []
    for field in LENGTHS:
        column = column_holding(contract, field)
        if column is None or column.name not in serving_columns(contract):
            continue
        each = [quantile(part, column.name, share) for share in SHARES]
        values = [one.value for one in each if one is not None]
        if len(values) == len(SHARES):
            found.append(LengthRow(column.name, tuple(values)))
    return found


def _cache(part: Part, contract: Contract) -> dict[str, float]:
    """Bytes of the cache for a request of median and of 95 % prompt and output length."""
    shape = contract.language.architecture if contract.language is not None else None
    rows = _lengths(part, contract)
    if shape is None or len(rows) != len(LENGTHS):
        return {}
    tokens = {name: sum(row.quantiles[place] for row in rows) for name, place in
              (("a median request", 1), ("a long request (p95 of both)", 2))}  # fmt: skip
    return {name: kv_cache_bytes(shape, count) for name, count in tokens.items()}
