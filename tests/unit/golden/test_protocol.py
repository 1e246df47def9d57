"""Both forms of speaking to a model server."""

from __future__ import annotations

import pytest

from monitor.jobs.golden.protocol import MalformedAnswer, Wire, WireForm
from monitor.strictjson import loads
from tests.unit.golden.support import DECISION, FOUND, PARTS, SCORE, contract

EVERY = contract(SCORE, DECISION, PARTS, {**FOUND, "role": "feature"})
JSON, V2 = Wire(WireForm.JSON, EVERY), Wire(WireForm.V2, EVERY, {"probability": "score"})
SCORED = frozenset({"score"})


def test_addresses():
    assert V2.url("http://host:8000/") == "http://host:8000/v2/models/credit/infer"
    assert V2.url("http://host:8000/v2/models/x/infer") == "http://host:8000/v2/models/x/infer"
    assert JSON.url("http://host:8000/") == "http://host:8000/"


def test_tensors_by_the_contract_and_malformed_ones_as_they_are():
    made = V2.body("id", {"age": 3, "city": None, "other": [1, 2], "flag": True, "word": "x"})
    by_name = {each["name"]: each for each in made["inputs"]}
    assert made["id"] == "id"
    assert by_name["age"] == {"name": "age", "shape": [1, 1], "datatype": "FP64", "data": [3]}
    assert by_name["other"]["shape"] == [1, 2]
    assert (by_name["flag"]["datatype"], by_name["word"]["datatype"]) == ("BOOL", "BYTES")
    assert "city" not in by_name
    (odd,) = V2.body("id", {"age": "old"})["inputs"]
    assert (odd["datatype"], odd["data"]) == ("BYTES", ["old"])


def test_inputs_go_in_the_order_of_the_contract():
    made = contract({"name": "first", "type": "number"}, SCORE, {"name": "last", "type": "number"})
    given = {"odd": 1, "last": 2, "age": 3, "first": 4}
    wanted = ["age", "first", "last", "odd"]
    assert list(Wire(WireForm.JSON, made).body("id", given)) == wanted
    tensors = Wire(WireForm.V2, made).body("id", given)["inputs"]
    assert [each["name"] for each in tensors] == wanted


def test_an_answer_of_each_form():
    found = JSON.read({"score": 0.5, "decision": "a", "found": ["x"], "age": 3, "more": 1}, SCORED)
    assert found.outputs == {"score": 0.5, "decision": "a", "found": ["x"]}
    tensors = [
        {"name": "probability", "shape": [1, 1], "datatype": "FP64", "data": [[0.5]]},
        {"name": "parts", "shape": [1, 3], "datatype": "FP64", "data": [0.2, 0.3, 0.5]},
    ]
    assert V2.read({"outputs": tensors}, SCORED).outputs == {
        "score": 0.5, "parts": [0.2, 0.3, 0.5],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("7", "not a JSON object"),
        ("{}", "no output column of the contract; it holds nothing"),
        ('{"x": 1}', "it holds x"),
        ('{"decision": "a"}', "lacks score"),
        ('{"score": "0.5"}', "score is wrong type"),
        ('{"score": true}', "score is wrong type"),
        ('{"score": NaN}', "score is not a number"),
        ('{"score": -Infinity}', "score is infinite"),
        ('{"score": 0.5, "parts": [0.1]}', "parts is wrong length"),
        ('{"score": 0.5, "parts": {"a": 1, "b": 0, "z": 0}}', "parts is unknown category"),
    ],
)
def test_answers_that_can_not_be_used(body, told):
    with pytest.raises(MalformedAnswer, match=told):
        JSON.read(loads(body.encode()), SCORED)


@pytest.mark.parametrize(
    "body", ["{}", '{"outputs": 7}', '{"outputs": [7]}', '{"outputs": [{"name": "score"}]}']
)
def test_odd_tensors(body):
    with pytest.raises(MalformedAnswer):
        V2.read(loads(body.encode()), SCORED)


def test_no_answer_is_an_abstention():
    assert JSON.read({"score": None}, SCORED).outcome == "abstained"
    said = JSON.read({"outcome": "refused", "reason": "too young"}, SCORED)
    assert (said.outcome, said.reason) == ("refused", "too young")
