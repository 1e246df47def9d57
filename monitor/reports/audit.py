"""The audit chain as people check it: is it whole, and does it fit every head that was signed?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.engine import Engine

from monitor.evidence.canonical import NotCanonical, sha256_hex
from monitor.evidence.chain import FIRST_PREVIOUS, Head, check_chain
from monitor.evidence.findings import Finding, Reason
from monitor.evidence.signing import VerifyingKey
from monitor.store.audit import SignedHead, chain_lines, link_waiting, project_name, signed_heads
from monitor.store.engine import Role, transaction


@dataclass(frozen=True)
class ChainCheck:
    """What a check of a stored chain found, and of how much."""

    entries: int
    heads: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class OutsideHead:
    """A signed head that was kept elsewhere."""

    body: bytes
    signature: bytes
    key: str


def check_stored_chain(
    engine: Engine,
    project_id: int,
    keys: Mapping[str, VerifyingKey],
    outside: Sequence[OutsideHead] = (),
) -> ChainCheck:
    """Check the links, the stored heads and those kept outside. `keys` by their fingerprint."""
    with transaction(engine, project_id, Role.EXPORT) as connection:
        link_waiting(connection, project_id)
        lines = chain_lines(connection, project_id)
        name = project_name(connection, project_id)
        heads = signed_heads(connection, project_id)
    newest = sha256_hex(lines[-1]) if lines else FIRST_PREVIOUS
    whole = Head(name, len(lines), newest, "", 1, FIRST_PREVIOUS)
    findings = list(check_chain(lines, whole, "chain"))
    for place, head in _places(heads, outside):
        findings += _check_head(place, head, lines, name, keys)
    return ChainCheck(len(lines), len(heads) + len(outside), tuple(findings))


def _places(
    heads: Sequence[SignedHead], outside: Sequence[OutsideHead]
) -> Iterator[tuple[str, OutsideHead]]:
    for each in heads:
        yield f"head {each.seq}", OutsideHead(each.body, each.signature, each.key)
    for number, other in enumerate(outside, start=1):
        yield f"outside head {number}", other


def _check_head(
    place: str,
    signed: OutsideHead,
    lines: Sequence[bytes],
    project: str,
    keys: Mapping[str, VerifyingKey],
) -> Iterator[Finding]:
    key = keys.get(signed.key)
    if key is None:
        told = f"signed by the key {signed.key}, which is not known here; name it with --key"
        yield Finding(Reason.WRONG_KEY, place, told)
    elif not key.accepts(signed.signature, signed.body):
        yield Finding(Reason.ALTERED_HEAD, place, "the signature does not fit")
    try:
        head = Head.read(signed.body)
    except NotCanonical as error:
        yield Finding(Reason.ALTERED_HEAD, place, str(error))
        return
    if head.project != project:
        yield Finding(Reason.ALTERED_HEAD, place, f"it is of the project {head.project!r}")
    elif head.seq > len(lines):
        told = f"it counts {head.seq} entries, the chain has {len(lines)}: its tail was cut off"
        yield Finding(Reason.CUT_TAIL, place, told)
    elif head.seq > 0 and sha256_hex(lines[head.seq - 1]) != head.hash:
        told = f"entry {head.seq} is not the one that was signed: the chain was written anew"
        yield Finding(Reason.ALTERED_ENTRY, place, told)
