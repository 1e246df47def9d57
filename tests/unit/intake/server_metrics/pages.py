"""Pages of metrics with the names and labels of real servers, and what they become."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from monitor.intake.server_metrics.deltas import SeriesState
from monitor.intake.server_metrics.minutes import MinuteReading, Minutes, to_minutes
from monitor.intake.server_metrics.prometheus_text import read_prometheus
from monitor.intake.server_metrics.registry import is_known_metric

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
LATER = START + timedelta(seconds=15)

TRITON = """# HELP nv_inference_request_success successes
# TYPE nv_inference_request_success counter
nv_inference_request_success{{model="add",version="2"}} {success}
# TYPE nv_inference_request_failure counter
nv_inference_request_failure{{model="add",reason="OTHER",version="2"}} 0
nv_inference_request_failure{{model="add",reason="REJECTED",version="2"}} 0
# TYPE nv_inference_count counter
nv_inference_count{{model="add",version="2"}} {computed}
# TYPE nv_inference_exec_count counter
nv_inference_exec_count{{model="add",version="2"}} {runs}
# TYPE nv_inference_request_duration_us counter
nv_inference_request_duration_us{{model="add",version="2"}} {request_us}
# TYPE nv_inference_queue_duration_us counter
nv_inference_queue_duration_us{{model="add",version="2"}} {queue_us}
# TYPE nv_inference_compute_infer_duration_us counter
nv_inference_compute_infer_duration_us{{model="add",version="2"}} {compute_us}
# TYPE nv_cache_num_hits gauge
nv_cache_num_hits 0
# TYPE nv_cache_num_hits_per_model counter
nv_cache_num_hits_per_model{{model="add",version="2"}} {hits}
# TYPE nv_inference_pending_request_count gauge
nv_inference_pending_request_count{{model="add",version="2"}} {waiting}
"""

VLLM = """# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.7959e+09
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{{engine="0",model_name="chat"}} {waiting}
vllm:num_requests_waiting{{engine="1",model_name="chat"}} 1.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{{engine="0",model_name="chat"}} 0.4
vllm:kv_cache_usage_perc{{engine="1",model_name="chat"}} 0.9
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{{engine="0",model_name="chat"}} {queries}
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{{engine="0",model_name="chat"}} {hits}
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_bucket{{engine="0",le="0.3",model_name="chat"}} {fast}
vllm:e2e_request_latency_seconds_bucket{{engine="0",le="0.5",model_name="chat"}} {count}
vllm:e2e_request_latency_seconds_bucket{{engine="0",le="+Inf",model_name="chat"}} {count}
vllm:e2e_request_latency_seconds_count{{engine="0",model_name="chat"}} {count}
vllm:e2e_request_latency_seconds_sum{{engine="0",model_name="chat"}} {seconds}
"""


def pages(*texts: str, every: timedelta = timedelta(seconds=15)) -> list[Minutes]:
    """What pages read one after the other became, each given the states of those before."""
    states: dict[tuple[str, str], SeriesState] = {}
    made = []
    for place, text in enumerate(texts):
        read = read_prometheus(text, START + place * every, is_known_metric)
        one = to_minutes(read.points, states)
        states |= one.states
        made.append(one)
    return made


def reading(made: Minutes, name: str) -> MinuteReading:
    """The one reading of this name."""
    found = [sums for key, sums in made.readings.items() if key.reading == name]
    assert len(found) == 1, sorted({key.reading for key in made.readings})
    return found[0]
