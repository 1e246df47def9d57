"""Where a change of the loss sits when there are many columns: DISDE with a domain classifier.

Knows groups of columns, losses and entities of labelled rows; it makes no claim about why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.checks.context.disde import MIN_ROWS
from monitor.checks.context.domain import FOLDS, Domain
from monitor.checks.context.resampling import drawn_rows
from monitor.checks.intervals import LEVEL
from monitor.measurement import Failed, Measured, TooFew
from monitor.profiles.arrays import Floats, Integers

DRAWS = 100
MIN_SHARED = 30.0
NAMES = ("harder_mix", "within", "new_or_rare", "total")


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Labelled rows of one side: `groups` int64[columns, n], `loss` float64[n], `entities` int64[n]
    (keyed hashes; of the request where there is no entity)."""

    groups: Integers
    loss: Floats
    entities: Integers

    def __len__(self) -> int:
        return len(self.loss)


@dataclass(frozen=True)
class LossSplit:
    """`total` (now minus then) = `harder_mix` + `within` + `new_or_rare`, in units of the loss.

    `loss_then`, `loss_now`: mean losses; `shared_then`, `shared_now`: mean losses on the shared
    inputs; `shared_rows`: rows of then and of now that the shared inputs are worth.
    """

    harder_mix: Measured
    within: Measured
    new_or_rare: Measured
    total: Measured
    loss_then: float
    loss_now: float
    shared_then: float
    shared_now: float
    shared_rows: tuple[float, float]


def loss_split(
    then: JudgedRows, now: JudgedRows, sizes: Sequence[int], *, seed: int, draws: int = DRAWS
) -> LossSplit | TooFew | Failed:
    """DISDE (Cai, Namkoong and Yadlowsky 2023) with shared inputs S ∝ pq/(p + q) over all columns.

    With π(x) = P(current | x) at equal sides, rows of then weigh π and rows of now 1 - π: both are
    then spread like S. harder_mix = E_S R_P - E_P R_P (more of the inputs that were always hard),
    within = E_S (R_Q - R_P) (the same inputs are judged worse: P(Y|X) changed), new_or_rare =
    E_Q R_Q - E_S R_Q (inputs that were rare or unknown). π is logistic regression on the groups,
    cross-fitted over entities. Limits: ± t standard deviations of `draws` bootstrap samples of
    entities, the classifier refitted in each; 95 % for each part, conservative for harder_mix and
    new_or_rare where inputs hardly differ. TooFew below 100 labelled rows or 100 entities of a
    side. Failed when hardly any input is shared (worth fewer than 30 rows): then nothing can be
    said of the same inputs. What the columns do not hold counts as `within`.
    """
    few = min((len(then), len(now)))
    if few < MIN_ROWS:
        return TooFew(few, MIN_ROWS, "labelled sampled rows of a window")
    rows = _Rows.of(then, now, sizes)
    entities = min(len(np.unique(then.entities)), len(np.unique(now.entities)))
    if entities < MIN_ROWS:
        return TooFew(entities, MIN_ROWS, "entities with a labelled row in a window")
    ones = np.ones(len(rows.loss))
    chances, starts = rows.domain.probabilities(ones)
    shared = rows.shared_rows(chances)
    if min(shared) < MIN_SHARED:
        return Failed(
            f"the two windows share hardly any inputs (worth {min(shared):.0f} rows,"
            f" {MIN_SHARED:.0f} needed); the split of the loss is not defined"
        )
    rng = np.random.default_rng(seed)
    samples = np.array([rows.redrawn(rng, starts) for _ in range(draws)])
    return _measured(rows.means(chances, ones), samples, shared, (len(now), len(then)))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Both sides one after the other: `entity` int64[n] places among `entities` of both."""

    domain: Domain
    loss: Floats
    is_current: Floats
    entity: Integers
    entities: int

    @classmethod
    def of(cls, then: JudgedRows, now: JudgedRows, sizes: Sequence[int]) -> _Rows:
        is_current = np.repeat([0.0, 1.0], [len(then), len(now)])
        hashes = np.concatenate([then.entities, now.entities])
        distinct, places = np.unique(hashes, return_inverse=True)
        groups = np.concatenate([then.groups, now.groups], axis=1)
        domain = Domain.of(groups, sizes, is_current, hashes)
        loss = np.concatenate([then.loss, now.loss])
        return cls(domain, loss, is_current, places.astype(np.int64), len(distinct))

    def shared_weights(self, chances: Floats) -> Floats:
        return np.where(self.is_current > 0, 1 - chances, chances)

    def shared_rows(self, chances: Floats) -> tuple[float, float]:
        """Σ 2·weight of each side: all rows where both are spread alike, 0 where nothing is shared
        (its mean estimates ∫ 2pq/(p + q))."""
        weights = 2 * self.shared_weights(chances)
        then, now = (float(weights[self.is_current == side].sum()) for side in (0.0, 1.0))
        return then, now

    def means(self, chances: Floats, drawn: Floats) -> tuple[float, float, float, float]:
        """Mean losses: then, then on shared inputs, now on shared inputs, now."""
        shared = self.shared_weights(chances) * drawn
        found = []
        for side in (0.0, 1.0):
            mine = self.is_current == side
            found.append(float(np.average(self.loss[mine], weights=drawn[mine])))
            found.append(float(np.average(self.loss[mine], weights=shared[mine])))
        then, shared_then, now, shared_now = found
        return then, shared_then, shared_now, now

    def redrawn(self, rng: np.random.Generator, starts: Floats) -> tuple[float, ...]:
        """The parts in one bootstrap sample of entities."""
        drawn = drawn_rows(rng, self.entities).astype(np.float64)[self.entity]
        chances, _ = self.domain.probabilities(drawn, starts)
        return _parts(self.means(chances, drawn))


def _parts(means: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    then, shared_then, shared_now, now = means
    return shared_then - then, shared_now - shared_then, now - shared_now, now - then


def _measured(
    means: tuple[float, float, float, float],
    samples: Floats,
    shared: tuple[float, float],
    sizes: tuple[int, int],
) -> LossSplit:
    reach = special.stdtrit(len(samples) - 1, 0.5 + LEVEL / 2) * samples.std(axis=0, ddof=1)
    n, n_reference = sizes
    detail = {"method": "bootstrap of entities, domain classifier refitted", "folds": FOLDS}
    parts = {
        name: Measured(value, n, value - wide, value + wide, LEVEL, n_reference, detail)
        for name, value, wide in zip(NAMES, _parts(means), reach.tolist(), strict=True)
    }
    then, shared_then, shared_now, now = means
    return LossSplit(
        **parts,
        loss_then=then,
        loss_now=now,
        shared_then=shared_then,
        shared_now=shared_now,
        shared_rows=shared,
    )
