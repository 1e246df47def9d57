"""What is counted of one group. Knows a labels part, no segment numbers and no clock."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.profiles.labels import BinaryCounts, binary_counts, predicted_class_counts
from monitor.profiles.part import Part

MIN_ROWS, MIN_EVENTS = 50, 5


@dataclass(frozen=True)
class Rate:
    """`events` of `n` rows."""

    events: int
    n: int

    @property
    def value(self) -> float:
        """The share in [0, 1]; 0/0 raises ZeroDivisionError."""
        return self.events / self.n


@dataclass(frozen=True)
class Group:
    """Counts of one group's requests.

    `favourable`: rows with the favourable answer among those with a known predicted class.
    `tp`, `fp`, `fn`, `tn`: labelled rows with a known class. `scored` rows have label and score,
    `positives` of them; `error_sum` Σ(y - s) and `error_square_sum` Σ(y - s)² over them.
    """

    name: str
    favourable: Rate
    tp: int
    fp: int
    fn: int
    tn: int
    scored: int = 0
    positives: int = 0
    error_sum: float = 0.0
    error_square_sum: float = 0.0

    @property
    def labelled(self) -> int:
        """Labelled rows with a known predicted class."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def true_positive(self) -> Rate:
        """Rows predicted positive among the positive labels."""
        return Rate(self.tp, self.tp + self.fn)

    @property
    def false_positive(self) -> Rate:
        """Rows predicted positive among the negative labels."""
        return Rate(self.fp, self.fp + self.tn)

    @property
    def accuracy(self) -> Rate:
        """Rows that were predicted right."""
        return Rate(self.tp + self.tn, self.labelled)


def group_of(name: str, part: Part, *, favourable_class: int) -> Group:
    """The counts of a labels part of a binary model; the favourable class is 0 or 1."""
    counts = binary_counts(part)
    negative, positive, _ = predicted_class_counts(part)
    chosen = positive if favourable_class == 1 else negative
    return Group(
        name,
        Rate(chosen, negative + positive),
        counts.tp,
        counts.fp,
        counts.fn,
        counts.tn,
        *_scored(counts),
    )


def _scored(counts: BinaryCounts) -> tuple[int, int, float, float]:
    positives = int(counts.positives.sum())
    scores = float(counts.score_sums.sum())
    squares = float(counts.score_square_sums.sum() - 2 * counts.score_label_sums.sum()) + positives
    return positives + int(counts.negatives.sum()), positives, positives - scores, squares
