"""Who knows of an alert, what holds it back, and what was asked of deployment systems about it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from alerts.actions import ActionState
from alerts.silences import Silence
from dashboards import kit, words
from dashboards.alert_forms import draw_end_of_silence, draw_outcome_form
from dashboards.frame import Frame
from monitor.reports.alert_detail import AlertDetail, StoredAction
from monitor.reports.alerts import Finding
from monitor.reports.responses import rehearsals_told

EVENTS = {"opened": "told of it", "got_worse": "told that it got worse", "ended": "told of its end"}
SENDS_SHOWN = 20


def draw_quiet(frame: Frame, found: Finding) -> None:
    """What keeps the alert quiet now: a snooze, an archive, silences."""
    for line in quiet_lines(frame, found):
        st.info(words.escape(line), icon=":material/notifications_paused:")
    for each in found.silences:
        draw_end_of_silence(frame, each.id, f"alert:{found.id}")


def quiet_lines(frame: Frame, found: Finding) -> list[str]:
    """The same in sentences of plain text."""
    said = []
    if found.archived_by is not None:
        said.append(f"Archived by {found.archived_by}: told of again when it is much worse.")
    if found.is_open and found.snoozed_until is not None and found.snoozed_until > frame.now:
        said.append(f"Snoozed until {words.moment(found.snoozed_until, frame.zone)}.")
    said += [silence_line(frame, each) for each in found.silences]
    return said


def silence_line(frame: Frame, one: Silence) -> str:
    """A silence in a sentence: by whom, until when, about what, why."""
    about = ", ".join(f"{each.label} {' or '.join(each.patterns)}" for each in one.matchers)
    until = words.moment(one.ends_at, frame.zone)
    return f"Silence {one.id} by {one.author} until {until}, for {about}: {one.reason}"


def draw_told(frame: Frame, detail: AlertDetail) -> None:
    """What each receiver knows, and the messages with their tries."""
    st.header("Who was told")
    if detail.deliveries_dead:
        kit.failed(
            f"{words.plural(detail.deliveries_dead, 'message')} could not be delivered",
            "Nobody was told by that way. Read the attempts below and mend the receiver.",
        )
    told = sorted(detail.finding.told.items())
    if not told and not detail.sends:
        kit.empty("Nobody was told yet", "A message is owed once it fires and nothing holds it.")
        return
    for name, each in told:
        times = f", {words.plural(each.times, 'time')}" if each.times > 1 else ""
        st.markdown(
            f":material/person: {words.code(name)} was {EVENTS[each.event.value]}"
            f" {words.escape(words.moment(each.at, frame.zone))}{times}"
        )
    if detail.deliveries_waiting:
        waiting = words.plural(detail.deliveries_waiting, "message")
        st.caption(f":material/schedule_send: {waiting} waiting to be sent")
    if detail.sends:
        with st.expander(f"Messages ({words.whole(len(detail.sends))})"):
            kit.table(_sends(frame, detail), "Messages about the alert, the newest first")


def _sends(frame: Frame, detail: AlertDetail) -> pd.DataFrame:
    rows = []
    for each in detail.sends[:SENDS_SHOWN]:
        last = each.attempts[0] if each.attempts else None
        rows.append(
            {
                "owed": words.moment(each.created_at, frame.zone, seconds=True),
                "receiver": words.clean(each.receiver),
                "message": each.event + (" (drill)" if each.drill else ""),
                "state": each.state,
                "tries": words.whole(len(each.attempts)),
                "last try": words.clean(f"{last.outcome}: {last.detail}") if last else "none yet",
            }
        )
    return pd.DataFrame(rows)


def draw_actions(frame: Frame, detail: AlertDetail) -> None:
    """What was asked of deployment systems or carried out by hand, and how it went."""
    if not detail.actions:
        return
    st.header("Actions")
    for each in detail.actions:
        with st.container(border=True):
            with st.container(horizontal=True, vertical_alignment="center"):
                kit.badge(each.state.value, kit.ACTIONS)
                for word, holds in (("dry run", each.dry_run), ("drill", each.drill)):
                    if holds:
                        st.badge(word, icon=":material/science:", color="gray")
            target = f" to {each.to_percent:g} %" if each.to_percent is not None else ""
            what = words.response(each.action.value) + target
            asked = words.escape(words.moment(each.requested_at, frame.zone, seconds=True))
            back = f", returns from action {each.returns}" if each.returns is not None else ""
            st.markdown(
                f"**{words.escape(what)}** · action {each.number}{back} · asked for by"
                f" {words.code(each.requested_by)} {asked}"
            )
            for line in (each.text, each.detail or ""):
                if line:
                    st.text(kit.clean_lines(line))
            _draw_times(frame, each)
            if each.state is ActionState.REQUESTED:
                if each.is_overdue(frame.now):
                    st.caption(":material/error: Its outcome is overdue.")
                draw_outcome_form(frame, each.number)


def _draw_times(frame: Frame, one: StoredAction) -> None:
    said = []
    if one.outcome_by and one.outcome_at is not None:
        at = words.escape(words.moment(one.outcome_at, frame.zone))
        said.append(f"outcome reported by {words.code(one.outcome_by)} {at}")
    if one.expires_at is not None:
        said.append(f"expires {words.escape(words.moment(one.expires_at, frame.zone))}")
    if said:
        st.caption(" · ".join(said))


def draw_rehearsal(frame: Frame, rule_name: str) -> None:
    """Whether the rule's whole chain was ever tried."""
    known = frame.ask(rehearsals_told)
    said = known.words.get(rule_name)
    if said is None:
        return
    untried = rule_name in known.untried
    icon = ":material/warning:" if untried else ":material/check:"
    st.caption(f"{icon} Rule {words.code(rule_name)}: {words.escape(said)}.")
    if untried:
        st.code(f"inferwatch respond rehearse {rule_name}", language=None, wrap_lines=True)
