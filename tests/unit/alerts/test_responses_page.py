"""docs/responses.md shows the real order, answer, keys and words."""

from __future__ import annotations

import json
from typing import Any

from alerts.action_message import ActionOrder, AlertFacts, action_message
from alerts.actions import ActionState, Refusal, ServingDeployment, read_answer
from alerts.channels.registry import CHANNELS
from alerts.config import read_alert_config
from alerts.model import ResponseAction
from alerts.rehearsal import RehearsalStep
from tests.documents import ROOT, blocks
from tests.unit.alerts.factories import NOW

PAGE = ROOT / "docs" / "responses.md"
TEXT = PAGE.read_text(encoding="utf-8")
COMPLETE = """\
owners:
  - {name: flight-ml, people: [ada], receiver: router}
%s
    when: {check: contrast}
    above: 0.02
    severity: ticket
    owner: flight-ml
"""


def fenced(kind: str) -> list[str]:
    return [each.text for each in blocks(PAGE) if each.kind == kind]


def shape(value: Any) -> Any:
    """The names in a JSON value."""
    return {name: shape(one) for name, one in value.items()} if isinstance(value, dict) else None


def test_the_order_on_the_page_has_the_fields_of_a_real_one() -> None:
    shown, answer = (json.loads(each) for each in fenced("json"))
    order = ActionOrder(
        number=7, project="air", model="m", response="r", action=ResponseAction.REDUCE_TRAFFIC,
        receiver="router", deployments=(ServingDeployment(3, "x", {}),), to_percent=5.0,
        from_percent=24.8, dry_run=False, drill=False, requested_by="rule x", answer_by=NOW,
        alert=AlertFacts(12, "x", "y", {"model": "m", "deployment": "3"}), outcome_url="u",
        expires_at=NOW,
    )  # fmt: skip
    real = json.loads(json.dumps(dict(action_message(order, NOW).body)))

    assert shape(shown) == shape(real)
    assert shape(shown["data"]["deployments"][0]) | {"tags": {}} == shape(
        real["data"]["deployments"][0]
    )
    assert read_answer(json.dumps(answer)) is not None


def test_the_example_can_be_applied() -> None:
    (example,) = fenced("yaml")

    found = read_alert_config(COMPLETE % example, "responses.md", CHANNELS)

    assert found.responses[0].automatic is not None
    assert found.rules[0].runbook == found.responses[0].runbook


def test_every_state_refusal_and_step_is_told() -> None:
    for word in (*ActionState, *Refusal, *ResponseAction):
        assert f"`{word}`" in TEXT, word
    for step in RehearsalStep:
        assert f"**{step}**" in TEXT, step
