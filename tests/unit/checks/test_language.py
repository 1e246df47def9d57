"""Language models: worked numbers, limits that hold, and times that are never mixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from monitor.checks.language import (
    finish_reasons,
    first_token_times,
    language_rates,
    ratio_of_sums,
)
from monitor.contract import Contract
from monitor.contract_language import Architecture, kv_cache_bytes
from monitor.intake.text_signals import repetition, text_signals
from monitor.measurement import Measured, TooFew
from monitor.profiles.part import Part
from monitor.profiles.serving import build_serving_parts
from monitor.profiles.serving_sums import RatioSums
from tests.unit.profiles.factories import contract_of, one_group, rows_of

COUNTS = ("prompt_tokens", "cached_tokens", "output_tokens", "draft_tokens",
          "accepted_draft_tokens", "draft_steps", "policy_hits", "reasoning_tokens")  # fmt: skip
TIMES = ("latency", "first_token_time", "queue_time", "decode_time")
FLAGS = ("refusal", "empty_output", "repeated_output", "truncated")


def chat() -> Contract:
    return contract_of(
        *({"name": n, "type": "integer", "role": "count", "nullable": True} for n in COUNTS),
        *({"name": n, "type": "number", "role": "timing", "nullable": True} for n in TIMES),
        *({"name": n, "type": "boolean", "nullable": True} for n in FLAGS),
        {"name": "first_token_from", "type": "category", "nullable": True},
        {"name": "finish_reason", "type": "category", "nullable": True},
    )


def part(**columns: Any) -> tuple[Part, Contract]:
    contract = chat()
    rows = rows_of(contract, columns)
    return build_serving_parts(rows, contract, rows.layout, one_group(rows), 1)[0], contract


def test_a_queue_of_200_ms_a_first_token_800_ms_later_and_99_more_at_50_a_second() -> None:
    """Worked: first token at 1.0 s, the end at 2.98 s, 33.6 tokens/s overall, 50/s after it."""
    first, gap, tokens = 0.2 + 0.8, 1 / 50, 100
    end = first + 99 * gap
    assert end == pytest.approx(2.98)
    found, contract = part(
        output_tokens=[tokens] * 50, latency=[end * 1_000] * 50,
        first_token_time=[first * 1_000] * 50, first_token_from=["arrival"] * 50,
    )  # fmt: skip
    rates = language_rates(found, contract, 3600)
    assert rates["user_tokens_overall_p50"].value == pytest.approx(33.6, rel=0.01)
    assert rates["user_tokens_p50"].value == pytest.approx(50.0, rel=0.01)
    assert rates["inter_token_p50"].value == pytest.approx(20.0, rel=0.01)
    assert rates["system_tokens"].value == pytest.approx(50 * tokens / 3600)


def test_a_cache_of_32_layers_8_heads_128_wide_holds_512_mib_for_4096_tokens() -> None:
    """Worked: 2 · 32 · 8 · 128 · 4,096 · 2 bytes = 536,870,912; eight requests take 4 GiB."""
    shape = Architecture(layers=32, kv_heads=8, head_dim=128, bytes_per_value=2)
    assert kv_cache_bytes(shape, 4_096) == 536_870_912
    assert 8 * kv_cache_bytes(shape, 4_096) == 4 * 2**30


def test_first_token_times_are_told_by_where_they_begin() -> None:
    found, contract = part(
        first_token_time=[100.0] * 40 + [900.0] * 40,
        first_token_from=["scheduled"] * 40 + ["client"] * 40,
    )
    told = first_token_times(found, contract)
    assert told["first_token_p50", "scheduled"].value == pytest.approx(100, rel=0.01)
    assert told["first_token_p50", "client"].value == pytest.approx(900, rel=0.01)
    assert {word for _, word in told} == {"scheduled", "client"}


def test_shares_of_tokens_are_sums_over_sums() -> None:
    found, contract = part(
        prompt_tokens=[100] * 40 + [1_000] * 10, cached_tokens=[50] * 40 + [0] * 10,
        draft_tokens=[8] * 50, accepted_draft_tokens=[6] * 50, draft_steps=[2] * 50,
    )  # fmt: skip
    rates = language_rates(found, contract, 60)
    assert rates["cached_token_share"].value == pytest.approx(2_000 / 14_000)
    assert rates["draft_acceptance"].value == pytest.approx(0.75)
    assert rates["accepted_length"].value == pytest.approx(1 + 300 / 100)


def test_the_limits_of_a_ratio_hold_the_truth_as_often_as_they_say() -> None:
    """95 % limits over 2,000 worlds of 200 requests: binomial bounds of 2,000 · 0.95."""
    rng = np.random.default_rng(7)
    hits, worlds, n, share = 0, 2_000, 200, 0.3
    for _ in range(worlds):
        b = rng.lognormal(6, 0.8, n).astype(int) + 1
        a = rng.binomial(b, np.clip(rng.beta(3, 7, n), 0, 1))
        sums = RatioSums(n, 0, int(a.sum()), int(b.sum()), int((a * a).sum()),
                         int((a * b).sum()), int((b * b).sum()))  # fmt: skip
        found = ratio_of_sums(sums)
        assert isinstance(found, Measured)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= share <= found.high
    assert 0.92 <= hits / worlds <= 0.97


def test_the_sums_of_a_ratio_are_those_of_the_rows() -> None:
    rng = np.random.default_rng(3)
    b = rng.integers(1, 5_000, 300)
    a = rng.binomial(b, 0.4)
    found, contract = part(prompt_tokens=b.tolist(), cached_tokens=a.tolist())
    told = language_rates(found, contract, 60)["cached_token_share"]
    assert isinstance(told, Measured)
    ratio = a.sum() / b.sum()
    residual = a - ratio * b
    spread = np.sqrt((residual**2).sum() / (300 * 299)) / b.mean()
    assert told.value == pytest.approx(ratio)
    assert told.high == pytest.approx(ratio + 1.959964 * spread, rel=1e-6)


def test_flags_reasons_and_policy_hits_are_shares_with_limits() -> None:
    found, contract = part(
        refusal=[1.0] * 10 + [0.0] * 90, empty_output=[None] * 100, policy_hits=[2] * 5 + [0] * 95,
        finish_reason=["stop"] * 70 + ["length"] * 30,
    )  # fmt: skip
    rates = language_rates(found, contract, 60)
    assert rates["refusal_rate"].value == pytest.approx(0.1)
    assert rates["refusal_rate"].low < 0.1 < rates["refusal_rate"].high
    assert rates["policy_hit_rate"].value == pytest.approx(0.05)
    assert isinstance(rates["empty_output_rate"], TooFew)
    assert finish_reasons(found, contract)["length"].value == pytest.approx(0.3)


LOOP = "the model says so " * 30
PROSE = " ".join(f"word{i % 97} and{i} other{i * 3}" for i in range(60))


@pytest.mark.parametrize(("text", "repeats"), [(LOOP, True), (PROSE, False), ("no no no", False)])
def test_an_answer_that_goes_round_repeats_itself(text: str, repeats: bool) -> None:
    words = text.split()
    grams = [tuple(words[i : i + 4]) for i in range(len(words) - 3)]
    slow = 1 - len(set(grams)) / len(grams) if len(words) >= 50 else 0.0
    assert repetition(text) == pytest.approx(slow)
    assert text_signals({"output_text": text}, ())["repeated_output"] is repeats


def test_an_empty_answer_with_a_tool_call_is_not_empty_and_phrases_tell_a_refusal() -> None:
    assert text_signals({"output_text": " \n"}, ())["empty_output"] is True
    assert text_signals({"output_text": "", "tool_calls": 1}, ())["empty_output"] is False
    told = text_signals({"output_text": "I'm sorry, I CAN'T help with that"}, ("i can't help",))
    assert told["refusal"] is True
    assert text_signals({"output_text": "fine", "refusal": True}, ("i can't",))["refusal"] is True
    assert text_signals({"prompt_tokens": 3}, ("i can't",)) == {}
    assert "refusal" not in text_signals({"output_text": "fine"}, ())
