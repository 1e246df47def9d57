"""Rebuild the numbers of a bundle from stored measurements and compare them value by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Engine

from monitor.errors import InferwatchError
from monitor.evidence.canonical import NotCanonical, read_canonical
from monitor.evidence.manifest import Manifest
from monitor.reports.bundle import MEASUREMENTS, BundleSubject, measurement_lines, model_number
from monitor.reports.database import reading
from monitor.windows import Window


class NotReproducible(InferwatchError):
    """The bundle does not say what to rebuild; the text names what is missing."""


@dataclass(frozen=True)
class Difference:
    """One value that is not the same: of which measurement, which field, there and here."""

    measurement: int
    field: str
    bundled: Any
    stored: Any

    def __str__(self) -> str:
        place = f"measurement {self.measurement}, {self.field}"
        return f"{place}: {self.bundled!r} in the bundle, {self.stored!r} stored"


def subject_of(manifest: Manifest, project_id: int) -> BundleSubject:
    """What a bundle is about; raises NotReproducible when its manifest does not say."""
    about = manifest.about
    try:
        start, end, known_by = (
            datetime.fromisoformat(about[name]) for name in ("from", "to", "known_by")
        )
        return BundleSubject(project_id, str(about["model"]), Window(start, end), known_by)
    except (KeyError, TypeError, ValueError, AssertionError) as error:
        raise NotReproducible(
            f"the manifest names no model, span and moment of knowledge ({error!r})"
        ) from None


def compare_with_store(
    engine: Engine, parts: Mapping[str, bytes], subject: BundleSubject
) -> tuple[int, tuple[Difference, ...]]:
    """How many measurements the bundle holds, and every value that is stored otherwise."""
    if MEASUREMENTS not in parts:
        raise NotReproducible(f"the bundle holds no part {MEASUREMENTS}: nothing to compare")
    number = model_number(engine, subject)
    with reading(engine, subject.project_id) as connection:
        stored = _by_id(b"".join(measurement_lines(connection, subject, number)))
    bundled = _by_id(parts[MEASUREMENTS])
    return len(bundled), tuple(_differences(bundled, stored))


def _differences(
    bundled: Mapping[int, Mapping[str, Any]], stored: Mapping[int, Mapping[str, Any]]
) -> Iterator[Difference]:
    for number in sorted(set(bundled) | set(stored)):
        there, here = bundled.get(number), stored.get(number)
        if there is None or here is None:
            told = ("absent" if side is None else "present" for side in (there, here))
            yield Difference(number, "row", *told)
            continue
        for field in sorted(set(there) | set(here)):
            if there.get(field) != here.get(field):
                yield Difference(number, field, there.get(field), here.get(field))


def _by_id(part: bytes) -> dict[int, dict[str, Any]]:
    rows = {}
    for place, line in enumerate(part.splitlines(), start=1):
        try:
            row = read_canonical(line)
            rows[int(row["id"])] = row
        except (NotCanonical, KeyError, TypeError, ValueError) as error:
            raise NotReproducible(f"{MEASUREMENTS}, line {place}: {error}") from None
    return rows
