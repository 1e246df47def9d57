"""How far two lists of numbers are apart: absolute, relative, in steps of a float's precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from monitor.profiles.arrays import Flags, Floats

WORST = 5
_NARROWER = (("float32", np.float32), ("bfloat16", None), ("float16", np.float16))


@dataclass(frozen=True)
class Tolerance:
    """How much may differ: |difference| <= absolute + relative · |reference|."""

    absolute: float = 0.0
    relative: float = 0.0

    def allowed(self, reference: Floats) -> Floats:
        """The largest difference allowed beside each reference value, float64[n]."""
        with np.errstate(over="ignore"):  # an allowance beyond every double allows everything
            return np.asarray(self.absolute + self.relative * _size(reference))


@dataclass(frozen=True)
class NumberDifference:
    """What the pairs of one column differ in.

    `n` pairs with a finite number on both sides; `both_missing` pairs without one on either,
    `one_missing` pairs with one on one side only (these count as beyond). `largest`, `mean` of
    |difference|, `largest_relative` of |difference| / |reference| where the reference is not 0,
    `largest_steps` in units in the last place of the reference as float16, float32 (None where a
    reference does not fit into that format). `rounding` names the format to which every number of
    the second side is the rounded one of the first, where there is one and the two differ.
    `beyond`: pairs beyond the tolerance; `worst`: places of the largest differences in it.
    """

    n: int
    both_missing: int
    one_missing: int
    largest: float | None
    mean: float | None
    largest_relative: float | None
    largest_steps: Mapping[str, float | None]
    rounding: str | None
    beyond: int
    worst: tuple[int, ...]

    @property
    def compared(self) -> int:
        """Pairs that are in tolerance or beyond it."""
        return self.n + self.one_missing

    @property
    def share_beyond(self) -> float:
        """Pairs beyond the tolerance among those with a number on at least one side."""
        return self.beyond / self.compared if self.compared else 0.0

    def to_json(self) -> dict[str, Any]:
        """All fields and the share beyond, for storing."""
        return {**asdict(self), "worst": list(self.worst), "share_beyond": self.share_beyond}


def number_difference(
    reference: Floats, second: Floats, tolerance: Tolerance | Floats
) -> NumberDifference:
    """Compare float64[n] with float64[n] pair by pair; NaN is a missing number.

    `tolerance` is one for all, or the allowed difference of each pair, float64[n]. Two infinities
    of one sign are equal; an infinity beside anything else is as good as missing on one side.
    """
    allowed = tolerance.allowed(reference) if isinstance(tolerance, Tolerance) else tolerance
    same = reference == second
    finite = np.isfinite(reference) & np.isfinite(second)
    gap = np.zeros(len(reference))
    gap[finite] = _gap(reference[finite], second[finite])
    missing = np.isnan(reference) & np.isnan(second)
    one = ~finite & ~same & ~missing
    beyond = one | (finite & (gap > _limit(allowed, reference, second)))
    return NumberDifference(
        n=int((finite | (same & ~finite)).sum()),
        both_missing=int(missing.sum()),
        one_missing=int(one.sum()),
        largest=_largest(gap[finite]),
        mean=float((gap[finite] / finite.sum()).sum()) if finite.any() else None,
        largest_relative=_relative(reference[finite], gap[finite]),
        largest_steps=_steps(reference[finite], gap[finite]),
        rounding=_rounding(reference[finite], second[finite]),
        beyond=int(beyond.sum()),
        worst=_worst(gap, one, beyond),
    )


def within(reference: Floats, second: Floats, tolerance: Tolerance) -> Flags:
    """Whether each pair is in tolerance, bool[n]; two missing numbers are."""
    finite = np.isfinite(reference) & np.isfinite(second)
    gap = _gap(np.where(finite, reference, 0.0), np.where(finite, second, 0.0))
    near = finite & (gap <= _limit(tolerance.allowed(reference), reference, second))
    both_missing = np.isnan(reference) & np.isnan(second)
    return np.asarray(near | (reference == second) | both_missing)


def _gap(reference: Floats, second: Floats) -> Floats:
    """|second - reference| of finite numbers, at most the largest double."""
    with np.errstate(over="ignore"):
        return np.minimum(np.abs(second - reference), np.finfo(np.float64).max)


def _limit(allowed: Floats, reference: Floats, second: Floats) -> Floats:
    """The allowed difference, with the half steps that both numbers were rounded by on top.

    0.51 is within 0.01 of 0.5, though as doubles they are a little further apart. An allowance of 0
    stays 0.
    """
    largest = np.maximum(_size(reference), _size(second))
    most = float(np.finfo(np.float64).max) / 2
    step = np.spacing(np.minimum(largest, most))
    return np.asarray(np.where(allowed > 0, allowed + step, 0.0))


def _size(values: Floats) -> Floats:
    return np.where(np.isfinite(values), np.abs(values), 0.0)


def _largest(values: Floats) -> float | None:
    return float(values.max()) if len(values) else None


def _relative(reference: Floats, gap: Floats) -> float | None:
    there = reference != 0
    with np.errstate(over="ignore"):
        ratio = gap[there] / np.abs(reference[there])
    return _largest(ratio[np.isfinite(ratio)])


def _steps(reference: Floats, gap: Floats) -> dict[str, float | None]:
    return {
        "float16": _largest_step(reference, gap, np.float16),
        "float32": _largest_step(reference, gap, np.float32),
    }


def _largest_step(
    reference: Floats, gap: Floats, kind: type[np.float16 | np.float32]
) -> float | None:
    most = float(np.finfo(kind).max)
    if not len(reference) or np.abs(reference).max() > most:
        return None
    step = np.spacing(np.abs(reference).astype(kind)).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        found = gap / step
    return _largest(found[np.isfinite(found)])


def _rounding(reference: Floats, second: Floats) -> str | None:
    """The widest narrow format whose rounding turns every reference into its second number."""
    if not len(reference) or (reference == second).all():
        return None
    for name, kind in _NARROWER:
        with np.errstate(over="ignore"):
            rounded = _bfloat16(reference) if kind is None else reference.astype(kind)
        if (rounded.astype(np.float64) == second).all():
            return name
    return None


def _bfloat16(values: Floats) -> Floats:
    """Round to nearest even on the upper 16 bits of a float32."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


def _worst(gap: Floats, one_missing: Flags, beyond: Flags) -> tuple[int, ...]:
    badness = np.where(one_missing, np.inf, np.where(beyond, gap, -1.0))
    order = np.argsort(-badness, kind="stable")[:WORST]
    return tuple(int(place) for place in order if beyond[place])
