"""Who is told what and when: groups, repeats, holds, escalation, order. Public cases by name."""

from __future__ import annotations

from datetime import timedelta

import pytest

from alerts.config import AlertConfig, Receiver
from alerts.delivery_policy import DeliveryPolicy
from alerts.groups import Change
from alerts.inhibition import Inhibition
from alerts.model import Archive, ResolvedReason, Severity, Standing, ToldEvent
from alerts.owners import EscalationStep, Owner
from alerts.routing import Route
from alerts.rules import Matcher
from alerts.silences import Silence
from alerts.times import Span, TimeInterval

from .factories import rule
from .notice_desk import NoticeDesk, at, config_of

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def routed(*routes: Route, **fields: object) -> AlertConfig:
    return config_of([rule()], route=Route(routes=routes, **fields))  # type: ignore[arg-type]


def silence(start: float, end: float, **labels: str) -> Silence:
    matchers = tuple(Matcher(name, (value,)) for name, value in labels.items())
    return Silence(1, matchers, "ada", "planned work", at(start), at(end))


# Groups and their times


def test_pub_061_alerts_of_one_group_within_its_wait_are_one_message() -> None:
    desk = NoticeDesk(routed(group_by=("model",), group_wait=timedelta(seconds=30)))
    desk.fire(column="a", minute=0)
    assert desk.look(0) == []
    assert desk.plan.next_at == at(0.5)
    desk.fire(column="b", minute=1 / 60)
    desk.fire(column="c", minute=1 / 60)
    assert desk.look(1 / 60) == []
    assert desk.look(0.5) == ["on-call opened 3"]
    assert desk.look(0.6) == []


def test_pub_060_what_ends_within_the_group_wait_is_not_told_at_all() -> None:
    desk = NoticeDesk(routed(group_wait=2 * MINUTE))
    key = desk.fire(minute=0)
    desk.look(0)
    desk.end(key, 1)
    assert desk.run(range(1, 10)) == {}
    assert key in desk.settled


def test_what_ended_while_nobody_planned_is_told_as_opened_and_ended_in_this_order() -> None:
    desk = NoticeDesk(routed(group_wait=2 * MINUTE))
    key = desk.fire(minute=0)
    desk.end(key, 1)
    assert desk.look(30) == ["on-call opened 1", "on-call resolved 1"]
    assert desk.look(31) == []


def test_a_known_group_is_told_news_at_most_once_in_an_interval() -> None:
    desk = NoticeDesk(routed(group_interval=5 * MINUTE))
    first = desk.fire(column="a", minute=0)
    assert desk.look(0) == ["on-call opened 1"]
    desk.fire(column="b", minute=1)
    desk.end(first, 2)
    assert desk.run([1, 2, 3, 4]) == {}
    assert desk.plan.next_at == at(5)
    assert desk.look(5) == ["on-call resolved 1", "on-call opened 1"]


def test_an_end_lists_what_is_still_open_in_the_group() -> None:
    desk = NoticeDesk(routed())
    first, _ = desk.fire(column="a"), desk.fire(column="b")
    desk.look(0)
    desk.end(first, 1)
    desk.look(1)
    (_, group) = desk.sent[-1]
    assert [each.change for each in group.entries] == [Change.ENDED, Change.NONE]


def test_an_end_goes_to_the_group_it_was_told_in_whatever_the_routes_say_now() -> None:
    desk = NoticeDesk(routed(group_by=("model",)))
    key = desk.fire()
    desk.look(0)
    desk.setup = routed(group_by=("response", "column"))
    desk.end(key, 1)
    desk.look(1)
    assert desk.sent[0][1].key == desk.sent[1][1].key


def test_several_episodes_keep_their_order_and_each_end_its_reason() -> None:
    desk = NoticeDesk(routed())
    key = desk.fire(minute=0)
    desk.look(0)
    desk.end(key, 1, ResolvedReason.SUPERSEDED)
    desk.fire(minute=2)
    desk.end(key, 3, ResolvedReason.CLOSED_BY_HAND)
    desk.fire(minute=4)
    assert desk.look(4) == ["on-call resolved 1", "on-call opened 1"]
    ended = desk.sent[1][1].entries[0].alert
    assert (ended.episode, ended.resolved_reason) == (1, ResolvedReason.SUPERSEDED)
    assert desk.sent[2][1].entries[0].alert.episode == 3


def test_receivers_that_want_no_ends_are_told_openings_only_and_nothing_stays_open() -> None:
    receivers = (Receiver("on-call", "webhook", send_resolved=False),)
    desk = NoticeDesk(config_of([rule()], receivers=receivers))
    key = desk.fire()
    desk.look(0)
    desk.end(key, 1)
    assert desk.look(1) == []
    assert key in desk.settled
    desk.fire(minute=2)
    assert desk.look(2) == ["on-call opened 1"]


def test_what_another_alert_took_the_place_of_before_it_was_told_is_not_told() -> None:
    desk = NoticeDesk(routed())
    told, untold = desk.fire(column="a"), desk.fire(column="b", minute=1)
    desk.end(untold, 1, ResolvedReason.SUPERSEDED)
    assert desk.look(1) == ["on-call opened 1"]
    assert untold in desk.settled
    desk.end(told, 2, ResolvedReason.SUPERSEDED)
    assert desk.look(2) == ["on-call resolved 1"]


# Repeats, reminders, updates


def test_pub_062_a_repeat_follows_each_evaluation_when_it_may_be_as_short() -> None:
    desk = NoticeDesk(routed(repeat_after=MINUTE))
    desk.fire()
    told = desk.run(range(0, 31, 5))
    assert len(told) == 7
    assert set(map(tuple, list(told.values())[1:])) == {("on-call updated 0",)}


def test_nothing_is_repeated_unless_somebody_asks_for_it() -> None:
    desk = NoticeDesk(routed())
    desk.fire()
    assert list(desk.run(range(0, 10_000, 500))) == [0]
    assert desk.plan.next_at is None


def test_a_receiver_may_ask_for_repeats_and_a_route_overrides_it() -> None:
    receivers = (Receiver("on-call", "webhook", repeat_after=HOUR),)
    for route, minutes in ((Route(), [0, 60, 120]), (Route(repeat_after=2 * HOUR), [0, 120])):
        desk = NoticeDesk(config_of([rule()], receivers=receivers, route=route))
        desk.fire()
        assert list(desk.run(range(0, 121, 10))) == minutes


def test_an_acknowledgement_stops_repeats() -> None:
    desk = NoticeDesk(routed(repeat_after=HOUR))
    key = desk.fire()
    desk.look(0)
    desk.change(key, acknowledged_by="ada", standing=Standing.ONGOING)
    assert desk.run(range(10, 300, 10)) == {}


def test_much_worse_is_told_once_to_those_who_know() -> None:
    desk = NoticeDesk(routed())
    key = desk.fire()
    desk.look(0)
    desk.change(key, excess=0.3, standing=Standing.ESCALATING)
    assert desk.look(1) == ["on-call updated 1"]
    assert desk.sent[-1][1].entries[0].change is Change.GOT_WORSE
    assert desk.look(2) == []
    assert desk.alerts[key].told["on-call"].event is ToldEvent.GOT_WORSE


def test_messages_that_say_the_same_again_are_told_apart() -> None:
    desk = NoticeDesk(routed(repeat_after=HOUR))
    desk.fire()
    desk.run([0, 60, 120])
    assert [group.entries[0].times for _, group in desk.sent] == [1, 2, 3]


# Holds


def test_pub_064_what_fires_under_a_silence_is_told_when_the_silence_ends() -> None:
    desk = NoticeDesk(routed(repeat_after=24 * HOUR))
    desk.silences = [silence(-60, 60, model="m1")]
    desk.fire(minute=0)
    assert list(desk.run(range(0, 121, 15))) == [60]
    desk.look(0)


def test_a_silence_says_when_to_plan_again_and_who_made_it() -> None:
    desk = NoticeDesk(routed())
    desk.silences = [silence(0, 60, severity="ticket")]
    key = desk.fire()
    desk.look(0)
    assert desk.plan.next_at == at(60)
    assert "silence 1 of ada" in desk.plan.held[key]
    assert "planned work" in desk.plan.held[key]


def test_the_end_of_what_is_known_passes_a_silence() -> None:
    desk = NoticeDesk(routed())
    key = desk.fire()
    desk.look(0)
    desk.silences = [silence(1, 60, model="m1")]
    desk.end(key, 2)
    assert desk.look(2) == ["on-call resolved 1"]


def test_what_opens_and_ends_under_a_silence_is_never_told() -> None:
    desk = NoticeDesk(routed())
    desk.silences = [silence(0, 60, model="m1")]
    key = desk.fire(minute=1)
    desk.look(1)
    desk.end(key, 2)
    assert desk.run([2, 59, 60, 61]) == {}
    assert key in desk.settled


def nightly(zone: str = "UTC") -> TimeInterval:
    return TimeInterval("nights", zone, (Span(minutes=((22 * 60, 6 * 60),)),))


def test_a_mute_time_holds_everything_back_even_ends_until_it_is_over() -> None:
    setup = config_of([rule()], times=(nightly(),), route=Route(
        routes=(Route("route.routes[0]", mute_times=("nights",)),)))  # fmt: skip
    desk = NoticeDesk(setup)  # midnight
    early = desk.fire(column="a", minute=-180)
    assert desk.look(-180) == ["on-call opened 1"]
    desk.end(early, -60)
    desk.fire(column="b", minute=-60)
    assert desk.run([-60, 0, 359]) == {}
    assert desk.plan.next_at == at(360)
    assert desk.look(360) == ["on-call resolved 1", "on-call opened 1"]


def test_an_end_held_by_a_mute_time_survives_another_episode() -> None:
    setup = config_of([rule(mute_times=("nights",))], times=(nightly(),))
    desk = NoticeDesk(setup)
    key = desk.fire(minute=-180)
    desk.look(-180)
    desk.end(key, -60, ResolvedReason.FALSE_ALARM)
    desk.look(-60)
    desk.fire(minute=0)
    desk.end(key, 10)
    assert desk.run([0, 10, 300]) == {}
    assert key not in desk.settled
    assert desk.look(360)[0] == "on-call resolved 1"
    assert desk.sent[1][1].entries[0].alert.resolved_reason is ResolvedReason.FALSE_ALARM
    assert desk.knows_as_open(key) == set()


def test_active_times_of_a_rule_tell_only_then() -> None:
    office = TimeInterval("office", "America/New_York", (Span(minutes=((540, 1020),)),))
    desk = NoticeDesk(config_of([rule(active_times=("office",))], times=(office,)))
    desk.fire(minute=0)  # midnight in UTC, 19:00 in New York
    told = desk.run(range(0, 1200, 30))
    assert list(told) == [14 * 60]


def test_a_snooze_holds_news_and_reminds_when_it_is_over() -> None:
    desk = NoticeDesk(routed())
    key = desk.fire()
    desk.look(0)
    desk.change(key, snoozed_until=at(60), excess=0.5, standing=Standing.ESCALATING)
    assert desk.run([1, 30, 59]) == {}
    assert desk.plan.next_at == at(60)
    assert desk.look(60) == ["on-call updated 1"]
    assert desk.look(61) == []


def test_a_snooze_that_is_over_reminds_once_though_nothing_is_new() -> None:
    desk = NoticeDesk(routed())
    key = desk.fire()
    desk.look(0)
    desk.change(key, snoozed_until=at(60))
    assert desk.run([30, 60, 61, 90]) == {60: ["on-call updated 0"]}


def test_who_knows_of_an_alert_is_told_once_that_what_was_done_about_it_has_run_out() -> None:
    desk = NoticeDesk(routed())
    key = desk.fire()
    desk.look(0)
    desk.change(key, remind_at=at(30))
    assert desk.run([29, 30, 31, 90]) == {30: ["on-call updated 0"]}
    assert desk.sent[-1][1].note == "Still open; what was done about it has run out."


def test_an_archived_alert_is_told_of_again_when_it_is_archived_no_more() -> None:
    desk = NoticeDesk(routed())
    key = desk.fire()
    desk.change(key, archive=Archive("ada", at(0), 0.1), standing=Standing.ARCHIVED)
    assert desk.look(0) == []
    desk.change(key, archive=None, excess=0.3, standing=Standing.ESCALATING)
    assert desk.look(1) == ["on-call opened 1"]


# Inhibition


def inhibited(*equal: str) -> AlertConfig:
    rules = [
        rule(name="bad-data", when=(Matcher("check", ("quality",)),)),
        rule(name="moved", when=(Matcher("check", ("drift",)),)),
    ]
    one = Inhibition(
        "bad-data-first", (Matcher("rule", ("bad-data",)),), (Matcher("rule", ("moved",)),), equal
    )
    return config_of(rules, inhibitions=(one,), route=Route(group_by=("column", "segment")))


def test_pub_063_a_label_absent_on_both_sides_is_no_match() -> None:
    desk = NoticeDesk(inhibited("segment"))
    desk.fire("bad-data")
    desk.fire("moved")
    desk.fire("moved", segment="eu")
    assert sum(len(group.new) for _, group in desk.sent) == 0
    desk.look(0)
    assert sum(len(group.new) for _, group in desk.sent) == 3


def test_an_inhibited_alert_waits_for_the_end_of_its_cause_and_says_so() -> None:
    desk = NoticeDesk(inhibited("model"))
    cause, kept = desk.fire("bad-data", column="x"), desk.fire("moved", column="a")
    desk.fire("moved", column="a", model="m2")
    assert desk.look(0) == ["on-call opened 1", "on-call opened 1"]
    assert "inhibition bad-data-first: an alert of rule bad-data fires" in desk.plan.held[kept]
    desk.end(cause, 5)
    assert "on-call opened 1" in desk.look(5)
    assert desk.knows_as_open(kept) == {"on-call"}


def test_an_alert_that_was_told_before_it_is_inhibited_is_told_of_its_end() -> None:
    desk = NoticeDesk(inhibited("model"))
    early = desk.fire("moved")
    desk.look(0)
    desk.fire("bad-data", column="x")
    desk.look(1)
    desk.end(early, 2, ResolvedReason.SUPERSEDED)
    assert desk.look(2) == ["on-call resolved 1"]


# Escalation


def escalating(**fields: object) -> AlertConfig:
    steps = (
        EscalationStep(2 * MINUTE, ("backup",)),
        EscalationStep(15 * MINUTE, ("head-of-ml",)),
    )
    return config_of(
        [rule(severity=Severity.PAGE, **fields)],
        owners=(Owner("flight-ml", ("ada",), "on-call", (), steps),),
        receivers=tuple(Receiver(name, "webhook") for name in ("on-call", "backup", "head-of-ml")),
    )


def test_a_page_that_nobody_takes_on_climbs_step_by_step() -> None:
    desk = NoticeDesk(escalating())
    key = desk.fire()
    assert desk.look(0) == ["on-call opened 1"]
    assert desk.plan.next_at == at(2)
    told = desk.run([1, 2, 3, 14, 15, 16])
    assert told == {2: ["backup opened 1"], 15: ["head-of-ml opened 1"]}
    assert "Escalation step 1: nobody took it on within 2m." in desk.sent[1][1].note
    desk.end(key, 20)
    assert sorted(desk.look(20)) == [
        "backup resolved 1", "head-of-ml resolved 1", "on-call resolved 1",
    ]  # fmt: skip


def test_an_acknowledgement_stops_the_climb_and_who_knows_hears_the_end() -> None:
    desk = NoticeDesk(escalating())
    key = desk.fire()
    desk.run([0, 2])
    desk.change(key, acknowledged_by="grace", standing=Standing.ONGOING)
    assert desk.run([3, 15, 100]) == {}
    desk.end(key, 101)
    assert sorted(desk.look(101)) == ["backup resolved 1", "on-call resolved 1"]


def test_a_page_that_reaches_nobody_goes_to_the_next_step_at_once() -> None:
    desk = NoticeDesk(escalating())
    key = desk.fire()
    desk.look(0)
    desk.undelivered.add((key, "on-call"))
    assert desk.look(0.5) == ["backup opened 1"]
    assert "could not be reached" in desk.sent[-1][1].note
    assert desk.look(0.6) == []
    desk.undelivered.add((key, "backup"))
    assert desk.look(2.5) == ["head-of-ml opened 1"]


def test_a_new_episode_climbs_from_the_bottom() -> None:
    desk = NoticeDesk(escalating())
    key = desk.fire()
    desk.run([0, 2])
    desk.end(key, 3)
    desk.look(3)
    desk.fire(minute=10)
    assert desk.run([10, 11, 12]) == {10: ["on-call opened 1"], 12: ["backup opened 1"]}


def test_tickets_do_not_climb() -> None:
    setup = escalating()
    desk = NoticeDesk(config_of([rule()], owners=setup.owners, receivers=setup.receivers))
    desk.fire()
    assert list(desk.run(range(60))) == [0]


def test_a_page_under_a_silence_does_not_climb_before_it_is_told() -> None:
    desk = NoticeDesk(escalating())
    desk.silences = [silence(0, 60, model="m1")]
    desk.fire()
    assert desk.run(range(64)) == {60: ["on-call opened 1"], 62: ["backup opened 1"]}


def test_a_snooze_makes_the_climb_begin_anew() -> None:
    desk = NoticeDesk(escalating())
    key = desk.fire()
    desk.look(0)
    desk.change(key, snoozed_until=at(60))
    told = desk.run(range(1, 80))
    assert told == {60: ["on-call updated 0"], 62: ["backup opened 1"], 75: ["head-of-ml opened 1"]}


# Names that are gone


def test_a_receiver_that_is_gone_is_replaced_by_the_fallback() -> None:
    setup = config_of(
        [rule(receiver="gone")],
        receivers=(Receiver("on-call", "webhook"), Receiver("mail", "webhook")),
        delivery=DeliveryPolicy(fallback="mail"),
    )
    desk = NoticeDesk(setup)
    desk.fire()
    assert desk.look(0) == ["mail opened 1"]


def test_ends_for_receivers_that_are_gone_do_not_keep_an_alert_unsettled() -> None:
    desk = NoticeDesk(routed())
    key = desk.fire()
    desk.look(0)
    desk.setup = config_of([rule()], receivers=(Receiver("other", "webhook"),))
    desk.end(key, 1)
    assert desk.look(1) == []
    assert key in desk.settled


def test_times_that_are_gone_keep_nothing_back() -> None:
    desk = NoticeDesk(config_of([rule(active_times=("gone",), mute_times=("gone", "too"))]))
    desk.fire()
    assert desk.look(0) == ["on-call opened 1"]


def test_an_owner_that_is_gone_leaves_the_fallback_and_without_one_nothing_breaks() -> None:
    for fallback, told in (("on-call", ["on-call opened 1"]), (None, [])):
        delivery = DeliveryPolicy(fallback=fallback)
        desk = NoticeDesk(
            config_of([rule(owner="gone", severity=Severity.PAGE)], delivery=delivery)
        )
        key = desk.fire()
        assert desk.look(0) == told
        desk.end(key, 1)
        desk.look(1)
        assert key in desk.settled


@pytest.mark.parametrize("minute", [0, 5])
def test_parts_of_other_rules_are_never_told(minute: float) -> None:
    desk = NoticeDesk(config_of([rule(component=True)]))
    key = desk.fire()
    assert desk.look(minute) == []
    desk.end(key, 10)
    assert desk.look(10) == []
    assert key in desk.settled
