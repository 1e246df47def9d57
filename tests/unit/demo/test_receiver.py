"""The receiver trusts what is rightly signed and nothing else."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx
import pytest
from standardwebhooks import Webhook

from monitor.demo.receiver import WebhookReceiver
from monitor.demo.signed_server import new_secret, refusal

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
BODY = json.dumps({"title": "drift", "alerts": []})


def signed(secret: str, *, at: datetime = NOW, delivery_id: str = "msg-1") -> dict[str, str]:
    """Headers made by the reference implementation of Standard Webhooks."""
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(delivery_id, at, BODY),
    }


def test_accepts_what_the_reference_implementation_signs() -> None:
    secret = new_secret()
    assert refusal(signed(secret), BODY.encode(), secret, NOW.timestamp()) is None


def test_accepts_when_one_of_several_signatures_fits() -> None:
    secret = new_secret()
    headers = signed(secret)
    headers["webhook-signature"] = f"v1,AAAA v2,BBBB {headers['webhook-signature']}"
    assert refusal(headers, BODY.encode(), secret, NOW.timestamp()) is None


@pytest.mark.parametrize(
    ("change", "body", "seconds_later", "reason"),
    [
        ({}, BODY.replace("drift", "quiet"), 0, "no signature fits"),
        ({"webhook-id": "msg-2"}, BODY, 0, "no signature fits"),
        ({"webhook-signature": "v1,not base64"}, BODY, 0, "no signature fits"),
        ({"webhook-signature": ""}, BODY, 0, "header is missing"),
        ({"webhook-timestamp": "yesterday"}, BODY, 0, "not a number"),
        ({}, BODY, 301, "five minutes"),
        ({}, BODY, -301, "five minutes"),
    ],
)
def test_refuses(change: dict[str, str], body: str, seconds_later: int, reason: str) -> None:
    secret = new_secret()
    headers = signed(secret) | change
    why = refusal(headers, body.encode(), secret, NOW.timestamp() + seconds_later)
    assert why is not None
    assert reason in why


def test_refuses_another_secret() -> None:
    assert refusal(signed(new_secret()), BODY.encode(), new_secret(), NOW.timestamp()) is not None


def test_counts_a_repeated_delivery_once_over_http() -> None:
    secret = new_secret()
    with WebhookReceiver(secret, clock=NOW.timestamp) as receiver:
        headers = signed(secret)
        for _ in range(2):
            answer = httpx.post(receiver.url, content=BODY, headers=headers, trust_env=False)
            assert answer.status_code == 204
        forged = headers | {"webhook-id": "msg-9"}
        answer = httpx.post(receiver.url, content=BODY, headers=forged, trust_env=False)
        assert answer.status_code == 401
        (received,) = receiver.received()
        assert (received.delivery_id, received.times) == ("msg-1", 2)
        assert received.body == json.loads(BODY)
        assert receiver.refused == 1
