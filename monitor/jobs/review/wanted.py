"""What a person asks for when a review is drawn, checked against the contract as a whole."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from monitor.contract import ColumnRole, ColumnType, Contract, Sensitivity
from monitor.contract_quality import Signal, SignalKind
from monitor.errors import ConfigurationError, Problem
from monitor.intake.labels import DEFAULT_SOURCE
from monitor.intake.legs import is_leg

MOST_ITEMS = 20_000
MOST_RATERS = 50
DEPLOYMENT = "deployment"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,59}")
_RATED = (SignalKind.RATING, SignalKind.PREFERENCE, SignalKind.RUBRIC)
_STRATA_TYPES = (ColumnType.CATEGORY, ColumnType.BOOLEAN)
_HIDDEN = (Sensitivity.PERSONAL, Sensitivity.SPECIAL)


class Importance(StrEnum):
    """Which requests are looked at more often than others."""

    RANDOM = "random"
    NEAR_THRESHOLD = "score-near-threshold"
    VIOLATIONS = "violations"


@dataclass(frozen=True)
class Wanted:
    """How a review is drawn: `by` are columns whose values are strata."""

    name: str
    signals: tuple[str, ...]
    raters: tuple[str, ...]
    size: int
    double: float
    seed: int
    leg: str
    by: tuple[str, ...]
    importance: Importance
    show_output: bool

    def plan(self) -> dict[str, Any]:
        """As it is stored."""
        body = {key: value for key, value in asdict(self).items() if key != "name"}
        return body | {"importance": self.importance.value}


def rated_signals(contract: Contract) -> tuple[Signal, ...]:
    """Signals that people can give in a review."""
    return tuple(signal for signal in contract.signals if signal.kind in _RATED)


def check(wanted: Wanted, contract: Contract) -> None:
    """Raises ConfigurationError with everything that is wrong."""
    problems = [
        *_named(wanted),
        *_signals(wanted, contract),
        *_numbers(wanted),
        *_strata(wanted, contract),
        *_measure(wanted, contract),
    ]
    if problems:
        raise ConfigurationError("review", problems)


def _named(wanted: Wanted) -> list[Problem]:
    rule = "letters, digits and . _ @ - only, at most 60, the first a letter or digit"
    problems = [
        Problem(option, f"{name[:80]!r}: {rule}")
        for option, names in (("--name", (wanted.name,)), ("--raters", wanted.raters))
        for name in names
        if not _NAME.fullmatch(name)
    ]
    if not wanted.raters:
        problems.append(Problem("--raters", "name at least one, such as --raters ada,ben"))
    if len(set(wanted.raters)) < len(wanted.raters):
        problems.append(Problem("--raters", "a rater is named twice"))
    if len(wanted.raters) > MOST_RATERS:
        problems.append(Problem("--raters", f"at most {MOST_RATERS}"))
    if DEFAULT_SOURCE in wanted.raters:
        what = f"{DEFAULT_SOURCE!r} is the source of labels that name none; choose another name"
        problems.append(Problem("--raters", what))
    return problems


def _signals(wanted: Wanted, contract: Contract) -> list[Problem]:
    known = [signal.name for signal in rated_signals(contract)]
    if not known:
        what = (
            "the contract declares no signal that people give (a rating, preference or rubric);"
            " add one under signals"
        )
        return [Problem("--signal", what)]
    return [
        Problem("--signal", f"{name!r} is none of {', '.join(known)}")
        for name in wanted.signals
        if name not in known
    ]


def _numbers(wanted: Wanted) -> list[Problem]:
    problems = []
    if not 1 <= wanted.size <= MOST_ITEMS:
        problems.append(Problem("--size", f"from 1 to {MOST_ITEMS:,}, not {wanted.size}"))
    if not 0 <= wanted.double <= 1:
        problems.append(Problem("--double", f"a share from 0 to 1, not {wanted.double:g}"))
    elif wanted.double > 0 and len(set(wanted.raters)) == 1:
        what = "needs two raters; write --double 0 or name another one in --raters"
        problems.append(Problem("--double", what))
    if not is_leg(wanted.leg):
        problems.append(Problem("--leg", "live, batch, shadow:NAME or replay:RUN"))
    return problems


def _strata(wanted: Wanted, contract: Contract) -> list[Problem]:
    columns = {column.name: column for column in contract.columns}
    problems = []
    for name in wanted.by:
        if name == DEPLOYMENT:
            continue
        column = columns.get(name)
        if column is None:
            problems.append(Problem("--by", f"no column {name!r} in the contract"))
        elif column.type not in _STRATA_TYPES:
            what = f"{name!r} is a {column.type}; use category or boolean columns, or deployment"
            problems.append(Problem("--by", what))
        elif column.sensitivity in _HIDDEN:
            what = f"{name!r} is {column.sensitivity}: names of strata are stored and shown"
            problems.append(Problem("--by", what))
    if wanted.by and wanted.importance is not Importance.RANDOM:
        problems.append(Problem("--importance", "goes without --by; choose one of them"))
    return problems


def _measure(wanted: Wanted, contract: Contract) -> list[Problem]:
    score = contract.single(ColumnRole.SCORE)
    usable = score is not None and score.type is ColumnType.NUMBER
    if wanted.importance is Importance.NEAR_THRESHOLD and not usable:
        what = f"{wanted.importance} needs a number column with the role score"
        return [Problem("--importance", what)]
    return []
