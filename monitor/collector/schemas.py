"""What the collector takes and answers, as its OpenAPI document describes it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from monitor.deployment import MAX_TAG_LENGTH, TAG_GROUPS
from monitor.intake.envelope import MAX_OUTCOME_REASON_LENGTH, OUTCOMES
from monitor.intake.legs import LEG_PATTERN
from monitor.intake.registry import ARROW_STREAM
from monitor.records import MAX_ID_LENGTH, RejectionReason
from monitor.registration import MAX_JOIN_LENGTH, MAX_JOINS

MAX_LISTED_REJECTIONS = 100
_TIME = {"type": "string", "format": "date-time", "description": "RFC 3339 with a zone"}
_ID = {"type": "string", "minLength": 1, "maxLength": MAX_ID_LENGTH}


class RejectionAnswer(BaseModel):
    """A record that was not stored."""

    place: int = Field(ge=0, description="Which record of the body, counted from 0.")
    reason: RejectionReason
    message: str
    request_id: str | None


class IntakeAnswerBody(BaseModel):
    """What became of the records: accepted + duplicate + conflict + rejected = sent."""

    accepted: int = Field(ge=0)
    duplicate: int = Field(ge=0, description="Stored before with the same content.")
    conflict: int = Field(ge=0, description="Stored before with other content; that one is kept.")
    rejected: int = Field(ge=0, description="Can't be stored; see rejections.")
    violations: int = Field(
        ge=0, description="Columns of accepted records that break the contract."
    )
    rejections: list[RejectionAnswer] = Field(max_length=MAX_LISTED_REJECTIONS)
    rejections_not_listed: int = Field(ge=0)


class DeploymentAnswer(BaseModel):
    """The number to send as `deployment` with every request."""

    deployment: int
    created: bool = Field(description="Whether anything new was stored.")
    registration: int = Field(
        0, description="The registration's number; left out when only tags were sent."
    )


class Refusal(BaseModel):
    """Nothing of the body was stored."""

    model_config = ConfigDict(json_schema_extra={"required": ["reason", "message"]})

    reason: str = Field(description="A stable word for programs.")
    message: str = Field(description="What is wrong and what to do, for people.")


class State(BaseModel):
    """That the service lives or is ready."""

    status: str


REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Refusal, "description": "The body can't be read."},
    401: {"model": Refusal, "description": "No key, or one that is unknown, expired or revoked."},
    403: {"model": Refusal, "description": "The key lacks the scope."},
    404: {"model": Refusal, "description": "No such model in the key's project."},
    408: {"model": Refusal, "description": "The body did not arrive in time."},
    411: {"model": Refusal, "description": "No body, and no length of one."},
    413: {"model": Refusal, "description": "More than the limits allow."},
    415: {"model": Refusal, "description": "A content type or encoding that is not taken."},
    422: {"model": Refusal, "description": "A parameter or the body breaks a rule."},
    503: {"model": Refusal, "description": "Try again after Retry-After seconds."},
}

_TAGS: dict[str, Any] = {
    "type": "object",
    "description": "Version tags of what produced the request; unknown ones are left out.",
    "additionalProperties": False,
    "properties": {
        name: {"type": ["string", "null"], "maxLength": MAX_TAG_LENGTH, "description": group}
        for group, names in TAG_GROUPS.items()
        for name in names
    },
}
REQUEST_RECORD: dict[str, Any] = {
    "type": "object",
    "description": "One request, flat: the fields below and the columns of the model's contract.",
    "required": ["request_id", "event_time"],
    "properties": {
        "request_id": _ID,
        "event_time": _TIME,
        "deployment": {
            "type": ["integer", "null"],
            "description": "From POST /v1/deployments. Send this or tags, not both.",
        },
        "tags": {**_TAGS, "type": ["object", "null"]},
        "outcome": {"type": ["string", "null"], "enum": [*OUTCOMES, None]},
        "outcome_reason": {"type": ["string", "null"], "maxLength": MAX_OUTCOME_REASON_LENGTH},
    },
    "additionalProperties": True,
}
LABEL_RECORD: dict[str, Any] = {
    "type": "object",
    "description": "What turned out to be true for a request.",
    "required": ["request_id", "value", "observed_at"],
    "properties": {
        "request_id": _ID,
        "label": {
            "type": ["string", "null"],
            "description": "The contract's label or one of its signals. Default: the label.",
        },
        "value": {"type": ["boolean", "number", "string"]},
        "source": {"type": ["string", "null"], "minLength": 1, "maxLength": 200},
        "observed_at": _TIME,
        "event_time": {**_TIME, "type": ["string", "null"], "description": "Of the request."},
        "leg": {"type": ["string", "null"], "pattern": LEG_PATTERN},
    },
    "additionalProperties": False,
}
DEPLOYMENT_BODY: dict[str, Any] = {
    "type": "object",
    "required": ["tags"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": ["string", "null"], "minLength": 1, "maxLength": 200},
        "tags": _TAGS,
        "joins": {
            "type": ["object", "null"],
            "maxProperties": MAX_JOINS,
            "description": "Marks that a producer's requests are found by; all of them must match.",
            "additionalProperties": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_JOIN_LENGTH,
            },
        },
        "valid_from": {**_TIME, "type": ["string", "null"], "description": "Default: now."},
        "valid_to": {**_TIME, "type": ["string", "null"], "description": "Default: open."},
        "evidence": {
            "type": ["object", "null"],
            "description": "What the tags were taken from, such as the output of collect-env.",
        },
    },
}


def body_of_records(record: dict[str, Any], *told: str) -> dict[str, Any]:
    """The OpenAPI request body of records in every content type, producers' own (`told`) too."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"type": "array", "items": record}},
                "application/x-ndjson": {
                    "schema": {"type": "string", "description": "One such record a line."}
                },
                ARROW_STREAM: binary,
                **{each: {"schema": {"type": "string"}} for each in told},
            },
        }
    }


def body_of_deployment() -> dict[str, Any]:
    """The OpenAPI request body of a deployment."""
    return {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": DEPLOYMENT_BODY}},
        }
    }
