"""Schedules of reports and reports that were built, as people read them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.engine import Engine

from monitor.reports.database import reading
from monitor.store.report_book import BuiltReport, Schedule, built_body, built_reports, schedules

__all__ = ("BuiltReport", "KeptReports", "Schedule", "kept_body", "kept_reports")


@dataclass(frozen=True)
class KeptReports:
    """Schedules, the oldest first, and reports, the newest first."""

    schedules: tuple[Schedule, ...]
    built: tuple[BuiltReport, ...]


def kept_reports(engine: Engine, project_id: int, model_id: int | None = None) -> KeptReports:
    """Of a project, or of one model."""
    with reading(engine, project_id) as connection:
        found = schedules(connection, project_id)
        built = built_reports(connection, project_id, model_id)
    mine = [each for each in found if model_id is None or each.model_id == model_id]
    return KeptReports(tuple(mine), tuple(built))


def kept_body(engine: Engine, project_id: int, number: int) -> tuple[str, bytes]:
    """Form and bytes of a report; UnknownSubject when there is none of that number."""
    with reading(engine, project_id) as connection:
        return built_body(connection, project_id, number)
