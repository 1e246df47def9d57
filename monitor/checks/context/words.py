"""Sentences from the findings about an incident: number, interval and n, "consistent with".

Nearness in time and shared movement are all the findings can show, so no sentence names a cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from monitor.checks.context import phrases
from monitor.checks.context.clock import ClockCheck
from monitor.checks.context.contributions import (
    ColumnDidNotMove,
    Contribution,
    Contributions,
)
from monitor.checks.context.disde import LossChange
from monitor.checks.context.explained import OutputDidNotMove, OutputMoved
from monitor.checks.context.label_shift import LabelShift
from monitor.checks.context.ranking import Ranked, Timing, ranked
from monitor.checks.context.tags import TagChange, TagDifference
from monitor.checks.context.traffic import TrafficChange
from monitor.checks.slices import Slice, SliceSearch
from monitor.measurement import Failed, Measured, TooFew

SHOWN = 3


@dataclass(frozen=True)
class Findings:
    """What was looked at around an incident that began at `start`; None or empty: not looked at.

    `window` is the incident's scale, `changed_at` when columns began to change, `contributions` by
    column, `classes` the names of the classes of `label_shift`.
    """

    start: datetime
    window: timedelta
    output: OutputMoved | OutputDidNotMove | TooFew | Failed | None = None
    changed_at: Mapping[str, datetime] = field(default_factory=dict)
    tags: tuple[TagChange, ...] | None = None
    contributions: Mapping[str, Contributions | ColumnDidNotMove | TooFew | Failed] = field(
        default_factory=dict
    )
    clock: ClockCheck | TooFew | None = None
    loss: LossChange | TooFew | Failed | None = None
    label_shift: LabelShift | TooFew | Failed | None = None
    classes: tuple[str, ...] = ()
    slices: SliceSearch | TooFew | Failed | None = None


def sentences(findings: Findings) -> tuple[str, ...]:
    """All findings in words: clock, output and its columns, tags, segments, slices, loss, classes.

    What could not be told is told as that. At most three columns, tag changes, segments or slices
    each, in the order of `ranked` or of the finding.
    """
    found = [*clock_sentences(findings.clock), *output_sentences(findings)]
    found += tag_sentences(findings.tags)
    for column, result in findings.contributions.items():
        found += contribution_sentences(column, result)
    found += slice_sentences(findings.slices)
    found += loss_sentences(findings.loss)
    found += label_shift_sentences(findings.label_shift, findings.classes)
    return tuple(found)


def clock_sentences(clock: ClockCheck | TooFew | None) -> list[str]:
    if clock is None or (isinstance(clock, ClockCheck) and clock.shift == 0):
        return []
    if isinstance(clock, TooFew):
        return [_unknown("Whether the clock moved", clock)]
    columns = [column for column in clock.columns if column.name in clock.agreeing]
    gains = [column.gain for column in columns]
    rows = phrases.count(min(column.n for column in columns))
    side = "earlier" if clock.shift < 0 else "later"
    return [
        f"The rows are consistent with a clock that moved by one hour: {len(columns)} of "
        f"{len(clock.columns)} columns fit the expected hour one {side} better, by "
        f"{phrases.number(min(gains))} to {phrases.number(max(gains))} nats a row "
        f"(smallest z {phrases.number(min(column.z for column in columns))}, n = {rows} or more)."
    ]


def output_sentences(findings: Findings) -> list[str]:
    output = findings.output
    if output is None:
        return []
    if isinstance(output, TooFew | Failed):
        return [_unknown("What goes with the output", output)]
    change = f"{phrases.number(output.total.value)} ({phrases.number_limits(output.total)})"
    if isinstance(output, OutputDidNotMove):
        return [f"The mean output did not move visibly: {change}; there is nothing to divide."]
    order = ranked(
        output.columns, findings.changed_at, findings.start, findings.window, findings.tags or ()
    )
    told = [one for one in order if one.score > 0][:SHOWN]
    head = f"The mean output moved by {change}."
    if not told:
        return [head, _no_column(len(order))]
    return [head, *(column_sentence(one) for one in told)]


def column_sentence(one: Ranked) -> str:
    """One column (or pair) and the share of the output's change that goes with it."""
    share = one.explained.share
    names = phrases.names(one.explained.columns)
    if not isinstance(share, Measured):
        return _unknown(f"What goes with {names}", share)
    text = (
        f"{phrases.percent(share.value)} of the change of the output is consistent with the "
        f"changed mix of {names} ({phrases.share_limits(share)})"
    )
    timing = {
        Timing.NEAR: ", which began to change near the start",
        Timing.ELSEWHERE: ", which changed at another time",
        Timing.UNKNOWN: "",
    }[one.timing]
    logged = "" if one.logged is None else f"; near it, {_what_changed(one.logged)}"
    return f"{text}{timing}{logged}."


def tag_sentences(tags: tuple[TagChange, ...] | None) -> list[str]:
    if tags is None:
        return []
    if not tags:
        return ["No deployment came, went or changed its share of traffic near the start."]
    return [tag_sentence(change) for change in tags[:SHOWN]]


def tag_sentence(change: TagChange) -> str:
    """One change of deployments with its traffic and the tags that differ."""
    traffic = "; ".join(_traffic(one) for one in change.changes)
    return (
        f"{phrases.moment(change.at)}, {phrases.hours_away(change.hours_from_start)}: {traffic}. "
        f"The timing is consistent with {_what_changed(change)}."
    )


def contribution_sentences(
    column: str, result: Contributions | ColumnDidNotMove | TooFew | Failed
) -> list[str]:
    shown = phrases.name(column)
    if isinstance(result, TooFew | Failed):
        return [_unknown(f"Which segments carry the shift of {shown}", result)]
    if isinstance(result, ColumnDidNotMove):
        return [
            f"{shown} did not move visibly over all segments "
            f"({phrases.p_value(result.p_value)}, n = {phrases.count(result.n)}, "
            f"reference {phrases.count(result.n_reference)})."
        ]
    sure = [one for one in result.top if _excludes_zero(one.share)]
    if not sure:
        return [
            f"No segment's part in the shift of {shown} has an interval without 0 "
            f"(n = {phrases.count(result.mix.n)})."
        ]
    return [_contribution(shown, one) for one in sure[:SHOWN]]


def slice_sentences(search: SliceSearch | TooFew | Failed | None) -> list[str]:
    if search is None:
        return []
    if isinstance(search, TooFew | Failed):
        return [_unknown("Which slices stand out", search)]
    confirmed = [one for one in search.slices if one.confirmed()]
    if not confirmed:
        return [
            f"No slice was confirmed: {phrases.count(search.tested)} looked at, "
            f"n = {phrases.count(search.n)}."
        ]
    return [_slice(one) for one in confirmed[:SHOWN]]


def loss_sentences(loss: LossChange | TooFew | Failed | None) -> list[str]:
    if loss is None:
        return []
    if isinstance(loss, TooFew | Failed):
        return [_unknown("How the change of the loss divides", loss)]
    parts = (
        (loss.harder_mix, "another mix of common cells"),
        (loss.within, "a changed loss within the same cells"),
        (loss.new_or_rare, "cells that were rare or absent"),
    )
    told = "; ".join(
        f"{phrases.number(part.value)} with {what} ({phrases.number_limits(part)})"
        for part, what in parts
    )
    total = f"{phrases.number(loss.total.value)} ({phrases.number_limits(loss.total)})"
    return [f"The mean loss changed by {total}, consistent with: {told}."]


def label_shift_sentences(
    shift: LabelShift | TooFew | Failed | None, classes: tuple[str, ...]
) -> list[str]:
    if shift is None:
        return []
    if isinstance(shift, TooFew | Failed):
        return [_unknown("Whether the shares of the true classes changed", shift)]
    places = range(len(shift.share_now))
    shown = classes if len(classes) == len(places) else tuple(map(str, places))
    told = "; ".join(
        f"{phrases.name(shown[k])} {phrases.percent(shift.share_then[k])} → "
        f"{phrases.percent(shift.share_now[k].value)} ({phrases.share_limits(shift.share_now[k])})"
        for k in places
    )
    doubt = (
        " An estimate fell below 0, so more than the shares of the classes changed."
        if shift.clipped
        else ""
    )
    return [f"If nothing but the shares of the true classes changed, they are: {told}.{doubt}"]


def _excludes_zero(measured: Measured) -> bool:
    low, high = measured.low, measured.high
    return low is not None and high is not None and not low <= 0 <= high


def _no_column(columns: int) -> str:
    return f"None of {columns} columns has a share of it whose interval lies above 0."


def _what_changed(change: TagChange) -> str:
    """`deployment 7 in the place of 5: model_version 3 → 4`."""
    came = "an unknown deployment" if change.came is None else f"deployment {change.came}"
    went = "" if change.went is None else f" in the place of {change.went}"
    told = ", ".join(_difference(one) for one in change.differing) or "no known tag differs"
    unknown = (
        f" ({len(change.unknown)} tags unknown on both sides may differ)" if change.unknown else ""
    )
    return f"{came}{went}: {told}{unknown}"


def _difference(one: TagDifference) -> str:
    went, came = (
        "unknown" if value is None else phrases.name(value) for value in (one.went, one.came)
    )
    return f"{one.name} {went} → {came}"


def _traffic(change: TrafficChange) -> str:
    text = f"deployment {change.deployment_id} {change.kind.value}"
    difference = change.difference
    if not isinstance(difference, Measured):
        return text
    before, after = difference.detail["share_before"], difference.detail["share_after"]
    return (
        f"{text}, {phrases.percent(before)} → {phrases.percent(after)} of the traffic "
        f"(difference {phrases.percent(difference.value)}, {phrases.share_limits(difference)})"
    )


def _contribution(column: str, one: Contribution) -> str:
    return (
        f"{phrases.percent(one.share.value)} of the shift of {column} is consistent with segment "
        f"{phrases.name(one.label)} ({phrases.share_limits(one.share)}): "
        f"{phrases.percent(one.mix)} by its size, {phrases.percent(one.within)} inside it."
    )


def _slice(one: Slice) -> str:
    effect = one.effect
    told = (
        f"difference {phrases.number(effect.value)} ({phrases.number_limits(effect)})"
        if isinstance(effect, Measured)
        else "difference not measured"
    )
    return (
        f"The rows are consistent with a change in the slice {phrases.name(one.label)}: on the "
        f"half kept for confirmation, {told}, {phrases.p_value(one.p_confirmed)}."
    )


def _unknown(question: str, result: TooFew | Failed) -> str:
    if isinstance(result, Failed):
        return f"{question} could not be told: {result.reason}."
    return (
        f"{question} can't be told yet: {phrases.count(result.n)} {result.reason}, "
        f"{phrases.count(result.needed)} needed."
    )
