"""The command line of AlarmBench."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.alarms.worlds.registry import WORLDS

SMOKE_MONTHS, SMOKE_SEEDS = 3, 1
PROCESSES = 2


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    worlds: tuple[str, ...]
    months: int
    seed: int
    seeds: int
    tune_seeds: int
    smoke: bool
    peers: bool
    comparison: bool
    world: Path | None
    json: Path | None


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.alarms",
        description="How often drift alarms are false, and how soon real shifts are found.",
    )
    parser.add_argument(
        "--worlds", default=",".join(WORLDS), help="names with commas between; none: ''"
    )
    parser.add_argument("--months", type=int, help="simulated months a world (200)")
    parser.add_argument("--seed", type=int, default=1, help="start of all chance")
    parser.add_argument("--seeds", type=int, help="streams the contestants are judged on (10)")
    parser.add_argument("--tune-seeds", type=int, help="clean streams peers are tuned on (12)")
    parser.add_argument(
        "--smoke", action="store_true", help="a try in 3 minutes: its figures say little"
    )
    parser.add_argument("--no-peers", action="store_true", help="Inferwatch alone")
    parser.add_argument("--no-comparison", action="store_true", help="worlds only")
    parser.add_argument(
        "--world", type=Path, metavar="FILE.py", help="only the world that this file defines"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    return _options(parser, parser.parse_args(arguments))


def _options(parser: argparse.ArgumentParser, given: argparse.Namespace) -> Options:
    names = tuple(name for name in given.worlds.split(",") if name)
    unknown = [name for name in names if name not in WORLDS]
    if unknown:
        parser.error(f"no world {', '.join(unknown)}; there are {', '.join(WORLDS)}")
    months = given.months or (SMOKE_MONTHS if given.smoke else 200)
    seeds = given.seeds or (SMOKE_SEEDS if given.smoke else 10)
    tune_seeds = given.tune_seeds or (SMOKE_SEEDS if given.smoke else 12)
    for name, value in (("months", months), ("seeds", seeds), ("tune-seeds", tune_seeds)):
        if value < 1:
            parser.error(f"--{name} is at least 1")
    return Options(
        worlds=names,
        months=months,
        seed=given.seed,
        seeds=seeds,
        tune_seeds=tune_seeds,
        smoke=given.smoke,
        peers=not given.no_peers,
        comparison=not given.no_comparison and given.world is None,
        world=given.world,
        json=given.json,
    )
