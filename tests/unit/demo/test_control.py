"""The demo's deployment system does what rightly signed orders ask, once, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from alerts.action_message import ActionOrder, AlertFacts, action_message
from alerts.actions import ServingDeployment
from alerts.model import ResponseAction
from monitor.demo.control import TrafficControl
from monitor.demo.signed_server import new_secret
from monitor.demo.traffic import EVEN_PERCENT, Traffic

NOW = datetime(2013, 9, 2, 5, tzinfo=UTC)
SECRET = new_secret()


@pytest.fixture
def control() -> Iterator[TrafficControl]:
    with TrafficControl(SECRET, Traffic(1), NOW) as made:
        yield made


def order(**changes: Any) -> dict[str, Any]:
    """The body of an order as the product makes it."""
    wanted: dict[str, Any] = {
        "number": 7,
        "project": "flights",
        "model": "late-arrival",
        "response": "move-traffic",
        "action": ResponseAction.REDUCE_TRAFFIC,
        "receiver": "router",
        "deployments": (ServingDeployment(3, "amber", {}),),
        "to_percent": 1.0,
        "from_percent": 33.0,
        "dry_run": False,
        "drill": False,
        "requested_by": "rule deployments-disagree",
        "answer_by": NOW + timedelta(minutes=5),
        "alert": AlertFacts(1, "deployments-disagree", "f-1", {}),
        "outcome_url": "http://api.test/v1/actions/7/outcome",
        "expires_at": NOW + timedelta(days=16),
        **changes,
    }
    return dict(action_message(ActionOrder(**wanted), NOW).body)


def post(
    control: TrafficControl, content: dict[str, Any], delivery_id: str = "act_1", *,
    secret: str = SECRET,
) -> httpx.Response:  # fmt: skip
    body, at = json.dumps(content), datetime.now(UTC)
    headers = {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(delivery_id, at, body),
    }
    return httpx.post(control.url, content=body, headers=headers, trust_env=False)


def test_an_order_moves_traffic_from_the_replayed_moment_on(control: TrafficControl) -> None:
    answer = post(control, order()).json()
    assert answer["outcome"] == "done"
    assert answer["former"] == {"percent": {"amber": pytest.approx(EVEN_PERCENT)}}
    (change,) = control.traffic.changes
    assert (change.at, dict(change.percent)) == (NOW, {"amber": 1.0})
    assert control.moments == (NOW, NOW + timedelta(days=16))


@pytest.mark.parametrize("kind", ["dry_run", "drill"])
def test_a_dry_run_or_a_drill_says_what_it_would_do_and_changes_nothing(
    control: TrafficControl, kind: str
) -> None:
    answer = post(control, order(**{kind: True})).json()
    assert (answer["outcome"], answer["detail"]) == (
        "done",
        "would give amber 1.0 % of the requests",
    )
    assert control.traffic.changes == ()


def test_the_same_order_again_gets_the_same_answer_and_is_carried_out_once(
    control: TrafficControl,
) -> None:
    first = post(control, order()).json()
    assert post(control, order()).json() == first
    assert len(control.traffic.changes) == 1


def test_a_return_restores_what_the_answer_called_the_former_state(
    control: TrafficControl,
) -> None:
    former = post(control, order()).json()["former"]
    later = NOW + timedelta(days=16)
    control.stand_at(later)
    back = order(
        number=8, returns=7, former=former, answer_by=later + timedelta(minutes=5), expires_at=None
    )
    assert post(control, back, "act_2").json()["outcome"] == "done"
    assert [dict(each.percent) for each in control.traffic.changes] == [{"amber": 1.0}, {}]
    assert control.traffic.changes[-1].at == later


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"answer_by": NOW - timedelta(seconds=1)}, "came after"),
        ({"action": ResponseAction.ROLL_BACK}, "can only reduce traffic"),
        ({"deployments": (ServingDeployment(9, "grey", {}),)}, "not grey"),
        ({"deployments": ()}, "not nothing"),
        ({"to_percent": 50.0}, "more than it has"),
        ({"to_percent": None}, "can't be read"),
        ({"returns": 6, "former": {"other": 1}}, "former state"),
    ],
)
def test_what_it_can_not_do_is_refused_with_the_reason(
    control: TrafficControl, changes: dict[str, Any], why: str
) -> None:
    response = post(control, order(**changes))
    assert response.status_code == 200
    assert response.json()["outcome"] == "refused"
    assert why in response.json()["detail"]
    assert control.traffic.changes == ()


def test_an_order_signed_with_another_secret_is_not_even_read(control: TrafficControl) -> None:
    assert post(control, order(), secret=new_secret()).status_code == 401
    assert control.refused == 1
    assert control.traffic.changes == ()
