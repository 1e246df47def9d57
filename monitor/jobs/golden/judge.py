"""Judges the answers to a golden set case by case, and the set by its rule. Pure.

The rule: every boundary and high-impact case must pass, and of the representative and malformed
ones at least the share that the set requires (all, unless it says otherwise). A case passes when
every answer to it does; a case without an answer does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.checks.paired.numbers import (
    NumberDifference,
    Tolerance,
    number_difference,
    within,
)
from monitor.golden import STRICT_KINDS, CaseKey, CaseKind, ExpectedOutcome, GoldenCase, GoldenSet
from monitor.jobs.golden.answers import Answers
from monitor.profiles.arrays import Flags, Floats
from monitor.records import RequestOutcome

_FULL_ANSWERS = frozenset({int(RequestOutcome.ANSWERED), int(RequestOutcome.CACHED)})
_ENDED_AS = {
    ExpectedOutcome.REFUSED: RequestOutcome.REFUSED,
    ExpectedOutcome.FAILED: RequestOutcome.FAILED,
    ExpectedOutcome.ABSTAINED: RequestOutcome.ABSTAINED,
}
MOST_REASONS = 3
AsStored = Callable[[str, str], str]
"""How an expected text of a column looks when it is stored: texts are kept as a keyed hash."""


@dataclass(frozen=True)
class CaseResult:
    """Whether a case passed, from how many answers, and what was wrong."""

    id: str
    kind: CaseKind
    passed: bool
    answers: int
    reasons: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind.value,
            "passed": self.passed,
            "answers": self.answers,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True)
class SetResult:
    """A judged set: cases in the file's order, differences from what was expected by column."""

    passed: bool
    why: str
    cases: tuple[CaseResult, ...]
    differences: Mapping[str, NumberDifference]

    @property
    def n_passed(self) -> int:
        """Cases that passed."""
        return sum(case.passed for case in self.cases)

    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Passed and all cases of every kind that occurs."""
        found: dict[str, tuple[int, int]] = {}
        for case in self.cases:
            right, n = found.get(case.kind.value, (0, 0))
            found[case.kind.value] = (right + case.passed, n + 1)
        return found


def newest_of_each(answers: Answers) -> Answers:
    """One answer a request id: the one with the latest event time."""
    newest: dict[str, int] = {}
    for place in np.argsort(answers.event_time, kind="stable").tolist():
        newest[answers.ids[place]] = place
    return answers.take(np.array(sorted(newest.values()), np.int64))


def places_of_cases(answers: Answers) -> dict[str, list[int]]:
    """Places of the answers to each case, by repeat."""
    found: dict[str, list[tuple[int, int]]] = {}
    for place, name in enumerate(answers.ids):
        key = CaseKey.of(name)
        if key is not None:
            found.setdefault(key.case_id, []).append((key.repeat, place))
    return {case: [place for _, place in sorted(pairs)] for case, pairs in found.items()}


def judge_set(content: GoldenSet, answers: Answers, as_stored: AsStored) -> SetResult:
    """Judge the answers of one deployment; those of other cases are left alone."""
    places = places_of_cases(answers)
    cases = tuple(
        _judge_case(content, case, answers, places.get(case.id, []), as_stored)
        for case in content.cases
    )
    passed, why = _verdict(content, cases)
    return SetResult(passed, why, cases, _differences(content, answers, places))


def _verdict(content: GoldenSet, cases: Sequence[CaseResult]) -> tuple[bool, str]:
    strict = [case for case in cases if case.kind in STRICT_KINDS]
    wrong = [case for case in strict if not case.passed]
    if wrong:
        names = ", ".join(f"{case.id} ({case.kind.value.replace('_', ' ')})" for case in wrong[:5])
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        return False, f"every boundary and high-impact case must pass; failed: {names}{more}"
    others = [case for case in cases if case.kind not in STRICT_KINDS]
    right = sum(case.passed for case in others)
    needed = content.required_share
    if others and right < needed * len(others) - 1e-9:
        told = f"{right} of {len(others)} representative and malformed cases passed"
        return False, f"{told}, {needed:.4g} of them must"
    return True, f"{sum(case.passed for case in cases)} of {len(cases)} cases passed"


def _judge_case(
    content: GoldenSet, case: GoldenCase, answers: Answers, places: list[int], as_stored: AsStored
) -> CaseResult:
    if not places:
        return CaseResult(case.id, case.kind, False, 0, ("no answer to it on this leg",))
    reasons = []
    for place in places:
        if case.outcome is not None:
            wrong = _wrong_outcome(case.outcome, answers, place)
        else:
            wrong = _wrong_outputs(content, case, answers, place, as_stored)
        reasons += [reason for reason in wrong if reason not in reasons]
    return CaseResult(case.id, case.kind, not reasons, len(places), tuple(reasons[:MOST_REASONS]))


def _wrong_outcome(wanted: ExpectedOutcome, answers: Answers, place: int) -> list[str]:
    if int(answers.outcome[place]) == int(_ENDED_AS[wanted]):
        return []
    return [f"must end as {wanted.value}, but {_ended(answers, place)}"]


def _ended(answers: Answers, place: int) -> str:
    name = RequestOutcome(int(answers.outcome[place])).name.lower().replace("_", " ")
    reason = answers.reasons[place]
    return f"it ended as {name}" + (f" ({reason[:160]})" if reason else "")


def _wrong_outputs(
    content: GoldenSet, case: GoldenCase, answers: Answers, place: int, as_stored: AsStored
) -> list[str]:
    if int(answers.outcome[place]) not in _FULL_ANSWERS:
        return [f"must be answered, but {_ended(answers, place)}"]
    found = []
    for column, wanted in case.expected.items():
        if column in answers.numbers:
            allowed = content.allowed(case, column)
            tolerance = Tolerance(allowed.absolute, allowed.relative)
            wrong = _wrong_numbers(wanted, answers.numbers[column][place], tolerance)
        elif column in answers.lists:
            wrong = _wrong_list(wanted, answers.lists[column][place])
        elif column in answers.words:
            wrong = _wrong_word(column, wanted, answers.words[column][place], as_stored)
        else:
            wrong = "is no output column of the contract any more; apply a new version of the set"
        if wrong:
            found.append(f"{column} {wrong}")
    return found


def expected_numbers(wanted: Any, width: int) -> Floats:
    """An expected value as float64[width], NaN for null."""
    values = wanted if isinstance(wanted, list) else [wanted] * width
    return np.array([np.nan if value is None else float(value) for value in values])


def _wrong_numbers(wanted: Any, got: Floats, tolerance: Tolerance) -> str | None:
    reference = expected_numbers(wanted, len(got))
    near = within(reference, got, tolerance)
    if near.all():
        return None
    place = int(np.flatnonzero(~near)[0])
    at = f"[{place}]" if len(got) > 1 else ""
    if np.isnan(got[place]):
        return f"{at} has no value that keeps the contract, expected {reference[place]:.6g}".strip()
    if np.isnan(reference[place]):
        return f"{at} is {got[place]:.6g}, expected none".strip()
    off = abs(got[place] - reference[place])
    most = tolerance.absolute + tolerance.relative * abs(reference[place])
    told = f"{at} is {got[place]:.6g}, expected {reference[place]:.6g}"
    return f"{told}: off by {off:.3g}, allowed {most:.3g}".strip()


def _wrong_word(column: str, wanted: Any, got: str | None, as_stored: AsStored) -> str | None:
    if isinstance(wanted, bool):
        wanted = "true" if wanted else "false"
    stored = None if wanted is None else as_stored(column, str(wanted))
    if stored == got:
        return None
    shown = "nothing" if got is None else repr(got[:60])
    return f"is {shown}, expected {'nothing' if wanted is None else repr(str(wanted)[:60])}"


def _wrong_list(wanted: Any, got: tuple[str, ...]) -> str | None:
    expected = tuple(str(item) for item in wanted or ())
    if expected == got:
        return None
    same = len(set(expected) & set(got))
    return f"is another list or order: {same} of {len(expected)} expected items are in it"


def _differences(
    content: GoldenSet, answers: Answers, places: Mapping[str, list[int]]
) -> dict[str, NumberDifference]:
    """How far answers are from what was expected, by numeric column with expected values."""
    found = {}
    for column, held in answers.numbers.items():
        reference, got, limits = [], [], []
        for case in content.cases:
            for place in places.get(case.id, []) if column in case.expected else []:
                if int(answers.outcome[place]) not in _FULL_ANSWERS:
                    continue  # told as a failed case; there is no number to be far off
                wanted = expected_numbers(case.expected[column], held.shape[1])
                allowed = content.allowed(case, column)
                reference.append(wanted)
                got.append(held[place])
                limits.append(Tolerance(allowed.absolute, allowed.relative).allowed(wanted))
        if reference:
            found[column] = number_difference(
                np.concatenate(reference), np.concatenate(got), np.concatenate(limits)
            )
    return found


def first_answers(content: GoldenSet, answers: Answers) -> dict[str, int]:
    """The place of the first repeat of every case that has an answer."""
    places = places_of_cases(answers)
    return {case.id: places[case.id][0] for case in content.cases if case.id in places}


def is_answered(answers: Answers) -> Flags:
    """Which requests were answered by the model itself, bool[n]."""
    return np.isin(answers.outcome, list(_FULL_ANSWERS))
