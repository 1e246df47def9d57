"""Contract files: every mistake with its line, and what is written reads back equal."""

from __future__ import annotations

import string
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.contract import (
    Baseline,
    Column,
    ColumnRole,
    ColumnType,
    Contract,
    Retention,
    RiskTier,
    Sensitivity,
    Task,
)
from monitor.contract_file import HEAD, column_place, read_contract, write_contract
from monitor.contract_quality import Label
from monitor.errors import ConfigurationError, Problem

ROOT = Path(__file__).parents[2]
MISTAKES = """\
model: Late Arrival
owner: flight-operations
risk_teir: high
task: binery
time_zone: Europe/Berln
decision_threshold: 1.5
columns:
  - {name: carrier, type: category, range: [0, 1], size: 3}
  - name: age
    type: integer
    range: [120, 0]
  - name: age
    type: number
    nulable: true
  - name: request_id
    type: text
  - type: vector
    name: embedding
  - name: score
    type: number
    role: score
    range: [0, .inf]
  - name: score2
    type: number
    role: score
    role: prediction
  - name: p3
    type: number
    role: score
  - just a text
segments:
  - origin
  - [carrier, age]
  - [carrier, carrier]
label:
  name: late
  max_age: 30 days
"""
WANTED = {
    (1, "model", "a-z"),
    (1, "purpose", "missing"),
    (3, "risk_teir", "did you mean 'risk_tier'"),
    (4, "task", "did you mean 'binary'"),
    (5, "time_zone", "not a time zone"),
    (6, "decision_threshold", "less than or equal to 1"),
    (8, "columns[0] (carrier).range", "range is for number"),
    (8, "columns[0] (carrier).size", "size is for vector"),
    (11, "columns[1] (age).range", "is empty"),
    (12, "columns[2] (age).name", "declared 2 times"),
    (14, "columns[2] (age).nulable", "did you mean 'nullable'"),
    (15, "columns[3] (request_id).name", "word of the request envelope"),
    (17, "columns[4] (embedding).size", "says its size"),
    (22, "columns[5] (score).range", "finite number"),
    (26, "columns[6] (score2)", "given twice, first on line 25"),
    (29, "columns[7] (p3).role", "only one column may have the role score"),
    (30, "columns[8]", "keys and values"),
    (33, "segments[1]", "'age' is a number"),
    (34, "segments[2]", "names a column twice"),
    (37, "label.max_age", "not a duration"),
}
HEADER = "model: m\nowner: o\npurpose: p\ntask: binary\n"


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(ConfigurationError) as caught:
        read_contract(text, "contract.yaml")
    return caught.value.problems


def test_every_mistake_is_told_once_with_its_line_and_place() -> None:
    found = problems_of(MISTAKES)

    assert {(each.line, each.place) for each in found} == {wanted[:2] for wanted in WANTED}
    for line, place, words in WANTED:
        assert [e for e in found if e.line == line and e.place == place and words in e.message]
    assert len(found) == len(WANTED)
    assert [each.line for each in found] == sorted(each.line or 0 for each in found)


@pytest.mark.parametrize(
    ("rest", "line", "words"),
    [
        ("columns: &all\n  - {name: a, type: text}\nsegments: *all\n", 7, "alias"),
        ("columns:\n  - !!python/object:os.system {name: a, type: text}\n", 6, "tag"),
        ("columns:\n  - {name: a, type: text}\n---\nmodel: b\n", 7, "more than one document"),
        ("columns:\n  - {name: a, type: text\n", 7, "not readable as YAML"),
        ("columns: []\n", 5, "must not be empty"),
        ("columns: age\n", 5, "must be a list"),
        ("colums:\n  - {name: a, type: text}\n", 5, "did you mean 'columns'"),
        ("columns:\n  - {name: a, type: text, sensitivity: secret}\n", 6, "public, internal"),
        ("columns:\n  - {name: a, type: number, range: [1]}\n", 6, "two ends"),
        ("columns:\n  - {name: a, type: class_scores}\n", 6, "lists its classes"),
        ("columns:\n  - {name: a, type: category, categories: [true]}\n", 6, "in quotes"),
        ("columns:\n  - {name: a, type: category, categories: [x, x]}\n", 6, "twice"),
        ("columns:\n  - {name: a, type: text}\nsegments: [[1, [2]]]\n", 7, "list of column names"),
        ("columns:\n  - {name: a, type: text}\nlabel: late\n", 7, "keys and values"),
        ("columns:\n  - {name: a, type: text}\nbaseline: {first_rows: 3}\n", 7, "100"),
        ("columns:\n  - {name: a, type: text}\n? [x, y]\n: 1\n", 7, "one word"),
    ],
)
def test_one_mistake_has_its_line(rest: str, line: int, words: str) -> None:
    found = problems_of(HEADER + rest)

    assert any(each.line == line and words in each.message for each in found), found


def test_a_retention_shorter_than_label_age_and_correction_is_refused() -> None:
    text = HEADER + (
        "columns:\n  - {name: a, type: text}\nretention:\n  requests: 213d\n"
        "label:\n  name: y\n  max_age: 200d\n  correction_time: 14d\n"
    )
    (found,) = problems_of(text)

    assert (found.line, found.place) == (8, "retention.requests")
    assert "shorter than label.max_age plus label.correction_time (214 d)" in found.message
    assert read_contract(text.replace("213d", "214d"), "x").retention.requests == timedelta(
        days=214
    )


def test_logs_kept_for_less_than_six_months_are_refused_by_name() -> None:
    text = HEADER + (
        "columns:\n  - {name: a, type: text}\nretention:\n  requests: 183d\n  labels: 1d\n"
    )
    found = problems_of(text)

    assert [(each.line, each.place) for each in found] == [
        (8, "retention.requests"),
        (9, "retention.labels"),
    ]
    assert all("184d or more" in each.message for each in found)


def test_a_shorter_retention_of_an_earlier_release_keeps_logs_for_six_months() -> None:
    asked = Retention(requests=timedelta(days=90), labels=timedelta(days=30))

    assert (asked.requests_kept.days, asked.labels_kept.days) == (184, 184)


def test_the_default_retention_is_blamed_at_the_label() -> None:
    text = HEADER + "columns:\n  - {name: a, type: text}\nlabel: {name: y, max_age: 200d}\n"
    (found,) = problems_of(text)

    assert (found.line, found.place) == (7, "label")


def test_scalars_mean_what_is_written() -> None:
    contract = read_contract(
        HEADER
        + "columns:\n"
        + "  - {name: land, type: category, categories: [NO, SE, 1, 1.50, 2013-01-01, 010]}\n"
        + "  - {name: dose, type: number, range: [0, 1e5], nullable: yes, unit: }\n"
        + "label: {name: y, positive: true}\n",
        "x",
    )
    land, dose = contract.columns

    assert land.categories == ("NO", "SE", "1", "1.50", "2013-01-01", "010")
    assert dose.range == (0.0, 100_000.0)
    assert dose.nullable
    assert dose.unit is None
    assert contract.label is not None
    assert contract.label.positive is True


def test_the_text_true_and_the_boolean_true_are_told_apart() -> None:
    text = HEADER + "columns:\n  - {name: a, type: text}\nlabel: {name: y, positive: %s}\n"
    quoted = read_contract(text % '"true"', "x").label
    plain = read_contract(text % "true", "x").label

    assert quoted is not None
    assert plain is not None
    assert (quoted.positive, plain.positive) == ("true", True)


def test_the_example_contract_is_read() -> None:
    contract = read_contract((ROOT / "examples/flights/contract.yaml").read_text(), "flights")

    assert contract.model == "late-arrival"
    assert contract.column("origin").categories == ("EWR", "JFK", "LGA")
    assert contract.segment_keys() == (("origin",),)


def test_comments_stand_above_their_part_and_can_not_break_out() -> None:
    contract = _contract([Column(name="age", type=ColumnType.NUMBER)])
    text = write_contract(
        contract, {HEAD: "one\ntwo", column_place("age"): "seen\rowner: \x00mine\u2028x"}
    )

    assert text.startswith("# one\n# two\nmodel: m\n")
    lines = text.splitlines()
    assert "mine" in text
    assert all(line.lstrip().startswith("#") for line in lines if "mine" in line or "seen" in line)
    assert read_contract(text, "x") == contract


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
names = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=12)
tricky = st.sampled_from(
    ["NO", "null", "~", "1e5", "true", "- a", "a: b", "#x", "'", '"', "[", "<<", "\xa0", "a\u3000"]
)
finite = st.floats(allow_nan=False, allow_infinity=False)
ranges = st.tuples(finite, finite).map(lambda ends: (min(ends), max(ends)))


@st.composite
def columns(draw: st.DrawFn) -> Column:
    kind = draw(st.sampled_from(ColumnType))
    texts = st.lists(words | tricky, min_size=1, max_size=4, unique=True).map(tuple)
    listed = kind is ColumnType.CLASS_SCORES
    return Column(
        name=draw((names | tricky).filter(lambda name: name.isprintable())),
        type=kind,
        unit=draw(st.none() | words),
        range=draw(st.none() | ranges) if kind in (ColumnType.NUMBER, ColumnType.INTEGER) else None,
        categories=draw(texts if listed else st.none() | texts)
        if listed or kind is ColumnType.CATEGORY
        else None,
        size=draw(st.integers(1, 4096))
        if kind in (ColumnType.VECTOR, ColumnType.RANKED_LIST)
        else None,
        nullable=draw(st.booleans()),
        sensitivity=draw(st.sampled_from(Sensitivity)),
        description=draw(st.none() | words | tricky),
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(st.lists(columns(), min_size=1, max_size=4, unique_by=lambda column: column.name), st.data())
def test_what_is_written_reads_back_equal(found: list[Column], data: st.DataObject) -> None:
    label = Label(
        name=data.draw(words), positive=data.draw(st.none() | st.booleans() | words | tricky)
    )
    contract = Contract(
        model=data.draw(st.text(string.ascii_lowercase, min_size=1, max_size=9)),
        owner=data.draw(words | tricky),
        purpose=data.draw(words),
        risk_tier=data.draw(st.sampled_from(RiskTier)),
        task=data.draw(st.sampled_from(Task)),
        time_zone="Asia/Kathmandu",
        columns=tuple(found),
        label=data.draw(st.none() | st.just(label)),
        retention=Retention(requests=timedelta(seconds=data.draw(st.integers(16 * 10**6, 10**9)))),
        baseline=Baseline(file=data.draw(st.none() | words)),
    )
    comments = {HEAD: data.draw(words), column_place(found[0].name): data.draw(words)}

    assert read_contract(write_contract(contract, comments), "x") == contract


def _contract(found: list[Column]) -> Contract:
    return Contract(model="m", owner="o", purpose="p", task=Task.BINARY, columns=tuple(found))


def test_a_long_list_is_written_over_several_lines() -> None:
    many = tuple(f"category number {n}" for n in range(40))
    column = Column(name="a", type=ColumnType.CATEGORY, role=ColumnRole.SEGMENT, categories=many)
    text = write_contract(_contract([column]))

    assert max(map(len, text.splitlines())) <= 100
    assert read_contract(text, "x").columns == (column,)
