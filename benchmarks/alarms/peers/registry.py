"""The packages AlarmBench compares with, pinned."""

from __future__ import annotations

from benchmarks.peers import EVIDENTLY, NANNYML, Peer

WHYLOGS = Peer(
    "whylogs",
    "whylogs",
    "1.6.4",
    "run_whylogs.py",
    ("whylogs[viz]==1.6.4", "pandas<3", "numpy<2", "setuptools<81"),
)
# Its licence (Business Source License 1.1) allows evaluation; it is never a dependency.
ALIBI = Peer("alibi-detect", "alibi-detect", "0.13.0", "run_alibi.py", ("numpy<2", "pandas<3"))
RIVER = Peer("river", "river", "0.26.1", "run_river.py", ("numpy<3",))
PACKAGES = (EVIDENTLY, NANNYML, WHYLOGS, ALIBI, RIVER)
