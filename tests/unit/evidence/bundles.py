"""A small bundle with a report, values and an audit extract, and another signed by a stranger."""

from __future__ import annotations

from typing import Any

from monitor.evidence.bundle import audit_parts, pack_bundle
from monitor.evidence.canonical import sha256_hex
from monitor.evidence.chain import FIRST_PREVIOUS, entry_line
from monitor.evidence.signing import SigningKey

# RFC 8032, section 7.1, test 1: any key would do, a fixed one makes failures repeatable.
SECRET = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PREFIX = bytes.fromhex("302e020100300506032b657004220420")  # RFC 8410: PKCS 8 of an Ed25519 key


def _key(secret: bytes) -> SigningKey:
    from base64 import b64encode

    body = b64encode(PREFIX + secret).decode()
    return SigningKey.from_pem(
        f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n".encode()
    )


OURS, STRANGER = _key(SECRET), _key(bytes(range(32)))
CONTENT = {"report.json": b'{"drift":0.25}', "values/measurements.csv": b"id,value\r\n1,0.25\r\n"}


def lines_of(count: int, project: str = "default") -> list[bytes]:
    """A whole chain of that many entries."""
    lines: list[bytes] = []
    previous = FIRST_PREVIOUS
    for seq in range(1, count + 1):
        fields: dict[str, Any] = {
            "actor": "ana",
            "at": f"2026-03-01T00:00:{seq:02d}.000000Z",
            "deed": "contract_applied",
            "detail": {"version": seq, "reason": "“ä” <b>\u2028"},
            "previous": previous,
            "project": project,
            "seq": seq,
            "subject": "credit",
        }
        lines.append(entry_line(fields))
        previous = sha256_hex(lines[-1])
    return lines


def parts_of(signer: SigningKey = OURS, entries: int = 5) -> dict[str, bytes]:
    return {**CONTENT, **audit_parts(lines_of(entries), "default", signer)}


def bundle_of(signer: SigningKey = OURS, parts: dict[str, bytes] | None = None) -> bytes:
    return pack_bundle(
        parts_of(signer) if parts is None else parts,
        signer=signer,
        product="inferwatch 0.1.0",
        about={"model": "credit", "configuration": "ab" * 32},
        queries={"measurements": "select 1"},
    )
