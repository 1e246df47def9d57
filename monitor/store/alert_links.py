"""Links that act on one alert: made for messages, read when somebody opens one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from alerts.errors import LinkNotValid
from alerts.links import (
    LIFETIME,
    AlertLink,
    LinkDeed,
    link_address,
    link_key,
    project_of,
    read_link,
    sign_link,
)
from alerts.model import FindingKey
from monitor.store.engine import Role, transaction
from monitor.store.tables import project


@dataclass(frozen=True)
class LinkMaker:
    """Makes links of one project that are good until `until`; `api_url` is where they lead."""

    project_id: int
    api_url: str
    until: datetime
    key: bytes = field(repr=False)

    def address(self, deed: LinkDeed, of: FindingKey, who: str | None = None) -> str:
        """The address of a link; `who` is the only person who got it, None where several did."""
        link = AlertLink(deed, self.project_id, of, self.until, who)
        return link_address(self.api_url, sign_link(link, self.key))


def link_maker(connection: Connection, project_id: int, api_url: str, now: datetime) -> LinkMaker:
    """Links that are good from now on; the connection's role must be the worker's."""
    return LinkMaker(project_id, api_url, now + LIFETIME, _key(connection, project_id))


def read_alert_link(engine: Engine, token: str, now: datetime) -> AlertLink:
    """What a link may do; raises LinkNotValid or LinkExpired."""
    number = project_of(token)
    with transaction(engine, number, Role.INGEST) as connection:
        key = _key(connection, number)
    return read_link(token, key, now)


def _key(connection: Connection, project_id: int) -> bytes:
    secret = connection.scalar(sa.select(project.c.hash_key).where(project.c.id == project_id))
    if secret is None:
        raise LinkNotValid("this link is of another installation, or its project is gone")
    return link_key(bytes(secret))
