"""Planned for days with traffic of language models: tokens, first tokens, answers."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.checks.language import finish_reasons, first_token_times, language_rates
from monitor.checks.registry import CheckName
from monitor.jobs.plans.base import PlanInputs
from monitor.measurement import Measurement
from monitor.profiles.part import PartKind


def language(inputs: PlanInputs) -> Iterator[Measurement]:
    """What the contract's standard fields of language models allow; nothing without any."""
    part = inputs.parts.get(PartKind.SERVING)
    if part is None:
        return
    seconds = (inputs.window.end - inputs.window.start).total_seconds()
    for method, outcome in language_rates(part, inputs.contract, seconds).items():
        yield inputs.measurement(CheckName.LANGUAGE, method, outcome)
    for (method, word), outcome in first_token_times(part, inputs.contract).items():
        yield inputs.measurement(CheckName.LANGUAGE, method, outcome, column=word)
    for word, outcome in finish_reasons(part, inputs.contract).items():
        yield inputs.measurement(CheckName.LANGUAGE, "finish_reason_share", outcome, column=word)
