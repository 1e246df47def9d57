"""Put parts into a signed bundle: parts, manifest, its signature and the public key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from monitor.evidence.archive import pack_archive, require_name
from monitor.evidence.canonical import sha256_hex
from monitor.evidence.chain import head_of
from monitor.evidence.manifest import Manifest, PartHash
from monitor.evidence.signing import SigningKey

MANIFEST, SIGNATURE, KEY = "manifest.json", "manifest.sig", "key.pem"
CHAIN, HEAD, HEAD_SIGNATURE = "audit/chain.ndjson", "audit/head.json", "audit/head.sig"
OWN_NAMES = frozenset({MANIFEST, SIGNATURE, KEY})


def pack_bundle(
    parts: Mapping[str, bytes],
    *,
    signer: SigningKey,
    product: str,
    about: Mapping[str, Any],
    queries: Mapping[str, str] | None = None,
) -> bytes:
    """A bundle's bytes; the same arguments give the same bytes.

    `queries` maps a name to the text of the question (SQL, options); its hash is kept. Raises
    ValueError for a part's name that can't be used.
    """
    for name in parts:
        require_name(name)
        if name in OWN_NAMES:
            raise ValueError(f"the name {name!r} is the bundle's own; give the part another")
    manifest = Manifest(
        product=product,
        key=signer.public.fingerprint,
        parts={name: PartHash.of(content) for name, content in parts.items()},
        about=about,
        queries={name: sha256_hex(text.encode()) for name, text in (queries or {}).items()},
    ).body()
    own = {MANIFEST: manifest, SIGNATURE: signer.sign(manifest), KEY: signer.public.pem}
    return pack_archive({**parts, **own})


def audit_parts(lines: Sequence[bytes], project: str, signer: SigningKey) -> dict[str, bytes]:
    """The parts that carry an extract of the audit chain and its signed head."""
    head = head_of(lines, project).body()
    chain = b"".join(line + b"\n" for line in lines)
    return {CHAIN: chain, HEAD: head, HEAD_SIGNATURE: signer.sign(head)}
