"""Defined responses: what is done about an alert, by whom, and what may be done automatically.

Pure values. An automatic action asks the user's own deployment system, by a signed message to a
receiver, and never reaches beyond its limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from alerts.model import ResponseAction
from alerts.rules import Matcher

DAY = timedelta(days=1)
MOVES_TRAFFIC = frozenset(
    (ResponseAction.REDUCE_TRAFFIC, ResponseAction.ROLL_BACK, ResponseAction.FALL_BACK)
)
"""These take traffic away from a deployment; the others change nothing that serves."""


@dataclass(frozen=True)
class AutomaticAction:
    """What may be asked of the deployment system, and its limits.

    `receiver` is the receiver that carries actions out. With `dry_run` every request says so and
    nothing is to be changed; without it every request is a dry run first, and made in earnest when
    the receiver answered that it can be done. `scope` limits it to alerts of these labels.
    `to_percent` is the share of traffic that the deployment concerned is to keep; no action may
    take away more than `at_most_percent` of all traffic. At most `at_most_a_day` of the response in
    24 hours, none within `cool_down` of the last action on the same model. With
    `needs_acknowledgement` a person must take the alert on first. After `expires_after` the former
    state is asked for again. An outcome must be reported within `outcome_within`.
    """

    receiver: str
    dry_run: bool = True
    scope: tuple[Matcher, ...] = ()
    to_percent: float | None = None
    at_most_percent: float = 50.0
    at_most_a_day: int = 1
    cool_down: timedelta = timedelta(hours=6)
    needs_acknowledgement: bool = False
    expires_after: timedelta | None = None
    outcome_within: timedelta = timedelta(minutes=5)


@dataclass(frozen=True)
class DefinedResponse:
    """A response that rules name instead of a bare action word.

    `may_run` lists owners and people who may start it by hand; empty means anybody.
    """

    name: str
    action: ResponseAction
    runbook: str | None = None
    precondition: str | None = None
    limit: str | None = None
    command: str | None = None
    may_run: tuple[str, ...] = ()
    automatic: AutomaticAction | None = None
