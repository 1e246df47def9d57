"""Labels, readings and their identity."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta, timezone

import pytest

from alerts.codec import reading_from_json, reading_to_json
from alerts.model import FindingKey, Labels, Reading, ReadingState

from .factories import SUBJECT, hour, reading


def test_labels_are_sorted_and_equal_whatever_the_order() -> None:
    one, other = Labels.of(b="2", a="1"), Labels.from_mapping({"a": "1", "b": "2"})
    assert one == other
    assert hash(one) == hash(other)
    assert list(one) == ["a", "b"]
    assert dict(one) == {"a": "1", "b": "2"}


def test_the_fingerprint_is_the_hash_of_a_canonical_text() -> None:
    # Birth certificate: printf '["r",[["a","1"],["b","\\u00e9"]]]' | sha256sum
    canonical = b'["r",[["a","1"],["b","\\u00e9"]]]'
    assert Labels.of(b="é", a="1").fingerprint("r") == hashlib.sha256(canonical).hexdigest()


def test_an_empty_label_is_an_absent_one() -> None:
    assert Labels.of(a="1", segment="") == Labels.of(a="1")


def test_fingerprints_differ_by_rule_and_labels_even_when_the_letters_agree() -> None:
    prints = {
        Labels.of(a="bc").fingerprint("r"),
        Labels.of(ab="c").fingerprint("r"),
        Labels.of(a="b", c="c").fingerprint("r"),
        Labels.of(a="bc").fingerprint("s"),
        Labels.of(a="\ud800").fingerprint("r"),  # even what UTF-8 can't hold has an identity
    }
    assert len(prints) == 5


@pytest.mark.parametrize("name", ["", "A", "1a", "a-b", "a" * 64, "é"])
def test_a_label_name_must_be_a_lower_case_identifier(name: str) -> None:
    with pytest.raises(ValueError, match="label name"):
        Labels.from_mapping({name: "x"})


@pytest.mark.parametrize(
    "fields",
    [
        {"value": float("nan")},
        {"value": float("inf")},
        {"low": float("nan")},
        {"value": None, "state": ReadingState.MEASURED},
        {"state": ReadingState.FAILED},
        {"n": -1},
        {"window_start": hour(1)},
        {"at": datetime(2026, 3, 2, 1)},  # noqa: DTZ001 - the missing zone is the point
        {"evidence": {"auc": float("nan")}},
    ],
)
def test_a_reading_refuses_what_can_not_be(fields: dict[str, object]) -> None:
    good = {
        "labels": SUBJECT,
        "at": hour(1),
        "window_start": hour(0),
        "state": ReadingState.MEASURED,
        "value": 0.1,
    }
    with pytest.raises(ValueError, match=r"."):
        Reading(**(good | fields))  # type: ignore[arg-type]


def test_times_become_utc() -> None:
    tokyo = timezone(timedelta(hours=9))
    local = reading(1, 0.1, evidence={})
    moved = Reading(
        SUBJECT, local.at.astimezone(tokyo), local.window_start, local.state, 0.1, n=500
    )
    assert moved == local
    assert moved.at.tzinfo is UTC


def test_a_reading_survives_being_kept() -> None:
    original = reading(3, 0.25, low=0.2, high=0.3, unit="nats", text="t", evidence={"auc": 0.7})
    assert reading_from_json(reading_to_json(original)) == original


def test_a_finding_id_fits_the_keys_of_on_call_services() -> None:
    finding = FindingKey(SUBJECT.fingerprint("r"), 12).finding_id
    assert len(finding) <= 64
    assert "." not in finding
