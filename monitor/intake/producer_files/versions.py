"""Versions as producers write them: a placeholder means unknown and is never kept. Pure."""

from __future__ import annotations

from typing import Any

PLACEHOLDERS: dict[str, frozenset[str]] = {
    "azure": frozenset({"default"}),
    "bentoml": frozenset({"not available"}),
    "torchserve": frozenset({"default"}),
}
_ANYWHERE = frozenset({"", "none", "null", "unknown"})


def known_version(producer: str, value: Any) -> str | None:
    """The version, None where the producer's word for it means that it does not know."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    text = str(value).strip()
    low = text.lower()
    return None if low in _ANYWHERE or low in PLACEHOLDERS.get(producer, ()) else text


def version_tags(producer: str, value: Any) -> dict[str, str]:
    """The tag `model_version`, empty where it is not known."""
    version = known_version(producer, value)
    return {} if version is None else {"model_version": version}
