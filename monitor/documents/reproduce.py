"""Rebuild a bundle's report from the store, as known at its moment, and compare it part by part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import Engine

from monitor.documents.build import Question, build_document
from monitor.documents.writers import as_json
from monitor.reports.bundle import BundleSubject

REPORT = "report.json"
ABSENT = "absent"


@dataclass(frozen=True)
class Reworked:
    """One value of a report that comes out otherwise: where it stands, was, and is."""

    place: str
    was: Any
    now: Any

    def __str__(self) -> str:
        return f"{REPORT}, {self.place}: was {self.was!r}, is {self.now!r}"


def rework_report(
    engine: Engine, parts: Mapping[str, bytes], subject: BundleSubject
) -> tuple[int, tuple[Reworked, ...]] | None:
    """How many values the report holds and which come out otherwise; None without a report.

    All that a report computes is computed anew: totals, intervals, verdicts and sentences.
    """
    bundled = _report(parts)
    if bundled is None:
        return None
    question = Question(subject.project_id, subject.model, subject.window, subject.known_by)
    rebuilt = json.loads(as_json.write(build_document(engine, question)))
    was, now = dict(_values(bundled)), dict(_values(rebuilt))
    places = dict.fromkeys((*was, *now))
    return len(was), tuple(
        Reworked(place, was.get(place, ABSENT), now.get(place, ABSENT))
        for place in places
        if place not in was or place not in now or was[place] != now[place]
    )


def _report(parts: Mapping[str, bytes]) -> dict[str, Any] | None:
    """The report that a bundle of `inferwatch report` holds; other bundles have none."""
    if REPORT not in parts:
        return None
    found = json.loads(parts[REPORT])
    return found if isinstance(found, dict) and "sections" in found else None


def _values(part: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Each value with its place; a section or table goes by its key or title, not its number."""
    if isinstance(part, dict):
        for name, inner in part.items():
            yield from _values(inner, f"{place}/{name}")
    elif isinstance(part, list):
        for number, inner in enumerate(part):
            yield from _values(inner, f"{place}/{_name(inner, number)}")
    else:
        yield place.lstrip("/"), part


def _name(part: Any, number: int) -> str:
    if isinstance(part, dict):
        for key in ("key", "title", "caption"):
            if isinstance(part.get(key), str):
                return f"{number}:{part[key]}"
    return str(number)
