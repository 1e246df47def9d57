"""The list of a bundle's parts with their hashes, and what the bundle is about. Signed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from monitor.evidence.canonical import NotCanonical, canonical, read_canonical, sha256_hex

MANIFEST_KIND = "inferwatch.manifest.v1"
FIELDS = {"kind", "product", "key", "parts", "about", "queries"}
PART_FIELDS = {"sha256", "bytes"}


@dataclass(frozen=True)
class PartHash:
    """What a part must be."""

    sha256: str
    size: int

    @classmethod
    def of(cls, content: bytes) -> PartHash:
        return cls(sha256_hex(content), len(content))


@dataclass(frozen=True)
class Manifest:
    """What a bundle holds. `about` says of what, `queries` holds the hash of each question asked.

    No moment of making is in it: the same content has the same manifest.
    """

    product: str
    key: str
    parts: Mapping[str, PartHash]
    about: Mapping[str, Any]
    queries: Mapping[str, str]

    def body(self) -> bytes:
        """The canonical bytes that are signed."""
        parts = {
            name: {"sha256": part.sha256, "bytes": part.size} for name, part in self.parts.items()
        }
        return canonical(
            {
                "kind": MANIFEST_KIND,
                "product": self.product,
                "key": self.key,
                "parts": parts,
                "about": dict(self.about),
                "queries": dict(self.queries),
            }
        )

    @classmethod
    def read(cls, body: bytes) -> Manifest:
        """A manifest from its signed bytes; raises NotCanonical."""
        value = read_canonical(body)
        if not isinstance(value, dict) or set(value) != FIELDS or value["kind"] != MANIFEST_KIND:
            raise NotCanonical(f"it is not a manifest of the kind {MANIFEST_KIND}")
        if not all(isinstance(value[name], dict) for name in ("parts", "about", "queries")):
            raise NotCanonical("its parts, subject or queries are no objects")
        parts = value["parts"]
        if not all(isinstance(part, dict) and set(part) == PART_FIELDS for part in parts.values()):
            raise NotCanonical("a part has no hash or no size")
        return cls(
            product=value["product"],
            key=value["key"],
            parts={name: PartHash(part["sha256"], part["bytes"]) for name, part in parts.items()},
            about=value["about"],
            queries=value["queries"],
        )
