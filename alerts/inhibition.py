"""When one alert keeps another one quiet: no drift messages while no traffic arrives at all.

Pure values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from alerts.rules import Matcher

Facts = Mapping[str, str]


@dataclass(frozen=True)
class Inhibition:
    """While an alert that fits `source` fires, openings of those that fit `target` wait.

    Both must carry every label of `equal` with the same value: a label that both lack is no match,
    because a lost alarm costs more than a spare one. Matchers see what routes see. An alert that
    fits both sides is not kept quiet by its like.
    """

    name: str
    source: tuple[Matcher, ...]
    target: tuple[Matcher, ...]
    equal: tuple[str, ...]

    def is_source(self, facts: Facts) -> bool:
        """Whether an alert can keep others quiet."""
        return all(matcher.matches(facts) for matcher in self.source)

    def is_target(self, facts: Facts) -> bool:
        """Whether an alert can be kept quiet."""
        return all(matcher.matches(facts) for matcher in self.target) and not self.is_source(facts)

    def subject(self, facts: Facts) -> tuple[str, ...] | None:
        """The values that both must share; None when one is absent."""
        values = tuple(facts.get(name, "") for name in self.equal)
        return values if all(values) else None


USUAL_INHIBITIONS = (
    Inhibition(
        "stale-labels",
        source=(
            Matcher("check", ("condition", "label_feed")),
            Matcher("method", ("label_age", "silence")),
        ),
        target=(Matcher("check", ("quality", "calibration")),),
        equal=("project", "model"),
    ),
    Inhibition(
        "no-traffic",
        source=(Matcher("check", ("condition",)), Matcher("method", ("request_age",))),
        target=(Matcher("check", ("drift", "contrast", "incident")),),
        equal=("project", "model"),
    ),
    Inhibition(
        "schema-break",
        source=(Matcher("check", ("condition",)), Matcher("method", ("schema_break",))),
        target=(Matcher("check", ("drift", "contrast", "missing")),),
        equal=("project", "model", "column"),
    ),
)
"""In force unless alerts.yaml replaces one by its name or switches it off."""


_Bucket = tuple[str, tuple[str, ...]]
_DEEPEST = 100


class Inhibitors:
    """All firing alerts, asked which of them keep an alert quiet.

    Only an alert that is not kept quiet itself keeps others quiet: of alerts that would do so in a
    circle at least one is told, and whoever is kept quiet has a cause that is not.
    """

    def __init__(self, inhibitions: Iterable[Inhibition], firing: Mapping[str, Facts]) -> None:
        self._inhibitions = tuple(inhibitions)
        self._firing = firing
        self._sources: dict[_Bucket, list[str]] = {}
        self._answers: dict[str, tuple[str, str] | None] = {}
        self._asked: set[str] = set()
        for fingerprint, facts in firing.items():
            for each in self._inhibitions:
                subject = each.subject(facts) if each.is_source(facts) else None
                if subject is not None:
                    self._sources.setdefault((each.name, subject), []).append(fingerprint)

    def holder_of(self, fingerprint: str, facts: Facts) -> tuple[str, str] | None:
        """Inhibition and fingerprint of the source that keeps this alert quiet; None if none."""
        if fingerprint not in self._answers:
            self._asked.add(fingerprint)
            self._answers[fingerprint] = self._find(facts)
            self._asked.discard(fingerprint)
        return self._answers[fingerprint]

    def facts_of(self, fingerprint: str) -> Facts:
        """The facts of a firing alert; KeyError when none has this fingerprint."""
        return self._firing[fingerprint]

    def _find(self, facts: Facts) -> tuple[str, str] | None:
        if not self._sources or len(self._asked) > _DEEPEST:
            return None
        for each in self._inhibitions:
            subject = each.subject(facts) if each.is_target(facts) else None
            if subject is None:
                continue
            for source in self._sources.get((each.name, subject), ()):
                if source in self._asked:
                    continue
                if self.holder_of(source, self._firing[source]) is None:
                    return each.name, source
        return None
