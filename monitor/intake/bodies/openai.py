"""Bodies of OpenAI-compatible servers: chat, completions, Responses API, embeddings, streams. Pure.

Extras of vLLM (`metrics`, fingerprint), llama.cpp (`timings`, native /completion), SGLang
(`meta_info`) and Text Generation Inference (headers) are read into the same standard fields.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from monitor.intake.bodies.openai_answer import Answer, json_or_none, outcome_of, read_answer
from monitor.intake.bodies.openai_numbers import (
    llama_fields,
    llama_native_fields,
    mapping,
    sglang_fields,
    text,
    tgi_fields,
    usage_attributes,
    usage_fields,
    vllm_fields,
)
from monitor.intake.bodies.openai_request import (
    prompt_variables,
    prompt_version,
    request_attributes,
    request_fields,
    wants_json,
)
from monitor.intake.bodies.openai_stream import Streamed, join_chunks, looks_streamed, read_stream
from monitor.intake.bodies.openai_versions import names, server_of, version_tags
from monitor.intake.bodies.told_body import ToldBody
from monitor.intake.claimed_tags import claimed_words
from monitor.records import RequestOutcome
from monitor.strictjson import loads

_ANSWER_KEYS = frozenset({"choices", "timings", "meta_info", "tokens_predicted", "generated_text"})
_ANSWER_OBJECTS = ("chat.completion", "text_completion", "response", "chat.completion.chunk")
_REQUEST_KEYS = frozenset({"messages", "max_tokens", "max_completion_tokens", "max_output_tokens"})


def looks_like_openai(request: Any, response: Any) -> bool:
    """Whether decoded bodies are of this family, by their content alone."""
    asked, answer = mapping(request), mapping(response)
    if not _ANSWER_KEYS.isdisjoint(answer) or answer.get("object") in _ANSWER_OBJECTS:
        return True
    usage = mapping(answer.get("usage"))
    if "prompt_tokens" in usage or "input_tokens" in usage:
        return True
    return not _REQUEST_KEYS.isdisjoint(asked) and isinstance(asked.get("model"), str)


def read_openai(
    request: bytes | Mapping[str, Any] | None,
    response: bytes | None,
    headers: Mapping[str, str] | None = None,
    *,
    status: int | None = None,
) -> ToldBody:
    """What a request body and its answer say; either may be missing.

    `headers`: of the response. `status`: its HTTP code, where it is known. An answer may be JSON,
    JSON in a JSON text, or an event stream; a request may be decoded already. Raises
    StrictJsonError when a body is neither.
    """
    streamed: Streamed | None = None
    answer: Any = None
    if response is not None and looks_streamed(response):
        streamed = read_stream(response)
        answer = streamed.answer
    elif response:
        answer = read_json(response)
    asked = read_json(request) if isinstance(request, bytes) and request else request
    return read_openai_values(asked, answer, headers, status=status, streamed=streamed)


def read_openai_values(
    asked: Any,
    answer: Any,
    headers: Mapping[str, str] | None = None,
    *,
    status: int | None = None,
    streamed: Streamed | None = None,
) -> ToldBody:
    """`read_openai` of bodies that are decoded already; an array of chunks is a stream."""
    if isinstance(answer, list):
        streamed = join_chunks(answer)
        answer = streamed.answer
    lower = {name.lower(): value for name, value in (headers or {}).items()}
    wanted, told = mapping(asked), mapping(answer)
    if isinstance(told.get("response"), Mapping) and "output" in mapping(told["response"]):
        told = mapping(told["response"])  # one event of the Responses API, or a batch file's line
    said = read_answer(told)
    outcome, reason, kind = outcome_of(
        told, said, status, streamed is not None and streamed.cut_off
    )
    if answer is None and kind is None:
        outcome, reason = RequestOutcome.FAILED, "no answer was told"
    fields = {**request_fields(wanted), **_answer_fields(told, said, lower), **claimed_words(lower)}
    if kind is not None:
        fields["error_type"] = kind
    if streamed is not None:
        fields["streamed"] = True
    return ToldBody(
        request_id=text(told.get("id")) or _meta(told, "id") or lower.get("x-request-id"),
        event_time=_moment(told),
        models=names(told, wanted),
        outcome=outcome,
        outcome_reason=reason,
        fields=fields,
        inputs=prompt_variables(wanted),
        outputs=_outputs(said, wanted),
        attributes=_attributes(told, wanted, said, lower),
        request_tags=_tags(told, wanted, lower),
        joins=_joins(told),
    )


def read_json(body: bytes) -> Any:
    """A JSON body; one that some library wrote as a JSON text is read a second time."""
    value = loads(body)
    return loads(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value


def _answer_fields(
    told: Mapping[str, Any], said: Answer, headers: Mapping[str, str]
) -> dict[str, Any]:
    """Later sources win: usage is the surest for tokens, the server's own block for times."""
    usage = usage_fields(told)
    found: dict[str, Any] = {
        **tgi_fields(headers),
        **llama_native_fields(told),
        **llama_fields(told),
        **sglang_fields(told),
    }
    made = usage.get("output_tokens", found.get("output_tokens"))
    found |= {**vllm_fields(told, made), **usage}
    if said.vectors:
        found["operation"] = "embeddings"
    if said.finish_reason is not None:
        found["finish_reason"] = said.finish_reason
    if said.choices or said.calls:
        found["tool_calls"] = len(said.calls)
        found["refusal"] = said.refusal
    if said.text is not None:
        found["output_text"] = said.text
    return found


def _outputs(said: Answer, wanted: Mapping[str, Any]) -> dict[str, Any]:
    if said.vectors:
        return dict(said.vectors)
    found: dict[str, Any] = {}
    if said.text is not None:
        found["text"] = said.text
        if wants_json(wanted):
            found["json"] = json_or_none(said.text)
    if said.calls:
        found["tool_calls"] = list(said.calls)
    return found


def _attributes(
    told: Mapping[str, Any], wanted: Mapping[str, Any], said: Answer, headers: Mapping[str, str]
) -> dict[str, Any]:
    found = {**request_attributes(wanted), **usage_attributes(told)}
    for name in ("system_fingerprint", "service_tier"):
        if text(told.get(name)) is not None:
            found[f"response.{name}"] = told[name]
    if said.choices:
        found["response.choices"] = said.choices
    retracted = mapping(told.get("meta_info")).get("num_retractions")
    if isinstance(retracted, int):
        found["response.num_retractions"] = retracted
    for name in ("x-time-per-token", "openai-processing-ms", "x-compute-type"):
        if name in headers:
            found[f"header.{name}"] = headers[name][:200]
    server = server_of(told, headers)
    return found if server is None else {**found, "server": server}


def _tags(
    told: Mapping[str, Any], wanted: Mapping[str, Any], headers: Mapping[str, str]
) -> dict[str, str]:
    tags = version_tags(told, wanted, headers)
    version = prompt_version(wanted)
    return tags if version is None else {**tags, "prompt_version": version}


def _joins(told: Mapping[str, Any]) -> dict[str, str]:
    fingerprint = text(told.get("system_fingerprint"))
    return {} if fingerprint is None else {"system_fingerprint": fingerprint}


def _meta(told: Mapping[str, Any], name: str) -> str | None:
    return text(mapping(told.get("meta_info")).get(name))


def _moment(told: Mapping[str, Any]) -> datetime | None:
    """When the request was received or the answer begun, by the server's clock."""
    for said in (mapping(told.get("meta_info")).get("request_received_ts"),
                 told.get("created_at"), told.get("created")):  # fmt: skip
        if isinstance(said, bool) or not isinstance(said, (int, float)):
            continue
        if math.isfinite(said) and 0 < said < 4e9:
            return datetime.fromtimestamp(said, UTC)
    return None
