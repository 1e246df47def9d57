"""`python -m tests.faults --rounds 200`: faults on real processes, as a table and as JSON."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.machine import describe_machine
from tests.faults.rounds import Round, all_rounds, scene

PACKAGES = ("inferwatch", "sqlalchemy", "psycopg", "apscheduler")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the rounds; 1 when any property did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    given, console = parser.parse_args(arguments), Console()
    with scene(given.seed) as at:
        rounds = all_rounds(at, given.rounds, lambda one: console.print(_line(one)))
        kills = dict(at.processes.kills)
    facts = {"machine": describe_machine(PACKAGES), "seed": given.seed, "kills": kills,
             **summary(rounds)}  # fmt: skip
    console.print(_table(facts))
    console.print(_totals(facts))
    if given.json is not None:
        given.json.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    for example in facts["totals"].get("examples", ()):
        console.print(example, markup=False)
    return 1 if facts["violations"] else 0


def summary(rounds: Sequence[Round]) -> dict[str, Any]:
    """Counts of the whole run, and drain times of each kind of fault in seconds."""
    by_fault: dict[str, list[Round]] = defaultdict(list)
    for one in rounds:
        by_fault[one.fault].append(one)
    return {
        "rounds": len(rounds),
        "violations": {str(one.number): one.violations for one in rounds if one.violations},
        "totals": rounds[-1].verdict.as_json() if rounds else {},
        "faults": {
            fault: {
                "rounds": len(found),
                "violations": sum(bool(one.violations) for one in found),
                "drain_median_s": round(statistics.median(o.drain_seconds for o in found), 2),
                "drain_most_s": round(max(o.drain_seconds for o in found), 2),
                "drain_simulated_most_s": max(o.drain_simulated.total_seconds() for o in found),
            }
            for fault, found in sorted(by_fault.items())
        },
    }


def _line(one: Round) -> str:
    state = "held" if not one.violations else f"VIOLATED {one.violations}"
    return f"{one.number:4d}  {one.fault:18s} {state}  drained in {one.drain_seconds:.1f} s"


def _table(facts: dict[str, Any]) -> Table:
    table = Table(
        "fault", "rounds", "violated", "drained in s, median", "most", "simulated, most s"
    )
    for fault, row in facts["faults"].items():
        table.add_row(fault, *(f"{value:g}" for value in row.values()))
    return table


def _totals(facts: dict[str, Any]) -> str:
    totals = facts["totals"]
    counts = ", ".join(f"{name.replace('_', ' ')} {value}"
                       for name, value in totals.items() if name != "examples")  # fmt: skip
    return f"{facts['rounds']} rounds; killed {facts['kills']}; {counts}"


if __name__ == "__main__":
    sys.exit(main())
