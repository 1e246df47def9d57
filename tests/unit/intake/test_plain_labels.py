"""Labels judged a column at a time are what labels judged one by one are, or are left to those."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.contract import Task
from monitor.contract_quality import Label, Signal, SignalDirection, SignalKind
from monitor.intake import arrow_labels, json_labels
from monitor.intake.arrow_labels import ARROW_LABELS
from monitor.intake.base import IntakeContext
from monitor.intake.json_labels import JSON_LABELS, NDJSON_LABELS
from monitor.intake.plain_labels import plain_labels
from monitor.records import LabelBatch
from tests.unit.intake.factories import array, context_of, contract_of, lines, stream

N = 60
WORSE = SignalDirection.HIGHER_IS_WORSE
SIGNALS = (
    Signal(name="appealed", kind=SignalKind.EVENT, direction=WORSE),
    Signal(name="stars", kind=SignalKind.RATING, direction=WORSE, scale=(1, 5)),
)
KINDS: dict[Task, list[st.SearchStrategy[Any]]] = {
    Task.BINARY: [st.booleans(), st.sampled_from([0, 1]), st.sampled_from([0, 1, 2])],
    Task.MULTICLASS: [st.sampled_from(["a", "b", ""]), st.integers(-3, 3)],
    Task.REGRESSION: [st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 10**20)],
    Task.RANKING: [st.sampled_from(["x", "y"]), st.floats(-1e9, 1e9)],
}
NAMES = st.sampled_from([None, None, None, "default", "appealed", "stars", "other"])
SOURCES = st.sampled_from([None, None, "clerk", "court", "x" * 201])
LEGS = st.sampled_from([None, None, "live", "shadow:b", "nowhere"])
TIMES = st.sampled_from(
    ["2026-09-01T11:00:00Z", "2026-08-30T07:00:00.123456+02:00", "2026-08-30 07:00:00Z"]
)
SOME = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def context(task: Task, positive: Any = None) -> IntakeContext:
    label = Label(name="default", positive=positive)
    contract = contract_of(task=task, label=label, signals=SIGNALS)
    return context_of(contract=contract, max_records=10_000)


@st.composite
def bodies(draw: st.DrawFn, task: Task) -> list[dict[str, Any]]:
    """Records of which each field is good, or of the few values that a body has."""
    values = draw(st.sampled_from(KINDS[task]))
    some = {
        "label": draw(st.lists(NAMES, min_size=1, max_size=2)),
        "source": draw(st.lists(SOURCES, min_size=1, max_size=2)),
        "leg": draw(st.lists(LEGS, min_size=1, max_size=2)),
    }
    ids = draw(
        st.sampled_from([lambda k: f"r-{k}", lambda k: f"größe-{k // 2}", lambda k: "é" * k])
    )
    return [
        {
            "request_id": ids(k),
            "value": draw(values),
            "observed_at": draw(TIMES),
            **{name: draw(st.sampled_from(found)) for name, found in some.items()},
            **({"event_time": draw(TIMES)} if k % 3 else {}),
        }
        for k in range(N)
    ]


def one_by_one(form: Any, body: bytes, given_context: IntakeContext) -> LabelBatch:
    with pytest.MonkeyPatch.context() as patched:
        for module in (arrow_labels, json_labels):
            patched.setattr(module, "plain_labels", lambda *_: None)
        found: LabelBatch = form.parse(body, given_context)
    return found


def same(one: LabelBatch, other: LabelBatch) -> None:
    assert one.table.schema.equals(other.table.schema)
    assert one.table.to_pylist() == other.table.to_pylist()
    assert one.rejections == other.rejections
    assert one.places == other.places


@pytest.mark.parametrize("task", list(KINDS))
@SOME
@given(data=st.data())
def test_json_is_judged_the_same_at_once_and_one_by_one(task: Task, data: st.DataObject) -> None:
    records = data.draw(bodies(task))
    given_context = context(task)
    for form, body in ((NDJSON_LABELS, lines(records)), (JSON_LABELS, array(records))):
        same(form.parse(body, given_context), one_by_one(form, body, given_context))


@pytest.mark.parametrize("task", list(KINDS))
@SOME
@given(data=st.data())
def test_arrow_is_judged_the_same_at_once_and_one_by_one(task: Task, data: st.DataObject) -> None:
    records = data.draw(bodies(task))
    try:
        table = pa.Table.from_pylist(records)
    except (pa.ArrowException, OverflowError):
        return  # a column of such values does not exist in Arrow
    body, given_context = stream(table), context(task)
    same(
        ARROW_LABELS.parse(body, given_context),
        one_by_one(ARROW_LABELS, body, given_context),
    )


def record(k: int, **changes: Any) -> dict[str, Any]:
    return {
        "request_id": f"r-{k}", "value": k % 2, "observed_at": "2026-09-01T11:00:00Z", **changes
    }  # fmt: skip


@pytest.fixture
def judged_at_once(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each body was judged a column at a time."""
    heard: list[bool] = []

    def spy(*arguments: Any) -> LabelBatch | None:
        batch = plain_labels(*arguments)
        heard.append(batch is not None)
        return batch

    for module in (arrow_labels, json_labels):
        monkeypatch.setattr(module, "plain_labels", spy)
    return heard


def test_a_sound_body_is_judged_at_once(judged_at_once: list[bool]) -> None:
    records = [record(k) for k in range(N)]
    mixed = [*records, record(N, label="stars", value=1)]
    for body in (records, mixed):
        NDJSON_LABELS.parse(lines(body), context(Task.BINARY))
        ARROW_LABELS.parse(stream(pa.Table.from_pylist(body)), context(Task.BINARY))
    assert judged_at_once == [True] * 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"request_id": ""},
        {"request_id": "x" * 201},
        {"value": 2},
        {"label": "other"},
        {"source": "x" * 201},
        {"leg": "nowhere"},
        {"observed_at": "2026-09-01T11:00:00"},
        {"observed_at": "2077-09-01T11:00:00Z"},
        {"event_time": "yesterday"},
        {"label": "stars", "value": 0},
    ],
)
def test_one_bad_label_is_found_among_many(
    judged_at_once: list[bool], wrong: dict[str, Any]
) -> None:
    records = [*(record(k) for k in range(N)), record(N, **wrong)]
    batch = NDJSON_LABELS.parse(lines(records), context(Task.BINARY))
    assert [found.place for found in batch.rejections] == [N]
    assert batch.table.num_rows == N
    assert True not in judged_at_once


def test_many_different_numbers_are_judged_by_their_range() -> None:
    records = [record(k, value=k / 7) for k in range(2_000)]
    for given_context in (context(Task.REGRESSION), context(Task.RANKING), context(Task.BINARY)):
        body = lines(records)
        same(
            NDJSON_LABELS.parse(body, given_context),
            one_by_one(NDJSON_LABELS, body, given_context),
        )
    between = [record(k, value=max(0.0, min(1.0, k / 2_000 - 0.5))) for k in range(4_000)]
    assert len(NDJSON_LABELS.parse(lines(between), context(Task.BINARY)).rejections) == 1_999
    beyond = [record(k, value=k * 1e306) for k in range(2_000)]
    table = pa.Table.from_pylist(beyond)
    found = ARROW_LABELS.parse(stream(table), context(Task.REGRESSION))
    assert len(found.rejections) == sum(value["value"] == float("inf") for value in beyond)
