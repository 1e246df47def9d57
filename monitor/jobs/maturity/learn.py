"""Learns the delay curves of a model: for each leg, segment and predicted class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from monitor.checks.maturity.delay_curve import DelayCurve, Followed, learn_curve
from monitor.contract_quality import Label
from monitor.jobs.maturity.known import HOUR, MIN_ROWS, LabelDelays, Piece, by_single_class
from monitor.jobs.maturity.pieces import Subject, by_leg_and_segment
from monitor.profiles.label_delays import ALL_CLASSES
from monitor.store.delay_curves import CurveKey

MOST_CLASSES = 20


def learn_curves(
    pieces: Mapping[Subject, list[Piece]], delays: LabelDelays, label: Label
) -> dict[CurveKey, DelayCurve]:
    """A curve for all classes and one for each of the 20 most frequent ones, of 50 requests on.

    Requests after the newest label have no age and say nothing.
    """
    settled = label.max_age / HOUR
    found: dict[CurveKey, DelayCurve] = {}
    for (leg, segment), mine in by_leg_and_segment(pieces).items():
        old = [piece for piece in mine if delays.age_hours(piece.middle) > 0]
        for number in (ALL_CLASSES, *_frequent(old)):
            followed = [
                Followed(delays.age_hours(piece.middle), one.labelled, one.unlabelled)
                for piece in old
                if (one := piece.by_class.get(number)) is not None
            ]
            curve = learn_curve(followed, settled)
            if curve is not None and (curve.n >= MIN_ROWS or number == ALL_CLASSES):
                found[CurveKey(leg, segment, number)] = curve
    return found


def _frequent(pieces: Sequence[Piece]) -> list[int]:
    counts: dict[int, int] = {}
    for piece in pieces:
        for number, one in by_single_class(piece.by_class).items():
            if number != ALL_CLASSES:
                counts[number] = counts.get(number, 0) + one.n
    ordered = sorted(counts, key=lambda number: (-counts[number], number))
    return sorted(ordered[:MOST_CLASSES])
