"""Symptoms of slow answers and the areas to measure for each. Pure data and one function.

A symptom says what is seen together. Its areas say what to measure next, and where it comes from.
None of them is a conclusion: two things that move together may both follow a third. The rows are
those every textbook of queueing and serving gives: waiting against work, prompt against answer,
memory against batch, one part against all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Movement(StrEnum):
    """How a signal stands beside the time before. One that nobody measured has none."""

    UP = "up"
    SAME = "same"
    DOWN = "down"


@dataclass(frozen=True)
class Area:
    """Something to measure, and who tells it."""

    measure: str
    told_by: str


@dataclass(frozen=True)
class Symptom:
    """What is seen together, and what to measure then."""

    name: str
    seen: str
    when: Mapping[str, Movement]
    areas: tuple[Area, ...]


@dataclass(frozen=True)
class Fitting:
    """A symptom that nothing known speaks against; `unknown` signals were not measured."""

    symptom: Symptom
    unknown: tuple[str, ...]

    @property
    def is_seen(self) -> bool:
        """Whether everything it asks for was seen."""
        return not self.unknown


SIGNALS: Mapping[str, str] = {
    "median": "half of the requests are faster than this",
    "tail": "the slowest requests (p95, p99)",
    "queue_length": "requests that wait at the server",
    "queue_time": "time spent waiting at the server",
    "compute_time": "time inside the model",
    "first_token_time": "time until the first output token",
    "inter_token_time": "gaps between output tokens",
    "cache_usage": "key-value cache in use",
    "preemptions": "requests whose work was thrown away",
    "prefix_cache_hits": "share of prompt tokens found in the prefix cache",
    "response_cache_hits": "share of requests answered from the response cache",
    "batch_size": "requests in one execution",
    "draft_acceptance": "share of proposed tokens accepted",
    "accelerator_usage": "how busy the accelerators are",
    "memory_used": "main memory of the server",
    "restarts": "starts of the server process",
    "prompt_tokens": "length of prompts",
    "output_tokens": "length of answers",
    "request_rate": "requests a second",
}

_UP, _SAME, _DOWN = Movement
_LENGTHS = Area(
    "prompt and answer lengths, old against new", "columns prompt_tokens, output_tokens"
)
_RATE = Area("requests a second and how bursty they are", "inferwatch workload: arrivals")
_REPLICAS = Area("each replica, node and zone by itself", "columns replica, node, zone as segments")
_VERSIONS = Area("versions that changed shortly before", "the alert's changed tags")
_LIMITS = Area(
    "batch, slot and concurrency limits", "deployment tags batching, threads; config_hash"
)

SYMPTOMS: tuple[Symptom, ...] = (
    Symptom("tail-only", "the slowest requests are slower, the middle is as before",
            {"tail": _UP, "median": _SAME},
            (_LENGTHS, _REPLICAS,
             Area("restarts and first requests after them", "restarts; column cold_start"),
             Area("retries and time-outs", "column retries; outcomes"))),
    Symptom("everything-slower", "middle and tail are slower together",
            {"tail": _UP, "median": _UP},
            (_RATE, _LENGTHS, _VERSIONS,
             Area("waiting apart from work", "queue_time and compute_time"))),
    Symptom("waiting-grows", "requests wait longer, work takes as long as before",
            {"queue_time": _UP, "compute_time": _SAME},
            (_RATE, _LIMITS, Area("how many replicas serve", "column replica; restarts"))),
    Symptom("queue-grows", "more requests wait", {"queue_length": _UP},
            (_RATE, _LIMITS, Area("waiting apart from work", "queue_time and compute_time"))),
    Symptom("work-grows", "work inside the model takes longer, waiting does not",
            {"compute_time": _UP, "queue_time": _SAME},
            (_LENGTHS, _VERSIONS,
             Area("clocks, power limits and neighbours of the accelerator",
                  "power, accelerator_usage; tag power_limit"),
             Area("precision, runtime and batch size", "deployment tags; batch_size"))),
    Symptom("slow-start-of-answers", "first tokens come later, the others as before",
            {"first_token_time": _UP, "inter_token_time": _SAME},
            (Area("waiting apart from reading the prompt", "queue_time and prefill_time"),
             Area("prompt lengths", "column prompt_tokens"),
             Area("prefix cache hits", "prefix_cache_hits; column cached_tokens"))),
    Symptom("slow-answers", "gaps between tokens are longer",
            {"inter_token_time": _UP},
            (Area("requests worked on together", "running, batch_size"),
             Area("cache in use and preemptions", "cache_usage, preemptions"),
             Area("acceptance of proposed tokens", "draft_acceptance"), _VERSIONS)),
    Symptom("long-answers", "requests are slower, gaps between tokens are not",
            {"tail": _UP, "inter_token_time": _SAME, "output_tokens": _UP},
            (Area("answer lengths and finish reasons", "columns output_tokens, finish_reason"),
             Area("prompt versions", "tag prompt_version; column prompt_name"))),
    Symptom("cache-full", "the key-value cache fills up and work is thrown away",
            {"cache_usage": _UP, "preemptions": _UP},
            (_LENGTHS, Area("requests worked on together", "running"),
             Area("memory that one request needs", "inferwatch language: cache estimate"))),
    Symptom("prefix-cache-misses", "fewer prompt tokens come from the cache",
            {"prefix_cache_hits": _DOWN},
            (Area("prompt templates and their order", "tag prompt_version"),
             Area("where requests of one conversation go", "columns conversation, replica"),
             Area("restarts, which empty the cache", "restarts"))),
    Symptom("response-cache-changes", "the share of answers from the response cache moved",
            {"response_cache_hits": _DOWN},
            (Area("latency of computed requests alone", "compute_time"),
             Area("inputs that repeat", "drift of the inputs"))),
    Symptom("drafts-refused", "fewer proposed tokens are accepted", {"draft_acceptance": _DOWN},
            (Area("versions of model and draft model", "deployment tags"), _LENGTHS)),
    Symptom("small-batches", "fewer requests are executed together while many wait",
            {"batch_size": _DOWN, "queue_length": _UP},
            (_LIMITS, Area("shapes of the inputs", "drift of the inputs"))),
    Symptom("idle-accelerator", "requests are slower and the accelerator is less busy",
            {"tail": _UP, "accelerator_usage": _DOWN},
            (Area("work before and after the model", "preprocess_time, postprocess_time; stages"),
             Area("processors, memory and network of the host", "cpu_usage, memory_used"))),
    Symptom("memory-grows", "main memory of the server grows", {"memory_used": _UP},
            (Area("memory since the last restart", "memory_used, restarts"), _LENGTHS)),
    Symptom("restarted", "the server started again", {"restarts": _UP},
            (Area("first requests after it apart", "column cold_start"),
             Area("why it ended", "the server's own log"), _VERSIONS)),
    Symptom("busier", "more requests come", {"request_rate": _UP},
            (_RATE, Area("who sends them", "segments; column client_version"), _LIMITS)),
)  # fmt: skip


def fitting(moved: Mapping[str, Movement]) -> tuple[Fitting, ...]:
    """Symptoms that fit what moved: those seen first, then those with signals nobody measured.

    A symptom fits when at least one of its signals moved as it says and none was measured to have
    moved in another way.
    """
    found = []
    for symptom in SYMPTOMS:
        known = {name: moved[name] for name in symptom.when if name in moved}
        agrees = all(symptom.when[name] is movement for name, movement in known.items())
        moving = any(movement is not Movement.SAME for movement in known.values())
        if agrees and moving:
            unknown = tuple(name for name in symptom.when if name not in known)
            found.append(Fitting(symptom, unknown))
    return tuple(sorted(found, key=lambda each: len(each.unknown)))


def areas_to_measure(fits: Iterable[Fitting], most: int) -> tuple[str, ...]:
    """Lines for people, each a symptom with its areas: what to measure, never why it is so."""
    return tuple(_line(each) for each in list(fits)[:most])


def _line(fit: Fitting) -> str:
    areas = "; ".join(area.measure for area in fit.symptom.areas)
    missing = f" [not measured: {', '.join(fit.unknown)}]" if fit.unknown else ""
    return f"{fit.symptom.seen}{missing}: measure {areas}"
