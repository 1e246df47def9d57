"""Virtual environments of real producers: made once from pinned requirements, kept in a folder.

Their pins clash with ours and with each other, so none is installed beside the product. Producers
that are too heavy for every change run weekly, with INFERWATCH_WEEKLY=1 in the environment.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REQUIREMENTS = Path(__file__).parent / "requirements"
KEPT = Path(os.environ.get("INFERWATCH_PRODUCER_VENVS", ROOT / ".producervenvs"))
INSTALL_SECONDS = 280
weekly = pytest.mark.skipif(
    os.environ.get("INFERWATCH_WEEKLY") != "1",
    reason="a heavy producer: set INFERWATCH_WEEKLY=1 to start it",
)


def producer_venv(name: str) -> Path:
    """The folder of an environment with `requirements/NAME.txt`, every version pinned there.

    A changed file makes a new one. Two test processes never make the same one at once.
    """
    wanted = REQUIREMENTS / f"{name}.txt"
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]
    folder = KEPT / f"{name}-{digest}"
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _run(sys.executable, "-m", "venv", str(folder))
            pip = str(folder / "bin" / "python")
            _run(pip, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                 "-r", str(wanted))  # fmt: skip
            (folder / "complete").touch()
    return folder


def producer_python(name: str) -> str:
    """The interpreter of that environment."""
    return str(producer_venv(name) / "bin" / "python")


def _run(*command: str) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
    )
    if done.returncode:
        pytest.fail(f"{' '.join(command[:4])} … failed:\n{done.stderr[-2000:]}")
