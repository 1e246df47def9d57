"""What happens to clients when the process forks or ends."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from typing import Protocol


class Forkable(Protocol):
    """What a client does then."""

    def start_anew(self) -> None:
        """In a forked child."""
        ...

    def close(self) -> None:
        """At the end of the process."""
        ...


_CLIENTS: weakref.WeakSet[Forkable] = weakref.WeakSet()
_ONCE = threading.Lock()
_hooked: set[str] = set()


def watch_process(client: Forkable) -> None:
    """Start anew in forked children, and close at the end of the process."""
    with _ONCE:
        _CLIENTS.add(client)
        if "all" not in _hooked:
            _hooked.add("all")
            atexit.register(_close_all)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=_start_anew)


def close_with_multiprocessing() -> None:
    """Children of multiprocessing end without atexit: they run finalizers of their own instead."""
    name = f"multiprocessing {os.getpid()}"
    if name in _hooked or not in_multiprocessing_child():
        return
    _hooked.add(name)
    from multiprocessing.util import Finalize

    Finalize(None, _close_all, exitpriority=10)


def in_multiprocessing_child() -> bool:
    """Whether this process ends without running atexit's functions, as multiprocessing's do."""
    module = sys.modules.get("multiprocessing.process")
    return module is not None and module.parent_process() is not None


def _start_anew() -> None:
    global _ONCE  # noqa: PLW0603 - another thread of the parent may have held the old one
    _ONCE = threading.Lock()
    for client in list(_CLIENTS):
        client.start_anew()


def _close_all() -> None:
    for client in list(_CLIENTS):
        client.close()
