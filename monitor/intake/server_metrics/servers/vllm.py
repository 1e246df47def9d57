"""vLLM (names of 0.32): labels `model_name` and `engine`, durations in seconds."""

from __future__ import annotations

from monitor.intake.server_metrics.base import SECONDS, Server, count, one, total

VLLM = Server(
    name="vllm",
    mark=("vllm:",),
    model_labels=("model_name",),
    taken={
        "vllm:num_requests_waiting": one("queue_length"),
        "vllm:num_requests_running": one("running"),
        "vllm:kv_cache_usage_perc": one("cache_usage"),
        "vllm:request_queue_time_seconds": one("queue_time", SECONDS),
        "vllm:request_prefill_time_seconds": one("prefill_time", SECONDS),
        "vllm:request_decode_time_seconds": one("decode_time", SECONDS),
        "vllm:request_inference_time_seconds": one("compute_time", SECONDS),
        "vllm:e2e_request_latency_seconds": one("request_time", SECONDS),
        "vllm:time_to_first_token_seconds": one("first_token_time.arrival", SECONDS),
        "vllm:inter_token_latency_seconds": one("inter_token_time", SECONDS),
        "vllm:num_preemptions": one("preemptions"),
        "vllm:admission_rejections": one("rejected"),
        "vllm:prefix_cache_hits": (total("prefix_cache_hits"),),
        "vllm:prefix_cache_queries": (count("prefix_cache_hits"),),
        "vllm:spec_decode_num_accepted_tokens": (total("draft_acceptance"),),
        "vllm:spec_decode_num_draft_tokens": (count("draft_acceptance"),),
        "vllm:prompt_tokens": one("prompt_tokens"),
        "vllm:generation_tokens": one("output_tokens"),
        "vllm:request_success": (
            *one("requests", finished_reason=("stop", "length", "repetition")),
            *one("server_failures", finished_reason=("error", "abort")),
        ),
    },
    cannot=(
        "durations of a fast model: buckets of whole requests, queue, prefill and decode begin at"
        " 300 ms",
        "model versions",
    ),
)
