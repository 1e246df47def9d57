"""The head of the audit chain is signed once a day, and a copy reaches the place outside."""

from __future__ import annotations

import base64
import json
from datetime import timedelta

import pytest
from sqlalchemy.engine import Engine
from standardwebhooks import Webhook

from alerts.channels.outbound import Outbound
from monitor.errors import ConfigurationError
from monitor.evidence.chain import Head
from monitor.evidence.signing import SigningKey
from monitor.jobs.audit_heads import AuditWebhook, HeadKeeper
from monitor.settings import Settings
from monitor.store import audit
from monitor.store.engine import Role, transaction
from tests.factories import START
from tests.unit.alerts.receiver import LocalReceiver, answer_with, listening

KEY = SigningKey.generate()
SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
DAY = timedelta(days=1)


def deed(engine: Engine, project_id: int) -> None:
    with transaction(engine, project_id, Role.WORKER) as connection:
        audit.append(connection, project_id, "ana", "did", "x")


def heads(engine: Engine, project_id: int) -> list[audit.SignedHead]:
    with transaction(engine, project_id, Role.DASHBOARD) as connection:
        return audit.signed_heads(connection, project_id)


def test_one_head_a_day_and_only_when_the_chain_grew(engine: Engine, project_id: int) -> None:
    keeper = HeadKeeper(engine, KEY)
    with Outbound() as http:
        assert keeper.keep(project_id, START, http) is None
        deed(engine, project_id)
        made = keeper.keep(project_id, START, http)
        assert made is not None
        assert KEY.public.accepts(made.signature, made.body)
        assert Head.read(made.body).seq == 1
        deed(engine, project_id)
        assert keeper.keep(project_id, START + timedelta(hours=5), http) is None
        later = keeper.keep(project_id, START + DAY, http)
        assert later is not None
        assert later.seq == 2
        assert keeper.keep(project_id, START + 2 * DAY, http) is None
    assert [one.seq for one in heads(engine, project_id)] == [2, 1]


def test_a_copy_goes_outside_once_and_is_tried_again_after_a_failure(
    engine: Engine, project_id: int
) -> None:
    deed(engine, project_id)
    with listening() as outside, Outbound() as http:
        keeper = HeadKeeper(engine, KEY, AuditWebhook(outside.url, SECRET, private_allowed=True))
        outside.answer = answer_with(500)
        keeper.keep(project_id, START, http)
        assert heads(engine, project_id)[0].sent_at is None
        outside.answer = answer_with(200)
        keeper.keep(project_id, START, http)
        keeper.keep(project_id, START, http)
        assert heads(engine, project_id)[0].sent_at == START
    assert len(outside.received) == 2
    check_copy(outside)


def check_copy(outside: LocalReceiver) -> None:
    got = outside.received[-1]
    body = json.loads(got.body)
    assert KEY.public.accepts(base64.b64decode(body["signature"]), body["head"].encode())
    assert body["key"] == KEY.public.fingerprint
    named = {name.lower(): value for name, value in got.headers.items()}
    wanted = Webhook(SECRET).sign(named["webhook-id"], START, got.body.decode())
    assert named["webhook-signature"] == wanted


def test_half_of_a_place_outside_is_refused() -> None:
    url = {"INFERWATCH_AUDIT_WEBHOOK": "https://example.org/heads"}
    with pytest.raises(ConfigurationError, match="INFERWATCH_AUDIT_WEBHOOK_SECRET"):
        AuditWebhook.of(Settings.from_environment(url))
    secret = {"INFERWATCH_AUDIT_WEBHOOK_SECRET": SECRET}
    with pytest.raises(ConfigurationError, match="INFERWATCH_AUDIT_WEBHOOK: "):
        AuditWebhook.of(Settings.from_environment(secret))
    whole = AuditWebhook.of(Settings.from_environment(url | secret))
    assert whole == AuditWebhook("https://example.org/heads", SECRET, private_allowed=False)
    assert SECRET not in repr(whole)
