"""Reviews as lines of text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from monitor.cli.common import plain

if TYPE_CHECKING:
    from monitor.jobs.review.draw import DrawReport
    from monitor.reports.reviews import Number, ReviewFacts, SignalResult

MOST_SHOWN = 20
_AGREEMENT = {
    "agreement": "same answer",
    "kappa": "Cohen's kappa",
    "alpha": "Krippendorff's alpha",
    "ac1": "Gwet's AC1",
}
_ESTIMATES = {"mean_rating": "mean rating", "win_rate": "win rate", "pass_rate": "pass rate"}


def draw_lines(found: DrawReport) -> Iterator[str]:
    """What was drawn, and what is to be done now."""
    made, items = found.made, found.items
    twice = sum(len(item.raters) > 1 for item in items)
    verb = "was drawn before; its files are written again" if found.again else "is drawn"
    yield (
        f"Review {plain(made.name)} {verb}: {len(items)} of {made.population:,} answered requests,"
        f" {twice} of them for two raters."
    )
    if len(items) != made.plan["size"] and not found.again:
        yield f"{made.plan['size']} were asked for; {_why_other(found)}."
    yield ""
    for rater, path in found.files.items():
        mine = sum(rater in item.raters for item in items)
        yield f"  {plain(rater)}: {mine} requests in {path}"
    yield ""
    yield "Each rater opens the file, fills in the last columns, and saves it as CSV. Then:"
    for rater, path in found.files.items():
        yield f"  inferwatch review import {made.name} {path} --rater {rater}"


def _why_other(found: DrawReport) -> str:
    if found.made.plan["importance"] != "random":
        return "each request is drawn for itself, so that the number varies"
    return "there are no more"


def draw_facts(found: DrawReport) -> dict[str, Any]:
    """The same as JSON; requests by item with their probability."""
    made = found.made
    return {
        "name": made.name,
        "window": {"start": made.window.start, "end": made.window.end},
        "population": made.population,
        "again": found.again,
        "plan": {key: value for key, value in made.plan.items() if key != "results"},
        "files": {rater: str(path) for rater, path in found.files.items()},
        "items": [vars(item) for item in found.items],
    }


def facts(found: ReviewFacts) -> dict[str, Any]:
    """A review as JSON."""
    told = {key: value for key, value in vars(found).items() if key not in ("window", "signals")}
    return told | {
        "window": {"start": found.window.start, "end": found.window.end},
        "population_is": found.population_words,
        "signals": [_signal_facts(one) for one in found.signals],
    }


def _signal_facts(one: SignalResult) -> dict[str, Any]:
    return vars(one) | {
        "estimate": vars(one.estimate),
        "agreement": {kind: vars(number) for kind, number in one.agreement.items()},
    }


def list_row(model: str, found: ReviewFacts) -> list[Any]:
    """A line of the list."""
    return [
        *(found.name, model, str(found.window), f"{found.population:,}", found.drawn),
        *(f"{found.given} of {found.asked}", ", ".join(found.raters), found.drawn_by),
    ]


def show_lines(model: str, found: ReviewFacts) -> Iterator[str]:
    """A review as text."""
    yield f"Review {plain(found.name)} of {plain(model)}: {found.population_words}."
    how = f"by {', '.join(found.by)}" if found.by else found.importance
    yield (
        f"{found.drawn} drawn ({plain(how)}, seed {found.seed}) by {plain(found.drawn_by)}"
        f" at {plain(found.drawn_at)}."
    )
    for rater, one in found.progress.items():
        yield f"  {plain(rater)}: {one['given']} of {one['asked']} ratings"
    for signal in found.signals:
        yield ""
        yield from _signal_lines(signal)
    yield ""
    yield (
        "Estimates are for all these requests, weighted by how likely each was drawn. Requests that"
        " nobody rated are taken to be like the rated ones of their stratum."
    )


def _signal_lines(one: SignalResult) -> Iterator[str]:
    yield f"{plain(one.name)}: {_ESTIMATES.get(one.method, one.method)} {_number(one.estimate)}"
    unweighted = one.estimate.detail.get("unweighted")
    value = one.estimate.value
    if unweighted is not None and value is not None and abs(unweighted - value) > 1e-9:
        yield f"  not weighted it would be {unweighted:.4g}"
    covered = one.estimate.detail.get("covered", 1.0)
    if covered < 1:
        yield f"  strata without a rating are left out: {covered:.1%} of the requests are covered"
    for kind, number in one.agreement.items():
        yield f"  {_AGREEMENT.get(kind, kind)} {_number(number)}"
    if one.kappa_misleads:
        yield (
            "  Nearly all answers are the same, so kappa and alpha are low though raters agree;"
            " read the share of equal answers" + (" and AC1." if "ac1" in one.agreement else ".")
        )
    if one.disagreements:
        yield f"  {one.disagreements} items with different answers:"
        for each in one.disagreed[:MOST_SHOWN]:
            told = ", ".join(
                f"{plain(who)} {_answer(one, what)}" for who, what in each["answers"].items()
            )
            yield f"    item {each['item']}: {told}"
        if one.disagreements > MOST_SHOWN:
            yield f"    and {one.disagreements - MOST_SHOWN} more (--json)"


def _answer(one: SignalResult, value: float | str) -> str:
    if isinstance(value, str):
        return plain(value)
    if one.method == "pass_rate":
        return "true" if value else "false"
    return f"{value:g}"


def _number(one: Number) -> str:
    if one.value is None:
        return f"is not told: {one.reason}"
    if one.low is None or one.high is None:
        return f"{one.value:.4g} (n {one.n})"
    return f"{one.value:.4g} ({one.low:.4g} to {one.high:.4g}, n {one.n})"
