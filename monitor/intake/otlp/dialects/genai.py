"""OpenTelemetry's conventions for language models, three generations. Pure.

Up to 1.36 `gen_ai.system` and content in log events; 1.37 to 1.41 `gen_ai.provider.name` and
content on the span or in one event; after that a repository of their own, same names. vLLM and
SGLang still send the oldest token names, and times of their own (`engines`).
Reference: open-telemetry/semantic-conventions-genai.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from monitor.intake.claimed_tags import claimed_tags
from monitor.intake.otlp.trace import Trace, base_record
from monitor.intake.otlp.wire import LogRecord, Span
from monitor.intake.producer_record import ProducerRecord

INFERENCE = frozenset({"chat", "text_completion", "generate_content", "embeddings", "completion"})
TOKENS: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    "cached_tokens": ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cached_tokens"),
    "reasoning_tokens": ("gen_ai.usage.reasoning.output_tokens",),
    "max_tokens": ("gen_ai.request.max_tokens",),
    "temperature": ("gen_ai.request.temperature",),
    "top_p": ("gen_ai.request.top_p",),
}
WORDS: Mapping[str, tuple[str, ...]] = {
    "provider": ("gen_ai.provider.name", "gen_ai.system"),
    "operation": ("gen_ai.operation.name",),
    "conversation": ("gen_ai.conversation.id",),
    "prompt_name": ("gen_ai.prompt.name",),
}
FINGERPRINTS = ("openai.response.system_fingerprint", "gen_ai.openai.response.system_fingerprint")
_MODEL_S = frozenset({"gen_ai.request.model", "gen_ai.response.model", *TOKENS["prompt_tokens"]})
CONTENT_EVENTS = frozenset(
    {
        *("gen_ai.user.message", "gen_ai.system.message", "gen_ai.choice"),
        *("gen_ai.assistant.message", "gen_ai.tool.message"),
        "gen_ai.client.inference.operation.details",
    }
)
_ASKED = frozenset({"gen_ai.user.message", "gen_ai.system.message"})
_TOLD = frozenset({"gen_ai.choice"})


class GenAi:
    """Spans of clients and servers of language models."""

    name = "gen_ai"

    def is_request(self, span: Span) -> bool:
        """An operation of the model itself; agents and tools are told by their own spans."""
        operation = span.attributes.get("gen_ai.operation.name")
        if operation is None:
            return not _MODEL_S.isdisjoint(span.attributes)
        return isinstance(operation, str) and operation in INFERENCE

    def is_part(self, span: Span) -> bool:
        """Tools and retrievals under a request of the caller's own."""
        return span.attributes.get("gen_ai.operation.name") in ("execute_tool", "retrieval")

    def read(self, span: Span, trace: Trace) -> ProducerRecord:
        """The request, with content that came as log events of the span."""
        said = span.attributes
        answered_by = _text(said.get("gen_ai.response.model"))
        fields = {**_numbers(said), **_words(said), **_times(span)}
        content = _content(said, trace.logs.get(span.span_id, []))
        fingerprint = next((t for n in FINGERPRINTS if (t := _text(said.get(n)))), None)
        joins = {"system_fingerprint": fingerprint} if fingerprint else {}
        tags = {**({"model_version": answered_by} if answered_by else {}), **claimed_tags(said)}
        if fingerprint and fingerprint.startswith("vllm-"):
            tags.setdefault("config_hash", f"vllm:{fingerprint}")
        return base_record(
            span,
            (answered_by, said.get("gen_ai.request.model")),
            request_id=_text(said.get("gen_ai.response.id")),
            fields={**fields, **content},
            outputs={"text": content["output_text"]} if "output_text" in content else {},
            attributes=_rest(said),
            request_tags=tags,
            joins=joins,
        )


def _numbers(said: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for field, names in TOKENS.items():
        value = next((said[name] for name in names if said.get(name) is not None), None)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found[field] = value
    if isinstance(said.get("gen_ai.request.stream"), bool):
        found["streamed"] = said["gen_ai.request.stream"]
    return found


def _words(said: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        field: value[:200]
        for field, names in WORDS.items()
        if (value := next((t for n in names if (t := _text(said.get(n)))), None))
    }
    reasons = said.get("gen_ai.response.finish_reasons")
    if isinstance(reasons, list) and reasons and isinstance(reasons[0], str):
        found["finish_reason"] = reasons[0][:100]
        found["refusal"] = reasons[0] in ("refusal", "content_filter")
    return found


def _times(span: Span) -> dict[str, Any]:
    """First-token time as the client saw it, network included, and the mean gap from totals."""
    first = span.attributes.get("gen_ai.response.time_to_first_chunk")
    if isinstance(first, bool) or not isinstance(first, (int, float)) or first < 0:
        return {}
    found: dict[str, Any] = {"first_token_time": first * 1_000, "first_token_from": "client"}
    made = span.attributes.get("gen_ai.usage.output_tokens")
    decode = span.milliseconds - first * 1_000
    if isinstance(made, int) and made > 1 and decode >= 0:
        found |= {"decode_time": decode, "inter_token_time": decode / (made - 1)}
    return found


def _content(said: Mapping[str, Any], logs: list[LogRecord]) -> dict[str, Any]:
    """Texts of prompt and answer; where span and events both carry them, from the span alone."""
    sources: list[Mapping[str, Any]] = [said]
    for log in logs:
        sources += [log.attributes, log.body] if isinstance(log.body, Mapping) else [log.attributes]
    found = {}
    for field, name, events in (
        ("prompt_text", "gen_ai.input.messages", _ASKED),
        ("output_text", "gen_ai.output.messages", _TOLD),
    ):
        whole = (_texts(each.get(name)) for each in sources)
        text = next((each for each in whole if each), "") or _event_texts(logs, events)
        if text:
            found[field] = text
    return found


def _event_texts(logs: list[LogRecord], events: frozenset[str]) -> str:
    """Texts of events that carry a message each, in the order of their times."""
    bodies = [
        log.body
        for log in sorted(logs, key=lambda each: each.at)
        if log.event_name in events and isinstance(log.body, Mapping)
    ]
    texts = (_texts([body.get("message", body)]) for body in bodies)
    return "\n".join(text for text in texts if text)


def _texts(messages: Any) -> str:
    """The text parts of messages: `parts` of the newer conventions, `content` of the older."""
    if isinstance(messages, str):
        try:
            messages = json.loads(messages)
        except (ValueError, RecursionError):
            return ""
    found = []
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, Mapping):
            continue
        parts = message.get("parts")
        for part in parts if isinstance(parts, list) else [message]:
            text = part.get("content") if isinstance(part, Mapping) else None
            if isinstance(text, str):
                found.append(text)
    return "\n".join(found)


def _rest(said: Mapping[str, Any]) -> dict[str, Any]:
    """Other attributes, without texts of prompts and answers."""
    left = ("messages", "prompt", "completion", "instructions", "tool.definitions")
    return {name: value for name, value in said.items() if not name.endswith(left)}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


GENAI = GenAi()
