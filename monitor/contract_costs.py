"""What a request costs, when its task counts as done, and how a cascade routes. Pure values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from monitor.contract_base import Frozen

SUCCESS_BY_SIGNAL = "signal:"
PRICED_FIELDS = (
    *("prompt_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"),
    *("latency", "compute_time", "tool_calls"),
)


class Price(Frozen):
    """`price` for each `per` of a standard field (a time: in hours), perhaps of one route."""

    field: str
    price: float = Field(ge=0, allow_inf_nan=False)
    per: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    route: str | None = None

    @field_validator("field")
    @classmethod
    def _is_priced(cls, name: str) -> str:
        if name not in PRICED_FIELDS:
            raise ValueError(f"{name!r} has no price; priced are {', '.join(PRICED_FIELDS)}")
        return name


class Capacity(Frozen):
    """Machines that are paid whether they work or not: `per_hour` for all, and how many requests
    they can work on at once.
    """

    per_hour: float = Field(ge=0, allow_inf_nan=False)
    slots: float = Field(gt=0, allow_inf_nan=False)


class Power(Frozen):
    """Declared power of the machines in watts, for requests that tell no energy themselves."""

    busy_watts: float = Field(gt=0, allow_inf_nan=False)
    idle_watts: float = Field(ge=0, allow_inf_nan=False)
    slots: float = Field(gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _busy_needs_more(self) -> Self:
        if self.idle_watts > self.busy_watts:
            raise ValueError("idle_watts is above busy_watts")
        return self


class Costs(Frozen):
    """Currency, prices and paid capacity, and the condition under which a task is a success.

    `success`: `answered` (an answer was given), `label` (the prediction was right) or `signal:NAME`
    (an event, preference or rubric point of the contract's signals).
    """

    currency: str = Field(min_length=1, max_length=12)
    success: str
    prices: tuple[Price, ...] = Field(default=(), max_length=200)
    retry_share: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    review_per_hour: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    capacity: Capacity | None = None
    power: Power | None = None

    @field_validator("success")
    @classmethod
    def _condition_is_known(cls, text: str) -> str:
        if text in ("answered", "label") or text.removeprefix(SUCCESS_BY_SIGNAL) not in ("", text):
            return text
        raise ValueError(f"{text!r} is no condition; write answered, label or signal:NAME")

    @property
    def signal(self) -> str | None:
        """The signal that tells success; None for another condition."""
        name = self.success.removeprefix(SUCCESS_BY_SIGNAL)
        return name if name != self.success else None


class Escalation(StrEnum):
    """Which scores a router passes on to the next route."""

    BELOW = "below"
    AT_OR_ABOVE = "at_or_above"


class Cascade(Frozen):
    """A router: the column of its score, its threshold, and the routes from cheap to dear.

    `route` is the category column of the field `route`; `score` a number column.
    """

    route: str
    routes: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = Field(
        min_length=2, max_length=50
    )
    score: str | None = None
    threshold: float | None = Field(default=None, allow_inf_nan=False)
    escalate: Escalation = Escalation.BELOW

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if len(set(self.routes)) != len(self.routes):
            raise ValueError("routes hold a name twice")
        if (self.score is None) != (self.threshold is None):
            raise ValueError("a cascade has both score and threshold, or neither")
        return self


def cost_problems(
    costs: Costs | None,
    held: Collection[str],
    signals: Sequence[str],
    routes: Sequence[str] | None,
    *,
    has_right_answer: bool,
) -> list[str]:
    """What does not fit; `held`: standard fields that columns hold, `routes` None: no cascade."""
    if costs is None:
        return []
    problems = [
        f"costs.prices: no column holds {each.field}; add one with `field: {each.field}`"
        for each in costs.prices
        if each.field not in held
    ]
    problems += [
        f"costs.prices: {each.route!r} is no route of the cascade"
        for each in costs.prices
        if each.route is not None and each.route not in (routes or ())
    ]
    if costs.success == "label" and not has_right_answer:
        problems.append("costs.success: label needs a label of a binary or multiclass model")
    if costs.signal is not None and costs.signal not in signals:
        problems.append(
            f"costs.success: {costs.signal!r} is no event, preference or rubric signal with the"
            " direction lower_is_worse"
        )
    if costs.retry_share is not None and "retries" not in held:
        problems.append("costs.retry_share: no column holds retries")
    if costs.review_per_hour is not None and "review_time" not in held:
        problems.append("costs.review_per_hour: no column holds review_time")
    busy = {"compute_time", "latency"} & set(held)
    for name, part in (("capacity", costs.capacity), ("power", costs.power)):
        if part is not None and not busy:
            problems.append(f"costs.{name}: no column holds compute_time or latency")
    return problems


def cascade_problems(
    cascade: Cascade | None, routes: Collection[str], numbers: Collection[str]
) -> list[str]:
    """What is wrong with its columns; `routes`: category columns with the field route."""
    if cascade is None:
        return []
    problems = []
    if cascade.route not in routes:
        problems.append(
            f"cascade.route {cascade.route!r} is not a category column with `field: route`"
        )
    if cascade.score is not None and cascade.score not in numbers:
        problems.append(f"cascade.score {cascade.score!r} is not a number column")
    return problems
