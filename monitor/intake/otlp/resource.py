"""What the resource of a span says: version tags, places, and what deployments are joined by. Pure.

OpenTelemetry has no attribute for a model's version, precision or driver: those are sent as `ml.*`
(`OTEL_RESOURCE_ATTRIBUTES="ml.model.version=7,ml.precision=int8"`). Reference: OpenTelemetry
semantic conventions 1.44, resource attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.intake.claimed_tags import claimed_tags, claimed_words, told_version

TAGS: Mapping[str, str] = {
    "deployment.environment.name": "environment",
    "deployment.environment": "environment",
    "cloud.region": "region",
    "oci.manifest.digest": "image_digest",
    "vcs.ref.head.revision": "code_revision",
    "host.type": "instance_type",
    "host.cpu.model.name": "cpu_model",
    "artifact.hash": "model_digest",
}
FIELDS: Mapping[str, str] = {
    "cloud.availability_zone": "zone",
    "k8s.cluster.name": "cluster",
    "k8s.node.name": "node",
    "k8s.pod.name": "replica",
    "feature_flag.result.variant": "variant",
}
JOINS: Mapping[str, str] = {
    "service.instance.id": "service.instance.id",
    "service.name": "service.name",
    "service.namespace": "service.namespace",
    "k8s.pod.name": "pod",
    "host.name": "host",
    "k8s.deployment.name": "k8s.deployment.name",
    "container.id": "container.id",
}
SENDER_MODEL = "inferwatch.model"
"""Put into a resource when the sender named the model beside the body."""


def resource_tags(resource: Mapping[str, Any]) -> dict[str, str]:
    """Version tags that the process claims; placeholders are unknown."""
    found: dict[str, str] = {}
    for name, tag in TAGS.items():
        known = told_version(resource.get(name), "opentelemetry")
        if known is not None:
            found.setdefault(tag, known)
    digests = resource.get("container.image.repo_digests")
    if isinstance(digests, list) and digests and isinstance(digests[0], str):
        found.setdefault("image_digest", digests[0].rpartition("@")[2])
    return {**found, **claimed_tags(resource, "opentelemetry")}


def resource_fields(resource: Mapping[str, Any]) -> dict[str, str]:
    """Standard fields that the process says of itself."""
    found = {
        field: known
        for name, field in FIELDS.items()
        if (known := told_version(resource.get(name), "opentelemetry")) is not None
    }
    return {**found, **claimed_words(resource)}


def joins_of(resource: Mapping[str, Any]) -> dict[str, str]:
    """What a registered deployment can be found by."""
    return {
        join: known
        for name, join in JOINS.items()
        if (known := told_version(resource.get(name), "opentelemetry")) is not None
    }


def model_names(*said: Any) -> tuple[str, ...]:
    """Names under which a model may be known, in order, without repetition."""
    return tuple(dict.fromkeys(name for name in said if isinstance(name, str) and name))
