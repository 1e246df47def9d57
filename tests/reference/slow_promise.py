"""The promise engine's statistics in plain loops, window by window and cell by cell.

Written from the formulas, without the product's code; the oracle of its vector form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from scipy import integrate, optimize, special, stats

Counts = Sequence[float]


def local_hour_of_week(first: datetime, hour: int, zone: str) -> int:
    """Monday 00:00 is 0, as the wall clock of the zone shows it at the hour's start."""
    local = (first + timedelta(hours=hour)).astimezone(ZoneInfo(zone))
    return local.weekday() * 24 + local.hour


def slot(hour_of_week: int, season: str) -> int:
    """The kind of hour under a season."""
    if season == "none":
        return 0
    if season == "hour":
        return hour_of_week % 24
    if season == "day_type_hour":
        return hour_of_week % 24 + (24 if hour_of_week // 24 >= 5 else 0)
    return hour_of_week


def totals_by_slot(
    counts: Sequence[Counts], slots: Sequence[int], n_slots: int
) -> list[list[float]]:
    """Counts added up hour by hour."""
    totals = [[0.0] * len(counts[0]) for _ in range(n_slots)]
    for row, place in zip(counts, slots, strict=True):
        for cell, count in enumerate(row):
            totals[place][cell] += count
    return totals


def pooled_shares(totals: Sequence[Counts]) -> list[float]:
    """Shares of all slots together, half a row in each cell added."""
    everything = [sum(row[cell] for row in totals) + 0.5 for cell in range(len(totals[0]))]
    return [value / sum(everything) for value in everything]


def product_shares(totals: Sequence[Counts], place: int) -> list[float]:
    """What hour and day of a slot expect together, each with k/2 rows of the pooled shares added:
    hour · day / pooled over its sum. Slots are day · 24 + hour."""
    k, pooled = len(totals[0]), pooled_shares(totals)
    same_hour = [row for other, row in enumerate(totals) if other % 24 == place % 24]
    same_day = [row for other, row in enumerate(totals) if other // 24 == place // 24]
    product = []
    for b in range(k):
        factor = 1.0
        for group in (same_hour, same_day):
            rows, here = sum(sum(row) for row in group), sum(row[b] for row in group)
            factor *= (here + k / 2 * pooled[b]) / (rows + k / 2)
        product.append(factor / pooled[b])
    return [value / sum(product) for value in product]


def smoothed_shares(
    totals: Sequence[Counts], season: str = "none", strength: float = 0.5
) -> list[list[float]]:
    """Each slot's shares with strength · k rows of what is expected of it beforehand added: the
    product of hour and day for slots of both, else the pooled shares."""
    k = len(totals[0])
    found = []
    for place, row in enumerate(totals):
        both = season in ("day_type_hour", "hour_of_week")
        before = product_shares(totals, place) if both else pooled_shares(totals)
        added = strength * k
        found.append([(row[b] + added * before[b]) / (sum(row) + added) for b in range(k)])
    return found


def expectation(
    window: Sequence[Counts],
    slots: Sequence[int],
    totals: Sequence[Counts],
    season: str = "none",
    strength: float = 0.5,
) -> tuple[list[float], float]:
    """Expected counts by cell of a window's hours, and the factor 1 + m/V."""
    shares = smoothed_shares(totals, season, strength)
    expected = [0.0] * len(totals[0])
    by_slot: dict[int, float] = {}
    for row, place in zip(window, slots, strict=True):
        rows = sum(row)
        by_slot[place] = by_slot.get(place, 0.0) + rows
        for b, share in enumerate(shares[place]):
            expected[b] += rows * share
    m = sum(by_slot.values())
    noise = sum(rows**2 / max(sum(totals[place]), 1.0) for place, rows in by_slot.items())
    return expected, 1 + noise / m if m else 1.0


def season_likelihood(
    weeks: Sequence[Sequence[Counts]],
    slots: Sequence[Sequence[int]],
    n_slots: int,
    season: str = "none",
    strength: float = 0.5,
) -> float:
    """Σ counts · ln(shares learned from the other weeks)."""
    total = 0.0
    for week, counts in enumerate(weeks):
        other_counts = [row for w, rows in enumerate(weeks) if w != week for row in rows]
        other_slots = [place for w, places in enumerate(slots) if w != week for place in places]
        totals = totals_by_slot(other_counts, other_slots, n_slots)
        shares = smoothed_shares(totals, season, strength)
        for row, place in zip(counts, slots[week], strict=True):
            for b, count in enumerate(row):
                if count:
                    total += count * math.log(shares[place][b])
    return total


def chosen_season(likelihoods: Sequence[tuple[str, float, float]]) -> tuple[str, float]:
    """Season and strength out of (season, strength, likelihood) from simple to rich: each must gain
    1 over the one that leads so far."""
    season, strength, leading = likelihoods[0]
    for other, how, likelihood in likelihoods[1:]:
        if likelihood - leading > 1:
            season, strength, leading = other, how, likelihood
    return season, strength


def pooled_groups(expected: Counts, least: float = 5.0) -> list[list[int]]:
    """Neighbouring cells joined until each group expects `least`; a rest joins the last group."""
    groups: list[list[int]] = []
    held: list[int] = []
    for cell in range(len(expected)):
        held.append(cell)
        if sum(expected[b] for b in held) >= least:
            groups.append(held)
            held = []
    if held and groups:
        groups[-1] = groups[-1] + held
    return groups


def pooled_chi_square(observed: Counts, expected: Counts) -> tuple[float, int]:
    """Pearson's X2 over the pooled groups and their number."""
    groups, total = pooled_groups(expected), 0.0
    for group in groups:
        seen, wanted = sum(observed[b] for b in group), sum(expected[b] for b in group)
        total += (seen - wanted) ** 2 / wanted
    return total, len(groups)


def location_and_spread(
    observed: Counts, expected: Counts, scores: Counts, data: Sequence[bool]
) -> tuple[float, float]:
    """Squared z of the mean score, and of its squares made orthogonal to it; NaN without spread."""
    cells = [b for b in range(len(observed)) if data[b]]
    m, wanted = sum(observed[b] for b in cells), sum(expected[b] for b in cells)
    q = {b: expected[b] / wanted for b in cells}
    mean = sum(q[b] * scores[b] for b in cells)
    first = {b: scores[b] - mean for b in cells}
    variance = sum(q[b] * first[b] ** 2 for b in cells)
    slope = sum(q[b] * first[b] ** 3 for b in cells) / max(variance, 1e-12)
    second = {b: first[b] ** 2 - variance - slope * first[b] for b in cells}
    found = []
    for score in (first, second):
        moved = sum((observed[b] - m * q[b]) * score[b] for b in cells)
        width = sum(q[b] * score[b] ** 2 for b in cells)
        found.append(moved**2 / (m * width) if width > 1e-4 else math.nan)
    return found[0], found[1]


def least_likely_cell_p(observed: Counts, expected: Counts) -> tuple[int, float]:
    """The cell with the largest binomial deviance; its smaller tail times twice the cells."""
    m, k = round(sum(observed)), len(observed)
    deviances = []
    for seen, wanted in zip(observed, expected, strict=True):
        q, share = wanted / m, seen / m
        here = share * math.log(share / q) if share else 0.0
        deviances.append(here + ((1 - share) * math.log((1 - share) / (1 - q)) if share < 1 else 0))
    cell = max(range(k), key=lambda b: deviances[b])
    law = stats.binom(m, expected[cell] / m)
    tail = min(law.cdf(observed[cell]), law.sf(observed[cell] - 1))
    return cell, min(1.0, 2 * k * float(tail))


def missing_z2(count: float, rows: float, share: float) -> float:
    """Squared normal quantile of the smaller binomial tail; whole counts by the binomial law, parts
    of rows by the beta law that continues it."""
    if float(count).is_integer() and float(rows).is_integer():
        law, whole = stats.binom(int(rows), share), np.arange(int(rows) + 1)
        tail = float(min(law.sf(count - 1), law.cdf(count)))
        if tail < 1e-240:
            beyond = whole[whole >= count] if count > rows * share else whole[whole <= count]
            return _far_z2(float(special.logsumexp(law.logpmf(beyond))))
    else:
        upper = stats.beta.cdf(share, count, rows - count + 1) if count else 1.0
        lower = stats.beta.sf(share, count + 1, rows - count) if count < rows else 1.0
        tail = float(min(upper, lower))
        if tail < 1e-240:
            if count > rows * share:
                return _far_z2(_log_beta_tail(share, count, rows - count + 1))
            return _far_z2(_log_beta_tail(1 - share, rows - count, count + 1))
    return float(stats.norm.isf(tail)) ** 2 if tail < 0.5 else 0.0


def _far_z2(log_tail: float) -> float:
    """The squared normal quantile of a tail given as its logarithm, found by halving."""
    return float(optimize.brentq(lambda z: stats.norm.logsf(z) - log_tail, 0.0, 1e5)) ** 2


def _log_beta_tail(x: float, a: float, b: float) -> float:
    """ln of the regularised incomplete beta function at an x far below its mode, by quadrature of
    the density over its value at x."""
    a, b = max(a, 1e-9), max(b, 1e-9)
    fall = (a - 1) / x - (b - 1) / (1 - x)

    def over(s: float) -> float:
        return math.exp((a - 1) * math.log1p(-s / x) + (b - 1) * math.log1p(s / (1 - x)))

    area, _ = integrate.quad(over, 0.0, min(50 / fall, x * (1 - 1e-12)))
    at_x = (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)
    return at_x + math.log(area) - float(special.betaln(a, b))


def missing_effect(count: float, rows: float, share: float) -> float:
    """PSI of the missing share; nothing below 5 rows of difference, at most 0.25 below 20."""
    difference = abs(count - rows * share)
    if difference < 5:
        return 0.0
    now = (count + share / 2) / (rows + 0.5)
    effect = (now - share) * math.log(now / share)
    return effect if difference >= 20 else min(effect, 0.25)


def wobble(statistic: Counts, degrees: Counts, rows: Counts) -> tuple[float, float, float, float]:
    """τ, the factor to its upper 90 % limit, mean T/df and the number of independent windows."""
    n = len(statistic)
    each = [t / df for t, df in zip(statistic, degrees, strict=True)]
    mean = sum(each) / n
    tau = max(0.0, (mean - 1) / (sum(rows) / n))
    above = sum((each[i] - mean) * (each[i - 1] - mean) for i in range(1, n))
    below = sum((one - mean) ** 2 for one in each)
    r = min(max(above / below, 0.0), 0.98)
    independent = max(n * (1 - r) / (1 + r), 3.0)
    return tau, independent / stats.chi2.ppf(0.1, independent), mean, independent


def tail_of(values: Counts) -> tuple[float, float, float, float]:
    """Threshold, mean excess, shape and share of the k = n/10 (10 at least) largest values."""
    ordered, n = sorted(values, reverse=True), len(values)
    k = min(max(math.floor(0.1 * n), 10), max(n - 1, 1))
    threshold = ordered[min(k, n - 1)]
    excess = [value - threshold for value in ordered[:k]]
    mean = max(sum(excess) / k, 1e-3)
    variance = sum((value - mean) ** 2 for value in excess) / max(k - 1, 1)
    shape = min(max(0.5 * (1 - mean**2 / max(variance, 1e-12)), -0.2), 0.5)
    return threshold, mean, shape, k / n


def resampled_tails(
    values: Counts, week: Sequence[int], draws: Sequence[Sequence[int]]
) -> list[tuple[float, float, float, float]]:
    """The tail of each resample, its windows written out as often as their week was drawn."""
    found = []
    for times in draws:
        drawn = [v for v, w in zip(values, week, strict=True) for _ in range(times[w])]
        found.append(tail_of(drawn))
    return found


def tail_p(
    fits: Sequence[tuple[float, float, float, float]], common: Counts, surprise: float
) -> float:
    """The average generalised Pareto tail over the resamples at one surprise."""
    total = 0.0
    for (threshold, mean, own, share), shared in zip(fits, common, strict=True):
        shape = min(max((own + shared) / 2, 0.2), 0.5)
        if surprise <= threshold:
            total += 1.0
        else:
            width = mean * (1 - shape)
            total += share * float(stats.genpareto.sf(surprise - threshold, shape, scale=width))
    return total / len(fits)


def random_totals(rng: np.random.Generator, slots: int, cells: int, rows: int) -> list[list[float]]:
    """Baseline counts to try things on."""
    p = rng.dirichlet(np.ones(cells), slots)
    return [rng.multinomial(rows, one).astype(float).tolist() for one in p]
