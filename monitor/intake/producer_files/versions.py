"""Versions as files' producers write them; a placeholder is unknown and never kept. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.intake.claimed_tags import claimed_tags, tag_name, told_version

_ALSO = {"git-sha": "code_revision", "git_sha": "code_revision",
         "mlflow.source.git.commit": "code_revision"}  # fmt: skip


def version_tags(producer: str, value: Any) -> dict[str, str]:
    """The tag `model_version`, empty where it is not known."""
    version = told_version(value, producer)
    return {} if version is None else {"model_version": version}


def tags_said(said: Mapping[str, Any], producer: str, *, bare: bool = False) -> dict[str, str]:
    """Tags among attributes: `ml.*`, a commit, and with `bare` tags by their own names."""
    found = claimed_tags(said, producer)
    for name, value in said.items():
        tag = _ALSO.get(name) or (tag_name(name) if bare else None)
        known = told_version(value, producer) if tag is not None else None
        if tag is not None and known is not None:
            found[tag] = known
    return found
