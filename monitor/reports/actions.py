"""What a person may do from a page: answer an alert, silence it, respond, judge an incident.

The same as the commands do, with the dashboard's rights: state, history and the message that is
owed change in one transaction.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.engine import Engine

from alerts.actions import ActionOutcome, OutcomeReport
from monitor.store.action_orders import Outside
from monitor.store.actions import StoredAction, report_outcome
from monitor.store.alert_silences import silence_alert
from monitor.store.engine import Role
from monitor.store.hand_over import (
    MAX_COMMENT,
    MAX_NAME,
    acknowledge_alert,
    archive_alert,
    false_alarm,
    judge,
    resolve_alert,
    snooze_alert,
    unarchive_alert,
)
from monitor.store.incidents import Verdict
from monitor.store.responding import checked_name, run_response
from monitor.store.silences import end_silence

__all__ = [
    "MAX_COMMENT",
    "MAX_NAME",
    "ActionOutcome",
    "Verdict",
    "acknowledge",
    "archive",
    "close_by_hand",
    "end_silence_by_hand",
    "judge_by_hand",
    "report_by_hand",
    "respond",
    "silence",
    "snooze",
    "unarchive",
]


def acknowledge(
    engine: Engine, project_id: int, alert_id: int, by: str, comment: str, now: datetime
) -> None:
    """Somebody takes an open alert on. It stays open; a second one takes the first one's place.

    Raises ConfigurationError when name or comment can't be used, UnknownSubject when there is no
    such alert and AlertNotOpen when it is over.
    """
    acknowledge_alert(engine, project_id, alert_id, by, comment, now, role=Role.DASHBOARD)


def snooze(
    engine: Engine,
    project_id: int,
    alert_id: int,
    until: datetime,
    by: str,
    comment: str,
    now: datetime,
) -> None:
    """Nothing is told of an open alert until then, except its end. Errors as above."""
    snooze_alert(engine, project_id, alert_id, until, by, comment, now, role=Role.DASHBOARD)


def archive(
    engine: Engine, project_id: int, alert_id: int, by: str, comment: str, now: datetime
) -> None:
    """Nothing is told of an open alert until it is much worse. Errors as above."""
    archive_alert(engine, project_id, alert_id, by, comment, now, role=Role.DASHBOARD)


def unarchive(
    engine: Engine, project_id: int, alert_id: int, by: str, comment: str, now: datetime
) -> None:
    """An archived alert is told of again. Errors as above."""
    unarchive_alert(engine, project_id, alert_id, by, comment, now, role=Role.DASHBOARD)


def silence(
    engine: Engine,
    project_id: int,
    alert_id: int,
    until: datetime,
    by: str,
    reason: str,
    now: datetime,
    *,
    only_this_subject: bool = False,
) -> int:
    """Keep alerts like this one, or this subject only, quiet; the silence's number.

    Raises ConfigurationError with every mistake, UnknownSubject when there is no such alert.
    """
    made = silence_alert(
        engine, project_id, alert_id, until, by, reason, now,
        only_this_subject=only_this_subject, role=Role.DASHBOARD,
    )  # fmt: skip
    return made.id


def end_silence_by_hand(
    engine: Engine, project_id: int, number: int, by: str, now: datetime
) -> None:
    """End a silence; what it kept quiet and still fires is told at once. Errors as above."""
    end_silence(engine, project_id, number, by, now, role=Role.DASHBOARD)


def respond(
    engine: Engine,
    project_id: int,
    alert_id: int,
    by: str,
    now: datetime,
    pages: str,
    api: str,
    *,
    dry_run: bool = False,
) -> StoredAction:
    """Start the response of an alert within its limits; the action says if it was refused.

    `pages` and `api` are the addresses that its message links to. Raises UnknownSubject when there
    is no such alert, ConfigurationError when the name can't be used.
    """
    return run_response(
        engine, project_id, alert_id, by, now, Outside(pages, api),
        dry_run=dry_run, role=Role.DASHBOARD,
    )  # fmt: skip


def report_by_hand(
    engine: Engine,
    project_id: int,
    number: int,
    outcome: ActionOutcome,
    by: str,
    detail: str,
    now: datetime,
) -> None:
    """A person says what became of an action.

    Raises UnknownSubject when there is no such action, ActionNotOpen when it has another outcome.
    """
    report = OutcomeReport(outcome, detail.strip())
    by = checked_name(by)
    report_outcome(engine, project_id, number, report, by, now, role=Role.DASHBOARD)


def close_by_hand(
    engine: Engine,
    project_id: int,
    alert_id: int,
    by: str,
    comment: str,
    now: datetime,
) -> None:
    """A person ends the episode; who knew of its opening is told of its end. Errors as above."""
    resolve_alert(engine, project_id, alert_id, by, comment, now, role=Role.DASHBOARD)


def tell_false(
    engine: Engine,
    project_id: int,
    alert_id: int,
    by: str,
    comment: str,
    now: datetime,
) -> None:
    """A person says that nothing was wrong: the alert ends for that reason. Errors as above."""
    false_alarm(engine, project_id, alert_id, by, comment, now, role=Role.DASHBOARD)


def judge_by_hand(
    engine: Engine,
    project_id: int,
    incident: int,
    verdict: Verdict,
    by: str,
    comment: str,
    now: datetime,
) -> None:
    """A person says what an incident was; a false alarm ends its open alerts as well.

    Raises ConfigurationError when name or comment can't be used, UnknownSubject without such an
    incident.
    """
    judge(engine, project_id, incident, verdict, by, comment, now, role=Role.DASHBOARD)
