"""A real Alertmanager for tests: started, killed and started again on the same address."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

CONFIG = """
route:
  receiver: hook
  group_by: [model, response]
  group_wait: 100ms
  group_interval: 300ms
  repeat_interval: 1h
receivers:
  - name: hook
    webhook_configs: [{{url: "{url}", send_resolved: true}}]
"""
PATIENCE = 30.0


def program() -> str | None:
    """Where Alertmanager is, None when it is not installed."""
    return shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")


@dataclass
class RealAlertmanager:
    """One Alertmanager that tells `hook` what it was told."""

    folder: Path
    hook: str
    port: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, on the address it had before, and wait until it is ready."""
        found = program()
        assert found is not None
        self.port = self.port or _free_port()
        config = self.folder / "alertmanager.yml"
        config.write_text(CONFIG.format(url=self.hook), encoding="utf-8")
        self.process = subprocess.Popen(
            [
                *(found, f"--config.file={config}", f"--storage.path={self.folder}/data"),
                *(f"--web.listen-address=127.0.0.1:{self.port}", "--cluster.listen-address="),
                "--log.level=error",
            ],
            stderr=subprocess.DEVNULL,
        )
        until(lambda: httpx.get(f"{self.url}/-/ready").is_success, "Alertmanager is ready")

    def kill(self) -> None:
        """End it as a crash would."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(PATIENCE)

    def alerts(self) -> list[dict[str, Any]]:
        """The alerts that it knows as firing."""
        found: list[dict[str, Any]] = httpx.get(f"{self.url}/api/v2/alerts").json()
        return found


def until(holds: Any, what: str, patience: float = PATIENCE) -> None:
    """Wait until something holds; an address that does not answer yet is no failure."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            if holds():
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"not within {patience} s: {what}")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
