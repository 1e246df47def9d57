"""Messages reach receivers once, in order, when these can take them, and never get lost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy.engine import Engine

from alerts.model import Severity
from monitor.store.dead_letters import send_again, send_missed_again
from monitor.store.engine import Role, transaction
from monitor.store.outbox import (
    LEASE,
    Room,
    claim_deliveries,
    next_undelivered_at,
    record_attempt,
    renew_leases,
    undelivered_pages,
)
from monitor.store.receivers import disable_receiver, enable_receiver, receiver_states
from tests.factories import START, rows_of
from tests.integration.jobs.delivery_office import MINUTE, SECOND, Office, office
from tests.unit.alerts.receiver import answer_with

__all__ = ("office",)


def test_messages_of_a_group_follow_each_other_and_groups_do_not_wait_for_each_other(
    office: Office,
) -> None:
    def refuse_the_first(handler: Any) -> None:
        is_first = handler.headers["webhook-id"] == "a-1"
        answer_with(500 if is_first else 200)(handler)

    office.receivers["first"].answer = refuse_the_first
    office.owe("a-1", group="a")
    office.owe("a-2", group="a")
    office.owe("b-1", group="b")
    for _ in range(5):
        office.send(after=3 * SECOND)
    assert set(office.got()) == {"a-1", "b-1"}
    assert office.states() == {"a-1": "waiting", "a-2": "waiting", "b-1": "sent"}
    office.receivers["first"].answer = answer_with(200)
    office.send(after=10 * MINUTE)
    assert office.got()[-2:] == ["a-1", "a-2"]
    assert set(office.states().values()) == {"sent"}


def test_a_page_behind_an_old_notice_has_the_group_tried_at_once(office: Office) -> None:
    office.receivers["first"].answer = answer_with(500)
    office.owe("notice")
    for wait in (0, 6, 400, 2000):
        office.send(after=wait * SECOND)
    assert office.due("notice") - office.now > timedelta(hours=1)
    office.receivers["first"].answer = answer_with(200)
    office.owe("page", severity=Severity.PAGE)
    office.send(after=SECOND)
    assert office.got()[-2:] == ["notice", "page"]


def test_a_page_behind_a_notice_keeps_its_own_dense_schedule_while_the_receiver_fails(
    office: Office,
) -> None:
    office.receivers["first"].answer = answer_with(500)
    office.owe("notice")
    office.send()
    office.send(after=6 * SECOND)
    office.owe("page", severity=Severity.PAGE)
    tries = []
    for _ in range(40):
        before = len(office.got())
        office.send(after=SECOND)
        if len(office.got()) > before:
            tries.append((office.now - START).seconds)
    assert len(tries) >= 4
    assert set(office.got()) == {"notice"}


def test_a_wait_that_a_receiver_asks_for_holds_for_all_its_messages(office: Office) -> None:
    office.receivers["first"].answer = answer_with(429, Retry_After="120")
    office.owe("a", group="a")
    office.send()
    office.owe("b", group="b", severity=Severity.PAGE)
    office.owe("c", receiver="second")
    for _ in range(11):
        office.send(after=10 * SECOND)
    assert office.got() == ["a"]
    assert office.got("second") == ["c"]
    office.receivers["first"].answer = answer_with(200)
    office.send(after=11 * SECOND)
    assert sorted(office.got()[1:]) == ["a", "b"]


def test_a_receiver_that_says_gone_gets_nothing_until_it_is_enabled_and_the_fallback_hears_of_it(
    office: Office, engine: Engine
) -> None:
    office.receivers["first"].answer = answer_with(410)
    office.owe("a", group="a")
    office.send()
    for key in ("b", "c"):
        office.owe(key, group=key)
        office.send(after=MINUTE)
    assert office.got() == ["a"]
    assert {office.states()[key] for key in "abc"} == {"dead"}
    office.send(after=10 * MINUTE)
    told = [one.body.decode() for one in office.receivers["mail"].received]
    assert len(told) == 2  # one at once, one for what came within the pause
    assert all("delivery.dead_lettered" in body and "did not reach first" in body for body in told)
    assert "title a" in told[0]
    assert "title b" in told[1]
    assert "title c" in told[1]
    office.receivers["first"].answer = answer_with(200)
    office.send(after=timedelta(hours=1))
    assert office.got() == ["a"]
    with transaction(engine, 1, Role.WORKER) as connection:
        assert "410" in (receiver_states(connection, 1)["first"].reason or "")
        since = enable_receiver(connection, 1, "first", "ada", office.now)
        assert since is not None
        assert len(send_missed_again(connection, 1, "first", since, office.now)) == 3
    office.send(after=SECOND)
    assert sorted(office.got()) == ["a", "a", "b", "c"]


def test_who_enables_a_receiver_while_it_still_says_gone_is_not_overruled(
    office: Office, engine: Engine
) -> None:
    def enable() -> None:
        with transaction(engine, 1, Role.WORKER) as connection:
            since = enable_receiver(connection, 1, "first", "ada", office.now)
            if since is not None:
                send_missed_again(connection, 1, "first", since, office.now)

    def gone_and_enabled_meanwhile(handler: Any) -> None:
        with transaction(engine, 1, Role.WORKER) as connection:
            disable_receiver(connection, 1, "first", "another worker heard it", office.now)
        office.now += SECOND
        enable()
        answer_with(410)(handler)

    office.receivers["first"].answer = gone_and_enabled_meanwhile
    office.owe("a")
    office.send()
    assert office.states() == {"a": "waiting"}
    with transaction(engine, 1, Role.WORKER) as connection:
        assert receiver_states(connection, 1)["first"].disabled_at is None
    office.receivers["first"].answer = answer_with(410)
    office.send(after=MINUTE)  # it says so again: now it holds
    assert office.states()["a"] == "dead"
    enable()
    office.receivers["first"].answer = answer_with(200)
    office.send(after=MINUTE)
    assert office.states()["a"] == "sent"


def test_a_message_given_up_is_told_once_and_can_be_sent_again_with_its_id(
    office: Office, engine: Engine
) -> None:
    office.receivers["first"].answer = answer_with(400, b"no such field")
    office.owe("a", severity=Severity.PAGE)
    office.send()
    office.send(after=timedelta(hours=1))
    assert office.states()["a"] == "dead"
    bodies = [one.body.decode() for one in office.receivers["mail"].received]
    assert len(bodies) == 1
    assert "no such field" in bodies[0]
    assert '"severity":"page"' in bodies[0]
    office.receivers["first"].answer = answer_with(200)
    number = rows_of(engine, 1, "select id from delivery where delivery_key = 'a'")[0].id
    office.now += timedelta(days=9)
    with transaction(engine, 1, Role.WORKER) as connection:
        assert send_again(connection, 1, [number, 12345], office.now) == [number]
    office.send()
    assert office.got() == ["a", "a"]
    assert office.states()["a"] == "sent"


def test_the_fallbacks_own_dead_letters_are_told_to_nobody(office: Office) -> None:
    office.receivers["mail"].answer = answer_with(400)
    office.owe("a", receiver="mail")
    for _ in range(3):
        office.send(after=timedelta(hours=1))
    assert office.got("mail") == ["a"]
    assert office.states() == {"a": "dead"}


def test_a_receiver_that_is_back_gets_everything_at_once(office: Office) -> None:
    office.receivers["first"].answer = answer_with(503)
    for number in range(20):
        office.owe(f"m{number}", group=str(number))
    for wait in (0, 6, 400, 2000, 8000):
        office.send(after=wait * SECOND)
    office.receivers["first"].answer = answer_with(200)
    office.owe("new", group="new")
    office.send(after=SECOND)
    assert set(office.states().values()) == {"sent"}


def test_a_sender_that_lost_its_claim_overwrites_nothing(office: Office, engine: Engine) -> None:
    office.owe("a")
    later = START + LEASE + SECOND
    with transaction(engine, 1, Role.WORKER) as connection:
        (slow,) = claim_deliveries(connection, 1, START, by="one")
    with transaction(engine, 1, Role.WORKER) as connection:
        assert claim_deliveries(connection, 1, START + LEASE - SECOND, by="two") == []
        (quick,) = claim_deliveries(connection, 1, later, by="two")
    with transaction(engine, 1, Role.WORKER) as connection:
        assert renew_leases(connection, 1, [slow], later) == 0
        recorded = {"detail": "", "now": later, "next_due": None}
        assert not record_attempt(connection, 1, slow, outcome="refused", **recorded)
        assert record_attempt(connection, 1, quick, outcome="sent", **recorded)
    assert office.states() == {"a": "sent"}
    outcomes = rows_of(engine, 1, "select outcome from delivery_attempt order by id")
    assert [row.outcome for row in outcomes] == ["refused", "sent"]


def test_a_claim_that_is_renewed_is_not_taken_by_others(office: Office, engine: Engine) -> None:
    office.owe("a")
    with transaction(engine, 1, Role.WORKER) as connection:
        held = claim_deliveries(connection, 1, START, by="one")
        assert renew_leases(connection, 1, held, START + LEASE - SECOND) == 1
    with transaction(engine, 1, Role.WORKER) as connection:
        assert claim_deliveries(connection, 1, START + LEASE + SECOND, by="two") == []


def test_claims_keep_to_the_room_and_take_pages_first(office: Office, engine: Engine) -> None:
    for number in range(6):
        office.owe(f"t{number}", group=f"t{number}")
    office.owe("page", group="p", severity=Severity.PAGE)
    office.owe("other", receiver="second")
    with transaction(engine, 1, Role.WORKER) as connection:
        found = claim_deliveries(connection, 1, START, Room(total=10, usual=2, of={"second": 0}))
    assert {one.key for one in found} == {"t0", "page"}


def test_pages_that_nobody_took_are_known_after_two_minutes_or_at_once_when_given_up(
    office: Office, engine: Engine
) -> None:
    office.receivers["first"].answer = answer_with(500)
    office.receivers["second"].answer = answer_with(400)
    office.owe("slow", severity=Severity.PAGE, alerts=(7, 8))
    office.owe("refused", receiver="second", severity=Severity.PAGE, alerts=(9,))
    office.owe("ticket", group="t", alerts=(10,))
    office.send()

    def known(after: timedelta) -> Any:
        with transaction(engine, 1, Role.WORKER) as connection:
            at = START + after
            found = undelivered_pages(connection, 1, at)
            pairs = {(alert, receiver) for alert, receiver, _ in found}
            return pairs, next_undelivered_at(connection, 1, at)

    assert known(MINUTE) == ({(9, "second")}, START + 2 * MINUTE)
    assert known(2 * MINUTE) == ({(7, "first"), (8, "first"), (9, "second")}, None)
