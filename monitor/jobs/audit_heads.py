"""Signs the head of each project's audit chain once a day, and sends a copy outside.

A chain alone does not show that its newest entries were cut off, and who owns the database could
write all of it anew. A signed head, kept where the owner of the database can't reach it, shows
both.
"""

from __future__ import annotations

import base64
import logging
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.engine import Connection, Engine

from alerts.channels.http_post import open_address, post
from alerts.channels.outbound import Outbound
from alerts.channels.webhook import open_secrets, signed_headers
from alerts.config import Receiver
from alerts.errors import SendFailed
from monitor.errors import ConfigurationError, Problem
from monitor.evidence.canonical import canonical
from monitor.evidence.signing import SigningKey
from monitor.settings import Settings
from monitor.store.audit import (
    SignedHead,
    current_head,
    link_waiting,
    mark_sent,
    project_name,
    save_head,
    signed_heads,
)
from monitor.store.engine import Role, transaction

log = logging.getLogger("inferwatch.audit")

RECEIVER = "audit webhook"
EVENT = "audit.head"


@dataclass(frozen=True)
class AuditWebhook:
    """Where signed heads are sent: a place that this installation can't change.

    `secret` signs the message. Private addresses are called only if that is allowed.
    """

    url: str = field(repr=False)
    secret: str = field(repr=False)
    private_allowed: bool

    @classmethod
    def of(cls, settings: Settings) -> AuditWebhook | None:
        """The place of the settings, None without one; ConfigurationError for half of one."""
        url, secret = settings.audit_webhook, settings.audit_webhook_secret
        if url is None and secret is None:
            return None
        if url is None or secret is None:
            missing = "INFERWATCH_AUDIT_WEBHOOK" + ("" if url is None else "_SECRET")
            told = "is not set, but its partner is; set both or neither"
            raise ConfigurationError("environment", [Problem(missing, told)])
        return cls(url, secret, settings.audit_webhook_private == 1)


@dataclass(frozen=True)
class HeadKeeper:
    """Keeps signed heads of the chains; `outside` is None where no copies are sent."""

    engine: Engine
    signer: SigningKey
    outside: AuditWebhook | None = None

    def keep(self, project_id: int, now: datetime, http: Outbound) -> SignedHead | None:
        """Sign today's head if the chain grew since the last one, and send what was not sent.

        Answers the head that was signed now, None when there was nothing to sign.
        """
        made = sign_head(self.engine, project_id, self.signer, now, daily=True)
        if self.outside is not None:
            self._send_newest(project_id, self.outside, now, http)
        return made

    def _send_newest(
        self, project_id: int, outside: AuditWebhook, now: datetime, http: Outbound
    ) -> None:
        """Only the newest: it covers all entries before it. What fails is tried next time."""
        with transaction(self.engine, project_id, Role.WORKER) as connection:
            heads = signed_heads(connection, project_id, limit=1)
            name = project_name(connection, project_id)
        if not heads or heads[0].sent_at is not None:
            return
        try:
            self._send(heads[0], outside, now, http)
        except SendFailed as error:
            log.warning("audit head not sent project=%s seq=%d: %s", name, heads[0].seq, error)
            return
        with transaction(self.engine, project_id, Role.WORKER) as connection:
            mark_sent(connection, project_id, heads[0].seq, now)

    def _send(self, head: SignedHead, outside: AuditWebhook, now: datetime, http: Outbound) -> None:
        receiver = Receiver(
            RECEIVER, "webhook", options={"url": outside.url, "secret": outside.secret}
        )
        body = canonical(head_body(head, self.signer))
        headers = signed_headers(
            open_secrets(receiver, {}), f"head_{head.key[:16]}_{head.seq}", now, body
        )
        post(
            http, open_address(receiver, {}), body,
            {"content-type": "application/json", **headers},
            now=now, private_allowed=outside.private_allowed,
        )  # fmt: skip


def sign_head(
    engine: Engine, project_id: int, signer: SigningKey, now: datetime, *, daily: bool = False
) -> SignedHead | None:
    """Sign the newest entry's head and keep it; None when it is signed already or none is there.

    `daily`: nor when one was signed on the same day in UTC.
    """
    with transaction(engine, project_id, Role.WORKER) as connection:
        link_waiting(connection, project_id)
        newest = signed_heads(connection, project_id, limit=1)
        if daily and newest and newest[0].signed_at.date() == now.date():
            return None
        return _sign(connection, project_id, signer, now, newest[0].seq if newest else 0)


def _sign(
    connection: Connection, project_id: int, signer: SigningKey, now: datetime, signed: int
) -> SignedHead | None:
    head = current_head(connection, project_id)
    if head.seq <= signed:
        return None
    body = head.body()
    made = SignedHead(head.seq, now, body, signer.sign(body), signer.public.fingerprint, None)
    save_head(connection, project_id, made)
    return made


def head_body(head: SignedHead, signer: SigningKey) -> dict[str, str]:
    """What a place outside keeps of a head: enough to verify the chain against it."""
    return {
        "type": EVENT,
        "timestamp": head.signed_at.isoformat(),
        "head": head.body.decode(),
        "signature": base64.b64encode(head.signature).decode(),
        "key": head.key,
        "public_key": signer.public.pem.decode(),
    }
