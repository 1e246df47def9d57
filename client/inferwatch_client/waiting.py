"""The bounded line between the model's threads and the background. Wakes nobody.

The lock is reentrant, so that a signal handler that logs can't block the thread it interrupts. It
is held for single steps only: taking everything swaps the line in one go.
"""

from __future__ import annotations

import threading
from collections import deque

from inferwatch_client.items import Item


class Waiting:
    """Items in memory, and the bytes of everything that waits there, packed bodies included."""

    def __init__(self, lock: threading.RLock, most_records: int, most_bytes: int) -> None:
        self._lock = lock
        self._most_records = most_records
        self._most_bytes = most_bytes
        self._items: deque[Item] = deque()
        self._unpacked_bytes = 0
        self.records = 0
        self.bytes = 0
        self.offered = 0
        self.open = False

    def put(self, item: Item) -> bool:
        """Whether the line is open and there was room."""
        _, _, _, _, count, size = item
        with self._lock:
            records, taken = self.records + count, self.bytes + size
            if taken > self._most_bytes or records > self._most_records or not self.open:
                return False
            self.offered += count
            self.records = records
            self.bytes = taken
            self._unpacked_bytes += size
            self._items.append(item)
            return True

    def take(self) -> deque[Item]:
        """All items; their bytes and records count until `release`."""
        with self._lock:
            taken, self._items = self._items, deque()
            self._unpacked_bytes = 0
            return taken

    def is_half_full(self) -> bool:
        """Whether packing what waits would free half of the memory that is left for it."""
        unpacked = self._unpacked_bytes
        return unpacked > (self._most_bytes - self.bytes + unpacked) // 2

    def release(self, records: int, size: int) -> None:
        """Records and bytes no longer wait in memory."""
        with self._lock:
            self.records -= records
            self.bytes -= size

    def hold(self, records: int, size: int) -> None:
        """Packed records wait in memory; they are let in always, for they were counted before."""
        with self._lock:
            self.records += records
            self.bytes += size

    def __len__(self) -> int:
        return len(self._items)
