"""How far estimates of matured cohorts were from what came true, and what that adds. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from monitor.checks.intervals import normal_quantile

ENOUGH_COHORTS = 8


class AllowanceKind(StrEnum):
    """NONE: no matured cohort was checked yet. LARGEST: fewer than 8 were, the largest error is
    added in full, which is conservative. SPREAD: the errors beyond chance, as a variance."""

    NONE = "none"
    LARGEST = "largest"
    SPREAD = "spread"


@dataclass(frozen=True)
class CheckedCohort:
    """A matured cohort: its estimate minus the realised value, and the sigma claimed for it
    without any allowance."""

    error: float
    sigma: float


@dataclass(frozen=True)
class BiasAllowance:
    """`sigma` joins the estimate's own as a root of squares; `cohorts` were checked; `largest` is
    the largest |error|."""

    kind: AllowanceKind
    sigma: float
    cohorts: int
    largest: float


def bias_allowance(checked: Sequence[CheckedCohort]) -> BiasAllowance:
    """What chance does not explain of the errors of matured cohorts, as one more sigma.

    From 8 cohorts on sigma² = max(0, mean(error²) - mean(sigma²)), the method of moments for a
    bias that varies from cohort to cohort (as DerSimonian and Laird 1986). Below, the largest error
    is turned into a sigma whose 95 % reach is that error: intervals are then too wide rather than
    too narrow. Adding the largest error always would cover about 100 % instead of 95 %.
    """
    if not checked:
        return BiasAllowance(AllowanceKind.NONE, 0.0, 0, 0.0)
    errors = np.array([one.error for one in checked])
    largest = float(np.abs(errors).max())
    if len(checked) < ENOUGH_COHORTS:
        sigma = _largest_as_sigma(largest, checked)
        return BiasAllowance(AllowanceKind.LARGEST, sigma, len(checked), largest)
    own = np.mean([one.sigma**2 for one in checked])
    sigma = math.sqrt(max(0.0, float(np.mean(errors**2) - own)))
    return BiasAllowance(AllowanceKind.SPREAD, sigma, len(checked), largest)


def _largest_as_sigma(largest: float, checked: Sequence[CheckedCohort]) -> float:
    """The sigma that, joined to a typical cohort's own, reaches z own + largest."""
    own = float(np.median([one.sigma for one in checked]))
    wanted = own + largest / normal_quantile()
    return math.sqrt(max(0.0, wanted**2 - own**2))
