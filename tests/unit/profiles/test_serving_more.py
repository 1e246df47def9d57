"""Words, flags, splits, sums of pairs, derived columns of serving parts against plain counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from monitor.profiles.cascade import router_counts
from monitor.profiles.part import Part, merge
from monitor.profiles.rows import RequestRows
from monitor.profiles.serving import build_serving_parts, log_totals, quantile
from monitor.profiles.serving_derived import (
    MEAN_GAP,
    TOKENS_PER_SECOND,
    TOKENS_PER_SECOND_OVERALL,
    derived_name,
)
from monitor.profiles.serving_rows import MAX_WORDS, kept_words
from monitor.profiles.serving_splits import split_name, split_values
from monitor.profiles.serving_sums import ratio_sums
from monitor.profiles.serving_words import flag_counts, unnamed_words, word_counts
from tests.unit.profiles.factories import contract_of, one_group, rows_of

CONTRACT = contract_of(
    {"name": "ms", "type": "number", "role": "timing", "unit": "ms", "field": "latency",
     "nullable": True},
    {"name": "ttft", "type": "number", "role": "timing", "unit": "s", "field": "first_token_time",
     "nullable": True},
    {"name": "first_token_from", "type": "category", "nullable": True},
    {"name": "route", "type": "category", "nullable": True},
    {"name": "cold", "type": "boolean", "field": "cold_start", "nullable": True},
    {"name": "prompt_tokens", "type": "integer", "role": "count", "nullable": True},
    {"name": "cached_tokens", "type": "integer", "role": "count", "nullable": True},
    {"name": "output_tokens", "type": "integer", "role": "count", "nullable": True},
    {"name": "router_score", "type": "number", "nullable": True},
    {"name": "conversation", "type": "category", "nullable": True},
    cascade={"route": "route", "routes": ["small", "large"], "score": "router_score",
             "threshold": 0.5},
)  # fmt: skip


def random_values(n: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)

    def some(make: Any) -> list[Any]:
        return [None if rng.random() < 0.2 else make() for _ in range(n)]

    return {
        "ms": some(lambda: float(rng.lognormal(6))),
        "ttft": some(lambda: float(rng.lognormal(-1))),
        "first_token_from": some(lambda: str(rng.choice(["arrival", "scheduled"]))),
        "route": some(lambda: str(rng.choice(["small", "large", "other"]))),
        "cold": some(lambda: bool(rng.random() < 0.3)),
        "prompt_tokens": some(lambda: int(rng.integers(0, 5_000))),
        "cached_tokens": some(lambda: int(rng.integers(0, 100))),
        "output_tokens": some(lambda: int(rng.integers(0, 500))),
        "router_score": some(lambda: float(rng.random())),
        "conversation": [f"c{k}" for k in range(n)],
    }


def part_of(values: dict[str, list[Any]], **envelope: Any) -> Part:
    rows = _rows(values, **envelope)
    return build_serving_parts(rows, CONTRACT, rows.layout, one_group(rows), 1)[0]


def _rows(values: dict[str, list[Any]], **envelope: Any) -> RequestRows:
    n = len(next(iter(values.values())))
    every: dict[str, list[Any]] = {column.name: [None] * n for column in CONTRACT.columns}
    return rows_of(CONTRACT, every | values, **envelope)


def test_words_and_flags_are_counted_and_ids_of_conversations_are_not() -> None:
    values = random_values(300)
    part = part_of(values)
    assert word_counts(part, "route") == Counter(v for v in values["route"] if v is not None)
    assert unnamed_words(part, "route") == 0
    found = flag_counts(part, "cold")
    assert (found.no, found.yes) == (values["cold"].count(False), values["cold"].count(True))
    assert word_counts(part, "conversation") == {}


@pytest.mark.parametrize("n_groups", [2, 7])
def test_pieces_add_up_to_the_same_bytes_as_the_whole(n_groups: int) -> None:
    rows = _rows(random_values(300))
    groups = np.arange(300) % n_groups
    pieces = build_serving_parts(rows, CONTRACT, rows.layout, groups, n_groups)
    (whole,) = build_serving_parts(rows, CONTRACT, rows.layout, one_group(rows), 1)
    assert merge(pieces[::-1]).to_bytes() == whole.to_bytes()


def test_of_too_many_words_the_named_ones_are_exact_however_the_rows_were_cut() -> None:
    rng = np.random.default_rng(1)
    words = [f"w{rng.integers(0, 900)}" for _ in range(4_000)]
    whole = part_of({"route": words})
    pieces = merge([part_of({"route": words[k : k + 500]}) for k in range(0, 4_000, 500)])
    exact = Counter(words)
    named = kept_words(list(exact), MAX_WORDS)
    assert word_counts(whole, "route") == {word: exact[word] for word in named}
    assert word_counts(pieces, "route") == word_counts(whole, "route")
    rest = 4_000 - sum(exact[word] for word in named)
    assert unnamed_words(pieces, "route") == unnamed_words(whole, "route") == rest


def test_a_line_end_or_a_long_text_in_a_word_does_not_break_names() -> None:
    part = part_of({"route": ["a\nb", "x" * 300, "x" * 200]})
    assert word_counts(part, "route") == {"a b": 1, "x" * 100: 2}


def test_first_token_times_that_begin_elsewhere_are_never_mixed() -> None:
    part = part_of(
        {"ttft": [0.1, 0.1, 9.0, 5.0], "first_token_from": ["arrival", "arrival", "client", None]}
    )
    assert split_values(part, "ttft", "first_token_from") == ("arrival", "client")
    arrival = quantile(part, split_name("ttft", "first_token_from", "arrival"), 1.0)
    assert arrival is not None
    assert arrival.value == pytest.approx(0.1, rel=0.01)
    assert log_totals(part, split_name("ttft", "first_token_from", "client")).n == 1


def test_latency_is_split_by_cold_start_and_by_outcome() -> None:
    part = part_of(
        {"ms": [100.0, 200.0, 300.0, None], "cold": [True, False, None, True]},
        outcome=[1, 8, 4, 1],
    )
    cold = log_totals(part, split_name("ms", "cold", "true"))
    assert (cold.n, cold.missing, cold.total) == (1, 1, 100.0)
    assert log_totals(part, split_name("ms", "cold", "false")).total == 200.0
    assert log_totals(part, split_name("ms", "outcome", "cached")).total == 200.0
    assert log_totals(part, split_name("ms", "outcome", "answered")).n == 1


def test_every_measured_column_is_split_by_the_route_of_a_cascade() -> None:
    values = random_values(200)
    part = part_of(values)
    for column in ("ms", "ttft", "prompt_tokens", "output_tokens"):
        mine = [
            v for v, route in zip(values[column], values["route"], strict=True)
            if route == "small" and v is not None
        ]  # fmt: skip
        found = log_totals(part, split_name(column, "route", "small"))
        assert found.n == len(mine)
        assert found.total == pytest.approx(sum(mine))
    counts = router_counts(part, CONTRACT.cascade) if CONTRACT.cascade else None
    assert counts is not None
    assert counts.n > 0


def test_declared_routes_are_split_among_any_number_of_other_words() -> None:
    routes = ["small", "large", *(f"junk{k}" for k in range(400))]
    part = part_of({"route": routes, "ms": [float(k) for k in range(402)]})
    assert split_values(part, "ms", "route") == ("large", "small")
    assert log_totals(part, split_name("ms", "route", "large")).total == 1.0


def test_no_rows_give_an_empty_part_for_each_group() -> None:
    rows = _rows({"ms": []})
    parts = build_serving_parts(rows, CONTRACT, rows.layout, np.zeros(0, np.int64), 2)
    assert len(parts) == 2
    assert word_counts(parts[1], "route") == {}
    assert ratio_sums(parts[1], "cached_tokens", "prompt_tokens").n == 0


def test_sums_of_a_pair_are_exact_where_squares_overflow_64_bits() -> None:
    a, b = [2**31 - 1] * 5 + [None, 3], [2**31 - 1] * 5 + [2, None]
    found = ratio_sums(
        merge([part_of({"cached_tokens": a, "prompt_tokens": b})] * 1_000),
        "cached_tokens", "prompt_tokens",
    )  # fmt: skip
    assert (found.n, found.left_out) == (5_000, 0)
    assert found.a == 5_000 * (2**31 - 1)
    assert found.aa == found.ab == found.bb == 5_000 * (2**31 - 1) ** 2


def test_values_that_cannot_be_added_up_exactly_are_counted_as_left_out() -> None:
    part = part_of({"cached_tokens": [-1, 2**31, 0], "prompt_tokens": [5, 5, 5]})
    found = ratio_sums(part, "cached_tokens", "prompt_tokens")
    assert (found.n, found.left_out, found.b) == (1, 2, 5)


def test_tokens_per_second_of_the_worked_request() -> None:
    """Queue 0.2 s and first token 0.8 s later: 1.0 s; 99 more at 50/s end at 2.98 s."""
    part = part_of(
        {
            "ms": [2980.0, 2980.0, 500.0],
            "ttft": [1.0, 1.0, 0.5],
            "output_tokens": [100, 100, 1],
            "first_token_from": ["arrival", "client", "arrival"],
        }
    )
    after_first = log_totals(part, derived_name(TOKENS_PER_SECOND))
    assert (after_first.n, after_first.missing) == (1, 2)
    assert after_first.total == pytest.approx(50.0)
    assert log_totals(part, derived_name(MEAN_GAP)).total == pytest.approx(20.0)
    overall = log_totals(part, derived_name(TOKENS_PER_SECOND_OVERALL))
    assert overall.n == 3
    assert overall.total == pytest.approx(2 * 33.557 + 2, abs=0.01)


def test_a_contract_without_such_columns_gets_the_same_names_as_before() -> None:
    plain = contract_of(
        {"name": "a", "type": "number", "role": "timing"}, {"name": "c", "type": "category"}
    )
    rows = rows_of(plain, {"a": [1.0], "c": ["x"]})
    (part,) = build_serving_parts(rows, plain, rows.layout, one_group(rows), 1)
    assert {*part.dense, *part.sparse} == {"outcome", "missing/a", "log/a"}
