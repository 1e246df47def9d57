"""OTLP log records into requests, labels and content of spans. Pure.

BentoML's monitor sends a record a call; language models' instrumentations send content and
evaluations as events of a span. All other records are ignored; one of these that lacks what it
needs is rejected, as its sender meant it for a monitor.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from monitor.intake.otlp.dialects.genai import CONTENT_EVENTS
from monitor.intake.otlp.resource import SENDER_MODEL, joins_of, model_names, resource_tags
from monitor.intake.otlp.trace import moment
from monitor.intake.otlp.wire import LogRecord, pack
from monitor.intake.producer_files.bentoml import hex_id
from monitor.intake.producer_files.versions import version_tags
from monitor.intake.producer_record import ProducerLabel, ProducerRecord, Read
from monitor.records import Rejection, RejectionReason

EVALUATION = frozenset({"gen_ai.evaluation.result", "gen_ai.evaluation"})
_BENTO_OWN = frozenset({"timestamp", "request_id", "trace_id", "bento_meta"})


@dataclass
class LogsRead:
    """Requests and labels that are whole, and records that are content of a span."""

    records: list[ProducerRecord] = field(default_factory=list)
    labels: list[ProducerLabel] = field(default_factory=list)
    content: list[LogRecord] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    ignored: int = 0

    def read(self) -> Read:
        """What can be stored at once, and what never can."""
        return Read(
            tuple(self.records), tuple(self.labels), tuple(self.rejections), ignored=self.ignored
        )

    def reject(self, place: int, reason: RejectionReason, message: str) -> None:
        """Note a record that was meant for a monitor and can't be used."""
        self.rejections.append(Rejection(place, reason, message))


def read_logs(logs: Sequence[LogRecord]) -> LogsRead:
    """Sort the records of a body."""
    found = LogsRead()
    rows = Counter(str(log.body["request_id"]) for log in logs if _is_bento(log))
    row: Counter[str] = Counter()
    for place, log in enumerate(logs):
        if _is_bento(log):
            call = str(log.body["request_id"])
            _add_bento(place, log, f"/{row[call]}" if rows[call] > 1 else "", found)
            row[call] += 1
        elif log.event_name in EVALUATION:
            _add_evaluation(place, log, found)
        elif log.event_name in CONTENT_EVENTS:
            _add_content(place, log, found)
        else:
            found.ignored += 1
    return found


def log_key(log: LogRecord) -> str:
    """A name for a record, which has none: the same bytes sent again have the same."""
    return "log:" + hashlib.sha256(pack(log)).hexdigest()


def _is_bento(log: LogRecord) -> bool:
    return isinstance(log.body, Mapping) and {"request_id", "trace_id", "timestamp"} <= set(
        log.body
    )


def _add_content(place: int, log: LogRecord, found: LogsRead) -> None:
    if log.trace_id and log.span_id:
        found.content.append(log)
        return
    message = f"a record {log.event_name!r} names no trace id and span id: its call is unknown"
    found.reject(place, RejectionReason.MISSING_ID, message)


def _add_bento(place: int, log: LogRecord, row: str, found: LogsRead) -> None:
    """BentoML's monitor: ids in decimal, roles in a schema that only some records carry.

    A call that logs several rows sends a record each, all with the call's id: `ID/0`, `ID/1`, ….
    """
    body: Mapping[str, Any] = log.body
    about = body.get("bento_meta")
    about = about if isinstance(about, Mapping) else {}
    name = hex_id(str(body["request_id"]), 16)
    if name is None:
        message = "request_id of a BentoML record must be a decimal number of at most 40 digits"
        found.reject(place, RejectionReason.BAD_ID, message)
        return
    name += row
    service = str(log.resource.get("service.name", ""))
    models = model_names(
        log.resource.get(SENDER_MODEL), about.get("bento_name"), about.get("monitor_name"),
        *service.split(":"), service,
    )  # fmt: skip
    roles = _roles(about.get("schema"))
    sides: dict[str, dict[str, Any]] = {"feature": {}, "prediction": {}, "target": {}, "": {}}
    for column, value in body.items():
        if column not in _BENTO_OWN:
            sides.get(roles.get(column, ""), sides[""])[column] = value
    at = moment(log.at)
    told = body["timestamp"]
    if isinstance(told, (int, float)) and not isinstance(told, bool) and 0 < told < 4e9:
        at = moment(round(told * 1e6) * 1_000)
    # The instance id is the bento's version there; `service.version` is not sent.
    version = about.get("bento_version") or log.resource.get("service.instance.id")
    found.records.append(
        ProducerRecord(
            name, at, models, inputs=sides["feature"], outputs=sides["prediction"],
            attributes=sides[""], request_tags=version_tags("bentoml", version),
            resource_tags=resource_tags(log.resource), joins=joins_of(log.resource),
        )
    )  # fmt: skip
    found.labels += [
        ProducerLabel(name, value, at, source="bentoml", event_time=at, models=models)
        for value in sides["target"].values()
        if value is not None
    ]


def _roles(schema: Any) -> dict[str, str]:
    """Roles by column; a schema of 1.4 holds a column's facts under its name."""
    if not isinstance(schema, Mapping):
        return {}
    return {
        name: str(each.get("role")) for name, each in schema.items() if isinstance(each, Mapping)
    }


def _add_evaluation(place: int, log: LogRecord, found: LogsRead) -> None:
    """A judgement of an answer: a label of the evaluation's name."""
    said = {**(log.body if isinstance(log.body, Mapping) else {}), **log.attributes}
    value = said.get("gen_ai.evaluation.score.value", said.get("gen_ai.evaluation.score.label"))
    response = said.get("gen_ai.response.id")
    name = response if isinstance(response, str) else f"{log.trace_id}-{log.span_id}"
    if value is None:
        message = "an evaluation has neither gen_ai.evaluation.score.value nor score.label"
        found.reject(place, RejectionReason.MISSING_LABEL, message)
        return
    if name == "-":
        message = "an evaluation names no gen_ai.response.id and no span: its call is unknown"
        found.reject(place, RejectionReason.MISSING_ID, message)
        return
    label = said.get("gen_ai.evaluation.name")
    models = model_names(
        log.resource.get(SENDER_MODEL), said.get("ml.model.name"),
        said.get("gen_ai.response.model"), said.get("gen_ai.request.model"),
        log.resource.get("ml.model.name"), log.resource.get("service.name"),
    )  # fmt: skip
    found.labels.append(
        ProducerLabel(
            name, value, moment(log.at), label if isinstance(label, str) else None,
            source="gen_ai.evaluation", models=models,
        )
    )  # fmt: skip
