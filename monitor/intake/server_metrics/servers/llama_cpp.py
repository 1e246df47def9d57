"""llama.cpp's server (`--metrics`): no labels at all, so the target names the model.

Its prompt tokens leave out cached ones, which its answers include. Gauges called `..._seconds` are
tokens a second.
"""

from __future__ import annotations

from monitor.intake.server_metrics.base import Server, count, one, total

LLAMA_CPP = Server(
    name="llama.cpp",
    mark=("llamacpp:",),
    taken={
        "llamacpp:requests_deferred": one("queue_length"),
        "llamacpp:requests_processing": one("running"),
        "llamacpp:prompt_tokens": (*one("prompt_tokens"), count("prefix_cache_hits")),
        "llamacpp:prompt_tokens_cached": (
            *one("prompt_tokens"),
            total("prefix_cache_hits"),
            count("prefix_cache_hits"),
        ),
        "llamacpp:tokens_predicted": one("output_tokens"),
        "llamacpp:spec_decode_num_accepted_tokens": (total("draft_acceptance"),),
        "llamacpp:spec_decode_num_draft_tokens": (count("draft_acceptance"),),
    },
    cannot=(
        "durations of requests, queue time and first-token time: it counts no requests and has no"
        " histogram",
        "the model's name: nothing has a label",
    ),
)
