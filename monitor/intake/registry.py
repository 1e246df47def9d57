"""All formats of bodies, by content type. A new format is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from monitor.intake.arrow_labels import ARROW_LABELS
from monitor.intake.arrow_requests import ARROW_REQUESTS
from monitor.intake.base import LabelFormat, RequestFormat
from monitor.intake.bodies.openai_lines import OPENAI_LINES, read_openai_lines
from monitor.intake.json_labels import JSON_LABELS, NDJSON_LABELS
from monitor.intake.json_requests import JSON_REQUESTS, NDJSON_REQUESTS
from monitor.intake.producer_record import Read

ARROW_STREAM = "application/vnd.apache.arrow.stream"

REQUEST_FORMATS: Mapping[str, RequestFormat] = {
    "application/json": JSON_REQUESTS,
    "application/x-ndjson": NDJSON_REQUESTS,
    "application/ndjson": NDJSON_REQUESTS,
    "application/jsonl": NDJSON_REQUESTS,
    ARROW_STREAM: ARROW_REQUESTS,
}
LABEL_FORMATS: Mapping[str, LabelFormat] = {
    "application/json": JSON_LABELS,
    "application/x-ndjson": NDJSON_LABELS,
    "application/ndjson": NDJSON_LABELS,
    "application/jsonl": NDJSON_LABELS,
    ARROW_STREAM: ARROW_LABELS,
}
TOLD_FORMATS: Mapping[str, Callable[[bytes, int], Read]] = {OPENAI_LINES: read_openai_lines}
"""Requests of one model in a producer's words: body and most records to what it holds."""
