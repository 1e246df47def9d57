"""An explanation's parts as JSON, each number with its interval and n, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.checks.context.explained import ExplainedShare, OutputDidNotMove, OutputMoved
from monitor.checks.context.loss_split import NAMES, LossSplit
from monitor.checks.context.loss_words import column_sentences, loss_sentences, segment_sentence
from monitor.checks.context.segment_losses import SegmentShare
from monitor.jobs.labelled_sample import LabelledSample
from monitor.measurement import Failed, Measured, Outcome, TooFew

Ranked = OutputMoved | OutputDidNotMove | TooFew | Failed
Shares = Mapping[str, tuple[SegmentShare, ...] | TooFew]


def told(outcome: Outcome) -> dict[str, Any]:
    """An outcome with its state."""
    match outcome:
        case Measured():
            limits = {"low": outcome.low, "high": outcome.high, "level": outcome.level}
            rows = {"n": outcome.n, "n_reference": outcome.n_reference}
            return {"state": "measured", "value": outcome.value, **limits, **rows}
        case TooFew():
            return {"state": "too_few", "n": outcome.n, "needed": outcome.needed,
                    "reason": f"{outcome.n} {outcome.reason}, {outcome.needed} needed"}  # fmt: skip
        case Failed():
            return {"state": "failed", "reason": outcome.reason}


def lacks(outcome: TooFew | Failed) -> str:
    """Why nothing was explained, as a sentence."""
    return f"Not explained: {told(outcome)['reason']}."


def told_side(sample: LabelledSample) -> dict[str, Any]:
    """Rows of one window that went in."""
    return {"sampled": sample.sampled, "labelled": len(sample), "coverage": sample.coverage}


def told_split(split: LossSplit | TooFew | Failed) -> dict[str, Any]:
    """The parts, with the mean losses they are made of."""
    if not isinstance(split, LossSplit):
        return told(split)
    return {
        "state": "measured",
        **{name: told(getattr(split, name)) for name in NAMES},
        "loss_then": split.loss_then,
        "loss_now": split.loss_now,
        "shared_then": split.shared_then,
        "shared_now": split.shared_now,
        "shared_rows": list(split.shared_rows),
    }


def told_columns(found: Ranked) -> dict[str, Any]:
    """Columns and pairs ranked, or why they are not."""
    match found:
        case OutputMoved():
            return {
                "state": "measured",
                "total": told(found.total),
                "columns": [_told_share(one) for one in found.columns],
                "pairs": [_told_share(one) for one in found.pairs],
            }
        case OutputDidNotMove():
            return {"state": "did_not_move", "total": told(found.total)}
        case TooFew() | Failed():
            return told(found)


def _told_share(one: ExplainedShare) -> dict[str, Any]:
    return {
        "columns": list(one.columns),
        "share": told(one.share),
        "mean": one.mean,
        "effective_rows": one.effective_rows,
        "unmatched": one.unmatched,
    }


def told_segments(found: tuple[SegmentShare, ...] | TooFew) -> dict[str, Any]:
    """Segments, the largest contribution first, or why there are none."""
    if isinstance(found, TooFew):
        return told(found)
    return {
        "state": "measured",
        "segments": [{**vars(one), "contribution": told(one.contribution)} for one in found],
    }


def sentences(
    split: LossSplit | TooFew | Failed, ranked: Ranked, shares: Shares, *, share: bool
) -> list[str]:
    """Everything in words, the split first."""
    if not isinstance(split, LossSplit):
        return [lacks(split)]
    found = list(loss_sentences(split, share=share))
    if isinstance(ranked, OutputMoved):
        found += column_sentences(ranked)
        for ones in shares.values():
            if isinstance(ones, TooFew) or not ones:
                continue
            total = sum(one.mix + one.within for one in ones)
            most = max(ones, key=lambda one: (one.mix + one.within) * total)
            sentence = segment_sentence(most, total)
            found += [sentence] if sentence else []
    return found
