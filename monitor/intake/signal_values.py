"""Values of signals, judged by the kind of the signal. Pure.

An event and a rubric are true, false, 1 or 0; a rating is a number on the declared scale; a
preference is win, loss or tie, in small letters.
"""

from __future__ import annotations

from typing import Any

from monitor.contract import Contract
from monitor.contract_quality import Signal, SignalKind
from monitor.intake.columns import canonical_text
from monitor.intake.envelope import Refusal
from monitor.records import RejectionReason
from monitor.strictjson import visible

PREFERENCES = ("win", "loss", "tie")
MAX_NUMBER_LENGTH = 300
_SHOWN = 80


def read_signal(signal: Signal, value: Any) -> tuple[float | None, str | None] | Refusal:
    """A signal's value as (number, None) or (None, text), by its kind."""
    if value is None:
        return Refusal(RejectionReason.MISSING_LABEL, "value is missing; a signal says what was")
    if signal.kind is SignalKind.PREFERENCE:
        return (None, value) if value in PREFERENCES else refused(signal)
    text = canonical_text(value)
    if isinstance(value, str) or text is None or len(text) >= MAX_NUMBER_LENGTH:
        return refused(signal)
    number = float(value)
    if signal.scale is None:
        return (number, None) if number in (0.0, 1.0) else refused(signal)
    low, high = signal.scale
    on_scale = not isinstance(value, bool) and low <= number <= high
    return (number, None) if on_scale else refused(signal)


def wanted_value(signal: Signal) -> str:
    """What values of a signal may be, in words."""
    if signal.kind is SignalKind.PREFERENCE:
        return "win, loss or tie"
    if signal.scale is None:
        return "true, false, 1 or 0"
    return f"a number from {signal.scale[0]:g} to {signal.scale[1]:g}"


def refused(signal: Signal) -> Refusal:
    """What the values of a signal are, for somebody who sent another one."""
    told = f"value is {wanted_value(signal)} for the {signal.kind} {signal.name!r}"
    return Refusal(RejectionReason.BAD_LABEL, told)


def unknown_name(name: Any, contract: Contract) -> Refusal:
    """The name of a label that is not declared, or none where one is needed."""
    if contract.label is None and not contract.signals:
        return Refusal(RejectionReason.UNKNOWN_LABEL, "the model's contract declares no label")
    declared = [] if contract.label is None else [f"the label {contract.label.name!r}"]
    if contract.signals:
        names = ", ".join(repr(signal.name) for signal in contract.signals)
        declared.append(f"the signal{'s' if len(contract.signals) > 1 else ''} {names}")
    told = f"the model's contract declares only {' and '.join(declared)}"
    if name is None:
        return Refusal(RejectionReason.UNKNOWN_LABEL, f"label is missing; {told}")
    what = f" {visible(name, _SHOWN)!r}" if isinstance(name, str) else ""
    return Refusal(RejectionReason.UNKNOWN_LABEL, f"no label{what}; {told}")
