"""Streamed answers put together: server-sent events of OpenAI-compatible servers. Pure.

The result has the shape of the answer that was not streamed. Token counts come in the last event
only; a stream that was cut off has none, and says so with `cut_off`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from monitor.intake.bodies.openai_numbers import mapping, sequence
from monitor.strictjson import StrictJsonError, loads

_LINE = re.compile(r"\r\n|\r|\n")
_DONE = "[DONE]"
_LATEST = ("usage", "timings", "metrics", "meta_info", "system_fingerprint", "service_tier", "id",
           "model", "created", "error", "details", "stop_type", "truncated", "tokens_predicted",
           "tokens_evaluated", "generated_text")  # fmt: skip
MOST_PLACES = 1_000


@dataclass(frozen=True)
class Streamed:
    """A streamed answer as one: `cut_off` when its end never came."""

    answer: dict[str, Any]
    cut_off: bool
    events: int


@dataclass
class _Choice:
    texts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    tools: dict[int, dict[str, str]] = field(default_factory=dict)
    finish_reason: Any = None


def looks_streamed(body: bytes) -> bool:
    """Whether a body is server-sent events rather than JSON."""
    start = body[:64].lstrip(b"\xef\xbb\xbf \r\n\t")
    return start.startswith((b"data:", b"event:", b": ", b":\n", b"id:", b"retry:"))


def read_stream(body: bytes) -> Streamed:
    """One answer out of the bytes of an event stream.

    Raises StrictJsonError when an event is no JSON.
    """
    chunks, done = stream_chunks(body)
    return join_chunks(chunks, done=done)


def stream_chunks(body: bytes) -> tuple[list[Any], bool]:
    """The objects of an event stream, and whether it says that it is done.

    An event that is cut in two at the end is left out. Raises StrictJsonError when another one is
    no JSON.
    """
    events = list(_events(body.decode("utf-8", "replace").removeprefix("\ufeff")))
    chunks: list[Any] = []
    done = False
    for place, event in enumerate(events):
        if event.strip() == _DONE:
            done = True
            break
        try:
            chunks.append(loads(event.encode("utf-8", "surrogatepass")))
        except StrictJsonError:
            if place != len(events) - 1:
                raise
    return chunks, done


def join_chunks(chunks: Iterable[Any], *, done: bool = False) -> Streamed:
    """One answer out of the objects of a stream, in their order."""
    answer: dict[str, Any] = {}
    choices: dict[int, _Choice] = {}
    native: list[str] = []
    events, ended = 0, done
    for chunk in chunks:
        events += 1
        told = mapping(chunk)
        whole = told.get("response")
        if isinstance(told.get("type"), str) and isinstance(whole, Mapping):
            answer.update(whole)
            ended = ended or told["type"] in _LAST_EVENTS
            continue
        if told.get("type") == "error" and "error" not in told:
            answer["error"] = {"type": told.get("code"), "message": told.get("message")}
        _take(told, answer, choices, native)
        ended = ended or _ends(told)
    finished = any(each.finish_reason is not None for each in choices.values())
    if choices:
        answer["choices"] = [_written(index, choices[index]) for index in sorted(choices)]
    elif native and not answer.get("output"):
        answer.pop("output", None)  # of a response that was only begun
        answer["content"] = "".join(native)
    return Streamed(answer, not (ended or finished or "error" in answer), events)


_LAST_EVENTS = frozenset({"response.completed", "response.incomplete", "response.failed"})


def _ends(told: Mapping[str, Any]) -> bool:
    """Whether a chunk of a native stream is its last one."""
    finish = mapping(told.get("meta_info")).get("finish_reason")
    return told.get("stop") is True or bool(told.get("generated_text")) or finish is not None


def _take(
    told: Mapping[str, Any],
    answer: dict[str, Any],
    choices: dict[int, _Choice],
    native: list[str],
) -> None:
    answer.update({name: told[name] for name in _LATEST if told.get(name) is not None})
    if isinstance(told.get("content"), str):  # llama.cpp /completion
        native.append(told["content"])
    if told.get("type") == "response.output_text.delta" and isinstance(told.get("delta"), str):
        native.append(told["delta"])
    if "meta_info" in told and isinstance(told.get("text"), str):  # SGLang: text so far
        answer["text"] = told["text"]
    for given in sequence(told.get("choices")):
        index = mapping(given).get("index", 0)
        if isinstance(index, int) and 0 <= index < MOST_PLACES:
            _take_choice(mapping(given), choices.setdefault(index, _Choice()))


def _take_choice(given: Mapping[str, Any], choice: _Choice) -> None:
    delta = mapping(given.get("delta"))
    for said in (delta.get("content"), given.get("text")):
        if isinstance(said, str):
            choice.texts.append(said)
    if isinstance(delta.get("refusal"), str):
        choice.refusals.append(delta["refusal"])
    for called in sequence(delta.get("tool_calls")):
        _take_tool(mapping(called), choice.tools)
    if given.get("finish_reason") is not None:
        choice.finish_reason = given["finish_reason"]


def _take_tool(called: Mapping[str, Any], tools: dict[int, dict[str, str]]) -> None:
    index = called.get("index", 0)
    if not isinstance(index, int) or not 0 <= index < MOST_PLACES:
        return
    held = tools.setdefault(index, {"name": "", "arguments": ""})
    for name, piece in mapping(called.get("function")).items():
        if name in held and isinstance(piece, str):
            held[name] += piece


def _written(index: int, choice: _Choice) -> dict[str, Any]:
    message: dict[str, Any] = {"content": "".join(choice.texts)}
    if choice.refusals:
        message["refusal"] = "".join(choice.refusals)
    if choice.tools:
        message["tool_calls"] = [{"function": choice.tools[at]} for at in sorted(choice.tools)]
    return {"index": index, "finish_reason": choice.finish_reason, "message": message}


def _events(text: str) -> Iterator[str]:
    """Data of each event; several data lines of one event are joined by line ends."""
    data: list[str] = []
    for line in _LINE.split(text):
        if not line and data:
            yield "\n".join(data)
            data = []
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
    if data:
        yield "\n".join(data)
