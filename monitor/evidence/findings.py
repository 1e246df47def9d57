"""What verification can find wrong, each with a stable word for scripts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a bundle or a chain is not what was signed."""

    UNREADABLE_ZIP = "unreadable_zip"
    ALTERED_CONTAINER = "altered_container"
    ALTERED_MANIFEST = "altered_manifest"
    ALTERED_KEY = "altered_key"
    WRONG_KEY = "wrong_key"
    ALTERED_PART = "altered_part"
    MISSING_PART = "missing_part"
    ADDED_PART = "added_part"
    ALTERED_ENTRY = "altered_entry"
    MISSING_ENTRY = "missing_entry"
    CUT_TAIL = "cut_tail"
    ALTERED_HEAD = "altered_head"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: why, where, and what was seen."""

    reason: Reason
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.place}: {self.message}"
