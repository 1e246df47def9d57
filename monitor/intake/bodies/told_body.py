"""What a body of a request and its answer says, whoever carried it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from monitor.intake.producer_record import ProducerRecord
from monitor.records import RequestOutcome


@dataclass(frozen=True)
class ToldBody:
    """Parts of a ProducerRecord, in its words; `request_id` and `event_time` may be unknown.

    `joins` are what a registered deployment can be found by.
    """

    request_id: str | None = None
    event_time: datetime | None = None
    models: tuple[str, ...] = ()
    outcome: RequestOutcome = RequestOutcome.ANSWERED
    outcome_reason: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    request_tags: Mapping[str, str] = field(default_factory=dict)
    joins: Mapping[str, str] = field(default_factory=dict)

    def record(self, request_id: str, event_time: datetime | None) -> ProducerRecord:
        """A record of this body under an id and a time that its carrier knows."""
        return ProducerRecord(
            request_id=request_id,
            event_time=event_time,
            models=self.models,
            outcome=self.outcome,
            outcome_reason=self.outcome_reason,
            fields=self.fields,
            inputs=self.inputs,
            outputs=self.outputs,
            attributes=self.attributes,
            request_tags=self.request_tags,
            joins=self.joins,
        )
