"""Tells a summary in plain sentences, with numbers. Pure; knows nothing that the summary lacks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from monitor.demo.sender import Counts
from monitor.demo.summary import (
    AlertTotals,
    ColumnDrift,
    ComparisonTold,
    FaultFound,
    IncidentTotals,
    MonthQuality,
    OrderTold,
    ResponsesTold,
    Summary,
)

NEW_YORK = ZoneInfo("America/New_York")


def narrate(summary: Summary) -> Iterator[str]:
    """One sentence or short paragraph a line, in the order of the way of a request."""
    yield _sent("requests", summary.requests)
    yield _sent("labels", summary.labels)
    if summary.label_coverage is not None:
        yield (
            f"{summary.label_coverage:.1%} of the requests have a label; "
            "flights without an arrival delay never get one."
        )
    yield from _quality(summary.months)
    yield from _drift(summary.drift)
    yield _fault(summary.fault, summary.contrasts)
    if summary.incidents is not None:
        yield from _incidents(summary.incidents)
    yield from _responses(summary.responses)
    yield from _comparisons(summary.comparisons)
    yield from _alerts(summary.alerts)
    yield f"All of it took {summary.seconds:.0f} seconds."


def month_table(months: tuple[MonthQuality, ...]) -> list[tuple[str, ...]]:
    """Cells of a table, a row a month, under the names of MONTH_COLUMNS."""
    return [
        (
            each.month,
            f"{each.requests:,}",
            _number(each.label_coverage, ".1%"),
            _interval(each),
            _number(each.brier, ".4f"),
            _number(each.calibration_error, ".3f"),
        )
        for each in months
    ]


MONTH_COLUMNS = (
    "month", "requests", "labelled", "AUC (95 % interval)", "Brier", "calibration error",
)  # fmt: skip


def in_both_clocks(moment: datetime) -> str:
    """A moment in New York with UTC beside it."""
    local = moment.astimezone(NEW_YORK)
    return f"{local.day} {local:%B %Y %H:%M} in New York ({moment:%Y-%m-%d %H:%M} UTC)"


def _sent(what: str, counts: Counts) -> str:
    parts = [f"{counts.accepted:,} accepted", f"{counts.duplicate:,} duplicates"]
    if counts.conflict:
        parts.append(f"{counts.conflict:,} conflicts")
    parts.append(f"{counts.rejected:,} rejected")
    fits = "the sum fits" if counts.fits() else "the sum DOES NOT fit"
    violations = (
        f" {counts.violations:,} values broke the contract and are kept as violations."
        if counts.violations
        else ""
    )
    return f"{counts.sent:,} {what} sent: {', '.join(parts)}; {fits}.{violations}"


def _quality(months: tuple[MonthQuality, ...]) -> Iterator[str]:
    measured = [(each.auc, each) for each in months if each.auc is not None]
    if not measured:
        yield "Quality could not be measured in any month: too few labels."
        return
    best = max(measured, key=lambda pair: pair[0])[1]
    worst = min(measured, key=lambda pair: pair[0])[1]
    second = f" and worst in {worst.month} with {_interval(worst)}" if worst is not best else ""
    yield f"AUC is best in {best.month} with {_interval(best)}{second}."
    errors = [
        (each.calibration_error, each.month)
        for each in months
        if each.calibration_error is not None
    ]
    if errors:
        low, high = min(errors), max(errors)
        first = f"{low[0]:.3f} in {low[1]} and by " if low != high else ""
        yield f"Scores are off by {first}{high[0]:.3f} in {high[1]} (calibration error)."


def _drift(columns: tuple[ColumnDrift, ...]) -> Iterator[str]:
    if not columns:
        yield "No column was compared with a baseline."
        return
    told = "; ".join(
        f"{each.column} {each.value:.2f} in {each.window} against {each.baseline}"
        for each in columns
    )
    yield f"Columns that moved most ({columns[0].statistic}, a reason to look, no verdict): {told}."


def _fault(fault: FaultFound | None, contrasts: int) -> str:
    if not contrasts:
        return "No fault could be looked for: deployments never served side by side."
    if fault is None:
        return (
            f"No fault is named: in {contrasts:,} contrasts of deployments within the same hours, "
            "no column of any deployment differs by more than chance."
        )
    others = " and ".join(
        f"from {name} in {', '.join(tags) or 'nothing that is known'}"
        for name, tags in fault.differs_from.items()
    )
    return (
        f"A fault is named: column {fault.column} of deployment {fault.deployment} differs from "
        f"the deployments that served the same hours, by {fault.excess:.2f} PSI in the window "
        f"from {in_both_clocks(fault.started)}; noticed {in_both_clocks(fault.noticed)}. "
        f"By chance that happens with a probability of 10^{fault.p_log10:.0f}; "
        f"{contrasts:,} contrasts were made, {fault.windows} windows show it. "
        f"The deployment's tags differ {others}."
    )


def _incidents(told: IncidentTotals) -> Iterator[str]:
    rate = "" if told.a_month is None else f", {told.a_month:.1f} in 30 days"
    yield (
        f"Drift incidents: {len(told.incidents)}{rate}. The promise (at most {told.promised:g}"
        f" false ones a month in expectation, if coming weeks behave like those learned from)"
        f" is {told.state}."
    )
    if told.withheld:
        reasons = "; ".join(f"{name}: {why}" for name, why in sorted(told.withheld.items()))
        yield f"The promise does not hold for {reasons}."
    for one in told.incidents:
        who = f", deployment {' and '.join(one.deployments)}" if one.deployments else ""
        yield f"  {one.opened:%Y-%m-%d %H:%M} UTC {', '.join(one.columns)}{who}. {one.sentence}"


_WHEN = {
    "before": "before the order",
    "reduced": "while it held",
    "restored": "after it ran out",
}


def _responses(told: ResponsesTold) -> Iterator[str]:
    if not told.orders:
        yield "No response was asked for: no alert called for one."
        return
    yield "Responses, as they were recorded:"
    for one in told.orders:
        yield f"  {one.at:%Y-%m-%d %H:%M} UTC {_order(one)}"
    shares = [
        f"{one.percent:.1f}% of {one.requests:,} requests {_WHEN[one.when]}"
        f" ({one.start:%Y-%m-%d %H:%M} to {one.end:%Y-%m-%d %H:%M} UTC)"
        for one in told.shares
        if one.percent is not None
    ]
    if shares:
        yield f"{' and '.join(told.deployments)} answered {', '.join(shares)}."


def _order(one: OrderTold) -> str:
    said = f": {one.said}" if one.said else ""
    if one.returns is not None:
        return f"action {one.number} gives back what action {one.returns} took, {one.state}{said}."
    kind = "a dry run, " if one.dry_run else ""
    target = "" if one.to_percent is None else f" to {one.to_percent:g} %"
    names = " and ".join(one.deployments)
    return f"action {one.number}, {one.response} of {names}{target}, {kind}{one.state}{said}."


def _comparisons(told: tuple[ComparisonTold, ...]) -> Iterator[str]:
    if told:
        yield "Deployments compared (b against a), on the same slices of the same days or hours:"
    for one in told:
        differs = f", differs in {' and '.join(one.factors)}" if one.factors else ""
        yield f"  {one.b} against {one.a}{differs}. {one.sentence}"


def _alerts(alerts: AlertTotals) -> Iterator[str]:
    rules = ", ".join(f"{name} {count}" for name, count in sorted(alerts.by_rule.items()))
    yield f"Alerts opened: {alerts.opened}" + (f" ({rules})." if rules else ".")
    waiting = f", not delivered {alerts.undelivered}" if alerts.undelivered else ""
    yield (
        f"Messages delivered: {alerts.delivered}{waiting}; "
        f"signatures verified by those who got them: {alerts.verified}."
    )


def _interval(each: MonthQuality) -> str:
    if each.auc is None:
        return "too few labels"
    if each.auc_low is None or each.auc_high is None:
        return f"{each.auc:.3f}"
    return f"{each.auc:.3f} ({each.auc_low:.3f} to {each.auc_high:.3f})"


def _number(value: float | None, form: str) -> str:
    return "too few labels" if value is None else format(value, form)
