"""What an OpenAI-compatible answer holds: text, tool calls, why it ended, how it failed. Pure."""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from monitor.intake.bodies.openai_numbers import first, mapping, sequence, text
from monitor.records import RequestOutcome
from monitor.strictjson import StrictJsonError, loads

MOST_CALLS = 200
MOST_VECTORS = 2_048
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,80}", re.ASCII)
_FINISH = {
    "eos": "stop", "eos_token": "stop", "word": "stop", "stop_sequence": "stop",
    "limit": "length", "max_output_tokens": "length", "function_call": "tool_calls",
}  # fmt: skip
_REFUSED_STATUS = frozenset({400, 406, 413, 415, 422})
_TIMED_OUT_STATUS = frozenset({408, 504, 524})
_CALLER_LEFT = 499


@dataclass(frozen=True)
class Answer:
    """One answer: `text` None where it has none, `calls` as name and arguments."""

    text: str | None = None
    refusal: bool = False
    finish_reason: str | None = None
    calls: tuple[Mapping[str, Any], ...] = ()
    choices: int = 0
    vectors: Mapping[str, Any] = field(default_factory=dict)


def read_answer(answer: Mapping[str, Any]) -> Answer:
    """The answer of any of the known shapes; of several choices the first."""
    if "choices" in answer:
        return _of_choices(sequence(answer["choices"]))
    if isinstance(answer.get("output"), list):
        return _of_responses(answer)
    if answer.get("object") == "list" or isinstance(answer.get("data"), list):
        return Answer(vectors=_vectors(sequence(answer.get("data"))))
    finish = first(
        {
            "sglang": mapping(answer.get("meta_info")).get("finish_reason"),
            "tgi": mapping(answer.get("details")).get("finish_reason"),
            "llama": answer.get("stop_type"),
        },
        *("sglang", "tgi", "llama"),
    )
    said = first(answer, "content", "generated_text", "text")
    return Answer(said if isinstance(said, str) else None, finish_reason=finish_word(finish))


def finish_word(reason: Any) -> str | None:
    """Why generation ended, in one vocabulary: stop, length, tool_calls, content_filter, …"""
    if isinstance(reason, Mapping):
        reason = reason.get("type")
    if not isinstance(reason, str) or not reason or reason == "none":
        return None
    return _FINISH.get(reason, reason)[:80]


def outcome_of(
    answer: Mapping[str, Any], said: Answer, status: int | None, cut_off: bool
) -> tuple[RequestOutcome, str | None, str | None]:
    """Outcome, its reason and the kind of error. Messages are left out: they may hold secrets."""
    kind = error_kind(answer)
    if kind is not None or (status is not None and status >= 400):
        outcome = _failed(kind, status)
        told = ", ".join(filter(None, (kind, f"HTTP {status}" if status else None)))
        return outcome, f"the server answered with an error: {told}", kind or f"http_{status}"
    if answer.get("status") == "cancelled" or said.finish_reason in ("abort", "cancelled"):
        return RequestOutcome.CANCELLED, "the server ended the generation before its end", None
    if said.refusal:
        return RequestOutcome.REFUSED, "the model declined to answer", None
    if said.finish_reason == "content_filter" and not said.text:
        return RequestOutcome.REFUSED, "a content filter held the answer back", None
    if cut_off:
        return RequestOutcome.CANCELLED, "the stream ended before its last event", None
    return RequestOutcome.ANSWERED, None, None


def error_kind(answer: Mapping[str, Any]) -> str | None:
    """The kind of error that a body tells, in the server's word; None when it tells none."""
    told = answer.get("error")
    if told in (None, "", False) and answer.get("object") != "error":
        return "response_failed" if answer.get("status") == "failed" else None
    where = mapping(told) or answer
    for name in ("type", "error_type", "code"):
        value = where.get(name)
        if isinstance(value, (str, int)) and _WORD.fullmatch(str(value)):
            return str(value)
    return "error"


def _failed(kind: str | None, status: int | None) -> RequestOutcome:
    word = (kind or "").lower()
    if status == _CALLER_LEFT or "cancel" in word:
        return RequestOutcome.CANCELLED
    if status in _TIMED_OUT_STATUS or "timeout" in word or "timed_out" in word:
        return RequestOutcome.TIMED_OUT
    refused = word in ("content_filter", "invalid_request_error", "exceed_context_size_error",
                       "badrequesterror", "validation")  # fmt: skip
    if status in _REFUSED_STATUS or (status is None and refused):
        return RequestOutcome.REFUSED
    return RequestOutcome.FAILED


def _of_choices(choices: list[Any]) -> Answer:
    choice = mapping(choices[0]) if choices else {}
    message = mapping(choice.get("message"))
    calls = [mapping(each) for each in sequence(message.get("tool_calls"))[:MOST_CALLS]]
    if message.get("function_call"):
        calls.append({"function": message["function_call"]})
    return Answer(
        text=first({"chat": _content(message.get("content")), **choice}, "chat", "text"),
        refusal=text(message.get("refusal")) is not None,
        finish_reason=finish_word(choice.get("finish_reason")),
        calls=tuple(_call(mapping(each.get("function") or each)) for each in calls),
        choices=len(choices),
    )


def _of_responses(answer: Mapping[str, Any]) -> Answer:
    said: list[str] = []
    refusal, calls = False, []
    for item in map(mapping, answer["output"]):
        kind = str(item.get("type", ""))
        if kind.endswith("_call"):
            calls.append(_call(item))
        for part in map(mapping, sequence(item.get("content"))):
            refusal = refusal or part.get("type") == "refusal"
            if kind == "message" and isinstance(part.get("text"), str):
                said.append(part["text"])
    finish = mapping(answer.get("incomplete_details")).get("reason")
    if finish is None and answer.get("status") == "completed":
        finish = "tool_calls" if calls else "stop"
    return Answer("".join(said) if said else None, refusal, finish_word(finish),
                  tuple(calls[:MOST_CALLS]), 1)  # fmt: skip


def _content(content: Any) -> str | None:
    if isinstance(content, list):
        parts = [mapping(each).get("text") for each in content]
        return "".join(part for part in parts if isinstance(part, str)) or None
    return content if isinstance(content, str) else None


def _call(called: Mapping[str, Any]) -> Mapping[str, Any]:
    arguments = called.get("arguments")
    if isinstance(arguments, str):
        arguments = json_or_none(arguments) if arguments else {}
    name = text(called.get("name")) or text(called.get("type")) or ""
    return {"name": name[:200], "arguments": arguments}


def json_or_none(written: str) -> Any:
    """Text that should be JSON, read; None when it is none."""
    try:
        return loads(written.encode("utf-8", "surrogatepass"))
    except StrictJsonError:
        return None


def _vectors(data: list[Any]) -> dict[str, Any]:
    """Embeddings by their place; base64 of little-endian float32 is read as numbers."""
    found: dict[str, Any] = {}
    for place, item in enumerate(map(mapping, data[:MOST_VECTORS])):
        vector = item.get("embedding")
        if isinstance(vector, str):
            try:
                packed = base64.b64decode(vector, validate=True)
                vector = list(struct.unpack(f"<{len(packed) // 4}f", packed))
            except (binascii.Error, struct.error):
                vector = None
        if vector is not None:
            found[str(item.get("index", place))] = vector
    return found
