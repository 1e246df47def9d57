"""What changed between two states of an alert, as the rows that record it. Pure."""

from __future__ import annotations

from datetime import datetime

from alerts.model import (
    Alert,
    AlertState,
    DataState,
    Reading,
    ResolvedReason,
    Standing,
    Transition,
    TransitionReason,
)

_DATA_REASONS = {
    DataState.OK: TransitionReason.DATA_RETURNED,
    DataState.NO_DATA: TransitionReason.NO_DATA,
    DataState.TOO_FEW: TransitionReason.TOO_FEW,
    DataState.FAILED: TransitionReason.FAILED,
    DataState.LATE: TransitionReason.LATE,
}


def transitions_between(
    before: Alert | None, after: Alert, reading: Reading, now: datetime
) -> list[Transition]:
    """What changed, in the order state, standing, data; data only while the alert is open."""
    from_state = before.state if before is not None else AlertState.OK
    reasons: list[TransitionReason | ResolvedReason] = []
    if from_state is not after.state:
        reasons.append(_reason(from_state, after))
    same = before is not None and before.episode == after.episode
    if after.standing is not (before.standing if same and before is not None else Standing.NEW):
        if after.standing is Standing.ESCALATING:
            reasons.append(TransitionReason.GOT_WORSE)
        elif after.standing is Standing.REGRESSED:
            reasons.append(TransitionReason.REGRESSED)
    elif after.standing is Standing.ESCALATING and before and after.excess != before.excess:
        reasons.append(TransitionReason.GOT_WORSE)
    known = before.data_state if before is not None else DataState.OK
    if after.is_open and after.data_state is not known:
        reasons.append(_DATA_REASONS[after.data_state])
    since = after.pending_since or (before.pending_since if before is not None else None)
    made = []
    for reason in reasons:
        made.append(
            Transition(
                fingerprint=after.fingerprint,
                rule=after.rule,
                episode=after.episode,
                from_state=from_state,
                to_state=after.state,
                reason=reason,
                at=reading.at,
                recorded_at=now,
                since=since,
                reading=reading,
            )
        )
        from_state = after.state
    return made


def _reason(from_state: AlertState, after: Alert) -> TransitionReason | ResolvedReason:
    if after.state is AlertState.PENDING:
        return TransitionReason.BREACH_BEGAN
    if after.state is AlertState.RECOVERING:
        return TransitionReason.CLEAR_BEGAN
    if after.state is AlertState.FIRING:
        came_back = from_state is AlertState.RECOVERING
        return TransitionReason.BREACH_RETURNED if came_back else TransitionReason.BREACH_HELD
    if after.state is AlertState.OK:
        return TransitionReason.BREACH_PASSED
    if after.resolved_reason is None:
        raise AssertionError("a resolved alert has a reason: _resolved is the only way there")
    return after.resolved_reason
