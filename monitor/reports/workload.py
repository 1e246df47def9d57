"""The workload card of a model: conditions, arrivals, lengths, targets, what nobody measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta

from sqlalchemy.engine import Connection, Engine

from monitor.checks.workload.arrivals import WINDOW_SECONDS, Arrivals, FiveMinutes, arrivals
from monitor.checks.workload.card import Card, Spread, judge_target, spread
from monitor.contract import ColumnRole, Contract
from monitor.contract_workload import Workload
from monitor.deployment import Tags
from monitor.fields import TIME_UNITS, standard_field
from monitor.profiles.part import Part, PartKind, merge
from monitor.profiles.serving import log_totals, outcome_counts, serving_columns, value_counts
from monitor.reports.database import reading
from monitor.store.models import ModelContext, deployment_tags
from monitor.store.profile_rows import StoredProfile, last_served, read_profiles
from monitor.windows import Grain, Window

DEFAULT_DAYS = 7
MEASURED_FIELDS = ("latency", "queue_time")
LANGUAGE_FIELDS = ("prompt_tokens", "output_tokens", "cached_tokens", "first_token_time",
                   "first_token_from", "inter_token_time")  # fmt: skip
NEEDED_TAGS = ("model_version", "runtime", "runtime_version", "precision", "config_hash")
HARDWARE_TAGS = ("accelerator", "hardware", "instance_type", "cpu_model")


def newest_span(engine: Engine, project_id: int, model_id: int) -> Window | None:
    """The seven days up to the end of the newest day with traffic; None without any."""
    with reading(engine, project_id) as connection:
        newest = last_served(connection, project_id, model_id)
    if newest is None:
        return None
    end = newest + timedelta(days=1)
    return Window(end - timedelta(days=DEFAULT_DAYS), end)


def workload_card(
    engine: Engine,
    project_id: int,
    context: ModelContext,
    window: Window,
    deployment_ids: Sequence[int] = (),
    leg: str = "live",
) -> Card:
    """The card of a span, of some deployments or of all that served."""
    with reading(engine, project_id) as connection:
        stored = _served(connection, project_id, context.model_id, window, deployment_ids, leg)
        tags = deployment_tags(connection, project_id, context.model_id)
    contract, whole = context.contract, merge([each.part for each in stored])
    numbers = tuple(sorted({each.key.deployment_id for each in stored}))
    known, differing = _shared_tags([tags[number] for number in numbers])
    n = sum(outcome_counts(whole).values())
    return Card(
        model=contract.model,
        start=window.start.isoformat(),
        end=window.end.isoformat(),
        leg=leg,
        n=n,
        scenario=contract.workload.scenario.value if contract.workload else None,
        deployments=numbers,
        tags=known,
        differing_tags=differing,
        assumed=_assumed(contract.workload),
        arrivals=_arrivals(stored, contract, window) if n else None,
        lengths=_spreads(whole, contract, ColumnRole.COUNT, n),
        timings=_spreads(whole, contract, ColumnRole.TIMING, n),
        outcomes={
            outcome.name.lower(): count / n
            for outcome, count in outcome_counts(whole).items()
            if count
        },
        targets=tuple(
            judge_target(target, *value_counts(whole, target.column))
            for target in (contract.workload.targets if contract.workload else ())
        ),
        missing=tuple(_missing(contract, whole, known, differing, n)),
    )


def _served(
    connection: Connection,
    project_id: int,
    model_id: int,
    window: Window,
    deployment_ids: Sequence[int],
    leg: str,
) -> list[StoredProfile]:
    found = read_profiles(
        connection, project_id, model_id, PartKind.SERVING, Grain.FIVE_MINUTES, window
    )
    return [
        each
        for each in found
        if each.key.leg == leg and (not deployment_ids or each.key.deployment_id in deployment_ids)
    ]


def _shared_tags(known: Sequence[Tags]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Tags that all deployments know and agree on, and the names of those that differ."""
    every = [each.as_dict() for each in known]
    names = sorted({name for each in every for name in each})
    shared = {
        name: every[0][name]
        for name in names
        if all(each.get(name) == every[0].get(name) for each in every) and name in every[0]
    }
    return shared, tuple(name for name in names if name not in shared)


def _assumed(workload: Workload | None) -> dict[str, object]:
    if workload is None:
        return {}
    told = workload.model_dump(mode="json", exclude={"targets"}, exclude_none=True)
    return {name: value for name, value in told.items() if value}


def _arrivals(stored: Sequence[StoredProfile], contract: Contract, window: Window) -> Arrivals:
    latency = _column_of(contract, "latency")
    by_start: dict[int, list[Part]] = defaultdict(list)
    for each in stored:
        place = int(each.key.window_start.timestamp()) // WINDOW_SECONDS
        by_start[place].append(each.part)
    windows = []
    for place, parts in by_start.items():
        part = merge(parts)
        n = sum(outcome_counts(part).values())
        windows.append(FiveMinutes(place, n, _mean_seconds(part, contract, latency)))
    return arrivals(windows, (window.end - window.start).total_seconds())


def _mean_seconds(part: Part, contract: Contract, column: str | None) -> float | None:
    if column is None:
        return None
    totals = log_totals(part, column)
    unit = contract.column(column).unit or "ms"
    if totals.n == 0 or unit not in TIME_UNITS:
        return None
    return totals.total / totals.n * TIME_UNITS[unit] / 1000


def _column_of(contract: Contract, field: str) -> str | None:
    """The served column that holds a standard field."""
    for name in serving_columns(contract):
        column = contract.column(name)
        if (column.field or name) == field:
            return name
    return None


def _spreads(part: Part, contract: Contract, role: ColumnRole, n: int) -> dict[str, Spread]:
    found = {}
    for name in serving_columns(contract):
        column = contract.column(name)
        if column.role is role:
            made = spread(
                *value_counts(part, name), column.unit or _own_unit(name, column.field), n
            )
            if made is not None:
                found[name] = made
    return found


def _own_unit(name: str, field: str | None) -> str:
    known = standard_field(field or name)
    return known.unit if known is not None else ""


def _missing(
    contract: Contract, part: Part, tags: dict[str, str], differing: Sequence[str], n: int
) -> Iterable[str]:
    """What a reader of the card would want and nobody measured, each with the remedy."""
    if n == 0:
        yield "requests: none in this span; send some, or choose another --window"
    if contract.workload is None:
        yield "assumptions and targets: the contract has no workload section"
    held = {(column.field or column.name) for column in contract.columns}
    wanted = MEASURED_FIELDS + (
        LANGUAGE_FIELDS if held & {"prompt_tokens", "output_tokens"} else ()
    )
    for field in wanted:
        if field not in held:
            yield f"{field}: no column holds it; add a column with `field: {field}`"
    for name in serving_columns(contract):
        totals = log_totals(part, name)
        if n and totals.n == 0:
            yield f"{name}: no request has a value; see docs/producers.md for who can send it"
        elif n and totals.missing / n > 0.05:
            yield f"{name}: missing for {totals.missing / n:.0%} of the requests"
    for tag in NEEDED_TAGS:
        if tag not in tags and tag not in differing:
            yield f"{tag}: unknown; register the deployment with it"
    if not any(tag in tags or tag in differing for tag in HARDWARE_TAGS):
        yield "hardware: unknown; `inferwatch collect-env` on the serving host tells it"
    for tag in differing:
        yield f"{tag}: differs between the deployments; name one with --deployment"
