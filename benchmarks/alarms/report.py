"""AlarmBench's tables and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from benchmarks.alarms.contest import Contest, Entry
from benchmarks.alarms.metrics import WITHIN_HOURS, Delays, Rate
from benchmarks.alarms.months import SHIFT_SD, WorldOutcome
from benchmarks.alarms.shifts import SHIFTS
from benchmarks.table import show

P_VALUES = "Held-out p-values below, in percent (! beyond binomial limit, !! months agree)"


def show_worlds(console: Console, outcomes: Sequence[WorldOutcome]) -> None:
    """False incidents, availability and the shifted column of each world."""
    for one in outcomes:
        console.print(f"{one.name}: {one.tells}", highlight=False)
    headers = ("world", "months", "false/month", "95 % upper", "ratio", "bar", "", "CPU s")
    title = "False incidents where nothing is wrong"
    show(console, title, headers, [_promise_row(one) for one in outcomes])
    headers = ("world", "open h", "24 h merge", "available", "found", "median h", "mean delay h")
    title = f"Besides, a month; and a shift (+{SHIFT_SD:g} sd, or the file's)"
    show(console, title, headers, [_beside_row(one) for one in outcomes])
    rows = [(one.name, *_exceedance_cells(one)) for one in outcomes if one.has_tests]
    if rows:
        scales = outcomes[0].months[0].tests
        headers = ("world", *(f"{word} {what}" for word in scales for what in ("1%", ".1%")))
        show(console, P_VALUES, headers, rows)


def _promise_row(one: WorldOutcome) -> tuple[str, ...]:
    rate = one.rate
    return (
        one.name,
        str(len(one.months)),
        f"{rate.per_month:.3f}",
        f"{rate.upper95:.3f}",
        f"{rate.promise_ratio:.2f}",
        "" if one.bar is None else f"≤ {one.bar:g}",
        _verdict(one),
        f"{one.mean('seconds'):.2f}",
    )


def _verdict(one: WorldOutcome) -> str:
    if one.bar is None:
        return ""
    if one.rate.promise_ratio <= one.bar:
        return "held"
    return "too few months" if Rate(0, len(one.months)).upper95 > one.bar else "NOT held"


def _beside_row(one: WorldOutcome) -> tuple[str, ...]:
    delays = one.delays
    of_shift = ("", "", "")
    if delays is not None:
        found = f"{delays.within(math.inf):.0%}"
        of_shift = (found, f"{delays.median:.0f}", f"{delays.mean:.0f}")
    return (
        one.name,
        f"{one.mean('open_hours'):.1f}",
        f"{one.plain_rate.per_month:.3f}",
        f"{one.mean('share_available'):.1%}",
        *of_shift,
    )


def _exceedance_cells(one: WorldOutcome) -> list[str]:
    cells = []
    for scale in one.months[0].tests:
        for found in one.exceedances(scale)[1]:
            mark = "!" * (found.beyond_binomial + found.beyond_months)
            cells.append(f"{100 * found.share:.2f}{mark}")
    return cells


def show_contest(console: Console, contest: Contest) -> None:
    """Two tables (as shipped, tuned), delays by shift, and the verdict."""
    for tuned, title in ((False, "As shipped"), (True, "Tuned to 1 false incident a month in S3")):
        entries = [one for one in contest.entries if one.tuned is tuned]
        headers = (
            "contestant", "false/month", "95 % upper", "open h", "mean delay h", "owed",
            *(f"≤ {hours:g} h" for hours in WITHIN_HOURS),
        )  # fmt: skip
        show(console, title, headers, [_entry_row(one) for one in entries])
        for one in entries:
            console.print(f"  {one.name} {one.version}: {one.setting}", highlight=False)
    rows = [(one.setting, *_entry_row(one)[1:6]) for one in contest.ladder]
    headers = ("promise", "false/month", "95 % upper", "open h", "mean delay h", "owed")
    show(console, f"{contest.our_name} at other promises", headers, rows)
    _show_shifts(console, contest)
    _show_verdict(console, contest)


def _entry_row(one: Entry) -> tuple[str, ...]:
    delays = one.all_delays
    return (
        one.name,
        f"{one.false.per_month:.2f}",
        f"{one.false.upper95:.2f}",
        f"{one.open_hours:.0f}",
        f"{delays.mean:.1f}",
        f"{one.all_owed_delays.mean:.1f}",
        *(f"{delays.within(hours):.0%}" for hours in WITHIN_HOURS),
    )


def _show_shifts(console: Console, contest: Contest) -> None:
    """Mean restricted delay of ours as shipped (first) and of everybody tuned."""
    entries = [contest.ours, *(one for one in contest.entries if one.tuned)]
    rows = [
        (shift.tells, *(f"{Delays(one.delays[name]).mean:.0f}" for one in entries))
        for name, shift in SHIFTS.items()
    ]
    headers = ("shift", *(str(number) for number in range(len(entries))))
    show(console, "Mean restricted delay by shift, hours", headers, rows)
    for number, one in enumerate(entries):
        form = "tuned" if one.tuned else "as shipped"
        console.print(f"  {number}: {one.name}, {form}", highlight=False)


def _show_verdict(console: Console, contest: Contest) -> None:
    best, difference = contest.best_peer, contest.difference
    if best is None or difference is None:
        console.print("no peer took part")
        return
    console.print(
        f"best tuned peer: {best.name}; its mean delay minus ours {difference.mean:.1f} h,"
        f" 95 % interval {difference.low:.1f} to {difference.high:.1f}"
    )
    for name, shifts in contest.worse_than_a_peer.items():
        told = ", ".join(SHIFTS[shift].tells for shift in shifts)
        console.print(f"found more than 24 h sooner by {name}: {told}")


def worlds_json(outcomes: Sequence[WorldOutcome]) -> list[dict[str, Any]]:
    """One object a world."""
    return [_world_json(one) for one in outcomes]


def _world_json(one: WorldOutcome) -> dict[str, Any]:
    delays = one.delays
    shift = None
    if delays is not None:
        shift = {
            "planted": len(delays.hours),
            "found": round(delays.within(math.inf), 4),
            "median_delay_hours": _finite(delays.median),
            "mean_rmdt_hours": round(delays.mean, 2),
        }
    return {
        "name": one.name,
        "tells": one.tells,
        "months": len(one.months),
        **_rate_json(one.rate),
        "bar": one.bar,
        "held": None if one.bar is None else one.rate.promise_ratio <= one.bar,
        "merged_24_hours": _rate_json(one.plain_rate),
        "open_hours_a_month": round(one.mean("open_hours"), 2),
        "share_available": round(one.mean("share_available"), 4),
        "shift": shift,
        "p_values": {scale: _tests_json(one, scale) for scale in one.months[0].tests},
        "cpu_seconds_a_month": round(one.mean("seconds"), 3),
    }


def _tests_json(one: WorldOutcome, scale: str) -> dict[str, Any]:
    n, shares = one.exceedances(scale)
    found: dict[str, Any] = {"tests": n}
    for one_level in shares:
        found[f"below_{one_level.level:g}"] = {
            "share": _finite(one_level.share),
            "binomial_limit": _finite(one_level.limit),
            "low_by_months": _finite(one_level.low),
        }
    return found


def _rate_json(rate: Rate) -> dict[str, Any]:
    return {
        "false_incidents": rate.count,
        "false_incidents_per_month": round(rate.per_month, 4),
        "upper95": round(rate.upper95, 4),
        "promise_ratio": round(rate.promise_ratio, 4),
    }


def contest_json(contest: Contest) -> dict[str, Any]:
    """Contestants, and the comparison of the best peer with ours."""
    best, difference = contest.best_peer, contest.difference
    compared = None
    if best is not None and difference is not None:
        compared = {
            "best_peer": best.name,
            "mean_hours_longer": round(difference.mean, 2),
            "low": round(difference.low, 2),
            "high": round(difference.high, 2),
            "more_than_24_hours_sooner": contest.worse_than_a_peer,
        }
    return {
        "contestants": [_entry_json(one) for one in contest.entries],
        "comparison": compared,
        "other_promises": [_entry_json(one) for one in contest.ladder],
    }


def _entry_json(one: Entry) -> dict[str, Any]:
    delays = one.all_delays
    return {
        "name": one.name,
        "version": one.version,
        "tuned": one.tuned,
        "setting": one.setting,
        "false_incidents_per_month": round(one.false.per_month, 4),
        "upper95": round(one.false.upper95, 4),
        "months": one.false.months,
        "merged_24_hours_per_month": round(one.false_plain.per_month, 4),
        "open_hours_a_month": round(one.open_hours, 1),
        "mean_rmdt_hours": round(delays.mean, 2),
        "mean_rmdt_owed_hours": round(one.all_owed_delays.mean, 2),
        "found_within": {f"{hours:g}": round(delays.within(hours), 4) for hours in WITHIN_HOURS},
        "rmdt_by_shift": _by_shift(one),
        "cpu_seconds_a_stream": {kind: round(cost, 2) for kind, cost in one.cost.items()},
    }


def _by_shift(one: Entry) -> Mapping[str, float]:
    return {name: round(Delays(hours).mean, 2) for name, hours in one.delays.items()}


def _finite(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None
