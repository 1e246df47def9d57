"""Whatever happens to alerts: nothing is lost, told twice or out of order, or planned too late."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.config import AlertConfig, Receiver
from alerts.delivery_policy import DeliveryPolicy, Storm
from alerts.groups import Change
from alerts.inhibition import Inhibition
from alerts.model import AlertState, ResolvedReason, Severity, Standing
from alerts.owners import EscalationStep, Owner
from alerts.routing import Route
from alerts.rules import Matcher
from alerts.silences import Silence
from alerts.times import Span, TimeInterval

from .factories import rule
from .notice_desk import NoticeDesk, at, config_of

MINUTE = timedelta(minutes=1)
RULES = ("cause", "page", "ticket")
MODELS = ("m1", "m2", "m3", "m4")
DEEDS = ("fire", "fire", "fire", "end", "end", "ack", "snooze", "worse", "silence", "lose")
HORIZON = 120


def setup(wait: int, interval: int, repeat: int | None, *, muted: bool) -> AlertConfig:
    night = TimeInterval("night", "UTC", (Span(minutes=((30, 45),)),))
    steps = (EscalationStep(2 * MINUTE, ("backup",)), EscalationStep(9 * MINUTE, ("head",)))
    inhibition = Inhibition(
        "cause-first", (Matcher("rule", ("cause",)),), (Matcher("rule", ("ticket",)),), ("model",)
    )
    return config_of(
        [
            rule(name="cause"),
            rule(name="page", severity=Severity.PAGE),
            rule(name="ticket", mute_times=("night",) if muted else ()),
        ],
        owners=(Owner("flight-ml", ("ada",), "on-call", (), steps),),
        receivers=tuple(Receiver(name, "webhook") for name in ("on-call", "backup", "head")),
        route=Route(
            group_wait=wait * MINUTE,
            group_interval=interval * MINUTE,
            repeat_after=repeat * MINUTE if repeat else None,
        ),
        times=(night,),
        inhibitions=(inhibition,),
        delivery=DeliveryPolicy(storm=Storm(2, 10 * MINUTE)),
    )


Setups = st.builds(
    setup,
    st.sampled_from([0, 0, 3]),
    st.sampled_from([0, 0, 5]),
    st.sampled_from([None, None, 20]),
    muted=st.booleans(),
)
Event = st.tuples(
    st.integers(0, 60), st.sampled_from(DEEDS), st.sampled_from(RULES), st.sampled_from(MODELS)
)


def happen(desk: NoticeDesk, minute: int, deed: str, name: str, model: str) -> None:
    key = next(
        (
            k
            for k, each in desk.alerts.items()
            if (each.rule, each.labels["model"]) == (name, model)
        ),
        None,
    )
    known = desk.alerts[key] if key is not None else None
    if deed == "fire" and (known is None or not known.is_firing):
        desk.fire(name, minute, model=model)
    elif deed == "silence":
        matchers = (Matcher("model", (model,)), Matcher("rule", (name,)))
        desk.silences.append(Silence(1, matchers, "ada", "test", at(minute), at(minute + 11)))
    elif key is None or known is None or not known.is_firing:
        return
    elif deed == "end":
        desk.end(key, minute, ResolvedReason.RECOVERED)
        desk.undelivered.discard((key, "on-call"))
    elif deed == "ack":
        desk.change(key, acknowledged_by="ada", standing=Standing.ONGOING)
    elif deed == "snooze":
        desk.change(key, snoozed_until=at(minute + 7))
    elif deed == "worse":
        desk.change(key, excess=(known.excess or 0.1) * 2, standing=Standing.ESCALATING)
    elif deed == "lose" and "on-call" in desk.knows_as_open(key):
        desk.undelivered.add((key, "on-call"))


def check_stories(desk: NoticeDesk) -> None:
    """Each receiver's story of each episode: opened, told again, ended; episodes in their order."""
    stories: dict[tuple[str, str], list[tuple[int, Change]]] = defaultdict(list)
    for _, group in desk.sent:
        for entry in group.entries:
            if entry.change is not Change.NONE:
                key = (group.key.receiver, entry.alert.fingerprint)
                stories[key].append((entry.alert.episode, entry.change))
    for story in stories.values():
        open_episode = None
        last = 0
        for episode, change in story:
            if change is Change.OPENED:
                assert open_episode is None
                assert episode > last
                open_episode = last = episode
            elif change is Change.GOT_WORSE:
                assert episode == open_episode
            elif open_episode is None:  # a storm tells opening and end in one
                assert episode > last
                last = episode
            else:
                assert episode == open_episode
                open_episode = None


def end_all(desk: NoticeDesk, minute: int, *rules: str) -> None:
    for key, each in list(desk.alerts.items()):
        if each.is_firing and each.rule in rules:
            desk.end(key, minute)


@given(Setups, st.lists(Event, max_size=25))
@settings(max_examples=40, deadline=None)
def test_every_opening_is_told_once_and_ended_once_and_nothing_stays_behind(
    config: AlertConfig, events: list[tuple[int, str, str, str]]
) -> None:
    desk = NoticeDesk(config)
    by_minute: dict[int, list[tuple[int, str, str, str]]] = defaultdict(list)
    for event in events:
        by_minute[event[0]].append(event)
    for minute in range(HORIZON):
        for event in by_minute[minute]:
            happen(desk, *event)
        desk.look(minute)
    end_all(desk, HORIZON, "cause")
    desk.run(range(HORIZON, HORIZON + 30))
    for key, each in desk.alerts.items():
        assert not each.is_firing or desk.knows_as_open(key), "nothing holds it, somebody knows"
    end_all(desk, HORIZON + 30, *RULES)
    desk.run(range(HORIZON + 30, HORIZON + 90))
    check_stories(desk)
    for key, each in desk.alerts.items():
        assert each.state is AlertState.RESOLVED
        assert desk.knows_as_open(key) == set()
        assert key in desk.settled


@given(Setups, st.lists(Event, max_size=25))
@settings(max_examples=40, deadline=None)
def test_planning_only_when_something_changed_or_is_due_tells_the_same(
    config: AlertConfig, events: list[tuple[int, str, str, str]]
) -> None:
    eager, lazy = NoticeDesk(config), NoticeDesk(config)
    due = None
    for half in range(HORIZON * 2):
        minute = half / 2
        now = [event for event in events if event[0] == minute]
        for event in now:
            happen(eager, *event)
            happen(lazy, *event)
        said = eager.look(minute)
        if now or (due is not None and due <= at(minute)):
            assert lazy.look(minute) == said
            due = lazy.plan.next_at
        else:
            assert said == [], f"owed at minute {minute}, the plan named {due}"
