"""Readings that a model server tells of itself: names, kinds and units. Pure.

They are about the server and not about requests: context for what requests show. A reading may
raise suspicion or explain; it never convicts, and no rule may page on one alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class ReadingKind(StrEnum):
    """How a reading is kept and put together over time.

    LEVEL: a state now and then looked at (samples, their sum, lowest and highest).
    EVENTS: things that happened (their number).
    TIMES: durations (how many, their sum, and buckets where the server has a histogram).
    RATIO: a part of a whole (`total` is the part, `n` the whole).
    """

    LEVEL = "level"
    EVENTS = "events"
    TIMES = "times"
    RATIO = "ratio"


class Across(StrEnum):
    """What becomes of a level that several engines or workers of one server tell at once."""

    SUM = "sum"
    HIGHEST = "highest"


@dataclass(frozen=True)
class ServerReading:
    """One canonical reading. `blind_to`: what it can't see, told wherever it is shown."""

    name: str
    kind: ReadingKind
    unit: str
    meaning: str
    across: Across = Across.SUM
    blind_to: str = ""


_LEVEL, _EVENTS, _TIMES, _RATIO = ReadingKind
_CLIENT_ERRORS = "requests refused before they reached the model, such as malformed ones"
_HITS = "requests answered from a response cache count as successes with almost no time"

_ALL = (
    ServerReading("queue_length", _LEVEL, "requests", "requests that wait"),
    ServerReading("running", _LEVEL, "requests", "requests that are worked on"),
    ServerReading("busy_share", _LEVEL, "share", "share of its workers, slots or streams in use",
                  Across.HIGHEST),
    ServerReading("cache_usage", _LEVEL, "share", "share of the key-value cache in use",
                  Across.HIGHEST),
    ServerReading("memory_used", _LEVEL, "bytes",
                  "main memory in use: of the process, or of its host (Triton, TorchServe)"),
    ServerReading("accelerator_memory_used", _LEVEL, "bytes", "memory of the accelerators in use"),
    ServerReading("accelerator_usage", _LEVEL, "share", "how busy the accelerators say they are",
                  Across.HIGHEST),
    ServerReading("cpu_usage", _LEVEL, "share", "how busy the processors are", Across.HIGHEST),
    ServerReading("power", _LEVEL, "W", "power that the accelerators draw"),
    ServerReading("energy", _EVENTS, "J", "energy that the accelerators used"),
    ServerReading("queue_time", _TIMES, "ms", "waiting before any work was done"),
    ServerReading("preprocess_time", _TIMES, "ms", "work before the model"),
    ServerReading("compute_time", _TIMES, "ms", "work inside the model"),
    ServerReading("postprocess_time", _TIMES, "ms", "work after the model"),
    ServerReading("prefill_time", _TIMES, "ms", "reading the prompt"),
    ServerReading("decode_time", _TIMES, "ms", "from the first output token to the last"),
    ServerReading("request_time", _TIMES, "ms", "whole requests, seen by the server",
                  blind_to=_HITS),
    ServerReading("client_request_time", _TIMES, "ms", "whole requests, seen by the client"),
    ServerReading("first_token_time.arrival", _TIMES, "ms",
                  "until the first output token, from the request's arrival, queue included"),
    ServerReading("first_token_time.client", _TIMES, "ms",
                  "until the first output token, seen by the client, network included"),
    ServerReading("first_token_time.server", _TIMES, "ms",
                  "until the first output token, seen by a server that does not say from when"),
    ServerReading("inter_token_time", _TIMES, "ms", "gaps between output tokens"),
    ServerReading("batch_size", _RATIO, "requests", "requests in one execution"),
    ServerReading("response_cache_hits", _RATIO, "share",
                  "share of requests answered from the response cache"),
    ServerReading("prefix_cache_hits", _RATIO, "share",
                  "share of prompt tokens that came from the prefix cache"),
    ServerReading("draft_acceptance", _RATIO, "share", "share of proposed tokens accepted"),
    ServerReading("requests", _EVENTS, "requests", "requests that the server counts as successes",
                  blind_to=_HITS),
    ServerReading("server_failures", _EVENTS, "requests",
                  "requests that the server counts as failed", blind_to=_CLIENT_ERRORS),
    ServerReading("rejected", _EVENTS, "requests", "requests turned away at the door"),
    ServerReading("preemptions", _EVENTS, "requests",
                  "requests whose work was thrown away for lack of cache"),
    ServerReading("prompt_tokens", _EVENTS, "tokens", "prompt tokens, cached ones included"),
    ServerReading("output_tokens", _EVENTS, "tokens", "generated tokens"),
    ServerReading("restarts", _EVENTS, "restarts",
                  "starts of the server process, or counters that began again"),
)  # fmt: skip

SERVER_READINGS: Mapping[str, ServerReading] = {each.name: each for each in _ALL}
