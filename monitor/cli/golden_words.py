"""How golden sets and their verdicts are printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from monitor.cli.common import plain, print_table

if TYPE_CHECKING:
    from monitor.checks.paired.numbers import NumberDifference
    from monitor.golden import Allowed, GoldenCase, GoldenSet
    from monitor.jobs.golden.compare import ColumnComparison
    from monitor.jobs.golden.judge_run import JudgedRun
    from monitor.jobs.golden.versus import Versus
    from monitor.measurement import Outcome
    from monitor.reports.golden import RunFacts
    from monitor.store.golden import StoredSet

MOST_FAILED = 20
MOST_TEXT = 60


def set_lines(stored: StoredSet) -> Iterator[str]:
    """Name, version, rule and tolerances of a set."""
    content = stored.content
    yield f"{content.name}@{stored.version} of {content.model}: {len(content.cases)} cases"
    yield f"Applied {plain(stored.applied_at)} by {plain(stored.applied_by)}."
    if content.why:
        yield plain(content.why)
    share = "all" if content.required_share == 1 else f"at least {content.required_share:.4g}"
    yield f"Must pass: every boundary and high-impact case, and {share} of the others."
    for column, allowed in content.tolerances.items():
        yield f"Tolerance of {column}: {tolerance_text(allowed)}"
    yield ""


def tolerance_text(allowed: Allowed) -> str:
    """`0.001 + 0.01 x |expected|`."""
    parts = [f"{allowed.absolute:g}"] if allowed.absolute or not allowed.relative else []
    if allowed.relative:
        parts.append(f"{allowed.relative:g} x |expected|")
    return " + ".join(parts)


def case_rows(content: GoldenSet) -> list[tuple[str, ...]]:
    """One row a case."""
    return [
        (case.id, case.kind.value, _short(dict(case.inputs)), _expected(case), case.why)
        for case in content.cases
    ]


def _expected(case: GoldenCase) -> str:
    return f"ends as {case.outcome.value}" if case.outcome else _short(dict(case.expected))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"


def judged_facts(judged: JudgedRun, run: str) -> dict[str, Any]:
    """A verdict as JSON."""
    return {
        "set": judged.set_name,
        "version": judged.version,
        "run": run,
        "deployment": judged.side.deployment_id,
        "verdict": judged.verdict,
        **judged.to_json(),
    }


def print_judged(judged: JudgedRun, run: str) -> None:
    """A verdict with what it rests on, and what to do."""
    result = judged.side.result
    asked = f"{judged.set_name}@{judged.version}"
    who = judged.told(judged.side.deployment_id)
    typer.echo(f"{asked}, run {run}, {plain(who)}: {judged.verdict.upper()}")
    typer.echo(f"{plain(result.why[:1].upper() + result.why[1:])}.\n")
    rows = [(kind.replace("_", " "), right, n) for kind, (right, n) in result.by_kind().items()]
    print_table(("kind", "passed", "cases"), rows)
    failed = [case for case in result.cases if not case.passed]
    if failed:
        typer.echo("\nFailed cases:")
        told = [(c.id, c.kind.value, "; ".join(c.reasons)) for c in failed[:MOST_FAILED]]
        print_table(("case", "kind", "what was wrong"), told)
        if len(failed) > MOST_FAILED:
            typer.echo(f"{len(failed) - MOST_FAILED} more; --json lists them.")
    if result.differences:
        typer.echo("\nDifferences from what was expected:")
        print_differences(dict(result.differences))
    if (took := judged.to_json()["latency_median"]) is not None:
        typer.echo(f"\nMedian time of an answer: {took:.4g} (in the timing column's unit).")
    if judged.versus is not None:
        _print_versus(judged, judged.versus)
    if judged.roll_back:
        typer.echo(f"\n{plain(judged.roll_back)}")


def run_facts(one: RunFacts) -> dict[str, Any]:
    """A stored verdict as JSON."""
    return {
        **vars(one),
        "failed": [vars(case) for case in one.failed],
        "columns": [vars(column) for column in one.columns],
    }


def run_row(one: RunFacts) -> tuple[Any, ...]:
    """A stored verdict as a row of a table."""
    why = f"{one.why}. {one.roll_back}" if one.roll_back else one.why
    return (
        *(one.known_at, one.subject, one.deployment, one.reference, one.verdict, why),
        one.judged_by,
    )


def print_differences(found: dict[str, NumberDifference]) -> None:
    """One row a column: how far numbers are apart."""
    headings = ("column", "numbers", "largest", "mean", "relative", "float16 steps",
                "float32 steps", "beyond tolerance", "rounded to")  # fmt: skip
    print_table(headings, [(name, *_difference_cells(one)) for name, one in found.items()])


def _difference_cells(one: NumberDifference) -> tuple[str, ...]:
    return (
        f"{one.n:,}" + (f" ({one.one_missing:,} on one side only)" if one.one_missing else ""),
        _number(one.largest),
        _number(one.mean),
        _number(one.largest_relative),
        _number(one.largest_steps.get("float16")),
        _number(one.largest_steps.get("float32")),
        f"{one.beyond:,}",
        one.rounding or "",
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def print_columns(columns: tuple[ColumnComparison, ...]) -> None:
    """Numbers, choices and lists of two sides."""
    numbers = {each.column: each.numbers for each in columns if each.numbers is not None}
    if numbers:
        print_differences(numbers)
    for each in columns:
        if each.choices is not None and each.choices.n:
            share = each.choices.equal / each.choices.n
            typer.echo(f"{plain(each.column)}: {each.choices.equal:,} of {each.choices.n:,}"
                       f" the same ({share:.2%})")  # fmt: skip
        if each.lists is not None and each.lists.overlap is not None:
            typer.echo(f"{plain(each.column)}: {each.lists.same_order:,} of {each.lists.n:,} in the"
                       f" same order; first five overlap {each.lists.overlap:.2%}")  # fmt: skip


def _print_versus(judged: JudgedRun, found: Versus) -> None:
    told = found.to_json()
    counts = found.counts
    typer.echo(f"\nAgainst {plain(judged.told(found.reference_id))} on {found.reference_leg}:")
    typer.echo(f"{found.differs.sentence}")
    typer.echo(
        f"Of {counts.n} cases both passed {counts.both}, only the reference {counts.only_first},"
        f" only this {counts.only_second}; difference {told['difference']:+.3f}"
        f" (95 % {told['low']:+.3f} to {told['high']:+.3f}), McNemar p = {found.test.p_value:.3g}"
        f" ({found.test.test.value})."
    )
    if found.regressions:
        typer.echo(f"Passed by the reference, failed here: {', '.join(found.regressions[:20])}.")
    if found.mended:
        typer.echo(f"Failed by the reference, passed here: {', '.join(found.mended[:20])}.")
    print_columns(found.columns)


def outcome_text(outcome: Outcome, *, signed: bool = True) -> str:
    """A number with interval and n, or why there is none; `signed` for differences."""
    from monitor.measurement import Failed, TooFew

    if isinstance(outcome, TooFew):
        return f"too few: {outcome.n:,} {outcome.reason}, {outcome.needed:,} needed"
    if isinstance(outcome, Failed):
        return f"failed: {outcome.reason}"
    form, limits = "+.4g" if signed else ".4g", ""
    if outcome.low is not None and outcome.high is not None:
        limits = f" (95 % {outcome.low:{form}} to {outcome.high:{form}})"
    return f"{outcome.value:{form}}{limits}, n {outcome.n:,}"
