"""A split of a changed loss in sentences: what it is consistent with, never what caused it."""

from __future__ import annotations

from monitor.checks.context.explained import OutputMoved
from monitor.checks.context.loss_split import LossSplit
from monitor.checks.context.phrases import number
from monitor.checks.context.segment_losses import SegmentShare
from monitor.measurement import Measured

WORSE = {
    "harder_mix": "more of the inputs that were always hard",
    "within": "the same inputs being judged worse (the relation of inputs to outcome changed)",
    "new_or_rare": "inputs that were new or rare before",
}
BETTER = {
    "harder_mix": "fewer of the inputs that were always hard",
    "within": "the same inputs being judged better (the relation of inputs to outcome changed)",
    "new_or_rare": "inputs that were new or rare before, and easy",
}


def loss_sentences(split: LossSplit, *, share: bool) -> tuple[str, ...]:
    """The change as a whole, then each part; `share`: the loss is a share, told in points."""
    name = "error rate" if share else "mean absolute error"
    total = split.total
    head = (
        f"The {name} went from {_level(split.loss_then, share=share)} to"
        f" {_level(split.loss_now, share=share)}: {_change(total, share=share)}."
    )
    if _holds_zero(total):
        return (head, "That is within what chance gives; the parts are shown for completeness.")
    return (head, *(_part(split, part, share=share) for part in WORSE))


def column_sentences(found: OutputMoved, most: int = 3) -> tuple[str, ...]:
    """Columns whose changed mix goes with the change, the surest first."""
    told: list[str] = []
    for one in found.columns:
        if len(told) == most or not isinstance(one.share, Measured):
            break
        if one.share.low is None or one.share.high is None or one.share.low <= 0:
            break
        told.append(
            f"{_percent(one.share.value)} of the change is consistent with the changed mix of"
            f" {', '.join(one.columns)} (95 % interval {_percent(one.share.low)} to"
            f" {_percent(one.share.high)})."
        )
    return tuple(told)


def segment_sentence(first: SegmentShare, total: float) -> str | None:
    """The segment that carries most of the change; None where its limits hold 0."""
    contribution = first.contribution
    if not isinstance(contribution, Measured) or _holds_zero(contribution) or total == 0:
        return None
    if contribution.value * total <= 0:
        return None
    return (
        f"{first.label} carries {_percent(contribution.value / total)} of the change of all"
        f" labelled requests, with {_percent(first.share_now)} of them."
    )


def _part(split: LossSplit, name: str, *, share: bool) -> str:
    part: Measured = getattr(split, name)
    words = WORSE[name] if part.value >= 0 else BETTER[name]
    if _holds_zero(part):
        return f"No part beyond chance is consistent with {words}: {_change(part, share=share)}."
    return f"{_change(part, share=share)} is consistent with {words}."


def _level(value: float, *, share: bool) -> str:
    return f"{100 * value:.1f} %" if share else number(value)


def _change(part: Measured, *, share: bool) -> str:
    scale, unit = (100.0, " points") if share else (1.0, "")
    low, high = part.low or 0.0, part.high or 0.0
    return (
        f"{scale * part.value:+.3g}{unit} (95 % interval {scale * low:+.3g} to {scale * high:+.3g})"
    )


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _holds_zero(part: Measured) -> bool:
    return part.low is None or part.high is None or part.low <= 0 <= part.high
