"""Bodies of generateContent, as Vertex AI logs them. Pure.

Reference: Vertex AI API, `GenerateContentResponse.UsageMetadata`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.intake.producer_files.exchanges import Exchange
from monitor.intake.producer_record import ProducerRecord
from monitor.records import RequestOutcome

_REFUSED = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"})
_FINISH = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}


def read_gemini(exchange: Exchange, asked: Any, answer: Any) -> ProducerRecord:
    """One record; an answer of several chunks is put together, its numbers from the last."""
    chunks = [c for c in (answer if isinstance(answer, list) else [answer]) if _is(c)]
    last: Mapping[str, Any] = chunks[-1] if chunks else {}
    candidates = [_first(chunk) for chunk in chunks]
    finish = next((c["finishReason"] for c in reversed(candidates) if c.get("finishReason")), None)
    text = "".join(part for c in candidates for part in _texts(c.get("content")))
    blocked = finish in _REFUSED or _is(last.get("promptFeedback"))
    fields: dict[str, Any] = {**exchange.fields, **_tokens(last.get("usageMetadata"))}
    if isinstance(finish, str):
        fields["finish_reason"] = _FINISH.get(finish, finish.lower())[:80]
    if text:
        fields["output_text"] = text
    prompt = "\n".join(p for c in _list(_object(asked).get("contents")) for p in _texts(c))
    if prompt:
        fields["prompt_text"] = prompt
    outcome = RequestOutcome.REFUSED if blocked and not text else RequestOutcome.ANSWERED
    reason = "a safety filter held the answer back" if outcome is RequestOutcome.REFUSED else None
    if not chunks:
        outcome, reason = RequestOutcome.FAILED, "no answer was logged"
    tags = dict(exchange.request_tags)
    if isinstance(last.get("modelVersion"), str):
        tags.setdefault("model_version", last["modelVersion"])
    return ProducerRecord(
        request_id=exchange.request_id,
        event_time=exchange.event_time,
        models=exchange.models,
        outcome=outcome,
        outcome_reason=reason,
        fields=fields,
        outputs={"text": text} if text else {},
        attributes=exchange.attributes,
        request_tags=tags,
        joins=exchange.joins,
    )


def _tokens(usage: Any) -> dict[str, int]:
    """`candidatesTokenCount` leaves thoughts out; our output tokens hold them."""
    told = _object(usage)
    prompt, cached = _count(told, "promptTokenCount"), _count(told, "cachedContentTokenCount")
    shown, thought = _count(told, "candidatesTokenCount"), _count(told, "thoughtsTokenCount")
    found = {
        "prompt_tokens": prompt,
        "cached_tokens": cached,
        "reasoning_tokens": thought,
        "output_tokens": None if shown is None else shown + (thought or 0),
    }
    return {name: count for name, count in found.items() if count is not None}


def _count(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _first(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    return _object(next(iter(_list(chunk.get("candidates"))), None))


def _texts(content: Any) -> list[str]:
    parts = _list(_object(content).get("parts"))
    return [p["text"] for p in parts if _is(p) and isinstance(p.get("text"), str)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value)
