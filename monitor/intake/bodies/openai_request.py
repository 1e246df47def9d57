"""What an OpenAI-compatible request asks for. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from monitor.intake.bodies.openai_numbers import (
    amount,
    count,
    first,
    flag,
    mapping,
    present,
    sequence,
    text,
)

MOST_NAMED_TOOLS = 50


def request_fields(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Standard fields of a request: chat, completions, Responses API, embeddings and native ones.

    Sampling parameters of native servers stand in `parameters` or `sampling_params`.
    """
    inner = mapping(asked.get("parameters") or asked.get("sampling_params"))
    most = first({**inner, **asked}, "max_completion_tokens", "max_tokens", "max_output_tokens",
                 "n_predict", "max_new_tokens")  # fmt: skip
    return present(
        operation=_operation(asked),
        max_tokens=count(most),
        temperature=amount(first({**inner, **asked}, "temperature")),
        top_p=amount(first({**inner, **asked}, "top_p")),
        streamed=flag(asked.get("stream")),
        prompt_name=text(mapping(asked.get("prompt")).get("id")),
        tool_versions=tools_digest(asked),
        conversation=text(asked.get("conversation"))
        or text(mapping(asked.get("conversation")).get("id")),
        prompt_text=prompt_text(asked),
    )


def request_attributes(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Tool names, the sender's metadata and the rest that no field holds."""
    found: dict[str, Any] = present(
        **{"request.service_tier": text(asked.get("service_tier")), "request.n": asked.get("n")}
    )
    names = tool_names(asked)
    if names:
        found["request.tools"] = names
    for name, value in mapping(asked.get("metadata")).items():
        if isinstance(value, (str, int, float)):
            found[f"metadata.{name[:100]}"] = value
    return found


def prompt_variables(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Values that were put into a stored prompt: the inputs of the request by name."""
    return dict(mapping(mapping(asked.get("prompt")).get("variables")))


def prompt_version(asked: Mapping[str, Any]) -> str | None:
    """Version of a stored prompt, where the request names one."""
    return text(mapping(asked.get("prompt")).get("version"))


def wants_json(asked: Mapping[str, Any]) -> bool:
    """Whether the request asks for an answer in JSON."""
    wanted = mapping(asked.get("response_format") or mapping(asked.get("text")).get("format"))
    return str(wanted.get("type", "")).startswith("json")


def tool_names(asked: Mapping[str, Any]) -> list[str]:
    """Names of the tools that the model may call, as sent."""
    given = [mapping(each) for each in sequence(asked.get("tools"))[:MOST_NAMED_TOOLS]]
    names = [text(mapping(each.get("function")).get("name")) or text(each.get("name")) or
             text(each.get("type")) for each in given]  # fmt: skip
    return [name for name in names if name is not None]


def tools_digest(asked: Mapping[str, Any]) -> str | None:
    """A short hash of the tools' full definitions: another definition is another version."""
    tools = sequence(asked.get("tools")) or sequence(asked.get("functions"))
    if not tools:
        return None
    written = json.dumps(tools, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def prompt_text(asked: Mapping[str, Any]) -> str | None:
    """All text of the prompt in its order, a line break between messages; None without any."""
    said: list[str] = []
    for name in ("instructions", "messages", "input", "prompt", "inputs", "text"):
        if isinstance(asked.get(name), (str, list)):
            _collect(asked[name], said)
    return "\n".join(said) or None


def _collect(part: Any, said: list[str]) -> None:
    if isinstance(part, str):
        said.append(part)
    elif isinstance(part, list):
        for each in part:
            if isinstance(each, (str, Mapping)):
                _collect(each, said)
    elif isinstance(part, Mapping):
        _collect(first(part, "content", "text"), said)


def _operation(asked: Mapping[str, Any]) -> str | None:
    if "messages" in asked:
        return "chat"
    if "prompt" in asked and not isinstance(asked["prompt"], Mapping):
        return "text_completion"
    if "instructions" in asked or "max_output_tokens" in asked or "prompt" in asked:
        return "chat"
    return None
