"""Version tags out of the words of producers: their names, and values that mean "unknown". Pure.

Each producer has texts that stand for an unknown version. Two of them are not the same version, so
none is ever stored: the tag stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.deployment import MAX_TAG_LENGTH, TAG_NAMES, is_placeholder
from monitor.fields import FIELDS, FieldKind

PRODUCER_PLACEHOLDERS: Mapping[str, frozenset[str]] = {
    "torchserve": frozenset({"default"}),
    "mlserver": frozenset({"none"}),
    "bentoml": frozenset({"not available"}),
    "azure": frozenset({"default"}),
    "sglang": frozenset({"default"}),
    "opentelemetry": frozenset({"unknown_service"}),
}
"""By producer, in small letters: what it writes where it knows no version."""
PREFIXES = ("ml.", "x-ml-")


def told_version(value: Any, producer: str | None = None) -> str | None:
    """A version as this producer tells it; None where it means that it knows none.

    Whole numbers become text. Too long or unprintable text is no version.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if is_placeholder(text) or len(text) > MAX_TAG_LENGTH or not text.isprintable():
        return None
    return None if text.lower() in PRODUCER_PLACEHOLDERS.get(producer or "", ()) else text


def tag_name(name: str) -> str | None:
    """The canonical tag that `ml.model.version`, `x-ml-model-version` or `model_version` names."""
    bare = _bare(name)
    return bare if bare in TAG_NAMES else None


def claimed_tags(said: Mapping[str, Any], producer: str | None = None) -> dict[str, str]:
    """Canonical tags of attributes `ml.*` and headers `x-ml-*`; other names are left alone."""
    found: dict[str, str] = {}
    for name, value in said.items():
        tag = tag_name(name) if name.lower().startswith(PREFIXES) else None
        known = told_version(value, producer) if tag is not None else None
        if tag is not None and known is not None:
            found[tag] = known
    return found


def claimed_words(said: Mapping[str, Any]) -> dict[str, str]:
    """Standard word fields of the same attributes and headers: `ml.variant`, `x-ml-zone`, …"""
    found: dict[str, str] = {}
    for name, value in said.items():
        field = FIELDS.get(_bare(name)) if name.lower().startswith(PREFIXES) else None
        known = told_version(value)
        if field is not None and field.kind is FieldKind.WORD and known is not None:
            found[field.name] = known
    return found


def _bare(name: str) -> str:
    lower = name.lower()
    for prefix in PREFIXES:
        lower = lower.removeprefix(prefix)
    return lower.replace(".", "_").replace("-", "_")
