"""Scores and the chances behind them: logit of the chance is normal with deviation 1.5."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

World = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def _logits(rng: np.random.Generator, n: int) -> np.ndarray:
    return 1.5 * rng.normal(size=n)


def perfect(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    chance = special.expit(_logits(rng, n))
    return chance, chance


def rare(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """About 14 % positives, perfect."""
    chance = special.expit(-2.1 + rng.normal(size=n))
    return chance, chance


def overconfident(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Cox slope 0.75."""
    logit = _logits(rng, n)
    return special.expit(logit / 0.75), special.expit(logit)


def too_high(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores 0.25 too high on the logit."""
    logit = _logits(rng, n)
    return special.expit(logit + 0.25), special.expit(logit)


def wavy(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    chance = special.expit(_logits(rng, n))
    return np.clip(chance + 0.08 * np.sin(4 * np.pi * chance), 0.001, 0.999), chance


def far_off(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Cox slope 0.5 and a shift."""
    logit = _logits(rng, n)
    return special.expit(2 * logit + 0.8), special.expit(logit)


def drawn(world: World, rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """Scores, labels and chances of n rows."""
    score, chance = world(rng, n)
    return score, (rng.random(n) < chance).astype(int), chance
