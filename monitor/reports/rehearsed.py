"""Whether the whole chain of a rule was ever tried, in words."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.engine import Engine

from alerts.errors import AlertConfigError
from alerts.rehearsal import Rehearsed
from monitor.reports.responses import rule_rehearsals_now
from monitor.store.rehearsals import rehearsal_words


@dataclass(frozen=True)
class RuleTried:
    """One rule in force: whether its newest rehearsal passed and still counts, and in words."""

    rule: str
    passed: bool
    text: str


def rules_tried(engine: Engine, project_id: int) -> tuple[RuleTried, ...]:
    """Every rule in force that people are told of; none when this program can't read the rules."""
    try:
        known = rule_rehearsals_now(engine, project_id)
    except AlertConfigError:
        return ()
    return tuple(
        RuleTried(each.rule, each.standing is Rehearsed.PASSED, rehearsal_words(each))
        for each in known
    )
