"""Each server's own names become the same readings, in the same units."""

from __future__ import annotations

import pytest

from monitor.intake.server_metrics.prometheus_text import UnreadableMetrics, read_prometheus
from monitor.intake.server_metrics.registry import SERVERS, is_known_metric, servers_of
from monitor.server_readings import SERVER_READINGS
from tests.unit.intake.server_metrics.pages import START, TRITON, VLLM, pages, reading

FIRST = {"success": 10, "computed": 10, "runs": 10, "request_us": 100_000, "queue_us": 5_000,
         "compute_us": 80_000, "hits": 0, "waiting": 0}  # fmt: skip


def test_every_name_of_every_server_becomes_a_known_reading() -> None:
    for server in SERVERS:
        for name, uses in server.taken.items():
            assert {use.reading for use in uses} <= set(SERVER_READINGS), name


def test_no_name_belongs_to_two_servers() -> None:
    names = [name for server in SERVERS for name in server.taken]
    assert len(names) == len(set(names))


def test_every_server_is_recognised_by_its_own_names() -> None:
    for server in SERVERS[:-2]:
        own = [name for name in server.taken if name.startswith(server.mark)]
        assert servers_of(own) == (server.name,)


def test_durations_in_microseconds_become_milliseconds_for_each_request() -> None:
    later = FIRST | {"success": 14, "computed": 14, "queue_us": 13_000, "request_us": 150_000}
    _, second = pages(TRITON.format(**FIRST), TRITON.format(**later))
    queue, whole = reading(second, "queue_time"), reading(second, "request_time")
    assert (queue.n, queue.total) == (4, pytest.approx(8.0))
    assert (whole.n, whole.total) == (4, pytest.approx(50.0))
    assert queue.seconds == 15


def test_what_was_counted_before_the_first_page_is_not_taken_for_news() -> None:
    (first,) = pages(TRITON.format(**FIRST))
    assert {key.reading for key in first.readings} == {"queue_length"}


def test_levels_of_engines_are_added_or_the_highest_is_taken() -> None:
    page = VLLM.format(waiting=3, queries=0, hits=0, fast=0, count=0, seconds=0)
    (made,) = pages(page)
    waiting, cache = reading(made, "queue_length"), reading(made, "cache_usage")
    assert (waiting.n, waiting.total, waiting.high) == (1, 4, 4)
    assert (cache.n, cache.total) == (1, 0.9)


def test_models_and_versions_are_taken_from_labels_and_placeholders_are_no_version() -> None:
    page = TRITON.format(**FIRST)
    (made,) = pages(page)
    (key,) = made.readings
    assert (key.models, key.version) == (("add",), "2")
    served = (
        "# TYPE ts_inference_requests_total counter\n"
        'ts_inference_requests_total{model_name="add",model_version="default"} '
    )
    _, second = pages(served + "1\n", served + "3\n")
    found = {key.version for key in second.readings}
    assert found == {""}


def test_llama_cpp_counts_cached_tokens_apart_and_here_they_belong_to_the_prompt() -> None:
    page = (
        "# TYPE llamacpp:prompt_tokens_total counter\nllamacpp:prompt_tokens_total {}\n"
        "# TYPE llamacpp:prompt_tokens_cached_total counter\n"
        "llamacpp:prompt_tokens_cached_total {}\n"
    )
    _, second = pages(page.format(1, 0), page.format(11, 30))
    hits = reading(second, "prefix_cache_hits")
    assert (hits.total, hits.n) == (30, 40)
    assert reading(second, "prompt_tokens").total == 40


def test_a_gauge_is_never_taken_for_a_count() -> None:
    page = "# TYPE sglang:num_retracted_reqs gauge\nsglang:num_retracted_reqs 3\n"
    (made,) = pages(page)
    assert made.readings == {}
    assert list(made.unused) == ["sglang:num_retracted_reqs is of another kind than preemptions"
                                 " needs"]  # fmt: skip


def test_statuses_of_tensorflow_serving_are_answers_or_failures() -> None:
    page = (
        "# TYPE :tensorflow:serving:request_count counter\n"
        ':tensorflow:serving:request_count{{model_name="m",status="OK"}} {}\n'
        ':tensorflow:serving:request_count{{model_name="m",status="INVALID_ARGUMENT"}} {}\n'
    )
    _, second = pages(page.format(5, 1), page.format(9, 2))
    assert reading(second, "requests").total == 4
    assert reading(second, "server_failures").total == 1


def test_sums_of_lengths_are_tokens() -> None:
    page = (
        "# TYPE tgi_request_generated_tokens histogram\n"
        'tgi_request_generated_tokens_bucket{{le="10"}} {0}\n'
        'tgi_request_generated_tokens_bucket{{le="+Inf"}} {0}\n'
        "tgi_request_generated_tokens_sum {1}\ntgi_request_generated_tokens_count {0}\n"
    )
    _, second = pages(page.format(1, 4.0), page.format(3, 16.0))
    assert reading(second, "output_tokens").total == 12


def test_numbers_that_are_none_are_counted_and_left_out() -> None:
    page = "# TYPE tgi_queue_size gauge\ntgi_queue_size NaN\n"
    read = read_prometheus(page, START, is_known_metric)
    assert (read.points, read.refused) == ([], 1)
    assert "nan" in read.reasons[0]


def test_a_histogram_whose_counts_fall_is_left_out_with_its_reason() -> None:
    page = (
        "# TYPE tgi_request_duration histogram\n"
        'tgi_request_duration_bucket{le="1"} 5\ntgi_request_duration_bucket{le="2"} 3\n'
        'tgi_request_duration_bucket{le="+Inf"} 6\n'
        "tgi_request_duration_sum 4\ntgi_request_duration_count 6\n"
    )
    read = read_prometheus(page, START, is_known_metric)
    assert (read.points, read.refused) == ([], 1)
    assert "do not add up" in read.reasons[0]


@pytest.mark.parametrize("text", ["tgi_queue_size {\n", "tgi_queue_size abc\n", '{"a": 1}\n'])
def test_what_is_no_page_of_metrics_is_refused_as_a_whole(text: str) -> None:
    with pytest.raises(UnreadableMetrics, match="no Prometheus text"):
        read_prometheus(text, START, is_known_metric)
