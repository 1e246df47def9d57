"""SGLang: label `model_name`, durations in seconds."""

from __future__ import annotations

from monitor.intake.server_metrics.base import SECONDS, Server, count, one, total

SGLANG = Server(
    name="sglang",
    mark=("sglang:",),
    model_labels=("model_name",),
    taken={
        "sglang:num_queue_reqs": one("queue_length"),
        "sglang:num_running_reqs": one("running"),
        "sglang:token_usage": one("cache_usage"),
        "sglang:queue_time_seconds": one("queue_time", SECONDS),
        "sglang:e2e_request_latency_seconds": one("request_time", SECONDS),
        "sglang:time_to_first_token_seconds": one("first_token_time.server", SECONDS),
        "sglang:inter_token_latency_seconds": one("inter_token_time", SECONDS),
        "sglang:cached_tokens": (total("prefix_cache_hits"),),
        "sglang:prompt_tokens": (*one("prompt_tokens"), count("prefix_cache_hits")),
        "sglang:generation_tokens": one("output_tokens"),
        "sglang:num_retracted_reqs": one("preemptions"),
    },
    cannot=(
        "rates that it tells as a gauge (cache_hit_rate, spec_accept_rate): an average over a time"
        " that it does not tell",
    ),
)
