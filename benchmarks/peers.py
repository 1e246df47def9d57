"""The programs drift is compared with, each in a virtual environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / ".benchvenvs"
TIMEOUT_SECONDS = 1_800
QUIET = {
    "NML_DISABLE_USAGE_LOGGING": "1",
    "DO_NOT_TRACK": "1",
    "PYTHONWARNINGS": "ignore",
    "MPLBACKEND": "agg",
}


@dataclass(frozen=True)
class Peer:
    """A package, its pinned version, and the script here that runs its drift calculation.

    `also` are packages that its environment needs besides.
    """

    name: str
    package: str
    version: str
    script: str
    also: tuple[str, ...] = ()

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.package}=={self.version}"


# NannyML imports statsmodels without asking for it: another of its packages once brought it along.
NANNYML = Peer("NannyML", "nannyml", "0.13.1", "peer_nannyml.py", ("statsmodels",))
# This version of Evidently can't be imported with pandas 3, which its own requirements allow.
EVIDENTLY = Peer("Evidently", "evidently", "0.7.23", "peer_evidently.py", ("pandas<3",))


def ensure_peer(peer: Peer, tell: Callable[[str], None], folder: Path = FOLDER) -> Path:
    """The Python of the peer's environment, made on first use (minutes, needs a package index)."""
    home = folder / f"{peer.package}-{peer.version}"
    python = home / "bin" / "python"
    finished = home / "finished"
    if not finished.exists():
        tell(f"installing {peer.requirement} into {home}")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        subprocess.run(
            [
                str(python),
                "-m",
                "pip",
                "install",
                "--quiet",
                peer.requirement,
                "pyarrow",
                *peer.also,
            ],
            check=True,
        )
        finished.touch()
    return python


def run_peer(peer: Peer, python: Path, reference: Path, current: Path) -> dict[str, Any]:
    """What the peer's script measured: `seconds` of the calculation alone, and what it found.

    The rows lie in Arrow files; reading them into a frame is not timed.
    """
    done = subprocess.run(
        [str(python), str(HERE / peer.script), str(reference), str(current)],
        env={**os.environ, **QUIET},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{peer.name} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured
