"""The storm brake: many alerts with one cause are few messages, and nothing is lost."""

from __future__ import annotations

from datetime import timedelta

from alerts.config import AlertConfig, Receiver
from alerts.delivery_policy import DeliveryPolicy, Storm
from alerts.groups import Change, EventType
from alerts.model import Severity
from alerts.rules import Matcher

from .factories import rule
from .notice_desk import NoticeDesk, config_of

SECOND = 1 / 60
MANY = 10_000


def stormy(**fields: object) -> AlertConfig:
    return config_of([rule(severity=Severity.PAGE, **fields)])


def test_ten_thousand_alerts_with_one_cause_are_three_pages_and_all_are_told() -> None:
    desk = NoticeDesk(stormy())
    keys = [desk.fire(model=f"model-{number}") for number in range(MANY)]
    told = desk.run([0, 8 * SECOND, 10 * SECOND, 60])
    assert told == {
        0: ["on-call opened 1", "on-call opened 1"],
        10 * SECOND: [f"on-call storm {MANY - 2}"],
    }
    assert all(desk.knows_as_open(key) for key in keys)
    note = desk.sent[-1][1].note
    assert "9,998 alerts of 9,998 groups are told as one" in note
    assert "more than 2 messages within 10m" in note


def test_one_group_of_ten_thousand_is_one_page() -> None:
    desk = NoticeDesk(stormy())
    for number in range(MANY):
        desk.fire(column=f"column-{number}")
    assert desk.look(0) == [f"on-call opened {MANY}"]


def test_the_ends_of_a_storm_are_few_messages_too() -> None:
    desk = NoticeDesk(stormy())
    keys = [desk.fire(model=f"model-{number}") for number in range(300)]
    desk.run([0, 10 * SECOND])
    for key in keys[:150]:
        desk.end(key, 1)
    assert len(desk.look(1)) == 2  # of those told alone; the storm's wait
    for key in keys[150:]:
        desk.end(key, 3)
    told = desk.run(range(2, 30))
    assert told == {11: ["on-call resolved 298"]}
    assert set(keys) == desk.settled


def test_a_storm_that_trickles_is_told_bit_by_bit_and_stays_under_the_brake() -> None:
    desk = NoticeDesk(stormy())
    keys = []
    for minute in range(40):
        keys += [desk.fire(model=f"m-{minute}-{number}", minute=minute) for number in range(25)]
        desk.look(minute)
    desk.run(range(40, 70))
    assert all(desk.knows_as_open(key) for key in keys)
    openings = [at for at, group in desk.sent if group.event is not EventType.UPDATED]
    for moment in openings:
        window = [each for each in openings if moment <= each < moment + timedelta(minutes=10)]
        assert len(window) <= 3


def test_what_opened_and_ended_while_it_waited_is_told_in_the_storm_as_over() -> None:
    desk = NoticeDesk(stormy())
    keys = [desk.fire(model=f"model-{number:03}") for number in range(10)]
    desk.look(0)
    desk.end(keys[5], 5 * SECOND)
    assert desk.look(10 * SECOND) == ["on-call storm 8"]
    changes = {each.alert.fingerprint: each.change for each in desk.sent[-1][1].entries}
    assert changes[keys[5]] is Change.ENDED
    assert keys[5] in desk.settled


def test_the_most_urgent_and_oldest_are_told_alone() -> None:
    page, ticket = (Matcher("kind", ("page",)), Matcher("kind", ("ticket",)))
    rules = [
        rule(name="ticket", when=(ticket,)),
        rule(name="page", when=(page,), severity=Severity.PAGE),
    ]
    desk = NoticeDesk(config_of(rules))
    for number in range(5):
        desk.fire("ticket", model=f"a{number}")
    late = desk.fire("page", model="z9", minute=0)
    desk.look(0)
    alone = [group.entries[0].alert.fingerprint for _, group in desk.sent]
    assert late in alone


def test_notices_do_not_use_up_the_room_of_pages() -> None:
    rules = [rule(name="note", severity=Severity.NOTICE), rule(name="page", severity=Severity.PAGE)]
    desk = NoticeDesk(config_of(rules))
    for number in range(50):
        desk.fire("note", model=f"m{number}")
    desk.run([0, 1])
    desk.fire("page", model="other", minute=2)
    assert desk.look(2) == ["on-call opened 1"]


def test_a_third_group_goes_out_under_its_own_name_after_a_moment() -> None:
    desk = NoticeDesk(stormy())
    for number in range(3):
        desk.fire(model=f"m{number}")
    assert len(desk.look(0)) == 2
    assert desk.look(10 * SECOND) == ["on-call opened 1"]
    assert desk.sent[-1][1].event is EventType.OPENED


def test_receivers_are_braked_apart() -> None:
    receivers = (Receiver("on-call", "webhook"), Receiver("office", "webhook"))
    rules = [rule(), rule(name="other", receiver="office")]
    delivery = DeliveryPolicy(storm=Storm(1, timedelta(minutes=10)))
    desk = NoticeDesk(config_of(rules, receivers=receivers, delivery=delivery))
    for name in ("psi-high", "other"):
        for number in range(3):
            desk.fire(name, model=f"m{number}")
    assert sorted(desk.look(0)) == ["office opened 1", "on-call opened 1"]
    assert sorted(desk.look(1)) == ["office storm 2", "on-call storm 2"]


def test_alerts_that_need_no_room_are_not_kept_waiting() -> None:
    desk = NoticeDesk(stormy())
    told = {}
    for number in range(6):
        minute = number * 11
        desk.fire(model=f"m{number}", minute=minute)
        told[minute] = desk.look(minute)
    assert set(map(tuple, told.values())) == {("on-call opened 1",)}
