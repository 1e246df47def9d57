"""Triton: labels `model` and `version`, durations as counters of microseconds.

Answers from the response cache are successes without compute: the number of computed requests is
successes without hits. The cache counters of the whole server may stay at 0 where those of a model
count, so only these are read. Queue and request times include hits.
"""

from __future__ import annotations

from monitor.intake.server_metrics.base import MICROSECONDS, Server, Taken, count, one, total


def _spent(reading: str) -> tuple[Taken, ...]:
    return (total(reading, MICROSECONDS),)


TRITON = Server(
    name="triton",
    mark=("nv_",),
    model_labels=("model",),
    version_labels=("version",),
    taken={
        "nv_inference_pending_request_count": one("queue_length"),
        "nv_inference_queue_duration_us": _spent("queue_time"),
        "nv_inference_request_duration_us": _spent("request_time"),
        "nv_inference_compute_input_duration_us": _spent("preprocess_time"),
        "nv_inference_compute_infer_duration_us": _spent("compute_time"),
        "nv_inference_compute_output_duration_us": _spent("postprocess_time"),
        "nv_inference_request_success": (
            *one("requests"),
            count("queue_time"),
            count("request_time"),
            count("preprocess_time"),
            count("compute_time"),
            count("postprocess_time"),
            count("response_cache_hits"),
        ),
        "nv_cache_num_hits_per_model": (
            total("response_cache_hits"),
            count("preprocess_time", -1),
            count("compute_time", -1),
            count("postprocess_time", -1),
        ),
        "nv_inference_request_failure": (
            *one("server_failures"),
            *one("rejected", reason=("REJECTED",)),
        ),
        "nv_inference_count": (total("batch_size"),),
        "nv_inference_exec_count": (count("batch_size"),),
        "nv_inference_first_response_histogram_ms": one("first_token_time.server"),
        "nv_cpu_utilization": one("cpu_usage"),
        "nv_cpu_memory_used_bytes": one("memory_used"),
        "nv_gpu_utilization": one("accelerator_usage"),
        "nv_gpu_memory_used_bytes": one("accelerator_memory_used"),
        "nv_gpu_power_usage": one("power"),
        "nv_energy_consumption": one("energy"),
    },
    cannot=(
        "requests in work, and quantiles: durations are sums without buckets",
        "malformed requests: its failure counter does not see them",
    ),
)
