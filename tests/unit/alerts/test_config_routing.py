"""Routes, times, inhibitions, escalation and delivery in alerts.yaml: read, and mistakes told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from alerts.channels.registry import CHANNELS
from alerts.config import AlertConfig, read_alert_config
from alerts.delivery_policy import DeadMansSwitch, DeliveryPolicy, Storm
from alerts.errors import AlertConfigError
from alerts.inhibition import USUAL_INHIBITIONS, Inhibition
from alerts.owners import EscalationStep, Person
from alerts.routing import branches_of
from alerts.rules import Matcher
from alerts.times import Span, TimeInterval

MINUTE = timedelta(minutes=1)
ROOT = Path(__file__).parents[3]
FULL = """\
owners:
  - name: flight-ml
    people: [ada@example.org, {name: Grace, email: grace@example.org, receiver: phone}]
    receiver: on-call
    escalation:
      - {after: 2m, to: [backup, Grace]}
      - {after: 15m, to: [grace@example.org]}
receivers:
  - {name: on-call, channel: webhook, url_env: U, secret_env: S, repeat_after: 4h}
  - {name: backup, channel: webhook, url_env: U, secret_env: S}
  - {name: phone, channel: webhook, url_env: U, secret_env: S}
  - {name: chat, channel: webhook, url_env: U, secret_env: S}
route:
  group_by: [model, response]
  group_wait: 30s
  group_interval: 5m
  repeat_after: 4h
  routes:
    - name: notices
      when: {severity: notice}
      receiver: chat
      mute_times: [nights]
      routes:
        - {when: {model: "credit*"}, group_by: [], mute_times: []}
    - {when: {about: quality}, receiver: backup, continue: true, repeat_after: 1d}
    - {when: {rule: [loud, louder]}, group_wait: 0s}
times:
  - name: nights
    zone: Europe/Berlin
    spans:
      - {times: ["22:00-06:00", "12:00-24:00"], weekdays: [mon-fri, sun], days: [1-7, "-7 to -1"],
         months: [nov-feb], years: [2026-2027, 2030]}
  - {name: leap, spans: [{days: [29], months: [feb]}]}
inhibit:
  - {name: no-traffic, enabled: false}
  - {name: feed, source: {rule: feed-lost}, target: {check: [drift, quality]}, equal: [model]}
delivery:
  fallback: chat
  storm: {messages: 3, within: 5m}
  longest_silence: 7d
  dead_mans_switch: {url_env: DEAD, every: 30s}
rules:
  - name: loud
    when: {check: drift}
    above: 1
    severity: ticket
    owner: flight-ml
    response: investigate
    mute_times: [nights]
"""


def read(text: str) -> AlertConfig:
    return read_alert_config(text, "alerts.yaml", CHANNELS)


def mistakes(text: str) -> list[tuple[str, str]]:
    with pytest.raises(AlertConfigError) as caught:
        read(text)
    return [(each.place, each.message) for each in caught.value.problems]


def test_people_and_escalation_are_read_and_people_are_reached_by_name_or_address() -> None:
    owner = read(FULL).owner("flight-ml")
    assert owner.people == ("ada@example.org", "Grace")
    assert owner.persons == (Person("Grace", "grace@example.org", "phone"),)
    assert owner.escalation == (
        EscalationStep(2 * MINUTE, ("backup", "phone")),
        EscalationStep(15 * MINUTE, ("phone",)),
    )
    assert read(FULL).receiver("on-call").repeat_after == timedelta(hours=4)


def test_times_are_read_as_minutes_and_ranges() -> None:
    nights, leap = read(FULL).times
    span = Span(
        minutes=((1320, 360), (720, 1440)),
        weekdays=((0, 4), (6, 6)),
        days=((1, 7), (-7, -1)),
        months=((11, 2),),
        years=((2026, 2027), (2030, 2030)),
    )
    assert nights == TimeInterval("nights", "Europe/Berlin", (span,))
    assert leap == TimeInterval("leap", "UTC", (Span(days=((29, 29),), months=((2, 2),)),))


def test_inhibitions_of_the_file_stand_beside_the_usual_ones_that_are_on() -> None:
    found = read(FULL).inhibitions
    assert [each.name for each in found] == ["stale-labels", "schema-break", "feed"]
    assert found[-1] == Inhibition(
        "feed",
        (Matcher("rule", ("feed-lost",)),),
        (Matcher("check", ("drift", "quality")),),
        ("model",),
    )


def test_without_a_section_the_usual_inhibitions_are_in_force() -> None:
    short = FULL[: FULL.index("inhibit:")] + FULL[FULL.index("delivery:") :]
    assert read(short).inhibitions == USUAL_INHIBITIONS


def test_the_delivery_policy_is_read() -> None:
    assert read(FULL).delivery == DeliveryPolicy(
        fallback="chat",
        storm=Storm(3, 5 * MINUTE),
        longest_silence=timedelta(days=7),
        dead_mans_switch=DeadMansSwitch((("url_env", "DEAD"),), timedelta(seconds=30)),
    )


def test_rules_name_times_of_the_file() -> None:
    assert read(FULL).rules[0].mute_times == ("nights",)


ROUTES = [
    # facts, receivers in their order, group_by, group wait, repeat, mute times
    ({"severity": "ticket"}, [None], ("model", "response"), 30, 240, ()),
    ({"severity": "notice"}, ["chat"], ("model", "response"), 30, 240, ("nights",)),
    ({"severity": "notice", "model": "credit-de"}, ["chat"], (), 30, 240, ()),
    ({"about": "quality"}, ["backup"], ("model", "response"), 30, 1440, ()),
    ({"about": "quality", "rule": "loud"}, ["backup", None], ("model", "response"), 0, 240, ()),
    ({"severity": "notice", "about": "quality"}, ["chat"], ("model", "response"), 30, 240,
     ("nights",)),
    ({"rule": "louder"}, [None], ("model", "response"), 0, 240, ()),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "receivers", "group_by", "wait", "repeat", "mute"), ROUTES)
def test_the_first_branch_that_fits_takes_the_alert_and_inherits_what_it_does_not_say(
    facts: dict[str, str],
    receivers: list[str | None],
    group_by: tuple[str, ...],
    wait: int,
    repeat: int,
    mute: tuple[str, ...],
) -> None:
    found = branches_of(read(FULL).route, facts)
    assert [each.receiver for each in found] == receivers
    last = found[-1]
    assert last.group_by == group_by
    assert last.group_wait == timedelta(seconds=wait)
    assert last.group_interval == 5 * MINUTE
    assert last.repeat_after == repeat * MINUTE
    assert last.mute_times == mute


WRONG = """\
owners:
  - name: flight-ml
    people: [{name: Ada, email: nowhere}, {email: b@c.d}, Bob]
    receiver: on-call
    escalation:
      - {after: 15m, to: [backup, Bob, nobody]}
      - {after: 2m, to: []}
      - {after: 10m, to: [on-call]}
receivers:
  - {name: on-call, channel: webhook, url_env: U, secret_env: S, repeat_after: 5s}
route:
  when: {severity: page}
  mute_times: [nights]
  group_by: [modell]
  group_interval: 5m
  repeat_after: 1m
  routes:
    - {receiver: chat}
    - {when: {severty: page}, active_times: [office], repeat: 1h}
times:
  - {name: nights, zone: Europe/Berln, spans: [{times: ["22:00-25:00", "6-7", "08:00-08:00"]}]}
  - {name: odd, spans: [{weekdays: [mon-friday], days: [32, 5-3], months: [], years: [12]}, {}]}
  - {name: empty}
inhibit:
  - {name: no-trafic, enabled: false}
  - {name: half, source: {rule: a}, equal: [modle]}
delivery:
  fallback: mail
  storm: {messages: 0, within: 3d}
  dead_mans_switch: {url: x, url_env: Y}
rules:
  - {name: r, when: {check: drift}, above: 1, severity: ticket, owner: flight-ml,
     response: investigate}
"""

TOLD = [
    ("owners[0].people[0].email", "must be an address"),
    ("owners[0].people[1]", "name is missing"),
    ("owners[0].escalation[0].to", "'Bob' has no receiver of their own"),
    ("owners[0].escalation[0].to", "no receiver and no person is called 'nobody'"),
    ("owners[0].escalation[0].to", "no receiver and no person is called 'backup'"),
    ("owners[0].escalation[1].to", "at least one receiver or person"),
    ("receivers[0].repeat_after", "must lie within 1m to 366d, got '5s'"),
    ("route.when", "the root takes every alert"),
    ("route.mute_times", "would keep every alert quiet"),
    ("route.group_by", "'modell' is no label; did you mean 'model'?"),
    ("route.repeat_after", "repeat_after 1m is shorter than group_interval 5m"),
    ("route.routes[0]", "when is missing"),
    ("route.routes[0].receiver", "no receiver is called 'chat'"),
    ("route.routes[1].when.severty", "did you mean 'severity'?"),
    ("route.routes[1].active_times", "no time interval is called 'office'"),
    ("route.routes[1]", "unknown key 'repeat'; did you mean 'repeat_after'?"),
    ("times[0].zone", "no time zone is called 'Europe/Berln'; did you mean 'Europe/Berlin'?"),
    ("times[0].spans[0].times[0]", "a day runs from 00:00 to 24:00"),
    ("times[0].spans[0].times[1]", 'must be a span such as "22:00-06:00"'),
    ("times[0].spans[0].times[2]", "must not be empty"),
    ("times[1].spans[0].weekdays[0]", "must be of mon, tue"),
    ("times[1].spans[0].days[0]", "a month has the days 1 to 31"),
    ("times[1].spans[0].days[1]", "must not end before it begins"),
    ("times[1].spans[0].months", "lists nothing"),
    ("times[1].spans[0].years[0]", "must lie within 1970 to 9999"),
    ("times[1].spans[1]", "needs at least one of times"),
    ("times[2]", "spans is missing"),
    ("inhibit[0].name", "only a usual inhibition is switched off; did you mean 'no-traffic'?"),
    ("inhibit[1]", "target is missing"),
    ("inhibit[1].equal", "'modle' is no label; did you mean 'model'?"),
    ("delivery.fallback", "no receiver is called 'mail'"),
    ("delivery.storm.messages", "must be a whole number of at least 1"),
    ("delivery.storm.within", "must lie within 1m to 1d"),
    ("delivery.dead_mans_switch", "needs exactly one of url, url_env, url_file"),
]


def test_every_mistake_is_told_with_its_place_and_nothing_else() -> None:
    found = mistakes(WRONG)
    for place, message in TOLD:
        assert any(at == place and message in text for at, text in found), (place, message)
    places = {place for place, _ in TOLD}
    extra = [each for each in found if each[0] not in places]
    assert extra == []


def test_pub_062_a_repeat_faster_than_the_group_interval_is_refused_wherever_it_is_said() -> None:
    child = FULL.replace("repeat_after: 1d", "repeat_after: 2m")
    ((place, message),) = mistakes(child)
    assert place == "route.routes[1].repeat_after"
    assert "nothing is told faster than that" in message
    interval = FULL.replace("group_wait: 0s", "group_interval: 5h")
    ((place, message),) = mistakes(interval)
    assert place == "route.routes[2].group_interval"


def test_steps_of_an_escalation_follow_each_other_in_time() -> None:
    ((place, message),) = mistakes(FULL.replace("after: 15m", "after: 1m"))
    assert place == "owners[0].escalation"
    assert "got 1m after 2m" in message


def test_the_example_of_the_documentation_is_read() -> None:
    page = (ROOT / "docs" / "routing.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    config = read(example + FULL[FULL.index("rules:") :])
    assert [each.receiver for each in config.route.routes] == ["chat", "head-of-ml"]
    assert [each.name for each in config.times] == ["nights", "holidays"]
    assert "no-traffic" not in [each.name for each in config.inhibitions]
    for usual in USUAL_INHIBITIONS:
        assert f"| `{usual.name}` |" in page
