"""What a person can do about an alert: each deed, its words, what it asks, how it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dashboards import words
from dashboards.frame import Frame
from monitor.access import Right
from monitor.reports.actions import (
    Verdict,
    acknowledge,
    archive,
    close_by_hand,
    judge_by_hand,
    respond,
    silence,
    snooze,
    tell_false,
    unarchive,
)
from monitor.reports.alerts import Finding
from monitor.reports.incidents import IncidentFacts
from monitor.settings import Settings

LENGTHS = {
    "30 minutes": timedelta(minutes=30),
    "1 hour": timedelta(hours=1),
    "4 hours": timedelta(hours=4),
    "1 day": timedelta(days=1),
    "7 days": timedelta(days=7),
    "30 days": timedelta(days=30),
}
USUAL_LENGTH = "4 hours"


@dataclass(frozen=True)
class Answer:
    """What a person filled in."""

    by: str
    comment: str = ""
    length: timedelta = timedelta(0)
    only_this: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class Done:
    """What became of it: a problem, or what the page says."""

    problem: str | None = None
    said: str = ""


@dataclass(frozen=True)
class Deed:
    """One thing to do. `comment` names the text field, None for none."""

    name: str
    caption: str
    do: Callable[[Frame, Finding, Answer], Done]
    right: Right
    comment: str | None = "Comment"
    asks_length: bool = False
    asks_only_this: bool = False
    asks_dry_run: bool = False


def deeds_for(found: Finding, incident: IncidentFacts | None) -> dict[str, Deed]:
    """What there is to do about this alert now, by name."""
    possible = []
    if found.is_open:
        possible += [TAKE_ON, SNOOZE, SILENCE, RESPOND, RESOLVE]
    if found.archived_by is not None:
        possible.append(UNARCHIVE)
    elif found.is_open:
        possible.append(ARCHIVE)
    if incident is None and found.is_open:
        possible.append(FALSE_ALARM)
    elif incident is not None:
        possible += [_verdict(incident, *each) for each in VERDICTS]
    return {each.name: each for each in possible}


def _take_on(frame: Frame, found: Finding, answer: Answer) -> Done:
    problem = frame.do(
        acknowledge, found.id, answer.by, answer.comment, datetime.now(UTC), right=Right.ACKNOWLEDGE
    )
    return Done(problem, "Acknowledged.")


def _snooze(frame: Frame, found: Finding, answer: Answer) -> Done:
    now = datetime.now(UTC)
    until = now + answer.length
    problem = frame.do(snooze, found.id, until, answer.by, answer.comment, now, right=Right.SNOOZE)
    return Done(problem, f"Snoozed until {words.moment(until, frame.zone)}.")


def _silence(frame: Frame, found: Finding, answer: Answer) -> Done:
    now = datetime.now(UTC)
    until = now + answer.length

    def made(engine: object, project_id: int) -> None:
        silence(
            engine, project_id, found.id, until, answer.by, answer.comment, now,  # type: ignore[arg-type]
            only_this_subject=answer.only_this,
        )  # fmt: skip

    return Done(
        frame.do(made, right=Right.SILENCE), f"Silenced until {words.moment(until, frame.zone)}."
    )


def _respond(frame: Frame, found: Finding, answer: Answer) -> Done:
    settings = Settings.from_environment()
    said: list[str] = []

    def run(engine: object, project_id: int) -> None:
        action = respond(
            engine, project_id, found.id, answer.by, datetime.now(UTC),  # type: ignore[arg-type]
            settings.public_url, settings.api_url, dry_run=answer.dry_run,
        )  # fmt: skip
        why = f": {action.text}" if action.text else ""
        said.append(f"Action {action.number} is {action.state.value}{why}.")

    problem = frame.do(run, right=Right.RESPOND)
    return Done(problem, said[0] if said else "")


def _archive(frame: Frame, found: Finding, answer: Answer) -> Done:
    problem = frame.do(
        archive, found.id, answer.by, answer.comment, datetime.now(UTC), right=Right.ARCHIVE
    )
    return Done(problem, "Archived until it is much worse.")


def _unarchive(frame: Frame, found: Finding, answer: Answer) -> Done:
    problem = frame.do(
        unarchive, found.id, answer.by, answer.comment, datetime.now(UTC), right=Right.ARCHIVE
    )
    return Done(problem, "It is told of again.")


def _resolve(frame: Frame, found: Finding, answer: Answer) -> Done:
    problem = frame.do(
        close_by_hand, found.id, answer.by, answer.comment, datetime.now(UTC), right=Right.RESOLVE
    )
    return Done(problem, "Resolved.")


def _tell_false(frame: Frame, found: Finding, answer: Answer) -> Done:
    problem = frame.do(
        tell_false, found.id, answer.by, answer.comment, datetime.now(UTC), right=Right.JUDGE
    )
    return Done(problem, "It ended as a false alarm.")


def _verdict(incident: IncidentFacts, name: str, verdict: Verdict, caption: str) -> Deed:
    def judged(frame: Frame, _found: Finding, answer: Answer) -> Done:
        problem = frame.do(
            judge_by_hand,
            incident.id,
            verdict,
            answer.by,
            answer.comment,
            datetime.now(UTC),
            right=Right.JUDGE,
        )
        return Done(problem, f"Incident {incident.id} is judged: {name.lower()}.")

    return Deed(name, caption, judged, Right.JUDGE)


TAKE_ON = Deed(
    "Acknowledge",
    "You take it on: it stays open, escalation stops, the others see that it is yours.",
    _take_on,
    Right.ACKNOWLEDGE,
)
SNOOZE = Deed(
    "Snooze",
    "Nothing is told of this alert for a while, except its end; what is due is told afterwards.",
    _snooze,
    Right.SNOOZE,
    asks_length=True,
)
SILENCE = Deed(
    "Silence",
    "Alerts of this rule on this model are not told of for a while; what still fires afterwards is"
    " told then.",
    _silence,
    Right.SILENCE,
    comment="Reason",
    asks_length=True,
    asks_only_this=True,
)
RESPOND = Deed(
    "Respond",
    "Starts the response above within its limits. One without an automatic action is recorded as"
    " carried out by you, and waits for you to say how it went.",
    _respond,
    Right.RESPOND,
    comment=None,
    asks_dry_run=True,
)
ARCHIVE = Deed(
    "Archive",
    "Nothing is told of it, nor of its next episodes, until it is much worse than now.",
    _archive,
    Right.ARCHIVE,
)
UNARCHIVE = Deed("Unarchive", "It is told of again.", _unarchive, Right.ARCHIVE)
RESOLVE = Deed(
    "Resolve",
    "Closed by hand: whoever knows of it is told; the next breaching window opens it again.",
    _resolve,
    Right.RESOLVE,
)
FALSE_ALARM = Deed(
    "False alarm",
    "Nothing was wrong: it ends for that reason, which is counted here and in reports.",
    _tell_false,
    Right.JUDGE,
)
VERDICTS = (
    (
        "False alarm",
        Verdict.FALSE_ALARM,
        "The incident was none: its weeks are learned from, the levels of all drift alarms go down"
        " for a while, and its open alerts end.",
    ),
    ("Fault", Verdict.FAULT, "Something was broken: its weeks are never learned from."),
    ("New normal", Verdict.ADOPT, "It stays like this: its weeks are learned from."),
)
