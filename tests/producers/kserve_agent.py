"""KServe's payload logger, emulated after its source: kserve/kserve, pkg/logger (Go).

A queue of 100 that blocks the model when it is full, 5 workers, one event a POST in binary mode, no
second try; a response is logged only when the model answered 200; both events have one id.
"""

from __future__ import annotations

import queue
import threading
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
from cloudevents.v1.conversion import to_binary
from cloudevents.v1.http import CloudEvent

QUEUE, WORKERS = 100, 5
TYPE = "org.kubeflow.serving.inference"


@dataclass
class Agent:
    """One pod's agent; `url` may hold a key as its password, as KServe's configuration has it."""

    url: str
    service: str
    annotations: str = "{}"
    statuses: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._queue: queue.Queue[CloudEvent | None] = queue.Queue(QUEUE)
        self._client = httpx.Client(timeout=10, trust_env=False)
        self._threads = [threading.Thread(target=self._work) for _ in range(WORKERS)]
        for thread in self._threads:
            thread.start()

    def handle(self, body: Any, answer: Any, status: int = 200, sent: str | None = None) -> str:
        """What the agent does with one call of the model; the id of its events."""
        name = sent or str(uuid.uuid4())
        began = datetime.now(UTC)
        self._queue.put(self._event(name, "request", body, began))
        if status == 200:
            self._queue.put(self._event(name, "response", answer, datetime.now(UTC)))
        return name

    def close(self) -> None:
        """Send what is left."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()
        self._client.close()

    def _event(self, name: str, side: str, body: Any, at: datetime) -> CloudEvent:
        attributes = {
            "id": name, "source": "http://localhost:9081/", "type": f"{TYPE}.{side}",
            "time": at.isoformat().replace("+00:00", "Z"),
            "recordedtime": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "inferenceservicename": self.service, "namespace": "prod", "component": "predictor",
            "endpoint": "default", "annotations": self.annotations,
            "datacontenttype": "application/json",
        }  # fmt: skip
        return CloudEvent(attributes, body)

    def _work(self) -> None:
        while (event := self._queue.get()) is not None:
            headers, body = to_binary(event)
            answer = self._client.post(self.url, content=body, headers=dict(headers))
            self.statuses.append(answer.status_code)
