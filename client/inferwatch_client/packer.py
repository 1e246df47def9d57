"""Turns what waits into bodies. Runs in a background thread that steps aside for the model's.

Encoding holds the interpreter's lock, so it goes record by record and sleeps after each fifth of a
millisecond: a thread of the model waits no longer for it than that, or a millisecond once a quarter
of the memory is taken, when the alternative is to drop records.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator

from inferwatch_client.bodies import MAX_PLAIN_BYTES, pack
from inferwatch_client.counters import Counters
from inferwatch_client.encoding import ReservedName, lines_of
from inferwatch_client.items import Item, Kind, Lane
from inferwatch_client.options import Options
from inferwatch_client.outbox import Outbox
from inferwatch_client.waiting import Waiting

WORK_SECONDS, HURRIED_WORK_SECONDS, REST_SECONDS = 0.0002, 0.001, 0.0002


class Packer:
    """Packs everything that waits; `rest` is time.sleep, or nothing at the end of the process."""

    def __init__(
        self, options: Options, waiting: Waiting, outbox: Outbox, counters: Counters
    ) -> None:
        self._options = options
        self._waiting = waiting
        self._outbox = outbox
        self._counters = counters
        self.rest: Callable[[float], None] = time.sleep

    def step(self) -> bool:
        """Pack what waits now; whether there was anything."""
        items = self._waiting.take()
        if not items:
            return False
        lines: dict[Lane, list[bytes]] = defaultdict(list)
        held: dict[Lane, list[int]] = defaultdict(
            lambda: [0, 0, 0]
        )  # bytes of JSON, records, memory
        began = time.perf_counter()
        while items:
            item = items.popleft()
            lane_held = held[item.lane]
            for line in self._lines(item):
                if lane_held[0] + len(line) > MAX_PLAIN_BYTES or self._is_full(lines[item.lane]):
                    self._seal(item.lane, lines[item.lane], lane_held)
                    lines[item.lane] = []
                lines[item.lane].append(line)
                lane_held[0] += len(line) + 1
                if time.perf_counter() - began > self._work_seconds():
                    self.rest(REST_SECONDS)
                    began = time.perf_counter()
            lane_held[1] += item.records
            lane_held[2] += item.size
            if item.kind is Kind.REGISTRATION:  # one a body
                self._seal(item.lane, lines.pop(item.lane, []), lane_held)
        for lane, packed in lines.items():
            self._seal(lane, packed, held[lane])
        return True

    def _work_seconds(self) -> float:
        crowded = self._waiting.bytes * 4 > self._options.memory_bytes
        return HURRIED_WORK_SECONDS if crowded else WORK_SECONDS

    def _is_full(self, lines: list[bytes]) -> bool:
        return len(lines) >= self._options.batch_records

    def _seal(self, lane: Lane, lines: list[bytes], held: list[int]) -> None:
        """Hand lines on, then give back the memory of the items they come from."""
        if lines:
            self._outbox.add(pack(lane, lines))
        self._waiting.release(held[1], held[2])
        held[:] = [0, 0, 0]

    def _lines(self, item: Item) -> Iterator[bytes]:
        """The item's records as JSON; those that can't be sent are dropped, with the reason."""
        made = 0
        try:
            for line in lines_of(item):
                made += 1
                if len(line) > self._options.record_bytes:
                    self._drop(item, "too_large", 1, f"{len(line)} bytes")
                else:
                    yield line
        except ReservedName as error:
            self._drop(item, "reserved_name", item.records, f"column {error}")
        except (ValueError, TypeError, RecursionError) as error:
            self._drop(item, "not_encodable", item.records - made, type(error).__name__)

    def _drop(self, item: Item, reason: str, records: int, detail: str) -> None:
        if item.kind is Kind.REGISTRATION:
            self._counters.warn(reason, "a registration was dropped: %s (%s)", reason, detail)
        else:
            self._counters.drop(reason, records, detail)
