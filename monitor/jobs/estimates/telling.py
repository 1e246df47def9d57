"""What every estimate says of itself: how it was made, on what, and what it can't see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from monitor.checks.estimation.allowance import AllowanceKind, BiasAllowance, bias_allowance
from monitor.jobs.estimates.checked import PastError, as_checked
from monitor.measurement import Failed, Measured, Outcome, TooFew
from monitor.windows import Window

BLIND = "cannot see a change in P(Y given X)"
RESTS_ON_OTHERS = "rests on labels of other deployments for {share:.0%} of these requests"


@dataclass(frozen=True)
class Basis:
    """What estimates of one cohort rest on. `gates`: figures of the gates, whether they held."""

    method: str
    window: Window | None
    n_reference: int
    gates: Mapping[str, Any] = field(default_factory=dict)
    unknown_share: float = 0.0


def allowances(errors: Mapping[str, Sequence[PastError]]) -> dict[str, BiasAllowance]:
    """The bias allowance of each measure."""
    return {name: bias_allowance(as_checked(each)) for name, each in errors.items()}


def told(outcome: Outcome, basis: Basis, errors: Sequence[PastError]) -> Outcome:
    """The outcome; its detail tells method, reference, gates, allowance, last error, sentence."""
    allowance = bias_allowance(as_checked(errors))
    last = errors[-1] if errors else None
    detail: dict[str, Any] = {
        **outcome.detail,
        "method": basis.method,
        "sentence": sentence(basis, last),
        "last_realised_error": None if last is None else last.error,
        "last_matured_cohort": None if last is None else f"{last.day:%Y-%m-%d}",
        "gates": dict(basis.gates),
        "allowance": {
            "kind": allowance.kind.value,
            "sigma": allowance.sigma,
            "cohorts": allowance.cohorts,
            "largest_error": allowance.largest,
        },
    }
    if basis.window is not None:
        detail["reference_start"] = basis.window.start.isoformat()
        detail["reference_end"] = basis.window.end.isoformat()
        detail["reference_labels"] = basis.n_reference
    if isinstance(outcome, Measured) and allowance.kind is AllowanceKind.NONE:
        # How far days stray from what their scores say is not known yet: no interval would hold.
        outcome = replace(outcome, low=None, high=None, level=None)
    match outcome:
        case Measured() | TooFew() | Failed():
            return replace(outcome, detail=detail)


def sentence(basis: Basis, last: PastError | None) -> str:
    """What is printed beside every estimate."""
    checked = (
        "no matured cohort checked yet"
        if last is None
        else f"last matured cohort checked: {last.day:%Y-%m-%d}, error {last.error:+.4g}"
    )
    more = f"; {RESTS_ON_OTHERS.format(share=basis.unknown_share)}" if basis.unknown_share else ""
    return f"{BLIND}; {checked}{more}"
