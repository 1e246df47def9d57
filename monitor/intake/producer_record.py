"""A request as a producer tells it, before any contract: what every foreign format is read into.

Pure values. `monitor.intake.told_requests` makes rows of a model's contract of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from monitor.records import Rejection, RequestOutcome


@dataclass(frozen=True)
class ProducerRecord:
    """One request.

    `models`: names under which the producer knows the model, the surest first. `fields`: standard
    fields in their own units (`monitor.fields`). `inputs` and `outputs`: values by name, or by
    position ("0", "1", …) where the payload has no names. `attributes`: whatever else was said, by
    dotted name. Tags are those that the request itself and its resource (process, host) claim;
    `joins` are what a registered deployment can be found by (`service.instance.id`, `host`,
    `ce_source`, `system_fingerprint`, …). `leg` None: the one the sender named.
    """

    request_id: str
    event_time: datetime | None
    models: tuple[str, ...] = ()
    outcome: RequestOutcome = RequestOutcome.ANSWERED
    outcome_reason: str | None = None
    leg: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    request_tags: Mapping[str, str] = field(default_factory=dict)
    resource_tags: Mapping[str, str] = field(default_factory=dict)
    joins: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ProducerLabel:
    """One label as a producer tells it; `label` None means the contract's own."""

    request_id: str
    value: Any
    observed_at: datetime | None
    label: str | None = None
    source: str | None = None
    event_time: datetime | None = None
    models: tuple[str, ...] = ()


@dataclass(frozen=True)
class Read:
    """What a body or a piece of a file held: records, labels, and what could not be read.

    `ignored`: things that are well formed and no requests (spans of a web server, heartbeats).
    `places`: where in the body each record stood; empty where they are counted by themselves.
    """

    records: tuple[ProducerRecord, ...] = ()
    labels: tuple[ProducerLabel, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    ignored: int = 0
    notes: tuple[str, ...] = field(default=())
    places: tuple[int, ...] | range = ()
