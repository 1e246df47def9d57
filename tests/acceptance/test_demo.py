"""The demo as a person runs it: real database, collector, jobs, rules, webhook and findings.

A short replay: the fault sits on 6 April, so that nine days suffice.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(600)]

DAYS = "9"
FLIGHTS_IN_DAYS = 8_548


def run_demo(home: Path, *arguments: str) -> tuple[str, dict[str, Any]]:
    """Run the command; what it told and what it wrote."""
    summary = home / "summary.json"
    command = [sys.executable, "-c", "from monitor.cli.main import main; main()", "demo"]
    fixed = ["--no-dashboard", "--summary", str(summary), "--home", str(home)]
    if "--limit-days" not in arguments:
        fixed += ["--limit-days", DAYS]
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    done = subprocess.run(
        [*command, *fixed, *arguments],
        capture_output=True,
        text=True,
        env=environment | {"COLUMNS": "200"},
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout, json.loads(summary.read_text(encoding="utf-8"))


def carried_out(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The actions that were not refused, in order."""
    return [one for one in found["responses"]["actions"] if one["state"] != "refused"]


def test_names_the_planted_fault_and_accounts_for_every_record(tmp_path: Path) -> None:
    told, found = run_demo(tmp_path, "--plant", "temp*0.5@2013-04-06")
    requests, labels = found["requests"], found["labels"]
    assert requests["sent"] == FLIGHTS_IN_DAYS
    assert requests["accepted"] == requests["sent"]
    assert requests["duplicate"] == requests["rejected"] == requests["conflict"] == 0
    assert labels["accepted"] == labels["sent"]
    assert found["label_coverage"] == pytest.approx(labels["sent"] / requests["sent"], abs=1e-9)

    fault = found["planted_fault"]
    assert fault["column"] == "temp"
    assert fault["deployment"] == "amber"
    assert "2013-04-06T00:00:00Z" <= fault["started"] < fault["noticed"] <= "2013-04-07T06:00:00Z"

    incidents = found["incidents"]
    (named,) = [one for one in incidents["list"] if one["deployments"]]
    assert named["deployments"] == ["amber"]
    assert named["columns"][0] == "temp"
    assert fault["started"] < named["opened"] <= "2013-04-07T04:00:00Z"
    assert incidents["promise"]["state"].startswith("not available yet")
    assert "Drift incidents: " in told

    pairs = {(one["a"], one["b"]): one for one in found["comparisons"]}
    assert pairs["blue", "amber"]["verdict"] == "confounded"
    assert pairs["blue", "amber"]["factors"] == ["runtime", "precision"]
    for pair, factor in ((("blue", "green"), "runtime"), (("green", "amber"), "precision")):
        assert pairs[pair]["factors"] == [factor]
        assert pairs[pair]["verdict"] in {"better", "worse", "no difference", "inconclusive"}
    assert "amber against blue, differs in runtime and precision. Confounded:" in told

    (month,) = found["months"]
    assert month["month"] == "2013-04"
    assert month["requests"] == FLIGHTS_IN_DAYS
    assert month["auc_low"] < month["auc"] < month["auc_high"]
    assert 0.1 < month["brier"] < 0.3
    assert 0 <= month["calibration_error"] < 0.3

    assert found["drift"]
    assert found["alerts"]["opened"] > 0
    assert found["alerts"]["delivered"] > 0
    assert found["alerts"]["verified"] == found["alerts"]["delivered"]
    assert any(name.startswith("deployments-disagree") for name in found["alerts"]["by_rule"])
    dry_run, order, back = carried_out(found)
    assert (dry_run["dry_run"], dry_run["state"]) == (True, "done")
    assert (order["deployments"], order["to_percent"]) == (["amber"], 1.0)
    assert (order["state"], back["returns"]) == ("returned", order["number"])
    before, reduced, restored = found["responses"]["shares"]
    assert 28 < before["percent"] < 39
    assert reduced["percent"] < 3
    assert restored["requests"] == 0  # the order runs out after the last flight
    assert "A fault is planted: from 2013-04-06 on, temp" in told
    assert "column temp of deployment amber" in told


def test_the_faulty_deployment_loses_its_traffic_gets_it_back_and_keeps_it_the_second_time(
    tmp_path: Path,
) -> None:
    plant = ("--plant", "distance*1.609344@2013-04-06")
    told, found = run_demo(tmp_path, *plant, "--limit-days", "24")
    dry_run, order, back = carried_out(found)
    assert (dry_run["dry_run"], dry_run["state"]) == (True, "done")
    assert (order["deployments"], order["state"]) == (["amber"], "returned")
    assert (back["returns"], back["state"]) == (order["number"], "done")
    refused = [one for one in found["responses"]["actions"] if one["state"] == "refused"]
    assert {tuple(one["deployments"]) for one in refused} == {("amber",)}
    beyond = next(one for one in refused if one["response"] == "take-out")
    assert "the limit is 20 %" in beyond["said"]
    again = next(one for one in refused if one["response"] == "move-traffic")
    assert "cools down until" in again["said"]
    assert [order["at"], back["at"]] == ["2013-04-07T05:00:00Z", "2013-04-23T05:00:00Z"]

    before, reduced, restored = found["responses"]["shares"]
    assert (before["end"], reduced["end"]) == (order["at"], back["at"])
    for span in (before, restored):
        # Five standard errors of a third over n requests.
        assert abs(span["percent"] / 100 - 1 / 3) < 5 * (2 / 9 / span["requests"]) ** 0.5
    assert reduced["requests"] > 14_000
    assert reduced["percent"] == pytest.approx(1.0, abs=0.5)

    opened = found["alerts"]["by_rule"]["deployments-disagree"]
    assert opened == 2  # when the fault began, and when its traffic came back
    assert "amber answered" in told
    assert found["requests"]["accepted"] == found["requests"]["sent"]


def test_names_nothing_when_nothing_is_planted(tmp_path: Path) -> None:
    told, found = run_demo(tmp_path, "--plant", "none", "--seed", "7", "--first-day", "2013-08-28")
    assert found["responses"] == {"actions": [], "deployments": [], "shares": []}
    assert found["contrasts"] > 1_000  # three deployments serve side by side from 1 September on
    assert set(found["planted_fault"].values()) == {None}
    assert found["incidents"]["naming_a_deployment"] == 0
    assert [one["verdict"] == "confounded" for one in found["comparisons"]] == [False, True, False]
    assert "No fault is planted" in told
    assert "No fault is named" in told
    assert not any(name.startswith("deployments") for name in found["alerts"]["by_rule"])


@pytest.mark.parametrize(
    ("plant", "words"),
    [("speed*2@2013-09-01", "choose one of distance"), ("distance*2@2012-01-01", "choose a day")],
)
def test_a_plant_that_can_not_be_used_is_told(plant: str, words: str) -> None:
    command = [sys.executable, "-c", "from monitor.cli.main import main; main()", "demo"]
    done = subprocess.run(
        [*command, "--plant", plant], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2
    assert words in re.sub(r"\s+", " ", done.stderr)
    assert "Traceback" not in done.stderr
