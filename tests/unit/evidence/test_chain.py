"""The audit chain: what is altered, gone or cut off is told apart."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.evidence.canonical import NotCanonical, canonical, read_canonical, sha256_hex
from monitor.evidence.chain import Head, check_chain, entry_line, head_of
from monitor.evidence.findings import Reason
from tests.unit.evidence.bundles import lines_of

LINES = lines_of(6)
HEAD = head_of(LINES, "default")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text()
    | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def reasons(lines: list[bytes], head: Head = HEAD) -> list[Reason]:
    return [finding.reason for finding in check_chain(lines, head, "chain")]


@given(json_values)
def test_reading_canonical_bytes_gives_the_same_bytes(value: object) -> None:
    body = canonical(value)
    assert canonical(read_canonical(body)) == body


@pytest.mark.parametrize(
    "body", [b'{"a": 1}', b'{"b":1,"a":2}', b'{"a":1,"a":1}', b"1.0", b"", b"\xff", b"1" * 60]
)
def test_any_other_way_of_writing_is_refused(body: bytes) -> None:
    with pytest.raises(NotCanonical):
        read_canonical(body)


def test_a_whole_chain_has_no_findings() -> None:
    assert reasons(LINES) == []
    assert Head.read(HEAD.body()) == HEAD


def test_an_extract_from_the_middle_is_whole_too() -> None:
    part = LINES[2:]
    assert reasons(part, head_of(part, "default")) == []


def test_an_empty_chain_has_a_head() -> None:
    assert reasons([], head_of([], "default")) == []


@pytest.mark.parametrize("kept", range(6))
def test_a_cut_tail_is_told_at_every_length(kept: int) -> None:
    assert reasons(LINES[:kept]) == [Reason.CUT_TAIL]


@pytest.mark.parametrize("place", range(5))
def test_an_entry_taken_out_is_told(place: int) -> None:
    assert reasons(LINES[:place] + LINES[place + 1 :]) == [Reason.MISSING_ENTRY]


@pytest.mark.parametrize("place", range(6))
def test_an_entry_rewritten_well_is_told(place: int) -> None:
    fields = json.loads(LINES[place]) | {"actor": "mallory"}
    changed = [*LINES[:place], entry_line(fields), *LINES[place + 1 :]]
    found = list(check_chain(changed, HEAD, "chain"))
    assert [finding.reason for finding in found] == [Reason.ALTERED_ENTRY]
    assert found[0].place == f"chain, entry {place + 1}"


def test_a_tail_rewritten_with_right_links_is_told() -> None:
    changed, previous = LINES[:3], sha256_hex(LINES[2])
    for line in LINES[3:]:
        changed.append(entry_line(json.loads(line) | {"actor": "mallory", "previous": previous}))
        previous = sha256_hex(changed[-1])
    assert reasons(changed) == [Reason.ALTERED_ENTRY]


def test_entries_that_were_swapped_are_told() -> None:
    assert reasons([LINES[1], LINES[0], *LINES[2:]])


def test_entries_beyond_the_head_and_of_another_project_are_told() -> None:
    assert reasons(lines_of(7)) == [Reason.ALTERED_HEAD]
    assert Reason.ALTERED_ENTRY in reasons(lines_of(6, project="other"))
    assert reasons(LINES, replace(HEAD, hash="0" * 64)) == [Reason.ALTERED_ENTRY]


def test_an_entry_with_other_fields_is_refused() -> None:
    with pytest.raises(ValueError, match="exactly the fields"):
        entry_line({"actor": "ana"})
