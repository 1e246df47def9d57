"""What alerts are about: everything that served, or one deployment among several."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from monitor.jobs.base import JobContext
from monitor.jobs.readings import Words, labels_of, served_together
from monitor.measurement import Direction, Measured, Measurement, Subject
from monitor.windows import Window
from tests.factories import make_contract

DAY = Window(datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 5, 2, tzinfo=UTC))
LATER = Window(DAY.end, DAY.end + timedelta(days=1))


def measured(*deployments: int, window: Window = DAY, baseline: int | None = None) -> Measurement:
    return Measurement(
        check="drift", method="psi", method_version=1,
        subject=Subject(deployments, "live", 0, "age"), window=window,
        outcome=Measured(0.1, 100), unit="psi", direction=Direction.HIGHER_IS_WORSE,
        known_at=LATER.end, baseline_id=baseline,
    )  # fmt: skip


def labels(one: Measurement, *all_measured: Measurement) -> dict[str, str]:
    words = Words({}, {3: "canary"}, {7: "spring"}, served_together(all_measured))
    # labels_of reads two names of the context and nothing else of it
    context = SimpleNamespace(project="p", contract=make_contract())
    return dict(labels_of(one, "day", cast(JobContext, cast(Any, context)), words))


def test_all_deployments_together_are_one_subject_that_outlives_a_rollout():
    alone = measured(1)
    together = measured(1, 3, window=LATER)
    before = labels(alone, alone)
    after = labels(together, measured(1, window=LATER), measured(3, window=LATER), together)
    assert before == after
    assert (before["scope"], before["deployment_name"]) == ("all", "all deployments")
    assert "deployment" not in before


def test_one_of_several_is_named():
    one, other = measured(3), measured(1)
    found = labels(one, one, other)
    assert (found["scope"], found["deployment"], found["deployment_name"]) == ("one", "3", "canary")
    assert labels(other, one, other)["deployment_name"] == "1"


def test_a_baseline_is_named_whatever_its_version():
    one = measured(1, baseline=7)
    assert labels(one, one)["baseline"] == "spring"
    assert "baseline" not in labels(measured(1), measured(1))


def test_a_golden_set_is_about_its_deployment_whatever_the_run():
    one = replace(
        measured(3),
        check="golden",
        method="pass_rate",
        subject=Subject((3,), "replay:n", 0, "core"),
    )
    found = labels(one, one)
    assert (found["leg"], found["scope"], found["deployment"]) == ("replay", "one", "3")
    assert found["column"] == "core"


def test_a_shadow_pair_names_both_deployments():
    one = replace(measured(3), check="shadow", subject=Subject((3, 1), "shadow:next", 0, ""))
    found = labels(one, one)
    assert (found["leg"], found["deployment"]) == ("shadow:next", "1+3")
