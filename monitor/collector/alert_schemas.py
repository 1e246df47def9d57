"""What the calls about alerts take and answer, as the OpenAPI document describes it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from alerts.model import AlertState, DataState, ResponseAction, Severity, Standing
from monitor.collector.schemas import REFUSALS, Refusal
from monitor.store.hand_over import MAX_COMMENT, MAX_NAME

MAX_NUMBER = 2**63 - 1
Name = Annotated[
    str, Field(min_length=1, max_length=MAX_NAME, description="The person who does it.")
]
Comment = Annotated[str, Field(max_length=MAX_COMMENT, description="Why; kept with the history.")]
Reason = Annotated[str, Field(min_length=1, max_length=MAX_COMMENT, description="Why.")]
Span = Annotated[
    str, Field(max_length=40, description="From now on: `30m`, `4h`, `2d`; or say `until`.")
]


class StateChoice(StrEnum):
    """Which alerts: `open` are those pending, firing and recovering."""

    OPEN = "open"
    PENDING = "pending"
    FIRING = "firing"
    RECOVERING = "recovering"
    RESOLVED = "resolved"
    ALL = "all"


class Body(BaseModel):
    """A body of a deed: nothing that is not known is taken."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PersonBody(Body):
    """Who does it, and why."""

    by: Name
    comment: Comment = ""


class SnoozeBody(PersonBody):
    """Until when nothing is told of the alert but its end."""

    length: Span | None = Field(None, alias="for")
    until: AwareDatetime | None = Field(None, strict=False)


class SilenceAlertBody(Body):
    """A silence for all alerts of the same rule and model, or for this subject only."""

    by: Name
    reason: Reason
    length: Span | None = Field(None, alias="for")
    until: AwareDatetime | None = Field(None, strict=False)
    only_this_subject: bool = Field(
        False, description="All labels of the alert must fit, not only rule and model."
    )


class SilenceBody(Body):
    """Which alerts are not told of, from when to when, by whose word."""

    by: Name
    reason: Reason
    matchers: dict[str, str | list[str]] = Field(
        min_length=1, max_length=20,
        description="Label or `rule`, `severity`, `owner`, `response`, `about`: a value, or a list"
        " of values one of which must fit; `text*` fits any beginning.",
    )  # fmt: skip
    length: Span | None = Field(None, alias="for")
    until: AwareDatetime | None = Field(None, strict=False)
    starts_at: AwareDatetime | None = Field(None, strict=False)


class EndBody(Body):
    """Who ends it."""

    by: Name


class RespondBody(Body):
    """A person starts the defined response of the alert's rule."""

    by: Name
    dry_run: bool = Field(
        False, description="Only try it; a response that makes dry runs only does so anyway."
    )


class OutcomeBody(Body):
    """What became of an action."""

    outcome: str = Field(description="done, failed or refused")
    by: Name = "deployment system"
    detail: str = Field("", max_length=MAX_COMMENT)
    former: dict[str, Any] | None = Field(
        None, description="Whatever is needed to restore the state before; it is handed back as is."
    )


class ResponseAnswer(BaseModel):
    """What is to be done."""

    action: ResponseAction
    name: str | None = Field(description="The defined response that the rule names.")
    runbook: str | None
    impact: str | None
    precondition: str | None
    limit: str | None
    command: str | None


class MeasurementAnswer(BaseModel):
    """The newest judged window `[window_start, at)`."""

    window_start: datetime
    at: datetime
    state: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    unit: str
    text: str
    evidence: dict[str, str | float]


class ToldAnswer(BaseModel):
    """What a receiver was last told of this episode."""

    receiver: str
    event: str
    at: datetime
    times: int


class AlertAnswer(BaseModel):
    """One rule on one subject."""

    number: int
    finding: str = Field(description="This episode: the id that messages carry.")
    fingerprint: str
    episode: int
    rule: str
    model: str
    what: str
    threshold: str
    state: AlertState
    data_state: DataState
    standing: Standing
    severity: Severity
    owner: str
    response: ResponseAnswer
    since: datetime
    noticed_at: datetime | None
    fired_at: datetime | None
    resolved_at: datetime | None
    resolved_reason: str | None
    acknowledged_by: str | None
    acknowledged_at: datetime | None
    comment: str | None
    snoozed_until: datetime | None
    archived_by: str | None
    labels: dict[str, str]
    measurement: MeasurementAnswer | None
    told: list[ToldAnswer]
    silences: list[int] = Field(description="Silences that keep it quiet now.")
    link: str = Field(description="Its page on the dashboard.")


class AlertPage(BaseModel):
    """One page of alerts."""

    alerts: list[AlertAnswer]
    total: int
    page: int
    pages: int


class EventAnswer(BaseModel):
    """One line of the history."""

    at: datetime
    kind: str
    what: str
    by: str | None
    comment: str | None


class AttemptAnswer(BaseModel):
    """One try to send a message."""

    number: int
    at: datetime
    outcome: str
    detail: str


class DeliveryAnswer(BaseModel):
    """One owed message."""

    id: int
    key: str
    receiver: str
    event: str
    severity: str
    state: str
    created_at: datetime
    due_at: datetime
    finished_at: datetime | None
    drill: bool
    attempts: list[AttemptAnswer]


class ActionAnswer(BaseModel):
    """What was asked of a deployment system, or refused, and what became of it."""

    model_config = ConfigDict(extra="allow")

    number: int
    response: str
    action: ResponseAction
    state: str
    text: str
    dry_run: bool
    drill: bool
    requested_by: str
    requested_at: datetime
    outcome: str | None
    detail: str | None
    outcome_by: str | None
    outcome_at: datetime | None
    outcome_due_at: datetime | None
    expires_at: datetime | None


class AlertDetailAnswer(AlertAnswer):
    """One alert with its history, messages and actions, the newest first."""

    fired_in_30_days: int
    told_false_in_30_days: int
    history: list[EventAnswer]
    deliveries: list[DeliveryAnswer]
    actions: list[ActionAnswer]


class FalseAlarmAnswer(BaseModel):
    """The alerts that ended; the incident that was none, null where the alert told of none."""

    incident: int | None
    ended: list[int]


class SilenceAnswer(BaseModel):
    """One silence: `[starts_at, ends_at)`."""

    number: int
    matchers: dict[str, list[str]]
    author: str
    reason: str
    starts_at: datetime
    ends_at: datetime


class SilenceList(BaseModel):
    """Silences that hold or will hold, the first to end first."""

    silences: list[SilenceAnswer]


_NOT_FOUND = {"model": Refusal, "description": "No such thing in the key's project."}
_CONFLICT = {"model": Refusal, "description": "It is over, or not in a state for this."}
READ_REFUSALS: dict[int | str, dict[str, Any]] = {
    **{status: REFUSALS[status] for status in (401, 403, 422, 503)},
    404: _NOT_FOUND,
}
ACT_REFUSALS: dict[int | str, dict[str, Any]] = {**REFUSALS, 404: _NOT_FOUND, 409: _CONFLICT}


def body_of(model: type[Body]) -> dict[str, Any]:
    """The OpenAPI request body of a deed."""
    schema = model.model_json_schema(by_alias=True)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
