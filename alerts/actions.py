"""What a response may ask of the user's deployment system: a request held against its limits.

Pure. A request that is within every limit is asked for, one that needs a person's word waits, any
other is refused with the limit that stands in its way. Who asks, rule or person, changes only two
things: a person must be one of those who may run the response, and needs no acknowledgement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from alerts.config import AlertConfig
from alerts.model import Alert, ResponseAction
from alerts.responses import DAY, MOVES_TRAFFIC, AutomaticAction, DefinedResponse
from alerts.text import clean

MAX_DETAIL, MAX_FORMER_BYTES = 500, 4_000


class ActionState(StrEnum):
    """Where an action stands."""

    REFUSED = "refused"
    WAITING = "waiting"  # for somebody to take the alert on
    REQUESTED = "requested"  # asked for; no outcome yet
    DONE = "done"
    FAILED = "failed"
    RETURNED = "returned"  # done, and the former state is back


class Refusal(StrEnum):
    """Why an action is not asked for. A closed list: stored with the action."""

    STOPPED = "stopped"  # the kill switch
    NOT_AUTOMATIC = "not_automatic"  # the response names no receiver that could carry it out
    MAY_NOT_RUN = "may_not_run"
    NOT_FIRING = "not_firing"
    KEPT_QUIET = "kept_quiet"  # snoozed, archived or silenced: a person knows already
    OUT_OF_SCOPE = "out_of_scope"
    NO_DEPLOYMENT = "no_deployment"
    SHARE_UNKNOWN = "share_unknown"
    NOTHING_TO_TAKE = "nothing_to_take"
    TOO_MUCH_TRAFFIC = "too_much_traffic"
    COOL_DOWN = "cool_down"
    DAILY_LIMIT = "daily_limit"
    DRY_RUN_FAILED = "dry_run_failed"
    NOT_ACKNOWLEDGED = "not_acknowledged"


class ActionOutcome(StrEnum):
    """How an action ended."""

    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"  # the deployment system would not do it
    NOT_DELIVERED = "not_delivered"


@dataclass(frozen=True)
class ServingDeployment:
    """One deployment that an action is about: number, name and version tags."""

    number: int
    name: str | None
    tags: Mapping[str, str]


@dataclass(frozen=True)
class PastAction:
    """An earlier action that was asked for in earnest: of which model and response, and when."""

    model: str
    response: str
    at: datetime


@dataclass(frozen=True)
class ActionRequest:
    """An action that somebody wants: by a rule when `by` is None, else by this person.

    `share` is the percentage of live requests that the deployments had when it was last measured.
    """

    response: DefinedResponse
    alert: Alert
    deployments: tuple[ServingDeployment, ...] = ()
    share: float | None = None
    by: str | None = None
    quiet: str | None = None
    drill: bool = False


@dataclass(frozen=True)
class Decision:
    """`requested`, `waiting` or `refused`; `text` says why, in a sentence for people."""

    state: ActionState
    reason: Refusal | None = None
    text: str = ""


@dataclass(frozen=True)
class OutcomeReport:
    """What a deployment system or a person says became of an action.

    `former` is whatever the system needs to restore the state before the action; it is handed back
    to it as it is.
    """

    outcome: ActionOutcome
    detail: str = ""
    former: Mapping[str, Any] | None = None


ALLOWED = Decision(ActionState.REQUESTED)


def decide(
    config: AlertConfig,
    request: ActionRequest,
    past: tuple[PastAction, ...],
    *,
    stopped: bool,
    now: datetime,
) -> Decision:
    """Hold a request against every limit; the first limit in its way decides.

    `past` are the actions of the last day or cool-down, dry runs among them only when the response
    itself is one. A drill changes nothing that serves: shares, cool-down, daily limit and the state
    of its alert do not hold it up.
    """
    automatic = request.response.automatic
    if stopped:
        text = "actions are stopped; `inferwatch respond resume` lets them go on"
        return _refused(Refusal.STOPPED, text)
    if automatic is None:
        name = request.response.name
        text = f"response {name} has no automatic action; carry it out by hand"
        return _refused(Refusal.NOT_AUTOMATIC, text)
    found = _person_refused(config, request) or _alert_refused(request, automatic)
    if found is None and not request.drill:
        found = _traffic_refused(request, automatic) or _frequency_refused(
            request, automatic, past, now
        )
    if found is not None:
        return found
    if automatic.needs_acknowledgement and request.by is None and not request.alert.acknowledged_by:
        text = "waits until somebody takes the alert on"
        return Decision(ActionState.WAITING, Refusal.NOT_ACKNOWLEDGED, text)
    return ALLOWED


def target_percent(response: DefinedResponse) -> float | None:
    """The share of traffic that the deployments are to keep; None where no traffic is moved."""
    if response.action not in MOVES_TRAFFIC or response.automatic is None:
        return None
    return response.automatic.to_percent or 0.0


def may_run(config: AlertConfig, response: DefinedResponse, by: str) -> bool:
    """Whether a person may start a response: named in it, or one of an owner that it names."""
    if not response.may_run or by in response.may_run:
        return True
    owners = [each for each in config.owners if each.name in response.may_run]
    names = {name for owner in owners for name in owner.people}
    persons = [each for owner in config.owners for each in owner.persons]
    known = {each.name for each in persons if by in (each.name, each.email)}
    known |= {each.email for each in persons if each.email and by in (each.name, each.email)}
    named = {*response.may_run, *names}
    return by in names or bool(known & named)


def past_since(automatic: AutomaticAction, now: datetime) -> datetime:
    """From when on earlier actions matter for the limits."""
    return now - max(DAY, automatic.cool_down)


def read_answer(text: str) -> OutcomeReport | None:
    """The outcome in a receiver's answer `{"outcome": "done", "detail": …, "former": {…}}`.

    None when the answer tells none: it is to be reported later, then.
    """
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict):
        return None
    try:
        return report_of(answer)
    except ValueError:
        return None


def report_of(answer: Mapping[str, Any]) -> OutcomeReport:
    """The report in a JSON object; ValueError names every field that can't be used."""
    outcome, detail, former = answer.get("outcome"), answer.get("detail"), answer.get("former")
    known = (ActionOutcome.DONE, ActionOutcome.FAILED, ActionOutcome.REFUSED)
    mistakes = []
    if outcome not in known:
        mistakes.append(f"outcome must be one of {', '.join(known)}, got {str(outcome)[:60]!r}")
    if detail is not None and not isinstance(detail, str):
        mistakes.append(f"detail must be text, got {type(detail).__name__}")
    if former is not None and not (isinstance(former, Mapping) and _fits(former)):
        mistakes.append(f"former must be an object of at most {MAX_FORMER_BYTES} bytes of JSON")
    if mistakes:
        raise ValueError("; ".join(mistakes))
    return OutcomeReport(ActionOutcome(str(outcome)), clean(detail or "", MAX_DETAIL), former)


def _fits(former: Mapping[str, Any]) -> bool:
    """Whether the database can keep it: finite numbers, no U+0000, not too long."""
    try:
        text = json.dumps(dict(former), allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return False
    return len(text.encode()) <= MAX_FORMER_BYTES and "\\u0000" not in text and "\\ud" not in text


def _refused(reason: Refusal, text: str) -> Decision:
    return Decision(ActionState.REFUSED, reason, text)


def _person_refused(config: AlertConfig, request: ActionRequest) -> Decision | None:
    by, response = request.by, request.response
    if by is None or may_run(config, response, by):
        return None
    named = ", ".join(response.may_run)
    text = f"{clean(by, 100)} may not run {response.name}; these may: {named}"
    return _refused(Refusal.MAY_NOT_RUN, text)


def _alert_refused(request: ActionRequest, automatic: AutomaticAction) -> Decision | None:
    alert = request.alert
    if not request.drill and not (alert.is_firing if request.by is None else alert.is_open):
        return _refused(Refusal.NOT_FIRING, f"the alert is {alert.state}")
    if request.quiet is not None and request.by is None:
        text = f"the alert is {request.quiet}; a person can still run the response"
        return _refused(Refusal.KEPT_QUIET, text)
    for matcher in automatic.scope:
        if not matcher.matches(alert.labels):
            wanted = " or ".join(matcher.patterns)
            got = alert.labels.get(matcher.label, "") or "nothing"
            text = f"the action is limited to {matcher.label} {wanted}, and the alert has {got}"
            return _refused(Refusal.OUT_OF_SCOPE, text)
    return None


def _traffic_refused(request: ActionRequest, automatic: AutomaticAction) -> Decision | None:
    action, share = request.response.action, request.share
    if action not in MOVES_TRAFFIC:
        return None
    if not request.deployments and action is ResponseAction.REDUCE_TRAFFIC:
        text = "the alert is about everything that serves: there is nothing to move traffic to"
        return _refused(Refusal.NO_DEPLOYMENT, text)
    if share is None:
        text = "how much traffic the deployments have is not known: no hour with requests is closed"
        return _refused(Refusal.SHARE_UNKNOWN, text)
    kept = target_percent(request.response) or 0.0
    taken = share - kept
    if taken <= 0:
        text = f"the deployments have {share:.1f} % of the traffic, and may keep {kept:g} %"
        return _refused(Refusal.NOTHING_TO_TAKE, text)
    if taken > automatic.at_most_percent:
        text = (
            f"it would take away {taken:.1f} % of all traffic (from {share:.1f} % to {kept:g} %);"
            f" the limit is {automatic.at_most_percent:g} %"
        )
        return _refused(Refusal.TOO_MUCH_TRAFFIC, text)
    return None


def _frequency_refused(
    request: ActionRequest,
    automatic: AutomaticAction,
    past: tuple[PastAction, ...],
    now: datetime,
) -> Decision | None:
    model, name = request.alert.labels.get("model", ""), request.response.name
    on_model = [each.at for each in past if each.model == model]
    if on_model and now < max(on_model) + automatic.cool_down:
        until = max(on_model) + automatic.cool_down
        text = f"the last action on {model or 'this model'} cools down until {_minute(until)}"
        return _refused(Refusal.COOL_DOWN, text)
    today = [each.at for each in past if each.response == name and each.at > now - DAY]
    if len(today) >= automatic.at_most_a_day:
        again = min(today) + timedelta(days=1)
        text = (
            f"{name} ran {len(today)} times in 24 hours, as often as it may;"
            f" it may run again from {_minute(again)} on"
        )
        return _refused(Refusal.DAILY_LIMIT, text)
    return None


def _minute(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")
