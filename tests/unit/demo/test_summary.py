"""summary.json and the sentences carry the same numbers, and say plainly what is not there."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

from monitor.demo.narrate import MONTH_COLUMNS, month_table, narrate
from monitor.demo.sender import Counts
from monitor.demo.summary import (
    AlertTotals,
    ColumnDrift,
    ComparisonTold,
    FaultFound,
    MonthQuality,
    OrderTold,
    ResponsesTold,
    ShareTold,
    Summary,
)

FAULT = FaultFound(
    started=datetime(2013, 9, 1, 4, tzinfo=UTC),
    noticed=datetime(2013, 9, 2, 4, 10, tzinfo=UTC),
    column="distance",
    deployment="amber",
    deployment_id=3,
    excess=1.25,
    p_log10=-42.4,
    windows=122,
    differs_from={"blue": ("runtime_version", "precision"), "green": ("precision",)},
)
SUMMARY = Summary(
    requests=Counts(255_987, 255_987, violations=12),
    labels=Counts(249_435, 249_435),
    label_coverage=249_435 / 255_987,
    months=(
        MonthQuality("2013-04", 28_330, 0.973, 0.6512, 0.6437, 0.6587, 0.2112, 0.1141),
        MonthQuality("2013-05", 28_796, 0.977, 0.7214, 0.7141, 0.7287, 0.1641, 0.0402),
        MonthQuality("2013-06", 40, 0.5, None, None, None, None, None),
    ),
    drift=(ColumnDrift("temp", "psi", 5.31, "psi", "2013-07", "training"),),
    contrasts=17_568,
    fault=FAULT,
    alerts=AlertTotals(7, {"auc-below-floor": 2, "deployments-disagree": 5}, 6, 0, 6),
    seconds=123.44,
    stages={"replay": 40.0},
)


def test_summary_json_holds_the_promised_keys() -> None:
    read = json.loads(SUMMARY.to_text())
    assert {"sent", "accepted", "duplicate", "rejected"} <= set(read["requests"])
    assert {"sent", "accepted"} <= set(read["labels"])
    assert read["requests"]["sent"] == 255_987
    assert set(read["months"][0]) == {
        "month", "requests", "label_coverage", "auc", "auc_low", "auc_high", "brier",
        "calibration_error",
    }  # fmt: skip
    assert {"column", "statistic", "value", "window"} <= set(read["drift"][0])
    assert read["planted_fault"]["started"] == "2013-09-01T04:00:00Z"
    assert read["planted_fault"]["noticed"] == "2013-09-02T04:10:00Z"
    assert read["planted_fault"]["column"] == "distance"
    assert read["planted_fault"]["deployment"] == "amber"
    assert (read["alerts"]["opened"], read["alerts"]["delivered"]) == (7, 6)
    assert read["seconds"] == 123.4


def test_no_fault_is_nulls_under_the_same_keys() -> None:
    with_fault = json.loads(SUMMARY.to_text())["planted_fault"]
    without = json.loads(replace(SUMMARY, fault=None).to_text())["planted_fault"]
    assert set(without) == set(with_fault)
    assert set(without.values()) == {None}


def test_the_sentences_tell_the_numbers() -> None:
    told = "\n".join(narrate(SUMMARY))
    for words in (
        "255,987 requests sent: 255,987 accepted, 0 duplicates, 0 rejected; the sum fits.",
        "249,435 labels sent",
        "97.4% of the requests have a label",
        "best in 2013-05 with 0.721 (0.714 to 0.729)",
        "worst in 2013-04 with 0.651 (0.644 to 0.659)",
        "temp 5.31 in 2013-07 against training",
        "column distance of deployment amber",
        "1 September 2013 00:00 in New York (2013-09-01 04:00 UTC)",
        "from blue in runtime_version, precision and from green in precision",
        "Alerts opened: 7 (auc-below-floor 2, deployments-disagree 5).",
        "Messages delivered: 6; signatures verified by those who got them: 6.",
    ):
        assert words in told


def test_a_quiet_run_is_told_as_such() -> None:
    quiet = replace(SUMMARY, fault=None, months=SUMMARY.months[2:], drift=())
    told = "\n".join(narrate(quiet))
    assert "No fault is named: in 17,568 contrasts" in told
    assert "too few labels" in told
    assert "No column was compared" in told


def test_without_company_no_fault_is_looked_for() -> None:
    alone = replace(SUMMARY, fault=None, contrasts=0)
    assert "deployments never served side by side" in "\n".join(narrate(alone))


def test_lost_records_are_shouted() -> None:
    lost = replace(SUMMARY, requests=Counts(sent=3, accepted=2))
    assert "the sum DOES NOT fit" in "\n".join(narrate(lost))


def test_the_month_table_is_complete() -> None:
    rows = month_table(SUMMARY.months)
    assert all(len(row) == len(MONTH_COLUMNS) for row in rows)
    assert rows[0][0] == "2013-04"
    assert rows[2][3:] == ("too few labels",) * 3


def test_comparisons_are_told_and_written() -> None:
    pair = ComparisonTold("blue", "amber", ("runtime", "precision"), "confounded", "Confounded: …")
    late = ComparisonTold("blue", "green", (), None, "b (deployment 2) has no profiled request")
    found = replace(SUMMARY, comparisons=(pair, late))
    told = list(narrate(found))
    assert "  amber against blue, differs in runtime and precision. Confounded: …" in told
    assert "  green against blue. b (deployment 2) has no profiled request" in told
    assert json.loads(found.to_text())["comparisons"][0] == {
        "a": "blue", "b": "amber", "factors": ["runtime", "precision"],
        "verdict": "confounded", "sentence": "Confounded: …",
    }  # fmt: skip
    assert not any("compared" in line for line in narrate(SUMMARY) if "against" in line)


def test_responses_and_the_shares_they_moved_are_told_and_written() -> None:
    asked, back = datetime(2013, 9, 2, 5, tzinfo=UTC), datetime(2013, 9, 18, 5, tzinfo=UTC)
    move = OrderTold(
        number=2, at=asked, response="move-traffic", asked_by="rule deployments-disagree",
        deployments=("amber",), to_percent=1.0, dry_run=False, returns=None, state="returned",
        said="amber 1.0 % of the requests",
    )  # fmt: skip
    give_back = replace(move, number=3, at=back, to_percent=33.3, returns=2, state="done", said="")
    refused = replace(move, number=4, state="refused", said="cools down until 2014-03-01")
    shares = (
        ShareTold("before", datetime(2013, 9, 1, 4, tzinfo=UTC), asked, 900, 300),
        ShareTold("reduced", asked, back, 1_000, 11),
    )
    told = ResponsesTold((move, give_back, refused), ("amber",), shares)
    found = replace(SUMMARY, responses=told)
    text = "\n".join(narrate(found))
    for words in (
        "2013-09-02 05:00 UTC action 2, move-traffic of amber to 1 %, returned: amber 1.0 %",
        "action 3 gives back what action 2 took, done.",
        "action 4, move-traffic of amber to 1 %, refused: cools down until 2014-03-01.",
        "amber answered 33.3% of 900 requests before the order",
        "1.1% of 1,000 requests while it held (2013-09-02 05:00 to 2013-09-18 05:00 UTC).",
    ):
        assert words in text
    written = json.loads(found.to_text())["responses"]
    assert [one["percent"] for one in written["shares"]] == [33.33, 1.1]
    assert [one["state"] for one in written["actions"]] == ["returned", "done", "refused"]
    assert "No response was asked for" in "\n".join(narrate(SUMMARY))
