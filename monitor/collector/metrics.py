"""Counters of one collector process, in a registry of its own."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from monitor.records import IntakeAnswer, RejectionReason

KINDS = ("requests", "labels")
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """What came in and what became of it: received = accepted + duplicate + conflict + rejected."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._received = self._counter("received", "Records in bodies that were answered 200.")
        self._accepted = self._counter("accepted", "Records stored as new.")
        self._duplicate = self._counter("duplicate", "Records that were stored before.")
        self._conflict = self._counter(
            "conflict", "Records whose key was stored before with other content."
        )
        self._rejected = self._counter("rejected", "Records that can't be stored.", "reason")
        self._violations = self._counter("violations", "Broken columns of accepted records.")
        self._skewed = self._counter(
            "clock_skewed", "Requests with an event time over 10 minutes after their arrival."
        )
        self._refused = self._counter("refused_bodies", "Bodies refused as a whole.", "reason")
        self._seconds = Histogram(
            "inferwatch_body_seconds",
            "Seconds from the first byte of a body to its answer.",
            ["kind"],
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.waiting = Gauge(
            "inferwatch_waiting_bodies", "Bodies being read or stored.", registry=self.registry
        )
        for kind in KINDS:
            for reason in RejectionReason:
                self._rejected.labels(kind, reason.value)

    def answered(self, kind: str, answer: IntakeAnswer, skewed: int, seconds: float) -> None:
        """Count one stored body."""
        counts = (answer.accepted, answer.duplicate, answer.conflict)
        self._received.labels(kind).inc(sum(counts) + answer.rejected)
        for counter, count in zip(
            (self._accepted, self._duplicate, self._conflict), counts, strict=True
        ):
            counter.labels(kind).inc(count)
        for rejection in answer.rejections:
            self._rejected.labels(kind, rejection.reason.value).inc()
        self._violations.labels(kind).inc(answer.violations)
        self._skewed.labels(kind).inc(skewed)
        self._seconds.labels(kind).observe(seconds)

    def refused(self, kind: str, reason: str) -> None:
        """Count one refused body."""
        self._refused.labels(kind, reason).inc()

    def text(self) -> bytes:
        """All numbers in Prometheus' text format."""
        return generate_latest(self.registry)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        counter = Counter(f"inferwatch_{name}", meaning, ["kind", *labels], registry=self.registry)
        if not labels:
            for kind in KINDS:
                counter.labels(kind)
        return counter
