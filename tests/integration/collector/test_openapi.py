"""The OpenAPI document, and the running application against it."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from tests.integration.collector.conftest import World

SPEEDY = settings(
    max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


@schemathesis.serializer(
    "application/x-ndjson",
    "application/vnd.apache.arrow.stream",
    "application/vnd.inferwatch.openai+json",
)
def as_they_are(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def document(world: World) -> Any:
    return world.client.get("/openapi.json").json()


def test_records_are_described(world: World) -> None:
    paths = document(world)["paths"]
    content = paths["/v1/requests"]["post"]["requestBody"]["content"]
    assert sorted(content) == [
        "application/json",
        "application/vnd.apache.arrow.stream",
        "application/vnd.inferwatch.openai+json",
        "application/x-ndjson",
    ]
    record = content["application/json"]["schema"]["items"]
    assert record["required"] == ["request_id", "event_time"]
    assert "fell_back" in record["properties"]["outcome"]["enum"]
    label = paths["/v1/labels"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert label["items"]["required"] == ["request_id", "value", "observed_at"]
    for path in ("/v1/requests", "/v1/labels", "/v1/deployments"):
        assert {"200", "401", "403", "404", "413", "415", "503"} <= set(
            paths[path]["post"]["responses"]
        )
        assert paths[path]["post"]["security"]


POSITIVE, NEGATIVE = GenerationMode.POSITIVE, GenerationMode.NEGATIVE


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        *itertools.product(("/v1/requests", "/v1/labels", "/v1/deployments"), (POSITIVE, NEGATIVE)),
        ("/healthz", POSITIVE),
        ("/readyz", POSITIVE),
    ],
)
def test_the_application_keeps_its_own_document(
    world: World, path: str, mode: GenerationMode
) -> None:
    """No server error; every status, content type and answer is a documented one."""
    schema = schemathesis.openapi.from_dict(document(world))
    (operation,) = [each.ok() for each in schema.include(path=path).get_all_operations()]
    address = str(world.client.base_url).rstrip("/")

    @given(operation.as_strategy(mode))
    @SPEEDY
    def call(case: schemathesis.Case) -> None:
        if "model" in (case.query or {}) and mode is POSITIVE:
            case.query["model"] = world.model
        response = case.call(address, headers={"Authorization": f"Bearer {world.key}"})
        # A record that can't be stored is answered 200 with a rejection: nothing to accept or
        # refuse as a whole, so those two checks do not apply.
        case.validate_response(
            response,
            excluded_checks=[positive_data_acceptance, negative_data_rejection],
            headers={"Authorization": f"Bearer {world.key}"},
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of schemathesis, about itself
        call()
