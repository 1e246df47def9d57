"""The replay: every flight once, labels after landing, bodies that carry what was served."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from datetime import UTC, date, datetime

import httpx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from monitor.demo.bodies import ARROW, NDJSON, Body
from monitor.demo.classifier import THRESHOLD, LateArrivalModel
from monitor.demo.dataset import NEW_YORK
from monitor.demo.deployments import FAULTY, assign_deployments
from monitor.demo.flights import Flights
from monitor.demo.plan import BodyKind, in_steps, plan_bodies
from monitor.demo.plant import Plant
from monitor.demo.replay import Replay
from monitor.demo.router import Router
from monitor.demo.sender import Counts, Sender
from monitor.demo.traffic import Traffic
from monitor.errors import InferwatchError

PLANT = Plant("distance", 1.609344, date(2013, 9, 1))
NUMBERS = (31, 32, 33)


@pytest.fixture(scope="module")
def two_weeks(flights: Flights) -> Flights:
    return flights.between(date(2013, 8, 28), date(2013, 9, 10))


@pytest.fixture(scope="module")
def replay(two_weeks: Flights, model: LateArrivalModel) -> Replay:
    assigned = assign_deployments(two_weeks, PLANT.start, seed=3)
    traffic = Traffic(3)
    return Replay(two_weeks, assigned, Router(model, PLANT), NUMBERS, 3, lambda: traffic)


def moment(text: str) -> datetime:
    """A moment in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def records(body: Body) -> list[dict[str, object]]:
    """Decode a body by other means than it was encoded."""
    if body.headers["Content-Type"] == NDJSON:
        lines = gzip.decompress(body.content).decode().splitlines()
        return [json.loads(line) for line in lines]
    assert body.headers["Content-Type"] == ARROW
    rows = pa.ipc.open_stream(body.content).read_all().to_pylist()
    for row in rows:
        for name in ("event_time", "observed_at"):
            if name in row:
                row[name] = row[name].strftime("%Y-%m-%dT%H:%M:%SZ")
    return rows


@pytest.fixture(scope="module")
def sent(replay: Replay) -> dict[BodyKind, list[dict[str, object]]]:
    found: dict[BodyKind, list[dict[str, object]]] = {kind: [] for kind in BodyKind}
    for planned in plan_bodies(replay.flights):
        body = replay.body(planned)
        decoded = records(body)
        assert body.rows == len(decoded) <= 1_000
        found[body.kind].extend(decoded)
    return found


def test_the_plan_covers_the_year_exactly_once(replayed: Flights) -> None:
    plan = plan_bodies(replayed)
    for kind, expected in (
        (BodyKind.REQUESTS, np.arange(len(replayed))),
        (BodyKind.LABELS, np.flatnonzero(replayed.labelled)),
    ):
        rows = np.concatenate([body.rows for body in plan if body.kind is kind])
        assert (np.sort(rows) == expected).all()


def test_labels_are_due_after_landing_and_after_their_requests(replayed: Flights) -> None:
    sent_requests = np.zeros(len(replayed), dtype=bool)
    previous = np.datetime64("2013-01-01")
    for body in plan_bodies(replayed):
        assert body.due >= previous
        previous = body.due
        if body.kind is BodyKind.REQUESTS:
            sent_requests[body.rows] = True
        else:
            assert sent_requests[body.rows].all()
            assert replayed.observed_at[body.rows].max() <= body.due


def test_steps_end_at_local_midnight_and_hold_everything_in_order(replayed: Flights) -> None:
    bodies = plan_bodies(replayed)
    steps = list(in_steps(bodies, NEW_YORK, tuple))
    assert [body for step in steps for body in step.bodies] == bodies
    assert sum(step.rows for step in steps) == 255_987 + 249_435
    # Midnight in New York is 04:00 UTC in summer and 05:00 in winter.
    ends = [step.end.isoformat() for step in steps]
    assert ends[0] == "2013-05-01T04:00:00+00:00"
    assert ends[7:9] == ["2013-12-01T05:00:00+00:00", "2014-01-01T05:00:00+00:00"]
    for step in steps:
        end = np.datetime64(step.end.replace(tzinfo=None))
        assert all(end - np.timedelta64(32, "D") < body.due < end for body in step.bodies)


def test_days_are_replayed_one_by_one_where_somebody_looks_and_leave_nothing_behind(
    replayed: Flights,
) -> None:
    bodies = [body for body in plan_bodies(replayed) if body.moment >= moment("2013-08-30")]
    looked_at = [moment("2013-09-02T12:00")]
    ends = []
    for step in in_steps(bodies, NEW_YORK, lambda: looked_at):
        ends.append(step.end)
        sent = [body for body in step.bodies if body.kind is BodyKind.REQUESTS]
        last = max(replayed.event_time[body.rows].max() for body in sent)
        waiting = [body for body in bodies if body.moment >= step.end]
        first = min(
            (replayed.event_time[body.rows].min() for body in waiting
             if body.kind is BodyKind.REQUESTS), default=np.datetime64("2014-02-01"),
        )  # fmt: skip
        assert last < np.datetime64(step.end.replace(tzinfo=None)) <= first
        if len(ends) == 4:  # what happens on the way is looked at as well
            looked_at.append(moment("2013-09-18T05:00"))
        if len(ends) == 10:
            break
    assert [f"{end:%m-%dT%H}" for end in ends] == [
        "09-01T04", "09-02T04", "09-03T04", "09-04T04", "09-05T04", "09-18T04",
        "09-19T04", "09-20T04", "09-21T04", "10-01T04",
    ]  # fmt: skip


def test_no_body_holds_records_of_two_days(replayed: Flights) -> None:
    for body in plan_bodies(replayed.take(slice(0, 40_000))):
        if body.kind is BodyKind.REQUESTS:
            times = pd.DatetimeIndex(replayed.event_time[body.rows]).tz_localize("UTC")
            assert len(set(times.tz_convert(NEW_YORK).date)) == 1


def test_traffic_that_was_moved_is_answered_by_the_others_from_that_moment_on(
    two_weeks: Flights, model: LateArrivalModel
) -> None:
    at = moment("2013-09-04T05:00")
    traffic = Traffic(3).changed(at, {"amber": 1.0})
    usual = assign_deployments(two_weeks, PLANT.start, seed=3)
    replay = Replay(two_weeks, usual, Router(model, PLANT), NUMBERS, 3, lambda: traffic)
    answered: dict[bool, Counter[object]] = {False: Counter(), True: Counter()}
    for planned in plan_bodies(two_weeks):
        if planned.kind is BodyKind.REQUESTS and planned.moment >= moment("2013-09-03"):
            for row in records(replay.body(planned)):
                late = str(row["event_time"]) >= "2013-09-04T05:00:00Z"
                answered[late][row["deployment"]] += 1
    before, after = answered[False], answered[True]
    assert before[NUMBERS[FAULTY]] / before.total() > 0.3
    assert after[NUMBERS[FAULTY]] / after.total() < 0.02
    assert min(after[NUMBERS[0]], after[NUMBERS[1]]) / after.total() > 0.45


def test_every_flight_is_sent_once_and_every_landing_is_labelled_once(
    sent: dict[BodyKind, list[dict[str, object]]], two_weeks: Flights
) -> None:
    requests = Counter(record["request_id"] for record in sent[BodyKind.REQUESTS])
    labels = Counter(record["request_id"] for record in sent[BodyKind.LABELS])
    assert requests == Counter(two_weeks.request_id.tolist())
    assert labels == Counter(two_weeks.request_id[two_weeks.labelled].tolist())


def test_both_encodings_are_used(replay: Replay) -> None:
    kinds = [replay.body(body).headers["Content-Type"] for body in plan_bodies(replay.flights)]
    assert kinds.count(NDJSON) == 2
    assert kinds.count(ARROW) > 15


def test_the_fault_reaches_the_wire_in_one_deployment_only(
    sent: dict[BodyKind, list[dict[str, object]]], two_weeks: Flights
) -> None:
    miles = dict(zip(two_weeks.request_id, two_weeks.features["distance"], strict=True))
    days = dict(zip(two_weeks.request_id, two_weeks.flight_date, strict=True))
    seen = Counter()
    for record in sent[BodyKind.REQUESTS]:
        ratio = record["distance"] / miles[record["request_id"]]  # type: ignore[operator]
        faulty = record["deployment"] == NUMBERS[FAULTY]
        assert ratio == pytest.approx(1.609344 if faulty else 1.0)
        if days[record["request_id"]] < np.datetime64(PLANT.start):
            assert record["deployment"] == NUMBERS[0]
        seen[record["deployment"]] += 1
    assert min(seen.values()) > 2_000


def test_scores_are_those_of_the_features_on_the_wire(
    sent: dict[BodyKind, list[dict[str, object]]], model: LateArrivalModel
) -> None:
    rows = sent[BodyKind.REQUESTS][-3_000:]
    features = {name: np.array([row[name] for row in rows], dtype=object) for name in rows[0]}
    for name in ("distance", "hour", "minute", "seats", "plane_age", "temp", "wind_speed",
                 "precip", "visib", "pressure", "humid"):  # fmt: skip
        features[name] = features[name].astype(np.float64)
    expected = model.score(model.assemble(features))
    faulty = features["deployment"] == NUMBERS[FAULTY]
    expected[faulty] = expected[faulty].astype(np.float16)
    scores = np.array([row["score"] for row in rows])
    assert scores == pytest.approx(expected, abs=1e-15)
    assert [row["predicted_late"] for row in rows] == (scores >= THRESHOLD).tolist()


def test_stages_were_timed(sent: dict[BodyKind, list[dict[str, object]]]) -> None:
    for record in sent[BodyKind.REQUESTS][:2_000]:
        parts = record["feature_ms"] + record["model_ms"]  # type: ignore[operator]
        assert 0 < parts <= record["total_ms"] + 2e-6  # type: ignore[operator]


def answering(*answers: httpx.Response) -> tuple[Sender, list[float], list[httpx.Request]]:
    """A sender whose transport gives these answers in turn; waits and requests are recorded."""
    waits: list[float] = []
    requests: list[httpx.Request] = []
    left = list(answers)

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return left.pop(0)

    client = httpx.Client(base_url="http://collector", transport=httpx.MockTransport(handle))
    return Sender(client, "late-arrival", waits.append), waits, requests


ANSWER = {"accepted": 2, "duplicate": 1, "conflict": 0, "rejected": 1, "violations": 5}
BODY = Body(BodyKind.REQUESTS, 4, b"rows", {"Content-Type": ARROW})


def test_a_busy_collector_is_asked_again_after_the_time_it_names() -> None:
    busy = httpx.Response(429, headers={"Retry-After": "3"})
    gone = httpx.Response(503)
    sender, waits, requests = answering(busy, gone, httpx.Response(200, json=ANSWER))
    counts = sender.send(BODY)
    assert counts == Counts(4, 2, 1, 0, 1, violations=5, retried=2)
    assert waits == [3.0, 1.0]
    assert [request.url.path for request in requests] == ["/v1/requests"] * 3
    assert requests[0].url.params["model"] == "late-arrival"


def test_a_refusal_is_told_and_not_repeated() -> None:
    sender, waits, _ = answering(httpx.Response(403, json={"reason": "scope"}))
    with pytest.raises(InferwatchError, match="403"):
        sender.send(BODY)
    assert waits == []


def test_an_answer_that_does_not_add_up_is_an_error() -> None:
    sender, _, _ = answering(httpx.Response(200, json=ANSWER | {"accepted": 1}))
    with pytest.raises(InferwatchError, match="lost count"):
        sender.send(BODY)


def test_counts_add_up() -> None:
    total = Counts(4, 2, 1, 0, 1, 5, 2) + Counts(3, 3)
    assert total == Counts(7, 5, 1, 0, 1, 5, 2)
    assert total.fits()
    assert not Counts(sent=2, accepted=1).fits()
