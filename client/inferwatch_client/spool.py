"""Bodies on disk: they outlive the process, a crash of the machine too, and take bounded space.

Each process writes into a folder of its own and holds a lock on it; folders whose process is gone
are adopted. A body is written beside its place, forced to disk and renamed, so that a file is whole
or not there; a checksum finds the rest. Sending a body twice is harmless: the collector knows
requests by their ids.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from inferwatch_client.bodies import Body
from inferwatch_client.items import Lane

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MEASURE_AGAIN_SECONDS = 5.0
MEASURE_SHARE = 0.02
"""Most of its time that a process spends on measuring the folder."""
MAX_HEADER_BYTES = 4096
SUFFIX, PARTIAL, LOCK = ".body", ".partial", "lock"


class SpoolFull(Exception):
    """The folder holds as much as it may."""


class SpoolDamaged(Exception):
    """A file that is not what was written."""


class Spool:
    """The spool of one process. Used by the background threads only; raises OSError as files do."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._opening = threading.Lock()
        self._own: Path | None = None
        self._lock_file: int | None = None
        self._held: list[tuple[Path, int]] = []
        self._number = 0
        self._bytes = 0
        self._measure_at = 0.0

    @property
    def bytes(self) -> int:
        """Bytes in the whole folder, as last measured, with what was written since."""
        return self._bytes

    def open(self) -> Path:
        """This process's folder, made and locked if need be."""
        with self._opening:  # both threads come here first
            return self._own or self._made()

    def _made(self) -> Path:
        if fcntl is None:
            raise OSError("a spool needs a system with flock, such as Linux")
        own = self._folder / f"{os.getpid()}-{secrets.token_hex(4)}"
        own.mkdir(mode=0o700, parents=True)
        handle = os.open(own / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # another process took the folder for one that was left behind
            os.close(handle)
            raise
        if not (own / LOCK).exists():  # … and was quicker to take it away
            os.close(handle)
            raise FileNotFoundError(f"{own} was taken away; another one is made at the next try")
        self._lock_file, self._own = handle, own
        return own

    def write(self, body: Body) -> Body:
        """The body with its payload on disk. Raises SpoolFull."""
        own, payload = self.open(), body.payload or b""
        header = _header(body, payload)
        size = len(header) + len(payload)
        if self._measure() + size > self._most_bytes:
            raise SpoolFull
        self._number += 1
        path = own / f"{self._number:012d}{SUFFIX}"
        _write_whole(path, header + payload)
        self._bytes += size
        return Body(body.lane, body.records, None, body.packed, str(path), body.attempts)

    def remove(self, body: Body) -> None:
        """The body is done with."""
        if body.path is not None:
            path = Path(body.path)
            size = _size_of(path)
            path.unlink(missing_ok=True)
            self._bytes -= size

    def orphans(self) -> Iterator[Body | None]:
        """Bodies of processes that are gone, now ours; None for a damaged file."""
        own = self.open()
        for folder in sorted(path for path in self._folder.iterdir() if path.is_dir()):
            if folder == own or any(folder == held for held, _ in self._held):
                continue
            handle = _lock_of(folder)
            if handle is None:
                continue
            found = sorted(folder.glob(f"*{SUFFIX}"))
            for partial in folder.glob(f"*{PARTIAL}"):
                partial.unlink(missing_ok=True)
            if not found:
                _remove_folder(folder, handle)
                continue
            self._held.append((folder, handle))
            for path in found:
                yield _described(path)

    def close(self) -> None:
        """Give up the locks; folders without a body go."""
        held = list(self._held)
        if self._own is not None and self._lock_file is not None:
            held.append((self._own, self._lock_file))
        for folder, handle in held:
            if any(folder.glob(f"*{SUFFIX}")):
                os.close(handle)
            else:
                _remove_folder(folder, handle)
        self.forget()

    def leave_to_parent(self) -> None:
        """In a forked child: the parent alone keeps its locks."""
        for handle in [self._lock_file, *(handle for _, handle in self._held)]:
            if handle is not None:
                os.close(handle)
        self.forget()

    def forget(self) -> None:
        """Hold nothing any more."""
        self._own, self._lock_file, self._held = None, None, []

    def _measure(self) -> int:
        began = time.monotonic()
        if began >= self._measure_at:
            self._bytes = sum(_size_of(path) for path in self._folder.glob(f"*/*{SUFFIX}"))
            ended = time.monotonic()
            self._measure_at = ended + max(MEASURE_AGAIN_SECONDS, (ended - began) / MEASURE_SHARE)
        return self._bytes


def read_payload(body: Body) -> bytes:
    """The payload of a body on disk. Raises SpoolDamaged, or OSError when it can't be read."""
    _, payload = _read(Path(body.path or ""))
    return payload


def _header(body: Body, payload: bytes) -> bytes:
    facts = {
        "route": body.lane.route,
        "model": body.lane.model,
        "leg": body.lane.leg,
        "records": body.records,
        "packed": body.packed,
        "size": len(payload),
        "crc32": zlib.crc32(payload),
    }
    return json.dumps(facts, separators=(",", ":")).encode("ascii") + b"\n"


def _read(path: Path) -> tuple[Body, bytes]:
    content = path.read_bytes()
    header, line_end, payload = content.partition(b"\n")
    try:
        facts = json.loads(header[:MAX_HEADER_BYTES])
        lane = Lane(str(facts["route"]), str(facts["model"]), str(facts["leg"]))
        body = Body(lane, int(facts["records"]), None, bool(facts["packed"]), str(path))
        whole = facts["size"] == len(payload) and facts["crc32"] == zlib.crc32(payload)
    except (ValueError, KeyError, TypeError):
        raise SpoolDamaged(path.name) from None
    if not line_end or not whole:
        raise SpoolDamaged(path.name)
    return body, payload


def _described(path: Path) -> Body | None:
    try:
        return _read(path)[0]
    except SpoolDamaged:
        path.unlink(missing_ok=True)
        return None


def _write_whole(path: Path, content: bytes) -> None:
    partial = path.with_suffix(PARTIAL)
    handle = os.open(partial, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _lock_of(folder: Path) -> int | None:
    """A lock on the folder of a process that is gone; None while its process lives."""
    try:
        handle = os.open(folder / LOCK, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def _remove_folder(folder: Path, handle: int) -> None:
    (folder / LOCK).unlink(missing_ok=True)
    os.close(handle)
    try:
        folder.rmdir()
    except OSError:  # somebody else's file: not ours to take away
        return


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
