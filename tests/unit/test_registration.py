"""What a registration adds to a request's tags, what goes before it, and when it can't be told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.deployment import TAG_NAMES, Tags
from monitor.intake.claimed_tags import (
    PRODUCER_PLACEHOLDERS,
    claimed_tags,
    claimed_words,
    tag_name,
    told_version,
)
from monitor.registration import (
    Registration,
    RegistrationBook,
    TagConflict,
    TagSource,
    join_problems,
    resolve_tags,
)

T0 = datetime(2026, 9, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
POD = {"k8s.pod.name": "p-1"}


def registered(number: int, tags: dict[str, str], joins: Any = None, **more: Any) -> Registration:
    facts = {"valid_from": T0, **more}
    return Registration(number, number, Tags.of(tags), POD if joins is None else joins, **facts)


def test_the_request_goes_before_its_resource_and_that_before_the_registration() -> None:
    found = resolve_tags(
        {"model_version": "7"},
        {"model_version": "6", "runtime": "vllm"},
        [registered(1, {"model_version": "5", "runtime": "vllm", "driver_version": "550.90"})],
    )
    assert found.tags.as_dict() == {
        "model_version": "7", "runtime": "vllm", "driver_version": "550.90",
    }  # fmt: skip
    assert found.sources == {
        "model_version": TagSource.REQUEST,
        "runtime": TagSource.RESOURCE,
        "driver_version": TagSource.REGISTRATION,
    }
    assert found.conflicts == (
        TagConflict("model_version", "7", TagSource.REQUEST, "6", TagSource.RESOURCE),
        TagConflict("model_version", "7", TagSource.REQUEST, "5", TagSource.REGISTRATION),
    )


def test_what_is_unknown_contradicts_nothing_and_what_is_no_tag_is_left_out() -> None:
    said = {"model_version": "unknown", "colour": "red", "runtime": "x" * 501}
    found = resolve_tags(said, {"model_version": "6"})
    assert found.tags.as_dict() == {"model_version": "6"}
    assert found.conflicts == ()


def test_a_registration_needs_all_of_its_marks() -> None:
    joins = {"host": "a", "port": "8000"}
    book = RegistrationBook([registered(1, {}, joins), registered(2, {}, {})])
    assert [each.number for each in book.matching({**joins, "more": "x"}, T0)] == [1]
    assert book.matching({"host": "a"}, T0) == []
    assert book.matching({"host": "a", "port": "8001"}, T0) == []
    assert book.matching({}, T0) == []


def test_a_registration_holds_from_its_start_up_to_its_end() -> None:
    book = RegistrationBook([registered(1, {}, valid_to=T0 + HOUR)])
    moments = (T0 - HOUR / 60, T0, T0 + HOUR / 2, T0 + HOUR)
    assert [bool(book.matching(POD, moment)) for moment in moments] == [False, True, True, False]


def test_the_next_registration_of_the_same_marks_takes_over_at_its_start() -> None:
    book = RegistrationBook([registered(2, {}, valid_from=T0 + HOUR), registered(1, {})])
    at = [[r.number for r in book.matching(POD, T0 + HOUR * hours)] for hours in (0, 1, 9)]
    assert at == [[1], [2], [2]]


def test_when_two_registrations_match_what_they_differ_in_stays_unknown() -> None:
    one = registered(1, {"precision": "int8", "runtime": "vllm"})
    two = registered(2, {"precision": "fp16", "runtime": "vllm"}, {"host": "a"})
    found = resolve_tags({}, {}, [one, two])
    assert found.tags.as_dict() == {"runtime": "vllm"}
    assert found.conflicts == (
        TagConflict("precision", None, TagSource.REGISTRATION, "fp16 | int8",
                    TagSource.REGISTRATION),
    )  # fmt: skip
    settled = resolve_tags({"precision": "int8"}, {}, [one, two])
    assert settled.tags.as_dict()["precision"] == "int8"
    assert settled.conflicts == ()


def test_a_registration_with_more_marks_fits_closer() -> None:
    wide = registered(1, {"precision": "int8", "hardware": "a100"}, {"host": "a"})
    close = registered(2, {"precision": "fp16"}, {"host": "a", "port": "8000"})
    for order in ([wide, close], [close, wide]):
        found = resolve_tags({}, {}, order)
        assert found.tags.as_dict() == {"precision": "fp16", "hardware": "a100"}
        assert found.conflicts == ()


@pytest.mark.parametrize(
    "joins",
    [
        {"host": "unknown"}, {"service.name": "unknown_service:python"}, {"host": ""},
        {"host": 3}, {"": "x"}, {"host": "a\n"}, {"host": "x" * 501},
        {f"mark{n}": "x" for n in range(21)},
    ],
)  # fmt: skip
def test_marks_that_would_match_strangers_or_nobody_are_refused(joins: dict[str, Any]) -> None:
    assert len(join_problems(joins)) == 1


NAMES = st.sampled_from(("runtime", "precision", "model_version"))
SETS = st.dictionaries(NAMES, st.sampled_from("abc"))


@given(SETS, SETS, st.lists(SETS, max_size=3))
def test_every_tag_has_one_source_and_every_contradiction_is_kept(
    request: dict[str, str], resource: dict[str, str], tags: list[dict[str, str]]
) -> None:
    marks = [registered(n, each, {"host": str(n)}) for n, each in enumerate(tags)]
    found = resolve_tags(request, resource, marks)
    known = found.tags.as_dict()
    assert set(known) == set(found.sources)
    for name in TAG_NAMES:
        said = {each[name] for each in (request, resource, *tags) if name in each}
        told = {c.tag for c in found.conflicts}
        if name in known:
            assert known[name] in said
        elif said:
            assert name in told
        if {request.get(name), resource.get(name)} - {None} == {"a", "b"}:
            assert name in told


@pytest.mark.parametrize(
    ("producer", "placeholder"),
    [
        ("torchserve", "default"), ("mlserver", "None"), ("bentoml", "not available"),
        ("azure", "default"), ("sglang", "default"), ("opentelemetry", "unknown_service"),
        ("opentelemetry", "unknown_service:node"),
    ],
)  # fmt: skip
def test_trap_05_placeholders_of_versions_are_unknown(producer: str, placeholder: str) -> None:
    assert told_version(placeholder, producer) is None
    assert told_version("1.2", producer) == "1.2"
    claims = claimed_tags({"ml.model.version": placeholder}, producer)
    one, other = resolve_tags(claims, {}), resolve_tags(dict(claims), {})
    assert one.tags.as_dict() == {}
    assert "model_version" not in dict(other.tags.known)


def test_trap_05_a_word_is_unknown_only_where_its_producer_means_so() -> None:
    assert told_version("default") == "default"
    assert told_version("default", "bentoml") == "default"
    assert told_version("none", "onnxruntime") == "none"
    assert told_version("None") is None
    assert set(PRODUCER_PLACEHOLDERS) >= {"torchserve", "mlserver", "bentoml", "azure", "sglang"}


def test_names_of_tags_are_found_in_attributes_and_headers() -> None:
    assert tag_name("ml.model.version") == "model_version"
    assert tag_name("X-ML-Driver-Version") == "driver_version"
    assert tag_name("ml.colour") is None
    said = {"ml.precision": "int8", "x-ml-config-hash": "ab", "ml.threads": 4, "precision": "no",
            "ml.variant": "b", "ml.zone": "eu-1a", "ml.latency": "3"}  # fmt: skip
    assert claimed_tags(said) == {"precision": "int8", "config_hash": "ab", "threads": "4"}
    assert claimed_words(said) == {"variant": "b", "zone": "eu-1a"}
