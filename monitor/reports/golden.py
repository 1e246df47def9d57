"""Judged runs of golden sets and of shadow pairs, as people read them; newest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.reports.database import reading
from monitor.reports.paging import Page, fetch_page
from monitor.store.models import deployment_names
from monitor.store.tables import golden_run

RUNS_A_PAGE = 10


@dataclass(frozen=True)
class ColumnFacts:
    """How far one output column is apart; numbers None where there are none."""

    column: str
    n: int
    largest: float | None
    mean: float | None
    beyond: int
    rounding: str
    same: int | None


@dataclass(frozen=True)
class FailedCase:
    """A case that failed, and why."""

    id: str
    kind: str
    reason: str


@dataclass(frozen=True)
class RunFacts:
    """One verdict: who, on what, against whom, with what it rests on."""

    id: int
    subject: str
    is_shadow: bool
    leg: str
    deployment_id: int
    deployment: str
    reference_id: int | None
    reference: str
    verdict: str
    why: str
    kinds: Mapping[str, tuple[int, int]]
    failed: tuple[FailedCase, ...]
    columns: tuple[ColumnFacts, ...]
    versus: str
    differs: str
    roll_back_to: int | None
    roll_back: str
    judged_by: str
    known_at: datetime


def golden_runs(
    engine: Engine,
    project_id: int,
    model_id: int,
    number: int = 1,
    known_by: datetime | None = None,
    size: int = RUNS_A_PAGE,
) -> Page[RunFacts]:
    """A page of verdicts, newest first; with `known_by` only those known by then."""
    row = golden_run.c
    query = (
        sa.select(golden_run)
        .where(row.project_id == project_id, row.model_id == model_id)
        .order_by(row.known_at.desc(), row.id.desc())
    )
    if known_by is not None:
        query = query.where(row.known_at <= known_by)
    with reading(engine, project_id) as connection:
        names = deployment_names(connection, project_id, model_id)
        return fetch_page(connection, query, number, lambda found: _facts(found, names), size)


def _facts(row: Any, names: Mapping[int, str]) -> RunFacts:
    body, shadow = row.body, row.leg.startswith("shadow:")
    facts = {
        "id": row.id,
        "subject": row.leg if shadow else f"{row.set_name}@{row.set_version}",
        "is_shadow": shadow,
        "leg": row.leg,
        "deployment_id": row.deployment_id,
        "deployment": _title(row.deployment_id, names),
        "reference_id": row.reference_id,
        "reference": _title(row.reference_id, names) if row.reference_id is not None else "",
        "verdict": row.verdict,
        "judged_by": row.judged_by,
        "known_at": row.known_at,
    }
    return RunFacts(**facts, **(_of_shadow(body) if shadow else _of_set(body)))


def _title(number: int, names: Mapping[int, str]) -> str:
    return f"{number} {names[number]}" if number in names else str(number)


def _of_set(body: Mapping[str, Any]) -> dict[str, Any]:
    versus = body.get("versus") or {}
    return {
        "why": body["why"],
        "kinds": {name: (int(right), int(n)) for name, (right, n) in body["kinds"].items()},
        "failed": tuple(
            FailedCase(one["id"], one["kind"], "; ".join(one["reasons"])) for one in body["failed"]
        ),
        "columns": tuple(_numbers(name, one) for name, one in body["differences"].items()),
        "versus": _versus_words(versus),
        "differs": versus.get("sentence", ""),
        "roll_back_to": body.get("roll_back_to"),
        "roll_back": body.get("roll_back", ""),
    }


def _versus_words(versus: Mapping[str, Any]) -> str:
    if not versus:
        return ""
    return (
        f"Of {versus['cases']} cases both passed {versus['passed_by_both']}, only the reference"
        f" {versus['passed_by_reference_only']}, only this {versus['passed_by_this_only']};"
        f" McNemar p = {versus['p_value']:.3g} ({versus['test']})."
    )


def _of_shadow(body: Mapping[str, Any]) -> dict[str, Any]:
    first, last = body["window"]
    told = [
        f"{body['pairs']:,} pairs from {first[:16]}Z to {last[:16]}Z;"
        f" {body['answered_by_both']:,} answered by both; without a partner"
        f" {body['live_alone']:,} live and {body['shadow_alone']:,} shadow requests."
    ]
    told += [
        f"{name}: {_outcome_words(body[key])}."
        for name, key in (
            ("Same choice", "agreement"),
            ("Accuracy, shadow less live", "accuracy_difference"),
            ("Loss, shadow less live", "loss_difference"),
        )
    ]
    return {
        "why": body["verdict_words"],
        "kinds": {},
        "failed": (),
        "columns": tuple(_column(one) for one in body["columns"]),
        "versus": " ".join(told),
        "differs": body["sentence"],
        "roll_back_to": None,
        "roll_back": "",
    }


def _outcome_words(outcome: Mapping[str, Any]) -> str:
    if outcome["state"] != "measured":
        return str(outcome["reason"])
    limits = ""
    if outcome["low"] is not None and outcome["high"] is not None:
        limits = f", 95 % interval {outcome['low']:.4g} to {outcome['high']:.4g}"
    return f"{outcome['value']:.4g}{limits}, n {outcome['n']:,}"


def _column(one: Mapping[str, Any]) -> ColumnFacts:
    name = one["column"]
    if "numbers" in one:
        return _numbers(name, one["numbers"])
    held = one.get("choices") or one["lists"]
    same = held["equal"] if "equal" in held else held["same_order"]
    return ColumnFacts(name, held["n"], None, None, held["n"] - same, "", same)


def _numbers(name: str, one: Mapping[str, Any]) -> ColumnFacts:
    return ColumnFacts(
        column=name,
        n=one["n"],
        largest=one["largest"],
        mean=one["mean"],
        beyond=one["beyond"],
        rounding=one["rounding"] or "",
        same=None,
    )
