"""`inferwatch scrape` and `inferwatch server` on a page of loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.engine import Engine

from alerts.channels.outbound import Outbound
from monitor.deployment import Tags
from monitor.jobs.scraping.scraper import scrape
from monitor.store.engine import Role, transaction
from monitor.store.models import ModelContext, register_deployment
from monitor.store.scrape_targets import target_states
from tests.factories import START, apply, current_context, make_contract
from tests.integration.cli.conftest import Run
from tests.integration.jobs.test_scraping import Server, page, serving

FILE = """\
targets:
  - name: vllm-a
    url: {url}
    models: [{model}]
    deployment: blue
    private_addresses_allowed: true
"""


@pytest.fixture
def credit(engine: Engine, project_id: int) -> ModelContext:
    context = apply(engine, project_id, make_contract())
    with transaction(engine, project_id, Role.INGEST) as connection:
        tags = Tags.of({"model_version": "1"})
        register_deployment(connection, project_id, context.model_id, tags, "blue", START)
    return current_context(engine, project_id)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        made.page = page(3, 10, 2.0)
        yield made


@pytest.fixture
def targets(tmp_path: Path, server: Server) -> Path:
    path = tmp_path / "servers.yaml"
    path.write_text(FILE.format(url=server.url, model="credit"))
    return path


def read_all(engine: Engine) -> None:
    with transaction(engine, 1, Role.WORKER) as connection:
        found = target_states(connection, 1)
    with Outbound() as http:
        for each in found:
            scrape(engine, 1, each.target, {}, lambda: datetime.now(UTC), http)


def test_a_page_is_tried_out_before_anything_is_stored(run: Run, server: Server) -> None:
    ended = run("scrape", "test", server.url, "--private")
    assert ended.code == 0, ended.err
    assert "Server: vllm" in ended.out
    assert "Models: credit" in ended.out
    assert "Can't tell: durations of a fast model" in ended.out
    told = json.loads(run("scrape", "test", server.url, "--private", "--json").out)
    assert "queue_length" in told["readings"]
    refused = run("scrape", "test", server.url)
    assert refused.code == 2
    assert "private_addresses_allowed" in refused.err
    server.page = "# TYPE up gauge\nup 1\n"
    nothing = run("scrape", "test", server.url, "--private")
    assert (nothing.code, "none that is known" in nothing.out) == (1, True)


def test_targets_are_applied_listed_and_what_they_tell_is_shown(
    run: Run, engine: Engine, credit: ModelContext, targets: Path, server: Server
) -> None:
    assert "No scrape target" in run("scrape", "list").out
    ended = run("scrape", "apply", targets)
    assert (ended.code, ended.out) == (
        0, "1 scrape targets are in force; 0 ended. The worker reads them.\n",
    )  # fmt: skip
    assert "not read yet" in run("scrape", "list").out
    assert "No server told anything of this model yet" in run("server", "credit").out
    read_all(engine)
    server.page = page(5, 14, 3.0)
    read_all(engine)
    assert "vllm; 4 readings" in run("scrape", "list").out
    shown = run("server", "credit")
    assert shown.code == 0, shown.err
    assert "p95 at most 300" in shown.out
    assert "request_time does not tell: requests answered from a response cache" in shown.out
    assert "Target vllm-a, deployment blue: read " in shown.out
    facts = json.loads(run("server", "credit", "--json").out)
    lines = {each["reading"]: each for each in facts["readings"]}
    assert lines["queue_length"]["high"] == 6
    assert lines["request_time"]["quantiles"][0] == {"q": 0.5, "above": None, "at_most": 300}
    server.status = 401
    read_all(engine)
    failing = run("server", "credit").out
    assert "1 tries failed: answered 401" in failing


def test_a_target_of_a_model_that_nobody_knows_is_refused(
    run: Run, credit: ModelContext, targets: Path, server: Server
) -> None:
    targets.write_text(FILE.format(url=server.url, model="stranger"))
    ended = run("scrape", "apply", targets)
    assert ended.code == 2
    assert "target vllm-a: no model 'stranger'; apply its contract first" in ended.err


@pytest.mark.parametrize("last", ["0s", "40d", "soon"])
def test_a_span_that_can_not_be_shown_is_refused(run: Run, credit: ModelContext, last: str) -> None:
    assert run("server", "credit", "--last", last).code == 2
