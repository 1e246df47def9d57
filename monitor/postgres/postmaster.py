"""Who runs on a data folder: reads postmaster.pid and believes it only after a look at /proc.

A process id in a file proves nothing: after a crash or a container restart it may belong to
another program or to a zombie.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

PID_FILE = "postmaster.pid"


@dataclass(frozen=True)
class Postmaster:
    """A verified, living server process and the port it listens on (None while it starts)."""

    pid: int
    port: int | None


def find_postmaster(data_folder: Path) -> Postmaster | None:
    """The living server of `data_folder`, or None if there is no or only a stale pid file."""
    lines = _lines(data_folder / PID_FILE)
    if not lines or not lines[0].strip().isdigit():
        return None
    pid = int(lines[0])
    if not is_alive(pid) or not _serves(pid, data_folder):
        return None
    port = lines[3].strip() if len(lines) > 3 else ""
    return Postmaster(pid, int(port) if port.isdigit() else None)


def remove_leftovers(data_folder: Path, socket_folder: Path | None) -> None:
    """Remove the pid file of a server that is gone, and its socket with the lock beside it.

    Call it only while holding both locks and after `find_postmaster` found nobody. Should a
    process of the old server live all the same, the new server still refuses to start, because
    PostgreSQL finds the shared memory of the data folder in use.
    """
    (data_folder / PID_FILE).unlink(missing_ok=True)
    for leftover in socket_folder.glob(".s.PGSQL.*") if socket_folder is not None else ():
        leftover.unlink(missing_ok=True)


def is_alive(pid: int) -> bool:
    """Whether a process runs under this id; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    # The command name is in brackets and may hold anything, so the state follows the last one.
    state = stat.rpartition(")")[2].split()[0]
    return state not in {"Z", "X"}


def _serves(pid: int, data_folder: Path) -> bool:
    arguments = _command_line(pid)
    if not arguments or not _is_postgres(pid, arguments[0]):
        return False
    wanted = data_folder.resolve()
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == wanted
    except OSError:
        # Reading another user's cwd needs a right that root lacks in many containers.
        return any(
            flag == "-D" and Path(value).resolve() == wanted for flag, value in pairwise(arguments)
        )


def _is_postgres(pid: int, first_argument: str) -> bool:
    try:
        name = Path(f"/proc/{pid}/exe").readlink().name.removesuffix(" (deleted)")
    except OSError:
        name = Path(first_argument).name
    return name == "postgres"


def _command_line(pid: int) -> list[str]:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return [os.fsdecode(part) for part in raw.split(b"\0")][:-1]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
