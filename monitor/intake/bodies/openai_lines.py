"""A line of JSON for each request to an OpenAI-compatible server, as a gateway logs it. Pure.

Keys of a line: `request` and `response` (objects; a response may also be an array of chunks, or
the text of a body or stream), `headers` and `status` of the response, `event_time`, `request_id`,
`fields` (standard fields that the sender measured), `tags`, `joins`. Other keys are attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from monitor.errors import RequestRefused
from monitor.fields import standard_field
from monitor.intake.bodies.openai import read_openai, read_openai_values
from monitor.intake.bodies.openai_numbers import mapping, text
from monitor.intake.bodies.told_body import ToldBody
from monitor.intake.producer_record import ProducerRecord, Read
from monitor.intake.times import TimeFault, read_moment
from monitor.records import Rejection, RejectionReason
from monitor.strictjson import JsonFault, StrictJsonError, loads

OPENAI_LINES = "application/vnd.inferwatch.openai+json"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KEYS = frozenset({"request", "response", "headers", "status", "event_time", "request_id",
                   "fields", "tags", "joins"})  # fmt: skip
_TIME_REASONS = {
    TimeFault.BAD: RejectionReason.BAD_TIME,
    TimeFault.WITHOUT_ZONE: RejectionReason.TIME_WITHOUT_ZONE,
}


class _Refused(Exception):
    def __init__(self, reason: RejectionReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def read_openai_lines(body: bytes, max_records: int) -> Read:
    """Every line ends as a record or as a rejection at its place.

    Raises RequestRefused 413 when there are more lines than `max_records`.
    """
    lines = [line for line in body.splitlines() if line.strip()]
    if len(lines) > max_records:
        raise RequestRefused(
            413, "too_many_records", f"the body has more than {max_records} records; send fewer"
        )
    records: dict[int, ProducerRecord] = {}
    rejections: list[Rejection] = []
    for place, line in enumerate(lines):
        try:
            records[place] = _record(line)
        except _Refused as refused:
            rejections.append(Rejection(place, refused.reason, str(refused)))
        except StrictJsonError as error:
            deep = error.fault is JsonFault.TOO_DEEP
            reason = RejectionReason.TOO_DEEP if deep else RejectionReason.UNREADABLE
            rejections.append(Rejection(place, reason, str(error)))
    return Read(tuple(records.values()), rejections=tuple(rejections), places=tuple(records))


def _record(line: bytes) -> ProducerRecord:
    told = loads(line)
    if not isinstance(told, dict):
        raise _Refused(RejectionReason.NOT_AN_OBJECT, "a line is a JSON object {...}")
    if told.get("request") is None and told.get("response") is None:
        raise _Refused(
            RejectionReason.UNREADABLE, "a line holds request, response or both; this one neither"
        )
    body = _body(told)
    request_id = text(told.get("request_id")) or body.request_id
    if request_id is None:
        raise _Refused(
            RejectionReason.MISSING_ID, "neither the line nor the answer has an id; add request_id"
        )
    time = _event_time(told.get("event_time")) or body.event_time
    if time is None:
        raise _Refused(
            RejectionReason.MISSING_TIME,
            "neither the line nor the answer has a time; add event_time",
        )
    fields, beside = _measured(mapping(told.get("fields")), body.fields)
    rest = {name: value for name, value in told.items() if name not in _KEYS}
    made = body.record(request_id, time)
    return ProducerRecord(
        **{
            **vars(made),
            "fields": fields,
            "attributes": {**made.attributes, **beside, **rest},
            "request_tags": {**made.request_tags, **_texts(told.get("tags"))},
            "joins": {**made.joins, **_texts(told.get("joins"))},
        }
    )


def _body(told: Mapping[str, Any]) -> ToldBody:
    headers = _texts(told.get("headers"))
    status = told.get("status")
    code = status if isinstance(status, int) and 100 <= status <= 999 else None
    request, response = told.get("request"), told.get("response")
    if isinstance(request, str):
        request = loads(request.encode("utf-8", "surrogatepass"))
    if not isinstance(response, str):
        return read_openai_values(request, response, headers, status=code)
    answer = response.encode("utf-8", "surrogatepass")
    return read_openai(request, answer, headers, status=code)


def _event_time(told: Any) -> datetime | None:
    if told is None:
        return None
    micros = read_moment(told) if isinstance(told, str) else TimeFault.BAD
    if isinstance(micros, TimeFault):
        raise _Refused(
            _TIME_REASONS[micros], "event_time is a time of RFC 3339 with a zone, in text"
        )
    return _EPOCH + timedelta(microseconds=micros)


def _measured(
    said: Mapping[str, Any], found: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The sender's own fields over those of the body, and what is no standard field.

    A first-token time of the sender never keeps the beginning that the server's own one had.
    """
    known = {name: value for name, value in said.items() if standard_field(name) is not None}
    kept = dict(found)
    if "first_token_time" in known:
        kept.pop("first_token_from", None)
    beside = {f"fields.{name}": value for name, value in said.items() if name not in known}
    return {**kept, **known}, beside


def _texts(told: Any) -> dict[str, str]:
    """Names and texts; whole numbers as text. Lists (a header sent twice) give their first."""
    found: dict[str, str] = {}
    for name, value in mapping(told).items():
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, (str, int)) and not isinstance(first, bool):
            found[name] = str(first)
    return found
