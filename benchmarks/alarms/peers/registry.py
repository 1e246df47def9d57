"""The packages AlarmBench compares with, pinned, and the contestants made of them."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.peers import EVIDENTLY, NANNYML, Peer

WHYLOGS = Peer(
    "whylogs",
    "whylogs",
    "1.6.4",
    "",
    ("whylogs[viz]==1.6.4", "pandas<3", "numpy<2", "pyarrow<21", "setuptools<81"),
)
# Its licence (Business Source License 1.1) allows evaluation; it is never a dependency.
ALIBI = Peer(
    "alibi-detect",
    "alibi-detect",
    "0.13.0",
    "",
    ("numpy<2", "pyarrow<21", "pandas<3"),
)
RIVER = Peer("river", "river", "0.26.1", "", ("pandas<3",))


@dataclass(frozen=True)
class PeerRun:
    """One package judging windows of one length.

    `whole`: it looks at all columns together, so a shift must be shown among the clean columns.
    """

    peer: Peer
    window_hours: int
    script: str
    whole: bool = False

    @property
    def name(self) -> str:
        """For messages and costs."""
        return f"{self.script.removeprefix('run_').removesuffix('.py')} {self.window_hours} h"


@dataclass(frozen=True)
class PeerContestant:
    """A peer as people would use it: the verdicts of one or several runs together.

    `statistic` keeps one of several that a run computes. `exact`: its settings are a list, each run
    by itself, so a threshold means that very setting; otherwise a score at or above it alarms.
    """

    name: str
    runs: tuple[PeerRun, ...]
    rule: str
    statistic: str | None = None
    exact: bool = False

    @property
    def version(self) -> str:
        """Of its package."""
        return self.runs[0].peer.version


_DAY, _HOUR = 24, 1
EVIDENTLY_DAILY = PeerRun(EVIDENTLY, _DAY, "run_evidently.py")
NANNYML_DAILY = PeerRun(NANNYML, _DAY, "run_nannyml.py")
NANNYML_HOURLY = PeerRun(NANNYML, _HOUR, "run_nannyml.py")
NANNYML_PCA = PeerRun(NANNYML, _DAY, "run_nannyml_pca.py", whole=True)
WHYLOGS_DAILY = PeerRun(WHYLOGS, _DAY, "run_whylogs.py")
ALIBI_DAILY = PeerRun(ALIBI, _DAY, "run_alibi.py")
ALIBI_HOURLY = PeerRun(ALIBI, _HOUR, "run_alibi.py")
RIVER_ROWS = PeerRun(RIVER, _HOUR, "run_river.py")
_P_VALUES = "KS or chi-square p < 0.05"
PEER_CONTESTANTS = (
    PeerContestant(
        "Evidently, daily",
        (EVIDENTLY_DAILY,),
        "Wasserstein ÷ sd or Jensen-Shannon distance ≥ 0.1",
    ),
    PeerContestant(
        "NannyML, daily",
        (NANNYML_DAILY, NANNYML_PCA),
        "Jensen-Shannon, missing, unseen, PCA error beyond mean ± 3 sd of reference days",
    ),
    PeerContestant(
        "NannyML, hourly",
        (NANNYML_HOURLY,),
        "Jensen-Shannon, missing, unseen beyond mean ± 3 sd of reference hours",
    ),
    # Hourly it can't be used: a category that one hour of rows lacks has p = 0 in its chi-square.
    PeerContestant("whylogs, daily", (WHYLOGS_DAILY,), _P_VALUES),
    PeerContestant("alibi-detect, daily", (ALIBI_DAILY,), f"{_P_VALUES} ÷ 20 columns"),
    PeerContestant("alibi-detect, hourly", (ALIBI_HOURLY,), f"{_P_VALUES} ÷ 20 columns"),
    PeerContestant("river ADWIN", (RIVER_ROWS,), "delta 0.002, row by row", "ADWIN", exact=True),
    PeerContestant(
        "river Page-Hinkley",
        (RIVER_ROWS,),
        "threshold 50, row by row, standardised",
        "PageHinkley",
        exact=True,
    ),
)
PEER_RUNS = tuple(dict.fromkeys(run for one in PEER_CONTESTANTS for run in one.runs))
SMOKE_RUNS = (NANNYML_DAILY, NANNYML_PCA, WHYLOGS_DAILY, ALIBI_DAILY)
