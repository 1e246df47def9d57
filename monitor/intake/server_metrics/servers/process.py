"""What the Prometheus libraries tell of any process."""

from __future__ import annotations

from monitor.intake.server_metrics.base import Server, one

PROCESS = Server(
    name="process",
    mark=("process_", "process."),
    taken={
        "process_resident_memory_bytes": one("memory_used"),
        "process.memory.usage": one("memory_used"),
    },
)
