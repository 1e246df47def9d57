"""The audit chain: entries that each carry the hash of the one before, and a signed head.

An entry is one line of canonical JSON; its hash is the SHA-256 of that line, and the next entry
holds it as `previous`. A bare chain can't show that its newest entries were cut off: the head says
how many there are and is signed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.evidence.canonical import NotCanonical, canonical, read_canonical, sha256_hex
from monitor.evidence.findings import Finding, Reason

HEAD_KIND = "inferwatch.audit-head.v1"
FIRST_PREVIOUS = "0" * 64
ENTRY_FIELDS = {"actor", "at", "deed", "detail", "previous", "project", "seq", "subject"}
HEAD_FIELDS = {"kind", "project", "seq", "hash", "at", "first_seq", "first_previous"}


@dataclass(frozen=True)
class Head:
    """Where a chain, or an extract of it, begins and ends."""

    project: str
    seq: int
    hash: str
    at: str
    first_seq: int
    first_previous: str

    def body(self) -> bytes:
        """The canonical bytes that are signed."""
        return canonical({"kind": HEAD_KIND, **self.__dict__})

    @classmethod
    def read(cls, body: bytes) -> Head:
        """A head from its signed bytes; raises NotCanonical."""
        value = read_canonical(body)
        if not isinstance(value, dict) or set(value) != HEAD_FIELDS or value["kind"] != HEAD_KIND:
            raise NotCanonical(f"it is not a head of the kind {HEAD_KIND}")
        value.pop("kind")
        if not all(_is_number(value[name]) for name in ("seq", "first_seq")):
            raise NotCanonical("its sequence numbers are not whole numbers")
        return cls(**value)


def entry_line(fields: Mapping[str, Any]) -> bytes:
    """An entry's line without its line end; raises ValueError when a field is missing or new."""
    if set(fields) != ENTRY_FIELDS:
        wanted = ", ".join(sorted(ENTRY_FIELDS))
        raise ValueError(f"an audit entry has exactly the fields {wanted}")
    return canonical(fields)


def head_of(lines: Sequence[bytes], project: str) -> Head:
    """The head of whole, ordered lines; of none it says that the chain is empty."""
    if not lines:
        return Head(project, 0, FIRST_PREVIOUS, "", 1, FIRST_PREVIOUS)
    first, last = read_canonical(lines[0]), read_canonical(lines[-1])
    return Head(
        project=project,
        seq=last["seq"],
        hash=sha256_hex(lines[-1]),
        at=last["at"],
        first_seq=first["seq"],
        first_previous=first["previous"],
    )


def check_chain(lines: Sequence[bytes], head: Head, place: str) -> Iterator[Finding]:
    """Everything wrong with the lines, seen from a head that is trusted. Nothing when whole."""
    expected_seq, previous = head.first_seq, head.first_previous
    for line in lines:
        fault, entry = _fault_of(line, head)
        if entry is None:
            yield Finding(Reason.ALTERED_ENTRY, f"{place}, entry {expected_seq}", fault)
        elif entry["seq"] != expected_seq:
            yield _out_of_order(entry["seq"], expected_seq, place)
            expected_seq = entry["seq"]
        elif entry["previous"] != previous:
            yield Finding(
                Reason.ALTERED_ENTRY,
                f"{place}, entry {max(expected_seq - 1, head.first_seq)}",
                f"its hash is not the one that entry {expected_seq} was written after",
            )
        previous = sha256_hex(line)
        expected_seq += 1
    yield from _check_end(expected_seq - 1, previous, head, place)


def _check_end(last: int, last_hash: str, head: Head, place: str) -> Iterator[Finding]:
    if last < head.seq:
        gone = head.seq - last
        told = f"the signed head counts {head.seq} entries, the last here is {last}: {gone} cut off"
        yield Finding(Reason.CUT_TAIL, place, told)
    elif last > head.seq:
        told = f"there are entries up to {last}, the signed head ends at {head.seq}"
        yield Finding(Reason.ALTERED_HEAD, place, told)
    elif last_hash != head.hash:
        told = "its hash is not that of the signed head"
        yield Finding(Reason.ALTERED_ENTRY, f"{place}, entry {last}", told)


def _out_of_order(found: int, expected: int, place: str) -> Finding:
    told = f"entry {expected} should stand here, entry {found} does"
    reason = Reason.MISSING_ENTRY if found > expected else Reason.ALTERED_ENTRY
    return Finding(reason, f"{place}, entry {expected}", told)


def _fault_of(line: bytes, head: Head) -> tuple[str, dict[str, Any] | None]:
    try:
        entry = read_canonical(line)
    except NotCanonical as error:
        return f"it can't be read: {error}", None
    if not isinstance(entry, dict) or set(entry) != ENTRY_FIELDS or not _is_number(entry["seq"]):
        return "it has not the fields of an audit entry", None
    if entry["project"] != head.project:
        return f"it belongs to another project than the head's, {head.project!r}", None
    return "", entry


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
