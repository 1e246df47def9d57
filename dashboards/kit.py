"""Small pieces that all pages share: states with icon and word, badges, pagers, tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st

from dashboards.words import cell, clean, code, escape, plural, whole
from monitor.reports.paging import Page
from monitor.reports.series import Series

Colour = Literal["red", "orange", "yellow", "blue", "green", "violet", "gray"]

# Icon, word and colour of each state: never colour alone.
SEVERITIES: dict[str, tuple[str, str, Colour]] = {
    "page": (":material/e911_emergency:", "page", "red"),
    "ticket": (":material/confirmation_number:", "ticket", "orange"),
    "notice": (":material/info:", "notice", "blue"),
}
STATES: dict[str, tuple[str, str, Colour]] = {
    "firing": (":material/local_fire_department:", "firing", "red"),
    "pending": (":material/hourglass_top:", "pending", "orange"),
    "recovering": (":material/trending_down:", "recovering", "orange"),
    "resolved": (":material/check_circle:", "resolved", "green"),
    "ongoing": (":material/person_check:", "ongoing", "blue"),
    "escalating": (":material/trending_up:", "escalating", "red"),
    "regressed": (":material/replay:", "regressed", "orange"),
    "archived": (":material/inventory_2:", "archived", "gray"),
    "snoozed": (":material/snooze:", "snoozed", "gray"),
    "silenced": (":material/notifications_off:", "silenced", "gray"),
    "late": (":material/schedule:", "data late", "orange"),
    "ok": (":material/check:", "ok", "green"),
    "acknowledged": (":material/person_check:", "acknowledged", "blue"),
    "measured": (":material/check:", "measured", "green"),
    "too_few": (":material/hourglass_empty:", "too few rows", "gray"),
    "failed": (":material/error:", "failed", "red"),
    "no_data": (":material/cloud_off:", "no data", "orange"),
    "blind": (":material/visibility_off:", "blind spot", "orange"),
}

ACTIONS: dict[str, tuple[str, str, Colour]] = {
    "refused": (":material/block:", "refused", "orange"),
    "waiting": (":material/hourglass_top:", "waits for acknowledgement", "orange"),
    "requested": (":material/send:", "asked for, no outcome yet", "blue"),
    "done": (":material/check_circle:", "done", "green"),
    "failed": (":material/error:", "failed", "red"),
    "returned": (":material/undo:", "former state is back", "gray"),
}


def badge(state: str, table: dict[str, tuple[str, str, Colour]] | None = None) -> None:
    """A state as icon and word; one that is not known is shown as its own word."""
    icon, word, colour = (table or STATES).get(state, (":material/help:", clean(state), "gray"))
    st.badge(escape(word), icon=icon, color=colour)


def severity_badge(severity: str) -> None:
    """A severity as icon and word."""
    badge(severity, SEVERITIES)


def count_badge(count: int, word: str, icon: str, colour: Colour) -> None:
    """A count that turns grey when it is nothing."""
    st.badge(plural(count, word), icon=icon, color=colour if count else "gray")


def empty(title: str, remedy: str, command: str | None = None) -> None:
    """Nothing is there yet: say what to do."""
    _state(":material/inbox:", title, remedy, command)


def too_few(title: str, remedy: str) -> None:
    """There is something, but not enough to say a number."""
    _state(":material/hourglass_empty:", title, remedy, None)


def failed(title: str, remedy: str) -> None:
    """It was tried and did not work. `remedy` is text from outside or of an error."""
    with st.container(border=True):
        st.markdown(f":material/error: **{escape(title)}**")
        st.text(clean_lines(remedy))


def clean_lines(text: str) -> str:
    """Several lines of plain text without control characters."""
    return "\n".join(clean(line) for line in text.splitlines())


def _state(icon: str, title: str, remedy: str, command: str | None) -> None:
    with st.container(border=True):
        st.markdown(f"{icon} **{escape(title)}**")
        st.markdown(escape(remedy))
        if command:
            st.code(command, language=None, wrap_lines=True)


def scale_words(scale: str | None) -> str:
    """`a day`, `a 6h`; 168 hours are a week."""
    return {"168h": "a week", "1h": "an hour", "6h": "6 hours"}.get(scale or "", f"a {scale}")


def series_state(series: Series, what: str, remedy: str) -> bool:
    """Say what a series lacks; True when there is something to draw."""
    if series.is_empty:
        empty(f"No {what} was measured in these days", remedy)
        return False
    if series.measured == 0 and series.failed == 0:
        reason = f" The newest says: {series.reasons[0]}." if series.reasons else ""
        windows = plural(series.too_few, "window")
        too_few(f"Too few rows for {what}", f"{windows} had too few.{reason} {remedy}")
        return False
    if series.measured == 0:
        reasons = "\n".join(series.reasons)
        failed(f"{what} could not be measured", f"{plural(series.failed, 'failure')}:\n{reasons}")
        return False
    _lacks(series)
    return True


def _lacks(series: Series) -> None:
    parts = [f"{plural(series.measured, 'measurement')}"]
    if series.too_few:
        parts.append(f":material/hourglass_empty: {whole(series.too_few)} with too few rows")
    if series.failed:
        parts.append(f":material/error: {whole(series.failed)} failed")
    if len(parts) > 1:
        reason = f": {code(series.reasons[0])}" if series.reasons else ""
        st.caption(" · ".join(parts) + reason)


def pager(page: Page[Any], parameter: str) -> None:
    """Where one is in a long list, and the way to the next page; kept in the address."""
    if page.pages == 1:
        st.caption(f"{plural(page.total, 'row')}")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Earlier rows", key=f"{parameter}:back", disabled=page.number == 1):
            _turn(parameter, page.number - 1)
        if st.button("Further rows", key=f"{parameter}:on", disabled=page.number == page.pages):
            _turn(parameter, page.number + 1)
        st.caption(
            f"Rows {whole(page.first)} to {whole(page.last)} of {whole(page.total)},"
            f" page {whole(page.number)} of {whole(page.pages)}"
        )


def _turn(parameter: str, number: int) -> None:
    st.query_params[parameter] = str(number)
    st.rerun()


def table(frame: pd.DataFrame, alt: str, *, numbers: Sequence[str] = ()) -> None:
    """A table of text cells; only the columns named in `numbers` sort as numbers.

    Ids and counts beyond 2^53 would be rounded by the browser, so everything else goes as text.
    """
    texts = [name for name in frame.columns if name not in numbers]
    shown = frame.astype(dict.fromkeys(texts, "string"))
    for name in texts:
        shown[name] = shown[name].map(cell, na_action="ignore")
    st.dataframe(shown, hide_index=True, alt=clean(alt))
