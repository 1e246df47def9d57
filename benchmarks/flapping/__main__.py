"""`python -m benchmarks.flapping`: twenty flapping inputs, ours and Alertmanager's side by side.

Each shape is a day of windows of 15 minutes. "Plain" is a bare threshold; "steadied" waits for 2
windows before it fires and for 4 before it is over, and ours takes 0.15 instead of 0.2 as the
threshold of recovery, which Prometheus' rules do not have. Counted are changes of state, messages,
real incidents that the receiver never knew of, and ends told in the middle of one.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.flapping import alertmanager, ours
from benchmarks.flapping.shapes import Shape, shapes
from benchmarks.flapping.tally import Tally
from benchmarks.machine import describe_machine
from benchmarks.table import show, write_json

PLAIN, STEADIED = "plain", "steadied"
SYSTEMS = ("inferwatch", "alertmanager")


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    seed: int
    seconds_a_window: float
    json: Path | None


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flapping", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    speed = "how fast Alertmanager's clock runs; shorter loads the machine more"
    parser.add_argument("--seconds-a-window", type=float, default=0.5, help=speed)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    given = parser.parse_args(arguments)
    if not 0.05 <= given.seconds_a_window <= 60:
        parser.error("--seconds-a-window is from 0.05 to 60")
    return Options(given.seed, given.seconds_a_window, given.json)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print the table, write the JSON."""
    options, console = parse(arguments), Console()
    found = shapes(options.seed)
    tallies = measure(found, options.seconds_a_window, console)
    report(console, found, tallies)
    if options.json is not None:
        write_json(options.json, results(found, tallies, options))
        console.print(f"written to {options.json}")


Tallies = Mapping[tuple[str, str], Mapping[str, Tally]]


def measure(found: Sequence[Shape], seconds: float, console: Console) -> Tallies:
    """What each system told under each policy."""
    tallies = {
        ("inferwatch", PLAIN): ours.run(found, ours.Policy()),
        ("inferwatch", STEADIED): ours.run(found, ours.Policy(2, 4, 0.15)),
    }
    for name, policy in ((PLAIN, alertmanager.Policy()), (STEADIED, alertmanager.Policy(2, 4))):
        with console.status(f"Alertmanager, {name}: {seconds * 100:.0f} s"):
            tallies["alertmanager", name] = alertmanager.run(found, policy, seconds)
    return tallies


def report(console: Console, found: Sequence[Shape], tallies: Tallies) -> None:
    """Changes of state / messages / missed incidents / ends told in the middle of one."""
    keys = [(system, policy) for policy in (PLAIN, STEADIED) for system in SYSTEMS]
    headers = ("shape", "breaches", "incidents", *(f"{system} {policy}" for system, policy in keys))
    rows = [
        (
            shape.name, str(shape.breaches), str(len(shape.incidents)),
            *(_cell(tallies[key][shape.name], shape) for key in keys),
        )
        for shape in found
    ]  # fmt: skip
    sums = [_sums(found, tallies[key]) for key in keys]
    rows.append(("all", "", "", *(" / ".join(map(str, each.values())) for each in sums)))
    title = "changes of state / messages / incidents missed / ends told in the middle of one"
    show(console, title, headers, rows)


def _cell(tally: Tally, shape: Shape) -> str:
    return " / ".join(map(str, _numbers(tally, shape).values()))


def _numbers(tally: Tally, shape: Shape) -> dict[str, int]:
    return {
        "transitions": tally.transitions or 0,
        "messages": tally.messages,
        "missed": tally.missed(shape),
        "false_ends": tally.false_ends(shape),
    }


def _sums(found: Sequence[Shape], tallies: Mapping[str, Tally]) -> dict[str, int]:
    each = [_numbers(tallies[shape.name], shape) for shape in found]
    return {name: sum(numbers[name] for numbers in each) for name in each[0]}


def results(found: Sequence[Shape], tallies: Tallies, options: Options) -> dict[str, Any]:
    """The JSON value."""
    return {
        "summary": {f"{s}_{p}": _sums(found, tallies[s, p]) for s, p in tallies},
        "shapes": {
            shape.name: {
                "breaches": shape.breaches,
                "incidents": [list(each) for each in shape.incidents],
                **{f"{s}_{p}": _numbers(tallies[s, p][shape.name], shape) for s, p in tallies},
            }
            for shape in found
        },
        "seed": options.seed,
        "seconds_a_window": options.seconds_a_window,
        "machine": describe_machine(("inferwatch",)),
    }


if __name__ == "__main__":
    main()
