"""TensorFlow Serving (with a `monitoring_config`): microseconds, label `model_name`."""

from __future__ import annotations

from monitor.intake.server_metrics.base import MICROSECONDS, Server, Taken, one

_OK = {"status": ("OK",)}

TENSORFLOW_SERVING = Server(
    name="tensorflow serving",
    mark=(":tensorflow:",),
    model_labels=("model_name", "model"),
    taken={
        ":tensorflow:serving:request_latency": one("request_time", MICROSECONDS),
        ":tensorflow:serving:runtime_latency": one("compute_time", MICROSECONDS),
        ":tensorflow:serving:batching_session:queuing_latency": one("queue_time", MICROSECONDS),
        ":tensorflow:serving:request_count": (
            Taken("requests", only=_OK),
            Taken("server_failures", unless=_OK),
        ),
    },
    cannot=("queue length and requests in work", "model versions"),
)
