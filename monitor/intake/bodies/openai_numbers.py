"""Tokens and times that OpenAI-compatible servers tell with an answer, in one meaning each. Pure.

Means per token are computed again from totals: servers divide by n or by n - 1, with or without
the prompt. A count that is absent stays absent; it is never a zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MOST_TOKENS = 1 << 40


def usage_fields(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Token counts of `usage`: chat, completions, Responses API, embeddings, SGLang.

    OpenAI's prompt_tokens and input_tokens include the cached ones, and so does our field.
    """
    usage = mapping(answer.get("usage"))
    prompt = mapping(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    output = mapping(usage.get("completion_tokens_details") or usage.get("output_tokens_details"))
    return present(
        prompt_tokens=count(first(usage, "prompt_tokens", "input_tokens")),
        output_tokens=count(first(usage, "completion_tokens", "output_tokens")),
        cached_tokens=count(prompt.get("cached_tokens")),
        reasoning_tokens=count(
            first({"inner": output.get("reasoning_tokens"), **usage}, "inner", "reasoning_tokens")
        ),
    )


def usage_attributes(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Counts of `usage` that no standard field holds, by their own dotted names."""
    usage = mapping(answer.get("usage"))
    found: dict[str, Any] = {}
    for part in ("prompt_tokens_details", "input_tokens_details", "completion_tokens_details",
                 "output_tokens_details"):  # fmt: skip
        for name, value in mapping(usage.get(part)).items():
            if count(value) is not None:
                found[f"usage.{part}.{name[:100]}"] = value
    return found


def vllm_fields(answer: Mapping[str, Any], output_tokens: int | None) -> dict[str, Any]:
    """vLLM's `metrics` of one request. Its first-token time begins when the request is scheduled.

    `tokens_per_second` includes the prompt's time and is not used.
    """
    metrics = mapping(answer.get("metrics"))
    first_token = amount(metrics.get("time_to_first_token_ms"))
    decode = amount(metrics.get("generation_time_ms"))
    spoken = mapping(metrics.get("speculative_decoding"))
    accepted = count(spoken.get("num_accepted_draft_tokens"))
    return present(
        first_token_time=first_token,
        first_token_from=None if first_token is None else "scheduled",
        prefill_time=first_token,
        queue_time=amount(metrics.get("queue_time_ms")),
        decode_time=decode,
        inter_token_time=between_tokens(decode, output_tokens)
        if output_tokens is not None
        else amount(metrics.get("mean_itl_ms")),
        accepted_draft_tokens=accepted,
        draft_steps=count(spoken.get("num_spec_steps")),
        draft_tokens=_drafted(accepted, amount(spoken.get("draft_acceptance_rate"))),
    )


def llama_fields(answer: Mapping[str, Any]) -> dict[str, Any]:
    """llama.cpp's `timings`. It knows no first-token time: `prompt_ms` is the prefill alone.

    `prompt_n` leaves cached tokens out and `cache_n` holds them; their sum is the prompt.
    """
    timings = mapping(answer.get("timings"))
    if not timings:
        return {}
    read, cached = count(timings.get("prompt_n")), count(timings.get("cache_n"))
    made, decode = count(timings.get("predicted_n")), amount(timings.get("predicted_ms"))
    whole = read + cached if read is not None and cached is not None else None
    return present(
        prompt_tokens=whole,
        cached_tokens=cached,
        output_tokens=made,
        prefill_time=amount(timings.get("prompt_ms")),
        decode_time=decode,
        inter_token_time=between_tokens(decode, made),
        draft_tokens=count(timings.get("draft_n")),
        accepted_draft_tokens=count(timings.get("draft_n_accepted")),
    )


def llama_native_fields(answer: Mapping[str, Any]) -> dict[str, Any]:
    """llama.cpp's /completion. `tokens_cached` counts what is in the slot afterwards, output
    included: it is no count of cached prompt tokens and is not read as one.
    """
    return present(
        prompt_tokens=count(answer.get("tokens_evaluated")),
        output_tokens=count(answer.get("tokens_predicted")),
        truncated=flag(answer.get("truncated")),
    )


def sglang_fields(answer: Mapping[str, Any]) -> dict[str, Any]:
    """SGLang's `meta_info`, whose times are seconds and begin at the request's arrival."""
    meta = mapping(answer.get("meta_info"))
    made = count(meta.get("completion_tokens"))
    whole, first_token = milliseconds(meta.get("e2e_latency")), milliseconds(
        meta.get("first_token_latency")
    )  # fmt: skip
    decode = None
    if whole is not None and first_token is not None and whole >= first_token:
        decode = whole - first_token
    return present(
        prompt_tokens=count(meta.get("prompt_tokens")),
        output_tokens=made,
        cached_tokens=count(meta.get("cached_tokens")),
        latency=whole,
        queue_time=milliseconds(meta.get("queue_time")),
        first_token_time=first_token,
        first_token_from=None if first_token is None else "arrival",
        decode_time=decode,
        inter_token_time=between_tokens(decode, made),
        draft_steps=count(meta.get("spec_verify_ct")),
        draft_tokens=count(meta.get("spec_draft_token_num")),
        accepted_draft_tokens=count(meta.get("spec_accept_token_num")),
    )


def tgi_fields(headers: Mapping[str, str]) -> dict[str, Any]:
    """Headers of Text Generation Inference: whole milliseconds and token counts.

    `x-time-per-token` divides the time of prompt and output by the output: no inter-token time.
    """
    return present(
        latency=number_text(headers.get("x-total-time")),
        preprocess_time=number_text(headers.get("x-validation-time")),
        queue_time=number_text(headers.get("x-queue-time")),
        compute_time=number_text(headers.get("x-inference-time")),
        prompt_tokens=number_text(headers.get("x-prompt-tokens")),
        output_tokens=number_text(headers.get("x-generated-tokens")),
    )


def between_tokens(decode: float | None, tokens: int | None) -> float | None:
    """Mean gap between output tokens in ms: n tokens have n - 1 gaps; None for fewer than two."""
    if decode is None or tokens is None or tokens < 2:
        return None
    return decode / (tokens - 1)


def _drafted(accepted: int | None, rate: float | None) -> int | None:
    """Proposed tokens out of accepted ones and their share; None where that can't be told."""
    if not accepted or not rate or rate > 1:
        return None
    return round(accepted / rate)


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: Any) -> list[Any]:
    """The value where it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def first(found: Mapping[str, Any], *names: str) -> Any:
    """The first of these values that is said."""
    return next((found[name] for name in names if found.get(name) is not None), None)


def text(value: Any) -> str | None:
    """The value where it is text that is not empty."""
    return value if isinstance(value, str) and value else None


def flag(value: Any) -> bool | None:
    """The value where it is true or false."""
    return value if isinstance(value, bool) else None


def count(value: Any) -> int | None:
    """A whole number of things; None for anything that can't be one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MOST_TOKENS else None


def amount(value: Any) -> float | None:
    """A finite number that is not negative; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def milliseconds(seconds: Any) -> float | None:
    """Seconds as milliseconds; None where they are no time."""
    found = amount(seconds)
    return None if found is None else found * 1e3


def number_text(value: str | None) -> int | None:
    """A header's whole number; None where it is none."""
    if value is None or not value.strip().isascii() or not value.strip().isdigit():
        return None
    return count(int(value.strip()[:20]))


def present(**values: Any) -> dict[str, Any]:
    """Only what is known."""
    return {name: value for name, value in values.items() if value is not None}
