"""What a receiver was told of one shape, and whether a real incident stayed unknown to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.flapping.shapes import Shape


@dataclass
class Tally:
    """Told openings and ends by the window they arrived in; `transitions` of the state, if known.

    A message that only repeats what is known counts as a message and changes nothing.
    """

    transitions: int | None = None
    told: list[tuple[float, bool]] = field(default_factory=list)

    def tell(self, window: float, *, is_open: bool) -> None:
        """One message: the receiver believes from now on that the alert is open, or over."""
        self.told.append((window, is_open))

    @property
    def messages(self) -> int:
        """How many messages came."""
        return len(self.told)

    def missed(self, shape: Shape) -> int:
        """Incidents during which the receiver never believed the alert to be open.

        An incident counts as known from its first window to one hour after its end.
        """
        return sum(not self._knew(first, last + 4) for first, last in shape.incidents)

    def false_ends(self, shape: Shape) -> int:
        """Told ends that came in the middle of a real incident, its last hour apart."""
        return sum(
            not is_open and any(first + 1 <= window < last - 4 for first, last in shape.incidents)
            for window, is_open in self.told
        )

    def _knew(self, first: float, last: float) -> bool:
        believed = False
        for window, is_open in sorted(self.told, key=lambda each: each[0]):
            if window >= last:
                break
            if window <= first:
                believed = is_open
            elif is_open:
                return True
        return believed
