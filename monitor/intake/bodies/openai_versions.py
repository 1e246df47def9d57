"""Which server, build and model an OpenAI-compatible answer tells of. Pure.

A served name that was only asked for and echoed by a server of one's own is no version of a
model; a snapshot that a provider resolved the name to is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from monitor.intake.bodies.openai_numbers import mapping, text
from monitor.intake.claimed_tags import claimed_tags, told_version

_VLLM = re.compile(r"vllm-(\d+(?:\.\d+)*[A-Za-z0-9.+]*)(?:-.*)?", re.ASCII)
_LLAMA = re.compile(r"b\d+-[0-9a-f]{6,40}", re.ASCII)


def server_of(answer: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    """`vllm`, `llama.cpp`, `sglang` or `tgi` where the answer shows it; None for anything else."""
    fingerprint = text(answer.get("system_fingerprint")) or ""
    if _VLLM.fullmatch(fingerprint) or "time_to_first_token_ms" in mapping(answer.get("metrics")):
        return "vllm"
    if "timings" in answer or _LLAMA.fullmatch(fingerprint) or "tokens_evaluated" in answer:
        return "llama.cpp"
    if "meta_info" in answer:
        return "sglang"
    if "x-inference-time" in headers or "generated_text" in answer:
        return "tgi"
    return None


def version_tags(
    answer: Mapping[str, Any], asked: Mapping[str, Any], headers: Mapping[str, str]
) -> dict[str, str]:
    """Version tags that the answer claims."""
    server = server_of(answer, headers)
    fingerprint = text(answer.get("system_fingerprint"))
    tags: dict[str, str | None] = {"runtime": server}
    built = _VLLM.fullmatch(fingerprint or "")
    if built is not None:
        tags |= {"runtime_version": built[1], "config_hash": f"vllm:{fingerprint}"}
    elif server == "llama.cpp":
        tags["runtime_version"] = fingerprint
    else:
        tags["config_hash"] = fingerprint
    tags["model_version"] = _model_version(answer, asked, server)
    known = {name: said for name, value in tags.items() if (said := told_version(value))}
    return {**known, **claimed_tags(headers)}


def names(answer: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the model: what the server calls it, then what it was asked for by."""
    said = (text(answer.get("model")), text(asked.get("model")))
    return tuple(dict.fromkeys(name for name in said if name is not None))


def _model_version(
    answer: Mapping[str, Any], asked: Mapping[str, Any], server: str | None
) -> str | None:
    weights = mapping(answer.get("meta_info")).get("weight_version")
    if weights is not None:
        return told_version(weights, "sglang")
    answered = told_version(answer.get("model"))
    if server is not None and answered == text(asked.get("model")):
        return None
    return answered
