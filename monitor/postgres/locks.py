"""File locks (flock): one for the caller that starts or stops, one that the server itself holds.

The second is inherited by every process of the server, so it is free exactly when none of them
lives any more, whatever process ids say and whichever container they run in.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from monitor.errors import EmbeddedPostgresError

_POLL_SECONDS = 0.05


@contextmanager
def exclusive(path: Path, timeout: float) -> Iterator[None]:
    """Hold the lock on `path`; raises EmbeddedPostgresError when it stays taken for `timeout` s."""
    descriptor = _wait_for_lock(path, timeout)
    if descriptor is None:
        raise EmbeddedPostgresError(
            f"another process has been starting or stopping the database for {timeout:.0f} s "
            f"(lock {path}). Wait for it or end it, then try again."
        )
    try:
        yield
    finally:
        os.close(descriptor)


def take_server_lock(path: Path, timeout: float) -> int | None:
    """A descriptor that holds the server's lock, to be handed to the server; None if taken.

    Waiting matters after a crash: orphaned processes of the old server may need a moment to end.
    """
    return _wait_for_lock(path, timeout)


def server_lock_is_held(path: Path) -> bool:
    """Whether some process of the server lives. A shared try, so that askers don't disturb."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _wait_for_lock(path: Path, timeout: float) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + timeout
    while not _try(descriptor, fcntl.LOCK_EX):
        if time.monotonic() >= deadline:
            os.close(descriptor)
            return None
        time.sleep(_POLL_SECONDS)
    return descriptor


def _try(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
