"""Version tags of a deployment. Pure.

Unknown is None and never equal to another unknown; "none" is a statement, not an unknown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

TAG_GROUPS: Mapping[str, tuple[str, ...]] = {
    "model": ("model_version", "model_digest", "adapter"),
    "data": ("data_version",),
    "features": ("feature_version", "index_version"),
    "processing": (
        "preprocessing_version",
        "postprocessing_version",
        "tokenizer_version",
        "prompt_version",
    ),
    "runtime": (
        "runtime",
        "runtime_version",
        "runtime_backend",
        "build_options",
        "image_digest",
        "code_revision",
        "batching",
        "threads",
    ),
    "precision": ("precision",),
    "configuration": ("config_hash", "environment", "region"),
    "hardware": (
        "hardware",
        "accelerator",
        "accelerator_count",
        "cpu_model",
        "cpu_flags_hash",
        "instance_type",
        "driver_version",
        "accelerator_runtime_version",
        "power_limit",
    ),
}
TAG_NAMES = frozenset(name for names in TAG_GROUPS.values() for name in names)
PLACEHOLDERS = frozenset(
    {"", "unknown", "n/a", "na", "null", "undefined", "latest", "?", "-", "not available"}
)
UNKNOWN_SERVICE = "unknown_service"
"""What OpenTelemetry calls a service without a name; some SDKs add `:` and the program."""
PRINTED_NOTHING = "None"
"""What Python prints for nothing; the statement is spelled `none`."""
MAX_TAG_LENGTH = 500


@dataclass(frozen=True)
class Tags:
    """One full set of version tags; only known values are held."""

    known: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Tags:
        """Tags from a mapping; raises ValueError naming every tag that can't be used.

        Placeholders such as "unknown" or "latest" mean unknown and are left out.
        """
        problems, known = [], {}
        for name, value in values.items():
            if name not in TAG_NAMES:
                problems.append(f"unknown tag {name!r}; known are {', '.join(sorted(TAG_NAMES))}")
            elif value is not None and (not isinstance(value, str) or not storable_tag(value)):
                problems.append(
                    f"tag {name!r} is text of at most {MAX_TAG_LENGTH} printable characters"
                )
            elif isinstance(value, str) and not is_placeholder(value):
                known[name] = value.strip()
        if problems:
            raise ValueError("; ".join(problems))
        return cls(tuple(sorted(known.items())))

    def as_dict(self) -> dict[str, str]:
        return dict(self.known)

    def digest(self) -> str:
        """A stable SHA-256 of the known tags: the deployment's identity."""
        text = json.dumps(self.known, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def summary(self) -> str:
        """Tags on one line, for lists."""
        return ", ".join(f"{name} {value}" for name, value in self.known) or "no tags known"


def is_placeholder(value: str) -> bool:
    """Whether a text means "unknown" whoever says it. What only one producer means so is in
    `monitor.intake.claimed_tags`.
    """
    text = value.strip()
    return (
        text.lower() in PLACEHOLDERS
        or text == PRINTED_NOTHING
        or text.partition(":")[0].lower() == UNKNOWN_SERVICE
    )


def differing_groups(one: Tags, other: Tags) -> dict[str, tuple[str, ...]]:
    """Tag groups in which two deployments differ or can't be known to agree.

    A tag known on one side only counts as differing: two unknowns are left out of the list but
    never make the deployments equal.
    """
    left, right = one.as_dict(), other.as_dict()
    found: dict[str, tuple[str, ...]] = {}
    for group, names in TAG_GROUPS.items():
        differing = tuple(name for name in names if left.get(name) != right.get(name))
        if differing:
            found[group] = differing
    return found


def storable_tag(text: str) -> bool:
    """Whether a text can be kept as a tag."""
    return len(text) <= MAX_TAG_LENGTH and text.isprintable()
