"""Verify a bundle without database or network: what is wrong with it, and why.

Everything that can still be looked at is looked at, so one altered part does not hide another. A
key given by the reader is the only proof of who signed; without it the bundle proves only that it
is whole since somebody signed it, and the result says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from monitor.evidence.archive import UnreadableArchive, pack_archive, unpack_archive
from monitor.evidence.bundle import (
    CHAIN,
    HEAD,
    HEAD_SIGNATURE,
    KEY,
    MANIFEST,
    OWN_NAMES,
    SIGNATURE,
)
from monitor.evidence.canonical import NotCanonical
from monitor.evidence.chain import Head, check_chain
from monitor.evidence.findings import Finding, Reason
from monitor.evidence.manifest import Manifest, PartHash
from monitor.evidence.signing import UnreadableKey, VerifyingKey


@dataclass(frozen=True)
class Verification:
    """What was found, by which key it was signed, and whether the reader knew that key before."""

    findings: tuple[Finding, ...]
    key: str | None
    key_is_pinned: bool
    manifest: Manifest | None
    entries: int

    @property
    def holds(self) -> bool:
        return not self.findings


def verify_bundle(body: bytes, pinned: str | None = None) -> Verification:
    """Verify a bundle's bytes; `pinned` is the fingerprint of the key that must have signed."""
    try:
        parts = unpack_archive(body)
    except UnreadableArchive as error:
        unreadable = Finding(Reason.UNREADABLE_ZIP, "bundle", str(error))
        return Verification((unreadable,), None, pinned is not None, None, 0)
    key, findings = _key_of(parts, pinned)
    manifest, about_manifest = _manifest_of(parts, key)
    findings += about_manifest
    if manifest is not None:
        findings += _check_parts(parts, manifest)
    findings += _check_audit(parts, key)
    if not findings and not _is_rebuilt(parts, body):
        told = "bytes beside the parts (a date, a flag, something appended) are not as written"
        findings.append(Finding(Reason.ALTERED_CONTAINER, "bundle", told))
    return Verification(
        findings=tuple(findings),
        key=key.fingerprint if key is not None else None,
        key_is_pinned=pinned is not None,
        manifest=manifest,
        entries=parts.get(CHAIN, b"").count(b"\n"),
    )


def _key_of(
    parts: Mapping[str, bytes], pinned: str | None
) -> tuple[VerifyingKey | None, list[Finding]]:
    pem = parts.get(KEY)
    if pem is None:
        return None, [Finding(Reason.MISSING_PART, KEY, "the public key is not in the bundle")]
    try:
        key = VerifyingKey.from_pem(pem)
    except UnreadableKey as error:
        return None, [Finding(Reason.ALTERED_KEY, KEY, str(error))]
    if key.pem != pem:
        return key, [Finding(Reason.ALTERED_KEY, KEY, "it is not written as it was written here")]
    if pinned is not None and key.fingerprint != pinned:
        told = f"the bundle names the key {key.fingerprint}, expected was {pinned}"
        return key, [Finding(Reason.WRONG_KEY, KEY, told)]
    return key, []


def _manifest_of(
    parts: Mapping[str, bytes], key: VerifyingKey | None
) -> tuple[Manifest | None, list[Finding]]:
    """The manifest, if it can be read at all, and what is wrong with it or its signature."""
    gone = [name for name in (MANIFEST, SIGNATURE) if name not in parts]
    findings = [Finding(Reason.MISSING_PART, name, "it is not in the bundle") for name in gone]
    if MANIFEST in gone:
        return None, findings
    try:
        manifest = Manifest.read(parts[MANIFEST])
    except NotCanonical as error:
        return None, [*findings, Finding(Reason.ALTERED_MANIFEST, MANIFEST, str(error))]
    if key is None or SIGNATURE in gone:
        return manifest, findings
    if not key.accepts(parts[SIGNATURE], parts[MANIFEST]):
        findings.append(_bad_signature(manifest, key))
    elif manifest.key != key.fingerprint:
        told = f"it names the key {manifest.key!s:.64}, but {key.fingerprint} signed it"
        findings.append(Finding(Reason.ALTERED_MANIFEST, MANIFEST, told))
    return manifest, findings


def _bad_signature(manifest: Manifest, key: VerifyingKey) -> Finding:
    if manifest.key != key.fingerprint:
        told = f"the manifest was signed by {manifest.key!s:.64}, the bundle brings another key"
        return Finding(Reason.WRONG_KEY, KEY, told)
    told = "the signature does not fit: the manifest or its signature was altered"
    return Finding(Reason.ALTERED_MANIFEST, MANIFEST, told)


def _check_parts(parts: Mapping[str, bytes], manifest: Manifest) -> list[Finding]:
    found = []
    for name, wanted in sorted(manifest.parts.items()):
        if name not in parts:
            found.append(Finding(Reason.MISSING_PART, name, "the manifest lists it, it is gone"))
        elif PartHash.of(parts[name]) != wanted:
            told = "its content is not that of the manifest"
            found.append(Finding(Reason.ALTERED_PART, name, told))
    for name in sorted(set(parts) - set(manifest.parts) - OWN_NAMES):
        found.append(Finding(Reason.ADDED_PART, name, "the manifest does not list it"))
    return found


def _check_audit(parts: Mapping[str, bytes], key: VerifyingKey | None) -> list[Finding]:
    """The chain against its own signed head: tells a cut tail from an altered entry."""
    if not {CHAIN, HEAD, HEAD_SIGNATURE} <= set(parts):
        return []  # a bundle without an audit extract; a removed part was told before
    return list(_audit_findings(parts, key))


def _audit_findings(parts: Mapping[str, bytes], key: VerifyingKey | None) -> Iterator[Finding]:
    try:
        head = Head.read(parts[HEAD])
    except NotCanonical as error:
        yield Finding(Reason.ALTERED_HEAD, HEAD, str(error))
        return
    if key is not None and not key.accepts(parts[HEAD_SIGNATURE], parts[HEAD]):
        told = "the signature does not fit: the head or its signature was altered"
        yield Finding(Reason.ALTERED_HEAD, HEAD, told)
    yield from check_chain(chain_lines(parts[CHAIN]), head, CHAIN)


def chain_lines(content: bytes) -> list[bytes]:
    """The lines of a chain's part; a last line without its end is a line too."""
    lines = content.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def _is_rebuilt(parts: Mapping[str, bytes], body: bytes) -> bool:
    try:
        return pack_archive(parts) == body
    except ValueError:
        return False
