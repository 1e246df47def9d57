"""Promise runs: simulated months of worlds without shifts, and one column shifted beside them."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import numpy as np
from scipy import stats

from benchmarks.alarms import ours
from benchmarks.alarms.laws import Normal, NumberLaw
from benchmarks.alarms.metrics import (
    Delays,
    Rate,
    binomial_limit,
    first_delay,
    merged,
    open_hours,
)
from benchmarks.alarms.scene import (
    FIRST,
    REFERENCE_DAYS,
    REFERENCE_HOURS,
    TEST_DAYS,
    Counted,
    LawScene,
    Scene,
)
from benchmarks.alarms.worlds.base import World
from benchmarks.alarms.worlds.registry import WORLDS
from monitor.checks.promise.budget import Budget
from monitor.profiles.arrays import Floats

SHIFT_SD = 0.3
ONSET_WITHIN_HOURS = 168
DAYS = REFERENCE_DAYS + TEST_DAYS
END = FIRST + timedelta(days=DAYS)


@dataclass(frozen=True)
class Month:
    """What one month showed. `shift_delay` is NaN when missed, None when none was planted.

    `tests` by scale: p-values of windows that don't overlap, those below 1 % and below 0.1 %.
    """

    incidents: int
    plain_incidents: int
    firings: int
    open_hours: float
    plain_open_hours: float
    share_available: float
    tests: Mapping[str, tuple[int, ...]]
    seconds: float
    shift_delay: float | None = None


@dataclass(frozen=True)
class WorldOutcome:
    """All months of a world."""

    name: str
    tells: str
    bar: float | None
    months: Sequence[Month]
    promise: float = 1.0
    extra: Mapping[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> Rate:
        """False incidents by the product's rule."""
        count = sum(month.incidents for month in self.months)
        return Rate(count, len(self.months), self.promise)

    @property
    def plain_rate(self) -> Rate:
        """The same firings, merged over 24 h as the peers' alarms are."""
        count = sum(month.plain_incidents for month in self.months)
        return Rate(count, len(self.months), self.promise)

    @property
    def delays(self) -> Delays | None:
        """Of the shifted column, where one was planted."""
        hours = [month.shift_delay for month in self.months if month.shift_delay is not None]
        return Delays(np.array(hours)) if hours else None

    @property
    def has_tests(self) -> bool:
        """Whether p-values of clean windows were counted."""
        return any(tests[0] for month in self.months for tests in month.tests.values())

    def mean(self, name: str) -> float:
        """Mean of a figure over the months."""
        return float(np.mean([getattr(month, name) for month in self.months]))

    def exceedances(self, scale: str) -> tuple[int, list[Exceedance]]:
        """How many tests a scale had; exceedances of 1 % and 0.1 %."""
        counts = np.array([month.tests[scale] for month in self.months], np.float64)
        n = int(counts[:, 0].sum())
        found = [
            _exceedance(counts[:, 0], counts[:, place], level)
            for place, level in enumerate(ours.LEVELS, start=1)
        ]
        return n, found


@dataclass(frozen=True)
class Exceedance:
    """Share of held-out null p-values below a level. `limit`: what independent tests stay under in
    999 of 1,000 cases. Tests of one month share a baseline, so `low` is the 99.9 % lower limit of
    the share from its spread between months."""

    level: float
    share: float
    limit: float
    low: float

    @property
    def beyond_binomial(self) -> bool:
        """More than independent tests would show."""
        return self.share > self.limit

    @property
    def beyond_months(self) -> bool:
        """More, and the months agree about it."""
        return self.beyond_binomial and self.low > self.level


def _exceedance(tests: Floats, below: Floats, level: float) -> Exceedance:
    n = float(tests.sum())
    if n == 0:
        return Exceedance(level, math.nan, math.nan, math.nan)
    share = float(below.sum()) / n
    low = math.nan
    if len(tests) > 1:
        residual = below - share * tests
        spread = math.sqrt(len(tests) / (len(tests) - 1) * float((residual**2).sum())) / n
        low = share - float(stats.t.ppf(0.999, len(tests) - 1)) * spread
    return Exceedance(level, share, binomial_limit(int(n), level), low)


def run_month(name: str, seed: int, month: int, promise: float = 1.0) -> Month:
    """One month of a world by its name: the unit of work of the process pool."""
    started = time.process_time()
    world = WORLDS[name]
    rng = world.random(seed, month, "month")
    scene = world.generate(rng, DAYS)
    counted = scene.counted(rng)
    learned = ours.learn(counted)
    found = month_of(learned, counted, promise)
    delay = _shift_delay(world, scene, counted, learned, promise, (seed, month))
    return replace(found, shift_delay=delay, seconds=time.process_time() - started)


def month_of(learned: ours.Learned, counted: Sequence[Counted], promise: float) -> Month:
    """Watch the test hours of counts without a shift."""
    watched = learned.watch(counted, Budget(promise=promise))
    incidents = ours.own_incidents(watched)
    until = len(counted[0].counts)
    plain = merged(end for _, end in learned.ends(watched.firings))
    return Month(
        incidents=len(incidents),
        plain_incidents=len(plain),
        firings=len(watched.firings),
        open_hours=ours.own_open_hours(incidents, learned.first + until * ours.HOUR),
        plain_open_hours=open_hours(plain, until),
        share_available=learned.share_available,
        tests=ours.exceedances(watched),
        seconds=0.0,
    )


def _shift_delay(
    world: World,
    scene: Scene,
    counted: Sequence[Counted],
    learned: ours.Learned,
    promise: float,
    key: tuple[int, int],
) -> float | None:
    """Delay until one column whose mean moves by 0.3 sd fires; None in worlds of other columns.

    The other columns stay as they are, so only the shifted one is watched again.
    """
    rng = world.random(*key, "shift")
    column = counted[int(rng.integers(len(counted)))]
    if not isinstance(scene, LawScene) or not _is_plain(scene, column.name):
        return None
    onset = REFERENCE_HOURS + int(rng.integers(ONSET_WITHIN_HOURS))
    law = scene.laws[column.name]
    moved = _moved(law.numbers, onset)  # type: ignore[attr-defined]
    counts = column.counts.copy()
    shares = NumberLaw(moved).shares(column.cells)[onset:]
    counts[onset:] = rng.multinomial(scene.volumes[onset:], shares)
    watched = learned.watch([replace(column, counts=counts)], Budget(promise=promise))
    return first_delay((end for _, end in learned.ends(watched.firings)), onset)


def _is_plain(scene: LawScene, name: str) -> bool:
    law = scene.laws[name]
    return isinstance(law, NumberLaw) and isinstance(law.numbers, Normal)


def _moved(normal: Normal, onset: int) -> Normal:
    usual: Floats = normal.mean[:REFERENCE_HOURS]
    sd = math.hypot(normal.sd, float(usual.std()))
    mean = normal.mean.copy()
    mean[onset:] += SHIFT_SD * sd
    return Normal(mean, normal.sd)
