"""Metrics of the GenAI conventions of OpenTelemetry, of clients and servers, in seconds.

Also as a Prometheus exporter names them: dots become underscores, the unit becomes an ending.
"""

from __future__ import annotations

from collections.abc import Mapping

from monitor.intake.server_metrics.base import SECONDS, Server, Taken, one

_INPUT, _OUTPUT = ("input",), ("output", "completion")
_DURATIONS: Mapping[str, str] = {
    "gen_ai.server.request.duration": "request_time",
    "gen_ai.server.time_per_output_token": "inter_token_time",
    "gen_ai.server.time_to_first_token": "first_token_time.server",
    "gen_ai.client.operation.duration": "client_request_time",
    "gen_ai.client.operation.time_to_first_chunk": "first_token_time.client",
    "gen_ai.client.time_to_first_chunk": "first_token_time.client",
}
_TOKENS = (
    Taken("prompt_tokens", only={"gen_ai.token.type": _INPUT}),
    Taken("output_tokens", only={"gen_ai.token.type": _OUTPUT}),
    Taken("prompt_tokens", only={"gen_ai_token_type": _INPUT}),
    Taken("output_tokens", only={"gen_ai_token_type": _OUTPUT}),
)


def _all_names() -> dict[str, tuple[Taken, ...]]:
    found: dict[str, tuple[Taken, ...]] = {}
    for name, reading in _DURATIONS.items():
        found[name] = one(reading, SECONDS)
        found[name.replace(".", "_") + "_seconds"] = one(reading, SECONDS)
    for name in ("gen_ai.client.token.usage", "gen_ai.client.inference.tokens"):
        found[name] = _TOKENS
        found[name.replace(".", "_")] = _TOKENS
    return found


GENAI = Server(
    name="OpenTelemetry GenAI",
    mark=("gen_ai.", "gen_ai_"),
    model_labels=("gen_ai.response.model", "gen_ai.request.model",
                  "gen_ai_response_model", "gen_ai_request_model"),
    taken=_all_names(),
    cannot=("queue and saturation: the conventions have no such metrics",),
)  # fmt: skip
