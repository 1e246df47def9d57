"""What one look at a machine found: version tags, marks to be found by, and the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Facts:
    """Tags that are known (`none` is a statement, an absent one is unknown), what they were taken
    from, and what could not be learned and why.
    """

    tags: Mapping[str, str] = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Collected:
    """Everything together; `as_body` is what `POST /v1/deployments` takes."""

    tags: Mapping[str, str]
    joins: Mapping[str, str]
    evidence: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def as_body(self) -> dict[str, Any]:
        """A deployment to register."""
        evidence = {**self.evidence, "notes": list(self.notes)}
        return {"tags": dict(self.tags), "joins": dict(self.joins), "evidence": evidence}
