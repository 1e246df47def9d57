"""Standard fields: what a producer can say of any request, under one name and in one unit each.

A contract's column with one of these names, or with `field: NAME`, is filled from a producer's
record in the column's own unit and read by the checks that need it. A new field is a line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

STAGE = "stage."
"""`stage.NAME` is the time of a named stage of the request, in milliseconds."""


class FieldKind(StrEnum):
    """How a field's values are read."""

    TIME = "time"
    COUNT = "count"
    RATE = "rate"
    AMOUNT = "amount"
    NUMBER = "number"
    WORD = "word"
    FLAG = "flag"
    TEXT = "text"
    MOMENT = "moment"


@dataclass(frozen=True)
class StandardField:
    """One field: its name, kind, unit (empty where it has none) and what it means."""

    name: str
    kind: FieldKind
    unit: str
    meaning: str


_TIME, _COUNT, _WORD, _FLAG = FieldKind.TIME, FieldKind.COUNT, FieldKind.WORD, FieldKind.FLAG
_ROWS: tuple[tuple[str, FieldKind, str, str], ...] = (
    ("latency", _TIME, "ms", "from the request's arrival to its full answer"),
    ("queue_time", _TIME, "ms", "waiting before any work was done"),
    ("load_time", _TIME, "ms", "loading the model for this request: a cold start"),
    ("preprocess_time", _TIME, "ms", "work before the model"),
    ("compute_time", _TIME, "ms", "work inside the model, without queue and transport"),
    ("postprocess_time", _TIME, "ms", "work after the model"),
    ("prefill_time", _TIME, "ms", "reading the prompt, without queue"),
    ("decode_time", _TIME, "ms", "from the first output token to the last"),
    ("first_token_time", _TIME, "ms", "until the first output token; see first_token_from"),
    ("inter_token_time", _TIME, "ms", "mean gap between output tokens: decode time / (tokens - 1)"),
    ("review_time", _TIME, "ms", "a person's work on this request"),
    ("first_token_from", _WORD, "", "where first_token_time begins: arrival, scheduled or client"),
    ("prompt_tokens", _COUNT, "tokens", "tokens of the prompt, cached ones included"),
    ("cached_tokens", _COUNT, "tokens", "tokens of the prompt that came from a cache"),
    ("output_tokens", _COUNT, "tokens", "generated tokens, reasoning included"),
    ("reasoning_tokens", _COUNT, "tokens", "generated tokens that are not shown"),
    ("draft_tokens", _COUNT, "tokens", "tokens proposed by speculative decoding"),
    ("accepted_draft_tokens", _COUNT, "tokens", "proposed tokens that were accepted"),
    ("draft_steps", _COUNT, "steps", "verification steps of speculative decoding"),
    ("retries", _COUNT, "attempts", "attempts after the first, by the caller or a gateway"),
    ("batch_size", _COUNT, "requests", "requests in the same execution"),
    ("tool_calls", _COUNT, "calls", "tools that the model called"),
    ("policy_hits", _COUNT, "rules", "rules of a content policy that the answer met"),
    ("cost", FieldKind.AMOUNT, "", "what the request cost, in the contract's currency"),
    ("energy", FieldKind.AMOUNT, "J", "energy that the request used"),
    ("router_score", FieldKind.NUMBER, "", "score on which a router chose the route"),
    ("temperature", FieldKind.NUMBER, "", "sampling temperature asked for"),
    ("top_p", FieldKind.NUMBER, "", "nucleus sampling asked for"),
    ("max_tokens", _COUNT, "tokens", "most output tokens asked for"),
    ("sampling_rate", FieldKind.NUMBER, "", "share of requests that the producer logs"),
    ("route", _WORD, "", "model or path that a router chose"),
    ("finish_reason", _WORD, "", "why generation ended: stop, length, tool_calls, …"),
    ("error_type", _WORD, "", "kind of error, in the producer's word"),
    ("operation", _WORD, "", "chat, embeddings, retrieval, …"),
    ("prompt_name", _WORD, "", "name of the prompt template"),
    ("tool_versions", _WORD, "", "versions of the tools that could be called"),
    ("provider", _WORD, "", "who serves the model"),
    ("variant", _WORD, "", "arm of an experiment, canary or default"),
    ("conversation", _WORD, "", "conversation that the request belongs to"),
    ("client_version", _WORD, "", "version of the calling program"),
    ("zone", _WORD, "", "availability zone"),
    ("cluster", _WORD, "", "cluster that served the request"),
    ("node", _WORD, "", "node that served the request"),
    ("replica", _WORD, "", "replica, pod or instance that served the request"),
    ("cold_start", _FLAG, "", "the model was loaded for this request"),
    ("streamed", _FLAG, "", "the answer was streamed"),
    ("truncated", _FLAG, "", "the prompt or the answer was cut off"),
    ("refusal", _FLAG, "", "the model declined to answer"),
    ("escalated", _FLAG, "", "a cascade passed the request on to the next model"),
    ("empty_output", _FLAG, "", "the answer holds no text and no tool call"),
    ("repeated_output", _FLAG, "", "the answer repeats itself"),
    ("prompt_text", FieldKind.TEXT, "", "text of the prompt"),
    ("output_text", FieldKind.TEXT, "", "text of the answer"),
)
FIELDS: Mapping[str, StandardField] = {row[0]: StandardField(*row) for row in _ROWS}

TIME_UNITS: Mapping[str, float] = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3,
                                   "min": 6e4, "h": 3.6e6}  # fmt: skip
ENERGY_UNITS: Mapping[str, float] = {"J": 1.0, "kJ": 1e3, "Wh": 3.6e3, "kWh": 3.6e6}


def standard_field(name: str) -> StandardField | None:
    """The field of this name, stages included; None when there is none."""
    if name.startswith(STAGE) and len(name) > len(STAGE):
        return StandardField(name, FieldKind.TIME, "ms", f"time of the stage {name[len(STAGE) :]}")
    return FIELDS.get(name)


def unit_factor(wanted: StandardField, unit: str | None) -> float | None:
    """What a value in the field's own unit is divided by to be in `unit`; None when that can't be.

    No unit means the field's own.
    """
    if unit is None or unit == wanted.unit or not wanted.unit:
        return 1.0
    for known in (TIME_UNITS, ENERGY_UNITS):
        if wanted.unit in known and unit in known:
            return known[unit] / known[wanted.unit]
    return 1.0 if wanted.kind is FieldKind.COUNT else None
