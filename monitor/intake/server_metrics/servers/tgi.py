"""Text Generation Inference: durations in seconds, although the names do not say so."""

from __future__ import annotations

from monitor.intake.server_metrics.base import SECONDS, Server, one

TGI = Server(
    name="tgi",
    mark=("tgi_",),
    taken={
        "tgi_queue_size": one("queue_length"),
        "tgi_batch_current_size": one("running"),
        "tgi_request_queue_duration": one("queue_time", SECONDS),
        "tgi_request_validation_duration": one("preprocess_time", SECONDS),
        "tgi_request_inference_duration": one("compute_time", SECONDS),
        "tgi_request_duration": one("request_time", SECONDS),
        "tgi_request_mean_time_per_token_duration": one("inter_token_time", SECONDS),
        "tgi_request_input_length": one("prompt_tokens"),
        "tgi_request_generated_tokens": one("output_tokens"),
        "tgi_request_success": one("requests"),
        "tgi_request_failure": one("server_failures"),
    },
    cannot=(
        "first-token time",
        "gaps between single tokens: its time per token is the mean of each request",
        "the model's name: nothing has a label for it",
    ),
)
