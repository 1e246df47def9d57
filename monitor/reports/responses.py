"""Responses as people see them: the kill switch, actions in force or overdue, rehearsals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.engine import Engine

from alerts.actions import ActionState
from alerts.errors import AlertConfigError
from alerts.rehearsal import Rehearsed
from alerts.responses import MOVES_TRAFFIC
from monitor.reports.database import reading
from monitor.store.action_switch import Switch, switch_state
from monitor.store.actions import StoredAction, list_actions
from monitor.store.alert_book import rules_in_force
from monitor.store.rehearsals import (
    RuleRehearsal,
    StoredRehearsal,
    list_rehearsals,
    rehearsal_words,
    rule_rehearsals,
)

SHOWN = 1_000


@dataclass(frozen=True)
class ResponseStatus:
    """Whether actions are stopped, which hold, and which have no outcome though it is due."""

    switch: Switch | None
    in_force: tuple[StoredAction, ...]
    overdue: tuple[StoredAction, ...]

    @property
    def is_stopped(self) -> bool:
        """Whether the kill switch is off."""
        return self.switch is not None and self.switch.stopped


def response_status(engine: Engine, project_id: int, now: datetime) -> ResponseStatus:
    """The responses of a project as they stand now; drills apart."""
    with reading(engine, project_id) as connection:
        switch = switch_state(connection, project_id)
        states = (ActionState.REQUESTED, ActionState.DONE)
        found = list_actions(connection, project_id, states=states, limit=SHOWN)
    mine = [each for each in found if not each.drill]
    return ResponseStatus(
        switch=switch,
        in_force=tuple(
            each
            for each in mine
            if each.state is ActionState.DONE
            and not each.dry_run
            and each.returns is None
            and each.receiver is not None
            and each.action in MOVES_TRAFFIC
        ),
        overdue=tuple(each for each in mine if each.is_overdue(now)),
    )


def rule_rehearsals_now(engine: Engine, project_id: int) -> tuple[RuleRehearsal, ...]:
    """Every rule in force that people are told of, and whether it was rehearsed as it is."""
    with reading(engine, project_id) as connection:
        rules = rules_in_force(connection, project_id)
        if rules is None:
            return ()
        return tuple(rule_rehearsals(connection, project_id, rules.config))


@dataclass(frozen=True)
class RehearsalWords:
    """Of every rule in force what is known from rehearsals, in words, and which are to be tried."""

    words: Mapping[str, str]
    untried: frozenset[str]


def rehearsals_told(engine: Engine, project_id: int) -> RehearsalWords:
    """For lists of alerts: a rule is to be tried while no rehearsal of it passed as it is now.

    Nothing is known of rules that this program can't read.
    """
    try:
        known = rule_rehearsals_now(engine, project_id)
    except AlertConfigError:
        known = ()
    return RehearsalWords(
        {each.rule: rehearsal_words(each) for each in known},
        frozenset(each.rule for each in known if each.standing is not Rehearsed.PASSED),
    )


def rehearsals_of(engine: Engine, project_id: int, rule: str) -> tuple[StoredRehearsal, ...]:
    """The rehearsals of one rule, the newest first."""
    with reading(engine, project_id) as connection:
        return tuple(list_rehearsals(connection, project_id, rule=rule))
