"""Cases and sets judged; counted again where the rule allows slack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.golden import Allowed, CaseKind, ExpectedOutcome, GoldenCase, GoldenSet
from monitor.jobs.golden.judge import STRICT_KINDS, judge_set, newest_of_each
from monitor.records import RequestOutcome
from tests.unit.golden.support import answers

ANSWERED, REFUSED = RequestOutcome.ANSWERED, RequestOutcome.REFUSED


def case(name: str, kind: str = "representative", **more: Any) -> GoldenCase:
    values = {"expected": {"score": 0.5}, **more}
    return GoldenCase(name, CaseKind(kind), {"age": 1}, **values)


def golden(*cases: GoldenCase, share: float = 1.0, absolute: float = 0.01) -> GoldenSet:
    return GoldenSet("core", "credit", cases, {"score": Allowed(absolute)}, share)


def as_written(_: str, text: str) -> str:
    return text


def judged(content: GoldenSet, given_answers: Any) -> Any:
    return judge_set(content, given_answers, as_written)


def test_tolerance_is_inclusive_and_said_in_numbers():
    found = judged(golden(case("a"), case("b")), answers(
        ["core@1/a#1", "core@1/b#1"], numbers={"score": [0.51, 0.5101]},
    ))  # fmt: skip
    assert [each.passed for each in found.cases] == [True, False]
    assert found.cases[1].reasons == ("score is 0.5101, expected 0.5: off by 0.0101, allowed 0.01",)
    assert not found.passed
    assert found.differences["score"].beyond == 1


def test_every_repeat_must_be_right():
    found = judged(golden(case("a")), answers(
        ["core@1/a#2", "core@1/a#1", "core@1/a#3"], numbers={"score": [0.5, 0.5, 0.9]},
    ))  # fmt: skip
    assert (found.cases[0].passed, found.cases[0].answers) == (False, 3)


def test_a_case_without_an_answer_does_not_pass():
    found = judged(golden(case("a"), case("b")), answers(
        ["core@1/a#1"], numbers={"score": [0.5]},
    ))  # fmt: skip
    assert found.cases[1].reasons == ("no answer to it on this leg",)
    assert not found.passed


def test_how_a_request_must_end():
    wanted = [
        case("a", "malformed", expected={}, outcome=ExpectedOutcome.REFUSED),
        case("b", "malformed", expected={}, outcome=ExpectedOutcome.FAILED),
        case("c", "malformed", expected={}, outcome=ExpectedOutcome.ABSTAINED),
        case("d", "malformed", expected={}, outcome=ExpectedOutcome.FAILED),
        case("e"),
    ]
    ended = [REFUSED, RequestOutcome.FAILED, ANSWERED, RequestOutcome.TIMED_OUT, REFUSED]
    found = judged(golden(*wanted), answers(
        [f"core@1/{each.id}#1" for each in wanted], numbers={"score": [np.nan] * 5}, outcome=ended,
    ))  # fmt: skip
    assert [each.passed for each in found.cases] == [True, True, False, False, False]
    assert found.cases[2].reasons == ("must end as abstained, but it ended as answered",)
    assert found.cases[4].reasons == ("must be answered, but it ended as refused",)


@pytest.mark.parametrize(
    ("expected", "held", "told"),
    [
        ({"decision": "a"}, {"words": {"decision": ["a"]}}, None),
        ({"decision": "a"}, {"words": {"decision": [None]}}, "decision is nothing, expected 'a'"),
        ({"decision": None}, {"words": {"decision": ["a"]}}, "decision is 'a', expected nothing"),
        ({"late": True}, {"words": {"late": ["true"]}}, None),
        ({"late": True}, {"words": {"late": ["false"]}}, "late is 'false', expected 'true'"),
        ({"parts": [0.1, 0.9]}, {"numbers": {"parts": [0.1, 0.9]}}, None),
        ({"parts": [0.1, 0.9]}, {"numbers": {"parts": [0.1, 0.8]}}, "parts [1] is 0.8, expected"),
        ({"score": None}, {"numbers": {"score": [np.nan]}}, None),
        ({"score": None}, {"numbers": {"score": [0.2]}}, "score is 0.2, expected none"),
        ({"score": 0.2}, {"numbers": {"score": [np.nan]}}, "has no value that keeps the contract"),
        ({"found": ["x", "y"]}, {"lists": {"found": [("x", "y")]}}, None),
        ({"found": ["x", "y"]}, {"lists": {"found": [("y", "x")]}}, "2 of 2 expected items"),
        ({"gone": 1}, {}, "gone is no output column of the contract any more"),
    ],
)
def test_columns_of_every_type(expected: Any, held: Any, told: str | None):
    found = judged(golden(case("a", expected=expected)), answers(["core@1/a#1"], **held))
    assert found.passed is (told is None)
    assert told is None or told in found.cases[0].reasons[0]


@given(
    kinds=st.lists(st.tuples(st.sampled_from(list(CaseKind)), st.booleans()), min_size=1),
    share=st.sampled_from([0.5, 0.8, 1.0]),
)
def test_the_rule(kinds, share):
    cases = [case(f"c{i}", kind.value) for i, (kind, _) in enumerate(kinds)]
    held = answers(
        [f"core@1/c{i}#1" for i in range(len(kinds))],
        numbers={"score": [0.5 if right else 0.9 for _, right in kinds]},
    )
    found = judged(golden(*cases, share=share), held)
    strict = [right for kind, right in kinds if kind in STRICT_KINDS]
    others = [right for kind, right in kinds if kind not in STRICT_KINDS]
    assert found.passed == (all(strict) and sum(others) >= share * len(others) - 1e-9)
    assert found.n_passed == sum(right for _, right in kinds)
    assert sum(n for _, n in found.by_kind().values()) == len(kinds)


def test_of_one_id_the_newest_counts():
    held = answers(["a", "b", "a"], numbers={"score": [1, 2, 3]}, event_time=[5, 6, 4])
    kept = newest_of_each(held)
    assert dict(zip(kept.ids, kept.numbers["score"].ravel().tolist(), strict=True)) == {
        "a": 1.0, "b": 2.0,
    }  # fmt: skip
