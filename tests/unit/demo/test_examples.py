"""The files in examples/flights fit each other, the model and what the product measures."""

from __future__ import annotations

import gzip
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from alerts.channels.registry import CHANNELS
from alerts.config import AlertConfig, read_alert_config
from alerts.model import ResponseAction
from monitor.checks.promise.incidents import RETURNS
from monitor.checks.registry import entry
from monitor.contract import ColumnRole, ColumnType, Contract
from monitor.contract_file import read_contract
from monitor.demo.bodies import INTEGER_FEATURES, label_table
from monitor.demo.classifier import THRESHOLD, LateArrivalModel
from monitor.demo.deployments import assign_deployments
from monitor.demo.flights import CATEGORY_FEATURES, FEATURES, Flights
from monitor.demo.orchestrate import (
    EXAMPLES,
    ROUTER_SECRET,
    ROUTER_URL,
    WEBHOOK_SECRET,
    WEBHOOK_URL,
)
from monitor.demo.plan import BodyKind, plan_bodies
from monitor.demo.plant import Plant
from monitor.demo.replay import Replay
from monitor.demo.router import STAGES, Router
from monitor.demo.traffic import EVEN_PERCENT, Traffic
from monitor.intake.base import IntakeContext
from monitor.intake.registry import LABEL_FORMATS, REQUEST_FORMATS
from monitor.jobs.conditions.base import CHECK
from monitor.jobs.conditions.registry import CONDITIONS
from monitor.layout import extend
from monitor.records import ViolationReason, read_violation_code


@pytest.fixture(scope="module")
def contract() -> Contract:
    return read_contract((EXAMPLES / "contract.yaml").read_text(encoding="utf-8"), "contract.yaml")


@pytest.fixture(scope="module")
def rules() -> AlertConfig:
    text = (EXAMPLES / "alerts.yaml").read_text(encoding="utf-8")
    return read_alert_config(text, "alerts.yaml", CHANNELS)


def test_the_contract_declares_what_the_model_reads_and_answers(contract: Contract) -> None:
    features = {column.name for column in contract.with_role(ColumnRole.FEATURE)}
    assert features == set(FEATURES)
    assert {column.name for column in contract.with_role(ColumnRole.TIMING)} == set(STAGES)
    for name in FEATURES:
        kind = ColumnType.CATEGORY if name in CATEGORY_FEATURES else ColumnType.NUMBER
        wanted = ColumnType.INTEGER if name in INTEGER_FEATURES else kind
        assert contract.column(name).type is wanted
    assert contract.decision_threshold == THRESHOLD


def test_every_rule_looks_at_something_that_is_measured(
    contract: Contract, rules: AlertConfig
) -> None:
    names = {column.name for column in contract.columns}
    for rule in rules.rules:
        patterns = {matcher.label: matcher.patterns for matcher in rule.when}
        if patterns["check"] == (CHECK,):
            assert set(patterns["method"]) <= {condition.method for condition in CONDITIONS}
            continue
        methods = {"contrast": ("within_hours",)}.get(patterns["check"][0])
        for check in patterns["check"]:
            for method in methods or patterns["method"]:
                assert entry(check, method)
        assert set(patterns.get("column", ())) <= names
        assert patterns.get("segment", ("",)) == ("",)


def test_every_rule_has_a_runbook_that_exists(rules: AlertConfig) -> None:
    headings = {
        "#" + line.removeprefix("## ").lower().replace(" ", "-")
        for line in (EXAMPLES / "runbooks.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("## ")
    }
    for rule in rules.rules:
        path, anchor = (rule.runbook or "").split("#")
        assert Path(path) == Path("examples/flights/runbooks.md")
        assert "#" + anchor in headings


def test_the_receivers_are_those_that_the_demo_runs(rules: AlertConfig) -> None:
    known = {
        each.name: (each.options["url_env"], each.options["secret_env"]) for each in rules.receivers
    }
    assert known == {
        "on-call": (WEBHOOK_URL, WEBHOOK_SECRET),
        "router": (ROUTER_URL, ROUTER_SECRET),
    }


def test_one_response_stays_within_its_limits_and_one_would_go_beyond(
    rules: AlertConfig,
) -> None:
    response, beyond = rules.responses
    for each in rules.responses:
        assert each.action is ResponseAction.REDUCE_TRAFFIC
        assert each.automatic is not None
        assert each.automatic.receiver == "router"
    automatic = response.automatic
    assert automatic is not None
    assert beyond.automatic is not None
    assert beyond.automatic.at_most_percent < EVEN_PERCENT, "it is refused in the demo"
    assert automatic.to_percent is not None
    assert 0 < EVEN_PERCENT - automatic.to_percent < automatic.at_most_percent
    assert automatic.expires_after is not None
    assert automatic.expires_after > RETURNS, "what comes back sooner goes on as the same incident"


def a_context(contract: Contract) -> IntakeContext:
    return IntakeContext(
        project_id=1,
        model_id=1,
        contract=contract,
        contract_version=1,
        layout=extend(None, contract),
        leg="live",
        hash_key=bytes(16),
        deployment_ids=frozenset({1, 2, 3}),
        earliest=datetime(2013, 1, 1, tzinfo=UTC),
        latest=datetime(2014, 2, 1, tzinfo=UTC),
        received_at=datetime(2026, 1, 1, tzinfo=UTC),
        max_records=1_000,
    )


def replay_of(flights: Flights, model: LateArrivalModel, plant: Plant | None) -> Replay:
    days = flights.between(date(2013, 8, 30), date(2013, 9, 10))
    assigned = assign_deployments(days, date(2013, 9, 1), seed=2)
    traffic = Traffic(2)
    return Replay(days, assigned, Router(model, plant), (1, 2, 3), 2, lambda: traffic)


def test_intake_accepts_every_body_and_finds_no_violation(
    contract: Contract, flights: Flights, model: LateArrivalModel
) -> None:
    replay, context = replay_of(flights, model, None), a_context(contract)
    stored = dict.fromkeys(BodyKind, 0)
    for planned in plan_bodies(replay.flights):
        body = replay.body(planned)
        packed = body.headers.get("Content-Encoding") == "gzip"
        content = gzip.decompress(body.content) if packed else body.content
        formats = REQUEST_FORMATS if body.kind is BodyKind.REQUESTS else LABEL_FORMATS
        batch = formats[body.headers["Content-Type"]].parse(content, context)
        assert batch.rejections == ()
        stored[body.kind] += batch.table.num_rows
        if body.kind is BodyKind.REQUESTS:
            assert not any(batch.table["violations"].to_pylist())
    assert stored[BodyKind.REQUESTS] == len(replay.flights)
    assert stored[BodyKind.LABELS] == int(replay.flights.labelled.sum())
    assert label_table(replay.flights.take(replay.flights.labelled)).num_rows == stored["labels"]


def test_a_fault_in_a_whole_number_column_breaks_the_contract_in_one_deployment(
    contract: Contract, flights: Flights, model: LateArrivalModel
) -> None:
    plant = Plant("minute", 1.1, date(2013, 9, 1))
    replay, context = replay_of(flights, model, plant), a_context(contract)
    wrong = {1: 0, 2: 0, 3: 0}
    for planned in plan_bodies(replay.flights):
        body = replay.body(planned)
        if body.kind is BodyKind.REQUESTS and "Content-Encoding" not in body.headers:
            table = REQUEST_FORMATS[body.headers["Content-Type"]].parse(body.content, context).table
            codes = table["violations"].to_pylist()
            for number, found in zip(table["deployment_id"].to_pylist(), codes, strict=True):
                reasons = {read_violation_code(code)[1] for code in found or ()}
                wrong[number] += ViolationReason.WRONG_TYPE in reasons
    assert wrong[1] == wrong[2] == 0
    assert wrong[3] > 1_000
