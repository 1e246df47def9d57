"""How much values estimated in many windows vary beyond sampling: the natural wobble. Pure.

Knows numbers with known sampling variances, not what they measure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.profiles.arrays import Flags, Floats, Integers

PRIOR_WINDOWS = 8
_STEPS = 30
_ROUNDS = 2
_MAX_AUTOCORRELATION = 0.9
_LEAST_DEGREES, _WOBBLE_DEGREES = 4.0, 10.0


@dataclass(frozen=True, eq=False)
class Wobble:
    """What healthy windows say about the next one, for q series.

    `centre` float64[q], `tau2` the variance of the wobble, `centre_noise` and `centre_share` the
    variance of the centre: centre_noise + centre_share · tau2. `degrees` of the predictive tail.
    """

    centre: Floats
    tau2: Floats
    centre_noise: Floats
    centre_share: Floats
    degrees: Floats

    def variance(self, noise: Floats) -> Floats:
        """Predictive variance of a new value's distance from the centre, given its own noise."""
        return noise + self.centre_noise + self.tau2 * (1 + self.centre_share)


def fit_wobble(values: Floats, noise: Floats, weeks: Integers) -> Wobble:
    """Fit q series over w windows: values, noise float64[w, q], weeks int64[w].

    `noise` are sampling variances, infinite where there is no value; every series needs values in
    two weeks. Each value is compared with the weighted mean of the *other* weeks; tau² is chosen so
    that the mean of squared distance over variance is 1 (Paule and Mandel 1982), for each series
    and for all together. A series whose own tau² lies below the common one is drawn towards it with
    the weight of 8 windows (moderated variances: Smyth 2004); one above it keeps its own, so that a
    series that really wobbles is never sharpened by its quiet neighbours.
    The predictive tail is Student's t. Its degrees are the windows in effect, N(1 - r)/(1 + r) with
    the lag-1 autocorrelation r of the standardised distances, plus 8 for a series that was drawn
    in; never more than their kurtosis K allows, 4 + 6/(K - 3). r and K are those of all series
    above or of all below the common tau²: quiet ones must not hide that the others jump or wander.
    Few weeks rarely hold the largest jump there will be: wobble alone has at most 10 degrees, a
    tail index of 0.2 for the squared distance, and 10 over the wobble's share of the variance where
    sampling makes up the rest.
    Windows are in order of time and do not overlap.
    """
    present = np.isfinite(noise)
    common = np.zeros(1)
    for _ in range(_ROUNDS):
        left_out = _leave_one_week_out(values, noise, weeks, present, common)
        common = _solve(left_out, pooled=True)
    left_out = _leave_one_week_out(values, noise, weeks, present, common)
    own = _solve(left_out, pooled=False)
    n = present.sum(axis=0).astype(np.float64)
    drawn_in = (n * own + PRIOR_WINDOWS * common) / (n + PRIOR_WINDOWS)
    standard = left_out.distance / np.sqrt(left_out.fixed + own * left_out.share)
    tau2 = np.maximum(own, drawn_in)
    quiet = own < common
    degrees = np.where(quiet, PRIOR_WINDOWS, 0.0)
    for group in (quiet, ~quiet):
        distances, inside = standard[:, group], present[:, group]
        degrees[group] += n[group] * _effective_share(distances, inside)
        degrees[group] = np.clip(degrees[group], 1.0, _degrees_of_kurtosis(distances[inside]))
    typical = np.sum(np.where(present, noise, 0.0), axis=0) / n
    with np.errstate(divide="ignore"):
        degrees = np.minimum(degrees, _WOBBLE_DEGREES * (tau2 + typical) / tau2)
    centre, centre_noise, centre_share = _weighted_mean(values, noise, present, common)
    return Wobble(
        centre,
        tau2,
        centre_noise,
        centre_share,
        degrees,
    )


@dataclass(frozen=True, eq=False)
class _LeftOut:
    """Distances from the other weeks' mean; variance of each: fixed + tau² · share."""

    distance: Floats
    fixed: Floats
    share: Floats
    present: Flags


def _weights(noise: Floats, present: Flags, tau2: Floats) -> Floats:
    return np.where(present, 1 / (np.where(present, noise, 1.0) + tau2), 0.0)


def _weighted_mean(
    values: Floats, noise: Floats, present: Flags, tau2: Floats
) -> tuple[Floats, Floats, Floats]:
    weights = _weights(noise, present, tau2)
    shares = weights / weights.sum(axis=0)
    safe = np.where(present, noise, 0.0)
    centre = np.sum(shares * np.where(present, values, 0.0), axis=0)
    return centre, np.sum(shares**2 * safe, axis=0), np.sum(shares**2, axis=0)


def _leave_one_week_out(
    values: Floats, noise: Floats, weeks: Integers, present: Flags, tau2: Floats
) -> _LeftOut:
    weights = _weights(noise, present, tau2)
    known, safe = np.where(present, values, 0.0), np.where(present, noise, 0.0)
    _, places = np.unique(weeks, return_inverse=True)
    belongs = np.eye(int(places.max()) + 1)[:, places]

    def others(terms: Floats) -> Floats:
        return np.asarray(terms.sum(axis=0) - (belongs @ terms)[places])

    total = others(weights)
    total = np.where(total > 0, total, np.nan)
    mean = others(weights * known) / total
    fixed = safe + others(weights**2 * safe) / total**2
    share = 1 + others(weights**2) / total**2
    alone = np.isnan(total)
    inside = present & ~alone
    return _LeftOut(
        np.where(inside, known - mean, 0.0),
        np.where(inside, fixed, 1.0),
        np.where(inside, share, 1.0),
        inside,
    )


def _solve(left_out: _LeftOut, *, pooled: bool) -> Floats:
    """tau² >= 0 with mean(distance²/(fixed + tau² share)) = 1, float64[q], or [1] for all series.

    The mean falls and is convex in tau², so Newton's steps from 0 never go too far.
    """
    squares = left_out.distance**2
    axis = None if pooled else 0
    n = np.maximum(left_out.present.sum(axis=axis, keepdims=True), 1)
    tau2 = np.zeros((1, 1) if pooled else (1, squares.shape[1]))
    for _ in range(_STEPS):
        variance = left_out.fixed + tau2 * left_out.share
        excess = np.sum(squares / variance, axis=axis, keepdims=True) / n - 1
        slope = np.sum(squares * left_out.share / variance**2, axis=axis, keepdims=True) / n
        step = np.where(excess > 0, excess / np.where(slope > 0, slope, 1.0), 0.0)
        tau2 = tau2 + step
        if np.all(step <= 1e-9 * tau2):
            break
    return np.asarray(tau2[0])


def _effective_share(standard: Floats, present: Flags) -> float:
    """(1 - r)/(1 + r) with the lag-1 autocorrelation of all series together, r in [0, 0.9]."""
    both = present[1:] & present[:-1]
    squares = float(np.sum(standard**2 * present)) / max(1, int(present.sum()))
    products = float(np.sum((standard[1:] * standard[:-1])[both])) / max(1, int(both.sum()))
    r = min(max(products / squares, 0.0), _MAX_AUTOCORRELATION) if squares > 0 else 0.0
    return (1 - r) / (1 + r)


def _degrees_of_kurtosis(standard: Floats) -> float:
    """Degrees of the t distribution with the kurtosis of the distances; infinite at 3 or less."""
    if not len(standard):
        return np.inf
    squares = float(np.mean(standard**2))
    kurtosis = float(np.mean(standard**4)) / squares**2 if squares > 0 else 3.0
    return float(_LEAST_DEGREES + 6 / (kurtosis - 3)) if kurtosis > 3 else np.inf
