"""The packages AlarmBench compares with, pinned, and the contestants made of them."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.peers import EVIDENTLY, NANNYML, Peer

WHYLOGS = Peer(
    "whylogs",
    "whylogs",
    "1.6.4",
    "run_whylogs.py",
    ("whylogs[viz]==1.6.4", "pandas<3", "numpy<2", "pyarrow<21", "setuptools<81"),
)
# Its licence (Business Source License 1.1) allows evaluation; it is never a dependency.
ALIBI = Peer(
    "alibi-detect",
    "alibi-detect",
    "0.13.0",
    "run_alibi.py",
    ("numpy<2", "pyarrow<21", "pandas<3"),
)
RIVER = Peer("river", "river", "0.26.1", "run_river.py", ("pandas<3",))
SCRIPTS = {
    EVIDENTLY: "run_evidently.py",
    NANNYML: "run_nannyml.py",
    WHYLOGS: "run_whylogs.py",
    ALIBI: "run_alibi.py",
    RIVER: "run_river.py",
}


@dataclass(frozen=True)
class PeerRun:
    """One package judging windows of one length."""

    peer: Peer
    window_hours: int

    @property
    def script(self) -> str:
        """The script that runs it."""
        return SCRIPTS[self.peer]


@dataclass(frozen=True)
class PeerContestant:
    """A peer as people would use it.

    `statistic` keeps one of several that a run computes. `exact`: its settings are a list, each run
    by itself, so a threshold means that very setting; otherwise a score at or above it alarms.
    """

    name: str
    run: PeerRun
    rule: str
    statistic: str | None = None
    exact: bool = False


_DAY, _HOUR = 24, 1
PEER_CONTESTANTS = (
    PeerContestant(
        "Evidently, daily",
        PeerRun(EVIDENTLY, _DAY),
        "Wasserstein ÷ sd or Jensen-Shannon distance ≥ 0.1",
    ),
    PeerContestant(
        "NannyML, daily",
        PeerRun(NANNYML, _DAY),
        "Jensen-Shannon, missing, unseen beyond mean ± 3 sd of reference days",
    ),
    PeerContestant(
        "NannyML, hourly",
        PeerRun(NANNYML, _HOUR),
        "Jensen-Shannon, missing, unseen beyond mean ± 3 sd of reference hours",
    ),
    # Hourly it can't be used: a category that one hour of rows lacks has p = 0 in its chi-square.
    PeerContestant("whylogs, daily", PeerRun(WHYLOGS, _DAY), "KS or chi-square p < 0.05"),
    PeerContestant(
        "alibi-detect, daily", PeerRun(ALIBI, _DAY), "KS or chi-square p < 0.05 ÷ 20 columns"
    ),
    PeerContestant(
        "alibi-detect, hourly", PeerRun(ALIBI, _HOUR), "KS or chi-square p < 0.05 ÷ 20 columns"
    ),
    PeerContestant(
        "river ADWIN", PeerRun(RIVER, _HOUR), "delta 0.002, row by row", "ADWIN", exact=True
    ),
    PeerContestant(
        "river Page-Hinkley",
        PeerRun(RIVER, _HOUR),
        "threshold 50, row by row, standardised",
        "PageHinkley",
        exact=True,
    ),
)
PEER_RUNS = tuple(dict.fromkeys(contestant.run for contestant in PEER_CONTESTANTS))
