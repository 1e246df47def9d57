"""CPU seconds of processes, from /proc; and which processes belong together."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import psycopg

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time that these processes have used; those that ended count nothing."""
    total = 0
    for pid in pids:
        fields = _stat(pid)
        if fields is not None:
            total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def family(pid: int) -> list[int]:
    """A process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))) is not None:
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def parent(pid: int) -> int | None:
    """The parent of a process of this machine; None when there is no such process here."""
    fields = _stat(pid)
    return int(fields[1]) if fields is not None else None


def postgres_process(url: str) -> int:
    """The server's main process on this machine; 0 when it runs elsewhere."""
    with psycopg.connect(url) as connection:
        return parent(connection.info.backend_pid) or 0


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat behind the name: state, parent, …"""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def peak_megabytes(pids: Iterable[int]) -> float:
    """The most memory that these processes held so far, added up; 0 for those that ended."""
    return sum(_memory(pid, "VmHWM") for pid in pids)


class MemoryWatch:
    """The most memory that this process holds beyond what it held at the beginning, in MB."""

    def __init__(self) -> None:
        (_PROC / "self" / "clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        self._before = _memory(os.getpid(), "VmRSS")

    def peak(self) -> float:
        """So far."""
        return peak_megabytes([os.getpid()]) - self._before


def _memory(pid: int, name: str) -> float:
    try:
        text = (_PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0.0
    found = [line.split()[1] for line in text.splitlines() if line.startswith(f"{name}:")]
    return int(found[0]) / 1024 if found else 0.0
