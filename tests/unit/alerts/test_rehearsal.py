"""Drills: made-up readings make every kind of rule fire, and changes of a rule are noticed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from alerts.channels.registry import CHANNELS
from alerts.conditions.allowed import AllowedRange
from alerts.conditions.burn import BurnRate, BurnWindow
from alerts.conditions.composite import Composite
from alerts.config import AlertConfig, read_alert_config
from alerts.model import ReadingState
from alerts.rehearsal import DRILL_LABEL, drill_alert, drill_labels, rule_digest
from alerts.rules import Bounds, Matcher, Rule, StateCondition, ValueSource
from tests.unit.alerts.factories import NOW, config, rule

HOUR = timedelta(hours=1)
BURN = BurnRate(
    0.99,
    (
        BurnWindow(HOUR, timedelta(minutes=5), 14.4),
        BurnWindow(6 * HOUR, timedelta(minutes=30), 6.0),
    ),
)
GIVEN = {"project": "air", "model": "delay"}


@pytest.mark.parametrize(
    "parts",
    [
        {"condition": Bounds(upper=0.2)},
        {"condition": Bounds(upper=0.0)},
        {"condition": Bounds(lower=0.9)},
        {"condition": Bounds(lower=-3.0)},
        {"condition": Bounds(lower=0.1, upper=0.3)},
        {"condition": Bounds(upper=0.2), "value": ValueSource.LOW, "minimum_n": 5_000},
        {"condition": Bounds(upper=0.2), "hold": 5},
        {"condition": Bounds(upper=0.2), "hold_time": timedelta(hours=26)},
        {"condition": Bounds(upper=0.2), "supersedes": ("other",)},
        {"condition": StateCondition(frozenset({ReadingState.NO_DATA, ReadingState.FAILED}))},
        {"condition": AllowedRange(0.1, 0.3)},
        {"condition": BURN},
        {"condition": BURN, "hold": 3},
        {"condition": replace(BURN, counts_good=True)},
    ],
    ids=lambda parts: "-".join((type(parts["condition"]).__name__, *sorted(parts)[1:])),
)
def test_every_kind_of_rule_fires_in_a_drill(parts: dict[str, Any]) -> None:
    tried = rule(**parts)

    alert, readings = drill_alert(config(tried), tried, GIVEN, "rehearsal-1", NOW)

    assert alert is not None
    assert alert.is_firing
    assert alert.labels[DRILL_LABEL] == "rehearsal-1"
    assert max(each.at for each in readings) == NOW


@pytest.mark.parametrize("hold", [1, 3])
def test_a_rule_made_of_others_fires_and_its_alert_is_not_the_real_one(hold: int) -> None:
    parts = [
        rule(name="a", when=(Matcher("check", ("x",)),), hold=2),
        rule(name="b", when=(Matcher("check", ("y",)),), condition=BURN),
        rule(name="c", when=(Matcher("check", ("z",)),)),
    ]
    both = rule(
        name="both", when=(), condition=Composite(("a",), ("b",), ("c",), ("model",)), hold=hold
    )

    alert, _ = drill_alert(config(*parts, both), both, GIVEN, "rehearsal-1", NOW)

    assert alert is not None
    assert dict(alert.labels) == {**GIVEN, DRILL_LABEL: "rehearsal-1"}


def test_labels_fit_the_rule_and_keep_what_it_leaves_open() -> None:
    wild = rule(
        when=(Matcher("column", ("dist*", "x")), Matcher("leg", ("", "live")), Matcher("a", ("*",)))
    )

    labels = drill_labels(wild, {"project": "air", "leg": "batch"}, "r")

    assert wild.matches(labels)
    assert dict(labels) == {"project": "air", "column": "distdrill", "a": "drill", "drill": "r"}


FILE = """\
owners:
  - name: ml
    people: [ada]
    receiver: on-call
    escalation: [{after: 5m, to: [boss]}]
receivers:
  - {name: on-call, channel: webhook, url: "https://x.example", secret_env: A}
  - {name: router, channel: webhook, url: "https://y.example", secret_env: B}
  - {name: boss, channel: webhook, url: "https://b.example", secret_env: C}
  - {name: chat, channel: webhook, url: "https://c.example", secret_env: D}
route:
  routes:
    - {when: {check: a}, receiver: chat, continue: true}
    - {when: {check: b}, receiver: on-call}
responses:
  - {name: move, action: reduce_traffic, automatic: {receiver: router, to_percent: 5}}
rules:
  - {name: one, when: {check: a}, state: [failed, no_data, too_few], severity: ticket, owner: ml,
     response: move}
  - {name: other, when: {check: b}, above: 1, severity: ticket, owner: ml, response: retrain}
"""


def digest(text: str = FILE, name: str = "one") -> str:
    found = read_alert_config(text, "alerts.yaml", CHANNELS)
    return rule_digest(found, named(found, name))


def named(found: AlertConfig, name: str) -> Rule:
    wanted = found.rule(name)
    assert wanted is not None
    return wanted


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("to_percent: 5", "to_percent: 6"),
        ("https://y.example", "https://z.example"),
        ("https://x.example", "https://z.example"),
        ("no_data, too_few", "no_data"),
        ("people: [ada]", "people: [eve]"),
        ("https://b.example", "https://z.example"),
        ("https://c.example", "https://z.example"),
        ("when: {check: a}, receiver: chat", "when: {check: a}, receiver: boss"),
        ("check: a", "check: c"),
    ],
)
def test_a_change_of_rule_owner_receiver_or_response_is_another_chain(old: str, new: str) -> None:
    assert digest(FILE.replace(old, new)) != digest()


def test_a_change_of_another_rule_is_none() -> None:
    assert digest(FILE.replace("above: 1", "above: 2")) == digest()
    other_way = "when: {check: b}, receiver: on-call"
    assert digest(FILE.replace(other_way, "when: {check: b}, receiver: boss")) == digest()


def test_the_digest_is_the_same_in_every_process(tmp_path: Path) -> None:
    file = tmp_path / "alerts.yaml"
    file.write_text(FILE)
    program = (
        "from pathlib import Path; import sys\n"
        "from alerts.channels.registry import CHANNELS\n"
        "from alerts.config import read_alert_config\n"
        "from alerts.rehearsal import rule_digest\n"
        "found = read_alert_config(Path(sys.argv[1]).read_text(), 'x', CHANNELS)\n"
        "print(rule_digest(found, found.rule('one')))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program, str(file)],
            capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("1", "2", "3")
    }  # fmt: skip

    assert told == {digest()}
