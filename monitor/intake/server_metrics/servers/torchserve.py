"""TorchServe (`metrics_mode=prometheus`): counters of microseconds.

Its gauges of times hold the last value only and are left out. `default` is the version of a model
that was asked for without one.
"""

from __future__ import annotations

from monitor.intake.server_metrics.base import MICROSECONDS, Server, count, one, total

_MEGABYTE = float(1 << 20)

TORCHSERVE = Server(
    name="torchserve",
    mark=("ts_", "Requests2XX", "Requests4XX", "Requests5XX"),
    model_labels=("model_name", "ModelName"),
    version_labels=("model_version",),
    taken={
        "ts_queue_latency_microseconds": (total("queue_time", MICROSECONDS),),
        "ts_inference_latency_microseconds": (total("request_time", MICROSECONDS),),
        "ts_inference_requests": (*one("requests"), count("queue_time"), count("request_time")),
        "Requests5XX": one("server_failures"),
        "CPUUtilization": one("cpu_usage", 0.01),
        "MemoryUsed": one("memory_used", _MEGABYTE),
        "GPUUtilization": one("accelerator_usage", 0.01),
        "GPUMemoryUsed": one("accelerator_memory_used", _MEGABYTE),
    },
    cannot=(
        "quantiles: durations are sums without buckets",
        "queue length and requests in work",
        "PredictionTime, HandlerTime and QueueTime: gauges that hold the last request only",
    ),
)
