"""What a client is told: where the collector is, and how much it may hold. The one place that reads
the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

URL_VARIABLE = "INFERWATCH_COLLECTOR_URL"
KEY_VARIABLE = "INFERWATCH_KEY"
MODEL_VARIABLE = "INFERWATCH_MODEL"
SPOOL_VARIABLE = "INFERWATCH_SPOOL"
LIVE_LEG = "live"


@dataclass(frozen=True)
class Options:
    """Settings of a client; raises ValueError naming every one that can't be used.

    `interval` seconds pass at most before a record is packed. `memory_bytes` and `memory_records`
    bound what waits in memory, `spool_bytes` what waits in the folder `spool`. `record_bytes`
    bounds one record. At the end of the process at most `exit_seconds` are spent on sending.
    `wait_for_room` lets a call wait so many seconds when memory is full, for batch jobs that would
    rather wait than drop; a serving process leaves it at 0.
    A body that is refused for its key or model is tried again for `patience` seconds.
    """

    url: str
    key: str = field(repr=False)
    model: str | None = None
    leg: str = LIVE_LEG
    deployment: int | None = None
    tags: Mapping[str, str] | None = None
    interval: float = 1.0
    batch_records: int = 1_000
    memory_bytes: int = 32 << 20
    memory_records: int = 50_000
    record_bytes: int = 1 << 20
    spool: Path | None = None
    spool_bytes: int = 256 << 20
    connect_seconds: float = 5.0
    answer_seconds: float = 20.0
    exit_seconds: float = 5.0
    wait_for_room: float = 0.0
    patience: float = 600.0

    def __post_init__(self) -> None:
        problems = [*self._address_problems(), *self._size_problems()]
        if self.deployment is not None and self.tags is not None:
            problems.append("give deployment or tags, not both")
        if problems:
            raise ValueError("; ".join(problems))

    def _address_problems(self) -> list[str]:
        parts = urlsplit(self.url)
        found = []
        if parts.scheme not in ("http", "https") or not parts.hostname:
            found.append("url is the collector's address, for example http://127.0.0.1:8700")
        if not self.key or not self.key.isascii() or not self.key.isprintable() or " " in self.key:
            found.append("key is an API key with the scopes ingest and labels")
        return found

    def _size_problems(self) -> list[str]:
        numbers = {
            "interval": self.interval,
            "batch_records": self.batch_records,
            "memory_bytes": self.memory_bytes,
            "memory_records": self.memory_records,
            "record_bytes": self.record_bytes,
            "spool_bytes": self.spool_bytes,
            "connect_seconds": self.connect_seconds,
            "answer_seconds": self.answer_seconds,
        }
        found = [f"{name} is above 0, not {value}" for name, value in numbers.items() if value <= 0]
        not_below_zero = {
            "exit_seconds": self.exit_seconds,
            "wait_for_room": self.wait_for_room,
            "patience": self.patience,
        }
        found += [f"{name} is 0 or more" for name, value in not_below_zero.items() if value < 0]
        return found


def environment_options(environment: Mapping[str, str] | None = None) -> dict[str, object]:
    """Options that the environment names: url, key (also as a file), model, spool; absent ones are
    left out. Raises OSError when the file of the key can't be read."""
    given = os.environ if environment is None else environment
    names = {"url": URL_VARIABLE, "key": KEY_VARIABLE, "model": MODEL_VARIABLE}
    found: dict[str, object] = {
        option: given[variable] for option, variable in names.items() if given.get(variable)
    }
    key_file = given.get(f"{KEY_VARIABLE}_FILE")
    if "key" not in found and key_file:
        found["key"] = Path(key_file).read_text(encoding="utf-8").strip()
    if given.get(SPOOL_VARIABLE):
        found["spool"] = Path(given[SPOOL_VARIABLE])
    return found
