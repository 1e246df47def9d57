"""The file of scrape targets: what is read, and every mistake at once with its line."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor.errors import ConfigurationError
from monitor.scrape_targets import ScrapeTarget, read_targets

GOOD = """\
targets:
  - name: vllm-a
    url: http://10.0.0.5:8000/metrics
    models: [chat, chat, draft]
    every: 30s
    deployment: blue
    authorization_env: VLLM_METRICS
    private_addresses_allowed: true
  - name: triton
    url_env: TRITON_METRICS
    models: [sum]
"""


def mistakes(text: str) -> list[tuple[int | None, str, str]]:
    with pytest.raises(ConfigurationError) as caught:
        read_targets(text, "servers.yaml")
    return [(each.line, each.place, each.message) for each in caught.value.problems]


def test_a_file_is_read_and_comes_back_from_the_database_as_it_was() -> None:
    first, second = read_targets(GOOD, "servers.yaml")
    assert (first.name, first.models, first.every) == (
        "vllm-a", ("chat", "draft"), timedelta(seconds=30),
    )  # fmt: skip
    assert (first.private_allowed, first.address) == (True, "http://10.0.0.5:8000/metrics")
    assert (second.every, second.private_allowed) == (timedelta(seconds=15), False)
    assert second.address == "TRITON_METRICS"
    for each in (first, second):
        again = ScrapeTarget.from_json(each.name, each.to_json())
        assert (again, dict(again.options)) == (each, dict(each.options))


def test_an_empty_list_ends_all_scraping_and_an_absent_one_is_a_mistake() -> None:
    assert read_targets("targets: []", "servers.yaml") == ()
    ((line, place, message),) = mistakes("other: 1")[:1]
    assert (line, place) == (1, "file")
    assert "targets is missing" in message


def test_all_mistakes_are_told_at_once_with_their_lines() -> None:
    text = """\
targets:
  - name: "two words"
    url: ftp://example.org/metrics
    models: [chat]
  - name: fast
    url: https://example.org/metrics
    every: 1s
    authorization: Bearer abc
    models: []
    colour: red
  - name: open
    url: http://example.org/metrics
    authorization_env: TOKEN
    models: [chat]
"""
    found = mistakes(text)
    assert [(line, place) for line, place, _ in found] == [
        (2, "targets[0].name"),
        (3, "targets[0].url"),
        (5, "targets[1]"),
        (7, "targets[1].every"),
        (8, "targets[1].authorization"),
        (10, "targets[1]"),
        (12, "targets[2].url"),
    ]
    assert "secrets never stand in this file" in found[4][2]
    assert "abc" not in "".join(message for _, _, message in found)
    assert "must begin with https://" in found[6][2]


def test_readings_are_kept_by_the_name_so_no_name_is_given_twice() -> None:
    one = "  - {name: a, url: 'https://example.org/m', models: [chat]}\n"
    ((_, place, message),) = mistakes("targets:\n" + one + one)
    assert place == "targets"
    assert "two targets are called 'a'" in message
