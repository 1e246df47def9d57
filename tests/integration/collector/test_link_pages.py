"""Signed links in messages: a page with one button, which does one deed and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest
import sqlalchemy as sa

from alerts.links import AlertLink, LinkDeed, link_key, sign_link
from alerts.model import FindingKey
from monitor.reports.alerts import Finding, finding
from monitor.store.alert_links import link_maker
from monitor.store.engine import Role, transaction
from monitor.store.hand_over import acknowledge_alert, resolve_alert
from monitor.store.projects import ensure_project
from monitor.store.tables import alert, alert_transition, project
from tests.integration.collector.alert_world import PAGES, AlertWorld, alert_world
from tests.seeded_database import SeededDatabase, database, own_database, seeded_template

__all__ = ["database", "own_database", "seeded_template"]

PAGE = "deployment-contrast/distance"


@pytest.fixture
def world(own_database: SeededDatabase) -> Iterator[AlertWorld]:
    with alert_world(own_database) as made:
        yield made


@pytest.fixture(scope="module")
def shared(database: SeededDatabase) -> Iterator[AlertWorld]:
    with alert_world(database) as made:
        yield made


def alert_of(world: AlertWorld) -> Finding:
    return world.database.ask(finding, world.number(PAGE))


def link_to(
    world: AlertWorld, deed: LinkDeed = LinkDeed.ACKNOWLEDGE, who: str | None = None
) -> str:
    """The path of a link as a message carries it."""
    found = alert_of(world)
    with transaction(world.database.engine, world.project_id, Role.WORKER) as connection:
        maker = link_maker(connection, world.project_id, "https://api.test", datetime.now(UTC))
    address = maker.address(deed, FindingKey(found.fingerprint, found.episode), who)
    return address.removeprefix("https://api.test")


def own_link(world: AlertWorld, **changes: object) -> str:
    """A link with parts of its own, signed with the project's key."""
    found = alert_of(world)
    secret = secret_of(world, world.project_id)
    link = AlertLink(
        LinkDeed.ACKNOWLEDGE,
        world.project_id,
        FindingKey(found.fingerprint, found.episode),
        datetime.now(UTC) + timedelta(days=1),
    )
    return "/act/" + sign_link(replace(link, **changes), link_key(secret))  # type: ignore[arg-type]


def secret_of(world: AlertWorld, number: int) -> bytes:
    query = sa.select(project.c.hash_key).where(project.c.id == number)
    with transaction(world.database.engine, None, Role.OWNER) as connection:
        return bytes(connection.scalars(query).one())


def text_of(answer: httpx.Response) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text.split("</style>")[-1]))


def test_opening_a_link_shows_the_alert_and_changes_nothing(world: AlertWorld) -> None:
    path = link_to(world)
    for _ in range(3):
        answer = world.client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    text = text_of(answer)
    for part in ("Take this alert on?", "stands apart", "page", "Owner", "Reduce traffic"):
        assert part in text, part
    assert answer.text.count("<button") == 1
    assert f"{PAGES}/alert?fingerprint={alert_of(world).fingerprint}" in answer.text
    assert alert_of(world).acknowledged_by is None


def test_the_button_takes_the_alert_on_for_the_person_who_gave_a_name(world: AlertWorld) -> None:
    answer = world.client.post(link_to(world), data={"by": "Ada Lovelace", "comment": "on it"})
    assert answer.status_code == 200
    assert "Taken on by Ada Lovelace" in text_of(answer)
    found = alert_of(world)
    assert (found.acknowledged_by, found.comment, found.state) == (
        "Ada Lovelace",
        "on it",
        "firing",
    )
    assert last_reason(world) == "acknowledged"


def test_a_link_that_names_its_person_asks_no_name_and_takes_no_other(world: AlertWorld) -> None:
    path = link_to(world, who="Grace")
    page = world.client.get(path)
    assert "As Grace" in text_of(page)
    assert 'name="by"' not in page.text
    world.client.post(path, data={"by": "Eve"})
    assert alert_of(world).acknowledged_by == "Grace"


def test_whoever_comes_second_is_told_of_the_first(world: AlertWorld) -> None:
    acknowledge_alert(
        world.database.engine, world.project_id, world.number(PAGE), "Ada", "", datetime.now(UTC)
    )
    assert "Ada took it on at" in text_of(world.client.get(link_to(world)))


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "x" * 201, "\u202eAda"])
def test_a_name_that_can_not_be_recorded_is_asked_for_again(shared: AlertWorld, name: str) -> None:
    answer = shared.client.post(link_to(shared), data={"by": name, "comment": "kept <b>text</b>"})
    assert answer.status_code == 422
    assert "write who you are" in text_of(answer)
    assert "kept &lt;b&gt;text&lt;/b&gt;" in answer.text
    assert alert_of(shared).acknowledged_by is None


def test_an_expired_link_says_so_and_does_nothing(shared: AlertWorld) -> None:
    ended = datetime(2026, 3, 1, 9, tzinfo=UTC)
    path = own_link(shared, expires_at=ended)
    for answer in (shared.client.get(path), shared.client.post(path, data={"by": "Ada"})):
        assert answer.status_code == 410
        assert "This link has expired" in text_of(answer)
        assert "2026-03-01T09:00Z" in text_of(answer)
    assert alert_of(shared).acknowledged_by is None


def test_a_link_of_an_earlier_episode_says_so_and_does_nothing(world: AlertWorld) -> None:
    path = link_to(world)
    with transaction(world.database.engine, world.project_id, Role.OWNER) as connection:
        connection.execute(
            sa.update(alert).where(alert.c.id == world.number(PAGE)).values(episode=2)
        )
    for answer in (world.client.get(path), world.client.post(path, data={"by": "Ada"})):
        assert answer.status_code == 409
        assert "about an earlier episode" in text_of(answer)
        assert "episode 1" in text_of(answer)
        assert "<button" not in answer.text
    assert alert_of(world).acknowledged_by is None


def test_a_link_of_an_alert_that_is_over_says_why_it_ended(world: AlertWorld) -> None:
    path = link_to(world)
    resolve_alert(
        world.database.engine, world.project_id, world.number(PAGE), "Ada", "", datetime.now(UTC)
    )
    for answer in (world.client.get(path), world.client.post(path, data={"by": "Ada"})):
        assert answer.status_code == 409
        assert "closed by hand" in text_of(answer)
    assert last_reason(world) == "closed_by_hand"


def test_a_changed_link_is_no_link(shared: AlertWorld) -> None:
    path = link_to(shared)
    other = path[:-1] + ("A" if path[-1] != "A" else "Q")
    for wrong in (other, path[:-5], path + "A", "/act/x", "/act/" + "x" * 5_000):
        for answer in (shared.client.get(wrong), shared.client.post(wrong, data={"by": "Ada"})):
            assert answer.status_code == 404, wrong[:40]
            assert "This link can&#39;t be used" in answer.text


def test_a_link_signed_with_the_key_of_another_project_is_no_link(shared: AlertWorld) -> None:
    with transaction(shared.database.engine, None, Role.OWNER) as connection:
        other = ensure_project(connection, "other")
    secret = secret_of(shared, other)
    found = alert_of(shared)
    link = AlertLink(
        LinkDeed.ACKNOWLEDGE,
        shared.project_id,
        FindingKey(found.fingerprint, found.episode),
        datetime.now(UTC) + timedelta(days=1),
    )
    forged = sign_link(link, link_key(secret))
    own = sign_link(replace(link, project=other), link_key(secret))
    assert shared.client.get(f"/act/{forged}").status_code == 404
    gone = shared.client.get(f"/act/{own}")
    assert (gone.status_code, "is gone" in gone.text) == (404, True)
    unknown = sign_link(replace(link, project=10_000), link_key(secret))
    assert shared.client.get(f"/act/{unknown}").status_code == 404


def test_the_page_loads_nothing_runs_nothing_and_is_kept_nowhere(shared: AlertWorld) -> None:
    for answer in (shared.client.get(link_to(shared)), shared.client.get("/act/x")):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "noindex" in answer.headers["x-robots-tag"]
        assert "<script" not in answer.text
        assert "http://" not in answer.text


def test_hostile_text_stays_text(world: AlertWorld) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    world.client.post(link_to(world), data={"by": hostile, "comment": "</textarea><script>"})
    assert alert_of(world).acknowledged_by == hostile
    page = world.client.get(link_to(world, who="<script>alert(1)</script>")).text
    assert "<img" not in page
    assert "<script" not in page
    assert "&lt;img src=x onerror=alert(1)&gt; took it on" in page


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b'{"by": "Ada"}', "application/json", 415),
        (b"by=Ada", "text/plain", 415),
        (b"by=%ff%fe", "application/x-www-form-urlencoded", 400),
        (b"by=\xff", "application/x-www-form-urlencoded", 400),
        (b"a=1&" * 50, "application/x-www-form-urlencoded", 400),
        (b"by=" + b"x" * 70_000, "application/x-www-form-urlencoded", 413),
        (b"by=Ada&comment=a%00b", "application/x-www-form-urlencoded", 422),
        (b"by=%ed%a0%80", "application/x-www-form-urlencoded", 400),
        (b"", "application/x-www-form-urlencoded", 422),
    ],
)
def test_a_hostile_form_is_a_page_that_says_no(
    shared: AlertWorld, content: bytes, kind: str, status: int
) -> None:
    answer = shared.client.post(link_to(shared), content=content, headers={"Content-Type": kind})
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert alert_of(shared).acknowledged_by is None


def last_reason(world: AlertWorld) -> str:
    row = alert_transition.c
    query = sa.select(row.reason).where(row.alert_id == world.number(PAGE))
    with transaction(world.database.engine, world.project_id, Role.OWNER) as connection:
        return str(connection.scalar(query.order_by(row.id.desc()).limit(1)))
