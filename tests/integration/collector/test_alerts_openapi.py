"""The document of the calls about alerts, and the running application against it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from tests.integration.collector.alert_world import AlertWorld, alert_world
from tests.seeded_database import SeededDatabase, own_database, seeded_template

__all__ = ["own_database", "seeded_template"]

SPEEDY = settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
OPERATIONS = [
    ("GET", "/v1/alerts"),
    ("GET", "/v1/alerts/export"),
    ("GET", "/v1/alerts/{number}"),
    ("POST", "/v1/alerts/{number}/acknowledge"),
    ("POST", "/v1/alerts/{number}/archive"),
    ("POST", "/v1/alerts/{number}/unarchive"),
    ("POST", "/v1/alerts/{number}/resolve"),
    ("POST", "/v1/alerts/{number}/snooze"),
    ("POST", "/v1/alerts/{number}/false-alarm"),
    ("POST", "/v1/alerts/{number}/silence"),
    ("POST", "/v1/alerts/{number}/respond"),
    ("GET", "/v1/silences"),
    ("POST", "/v1/silences"),
    ("POST", "/v1/silences/{number}/end"),
    ("GET", "/v1/actions/{number}"),
    ("POST", "/v1/actions/{number}/outcome"),
    ("GET", "/act/{token}"),
    ("POST", "/act/{token}"),
]


@pytest.fixture
def world(own_database: SeededDatabase) -> Iterator[AlertWorld]:
    with alert_world(own_database) as made:
        yield made


def operations_of(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (method.upper(), path)
        for path, methods in document["paths"].items()
        for method in methods
        if path.startswith(("/v1/alerts", "/v1/silences", "/v1/actions", "/act"))
    ]


def test_every_call_about_alerts_is_tested_against_the_document(world: AlertWorld) -> None:
    document = world.client.get("/openapi.json").json()
    assert sorted(operations_of(document)) == sorted(OPERATIONS)
    for method, path in operations_of(document):
        operation = document["paths"][path][method.lower()]
        assert operation["summary"]
        if path.startswith("/v1"):
            assert operation["security"]
            assert {"200", "401", "403", "422", "503"} <= set(operation["responses"])


@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [
        *((*each, GenerationMode.POSITIVE) for each in OPERATIONS),
        # Any text may be a token, and any form is one: nothing of a link is against the document.
        *((*each, GenerationMode.NEGATIVE) for each in OPERATIONS if each[1] != "/act/{token}"),
    ],
)
def test_the_application_keeps_its_own_document(
    world: AlertWorld, method: str, path: str, mode: GenerationMode
) -> None:
    """No server error; every status, content type and answer is a documented one."""
    schema = schemathesis.openapi.from_dict(world.client.get("/openapi.json").json())
    found = schema.include(path=path, method=method).get_all_operations()
    (operation,) = [each.ok() for each in found]  # type: ignore[union-attr]
    address = str(world.client.base_url).rstrip("/")
    numbers = iter(range(10**9))

    @given(operation.as_strategy(mode))
    @SPEEDY
    def call(case: schemathesis.Case) -> None:  # type: ignore[type-arg]
        if mode is GenerationMode.POSITIVE and "number" in (case.path_parameters or {}):
            case.path_parameters["number"] = next(numbers) % 8 + 1
        headers = {"Authorization": f"Bearer {world.key}"} if path.startswith("/v1") else {}
        response = case.call(address, headers=headers)
        # What a person may do depends on the alert, and a well-formed name may still be no name.
        case.validate_response(
            response,
            excluded_checks=[positive_data_acceptance, negative_data_rejection],
            headers=headers,
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of schemathesis, about itself
        call()
