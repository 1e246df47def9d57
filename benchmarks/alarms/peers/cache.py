"""Runs peers on streams and keeps what they said: a stream once judged is never judged again."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.alarms.peers.registry import PeerRun
from benchmarks.alarms.scene import REFERENCE_HOURS
from benchmarks.peers import FOLDER, QUIET

CACHE = FOLDER / "alarm-statistics"
SCRIPT_FOLDER = Path(__file__).resolve().parent / "scripts"
TIMEOUT_SECONDS = 3_600
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
ENVIRONMENT = {
    **QUIET,
    "WHYLOGS_NO_ANALYTICS": "True",
    "HF_HUB_OFFLINE": "1",
    **dict.fromkeys(THREADS, "1"),
}


@dataclass(frozen=True)
class StreamFile:
    """Rows in an Arrow file; `label` names world, purpose, seed and kind."""

    label: str
    path: Path

    @property
    def content(self) -> str:
        """What the rows are, in 12 letters: another world or shift is another stream."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def verdict_path(run: PeerRun, stream: StreamFile, cache: Path = CACHE) -> Path:
    """Where the verdicts of a run on a stream lie."""
    sources = [SCRIPT_FOLDER / run.script, SCRIPT_FOLDER / "windows.py"]
    script = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:8]
    folder = cache / f"{run.peer.package}-{run.peer.version}-{script}" / f"{run.window_hours}h"
    return folder / f"{stream.label}-{stream.content}.arrow"


def judge(
    run: PeerRun,
    python: Path,
    streams: Sequence[StreamFile],
    tell: Callable[[str], None],
    cache: Path = CACHE,
) -> dict[str, pa.Table]:
    """The verdicts by label; what is not in the cache is computed now, in one process."""
    paths = {stream.label: verdict_path(run, stream, cache) for stream in streams}
    missing = [stream for stream in streams if not paths[stream.label].exists()]
    if missing:
        tell(f"{run.name}: {', '.join(s.label for s in missing)}")
        _compute(run, python, {stream: paths[stream.label] for stream in missing})
    return {label: read_table(path) for label, path in paths.items()}


def cost_of(run: PeerRun, stream: StreamFile, cache: Path = CACHE) -> Mapping[str, Any]:
    """Seconds, processor seconds and verdicts of a run that was done."""
    text = verdict_path(run, stream, cache).with_suffix(".json").read_text("utf-8")
    cost: dict[str, Any] = json.loads(text)
    return cost


def read_table(path: Path) -> pa.Table:
    """An Arrow file."""
    with pa.OSFile(str(path), "rb") as source:
        return pa.ipc.open_file(source).read_all()


def _compute(run: PeerRun, python: Path, wanted: Mapping[StreamFile, Path]) -> None:
    ending = f".{os.getpid()}.partial"  # two benchmarks may run at the same time
    partial = {stream: path.with_suffix(ending) for stream, path in wanted.items()}
    for path in wanted.values():
        path.parent.mkdir(parents=True, exist_ok=True)
    pairs = [str(path) for stream in wanted for path in (stream.path, partial[stream])]
    script = str(SCRIPT_FOLDER / run.script)
    done = subprocess.run(
        [str(python), script, str(REFERENCE_HOURS), str(run.window_hours), *pairs],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    costs = [line for line in done.stdout.splitlines() if line.startswith('{"seconds"')]
    for (stream, path), cost in zip(wanted.items(), costs, strict=False):
        path.with_suffix(".json").write_text(cost + "\n", "utf-8")
        partial[stream].replace(path)
    if done.returncode != 0:
        raise RuntimeError(f"{run.peer.name} ended with {done.returncode}:\n{done.stderr[-2000:]}")
