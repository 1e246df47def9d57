"""One look at the machine that serves, into tags, a mark to be found by, and evidence."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

from monitor.collect_env.accelerators import NONE, accelerator_facts
from monitor.collect_env.collected import Collected, Facts
from monitor.collect_env.packages import package_facts
from monitor.collect_env.processor import processor_facts
from monitor.collect_env.surroundings import surroundings


def collect(
    environ: Mapping[str, str],
    *,
    python: Path | None = None,
    folder: Path = Path(),
    tags: Mapping[str, str] | None = None,
    joins: Mapping[str, str] | None = None,
) -> Collected:
    """Look at this machine. What the person says (`tags`, `joins`) goes before what is found."""
    around, marks = surroundings(environ, socket.gethostname(), folder=folder)
    parts = (accelerator_facts(), processor_facts(), package_facts(python), around)
    return put_together(parts, marks, tags or {}, joins or {})


def put_together(
    parts: tuple[Facts, ...],
    marks: Mapping[str, str],
    tags: Mapping[str, str],
    joins: Mapping[str, str],
) -> Collected:
    """Later parts go before earlier ones; `hardware` is made of what is known of it."""
    found: dict[str, str] = {}
    evidence: dict[str, object] = {}
    notes: list[str] = []
    for part in parts:
        found |= part.tags
        evidence |= part.evidence
        notes += part.notes
    hardware = _hardware(found)
    if hardware is not None:
        found.setdefault("hardware", hardware)
    said = {**found, **tags}
    # What a person answers needs no note that it is unknown.
    kept = tuple(n for n in notes if not ("the runtime is unknown" in n and "runtime" in tags))
    return Collected(said, dict(joins or marks), evidence, kept)


def _hardware(tags: Mapping[str, str]) -> str | None:
    accelerator = tags.get("accelerator")
    if accelerator is None:
        return None
    return tags.get("cpu_model") if accelerator == NONE else (
        f"{tags['accelerator_count']} x {accelerator}"
    )  # fmt: skip
