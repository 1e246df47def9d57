"""The file of a golden set: read whole, every mistake with its line, and stored and read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.contract import Contract
from monitor.contract_file import read_contract
from monitor.errors import ConfigurationError
from monitor.golden import CaseKey, CaseKind, ExpectedOutcome, GoldenSet
from monitor.golden_file import golden_model, read_golden
from tests.factories import make_contract

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "flights"
SOUND = """\
golden: core
model: credit
tolerances:
  score: {absolute: 0.001, relative: 0.01}
required_share: 0.9
cases:
  - id: plain
    kind: representative
    why: the usual
    inputs: {age: 40, city: 1}
    expect: {score: 0.25}
    tolerances: {score: {absolute: 0.1}}
  - id: odd
    kind: malformed
    inputs: {age: old, extra: [1, 2.5, "3", null, true, {deep: yes}]}
    expect: refused
"""


def read(text: str, contract: Contract | None = None) -> GoldenSet:
    return read_golden(text, "core.yaml", contract or make_contract())


def problems(text: str, contract: Contract | None = None) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        read(text, contract)
    return [str(each) for each in caught.value.problems]


def test_a_sound_file():
    found = read(SOUND)
    plain, odd = found.cases
    assert (found.name, found.model, found.required_share) == ("core", "credit", 0.9)
    assert plain.inputs == {"age": 40, "city": "1"}  # a category is a text, however it is written
    assert plain.expected == {"score": 0.25}
    assert found.allowed(plain, "score").absolute == 0.1
    assert odd.kind is CaseKind.MALFORMED
    assert odd.outcome is ExpectedOutcome.REFUSED
    assert odd.inputs == {"age": "old", "extra": [1, 2.5, "3", None, True, {"deep": "yes"}]}
    assert found.allowed(odd, "score").relative == 0.01


def test_stored_and_read_back():
    found = read(SOUND)
    stored = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert GoldenSet.from_json(stored) == found
    assert GoldenSet.from_json(stored).digest() == found.digest()
    assert read(SOUND.replace("0.25", "0.26")).digest() != found.digest()
    assert read(f"# a comment\n{SOUND}").digest() == found.digest()


def test_json_is_read_too():
    body = {
        "golden": "core", "model": "credit",
        "cases": [{"id": "a", "kind": "boundary", "inputs": {"age": 18.5}, "expect": {"score": 1}}],
    }  # fmt: skip
    found = read(json.dumps(body))
    assert found.cases[0].inputs == {"age": 18.5}
    assert golden_model(json.dumps(body), "core.json") == "credit"


def test_the_example_of_the_flights_fits_its_contract():
    contract = read_contract((EXAMPLES / "contract.yaml").read_text(), "contract.yaml")
    found = read((EXAMPLES / "golden.yaml").read_text(), contract)
    assert {case.kind for case in found.cases} == set(CaseKind)


def test_every_mistake_at_once_with_its_line():
    found = problems(
        "golden: my set\n"  # 1
        "model: other\n"  # 2
        "tolerences: {}\n"  # 3
        "tolerances: {score: {absolute: -1}, city: {absolute: 1}}\n"  # 4
        "required_share: 2\n"  # 5
        "cases:\n"  # 6
        "  - id: a\n"  # 7
        "    kind: representativ\n"  # 8
        "    inputs: {age: old, citty: Bonn, score: 0.1}\n"  # 9
        "    expect: {score: 7}\n"  # 10
        "  - id: a\n"  # 11
        "    kind: malformed\n"  # 12
        '    inputs: {request_id: x, age: "\\0"}\n'  # 13
        "    expect: refuse\n"  # 14
        "  - 7\n"  # 15
    )
    lines = [text.split(",")[0] for text in found]
    assert lines == [f"line {n}" for n in (1, 2, 3, 4, 4, 5, 8, 9, 9, 9, 10, 11, 13, 13, 14, 15)]
    told = "\n".join(found)
    for words in (
        "did you mean 'tolerances'",
        "did you mean 'representative'",
        "did you mean 'city'",
        "did you mean 'refused'",
        "outside the contract's range 0 to 1",
        "given twice, first on line 7",
        "must be a finite number, got 'old'",
        "is no input column",
        "word of the request envelope",
        "U+0000",
        "must not be below 0",
    ):
        assert words in told, words


def test_inputs_that_the_contract_requires_are_named():
    columns = [
        {"name": "age", "type": "number"},
        {"name": "score", "type": "number", "role": "score"},
    ]
    text = SOUND.replace("age: 40, city: 1", "age: null").replace("{age: old,", "{age: old,")
    assert (
        "age is missing; the contract does not allow it to be null"
        in problems(text, make_contract(columns=columns))[0]
    )


def test_answers_of_every_type():
    columns = [
        {"name": "query", "type": "text"},
        {"name": "probabilities", "type": "class_scores", "categories": ["no", "yes"]},
        {"name": "verdict", "type": "category", "role": "prediction", "categories": ["no", "yes"]},
        {"name": "found", "type": "ranked_list", "size": 3},
        {"name": "tokens", "type": "integer", "role": "count"},
    ]
    contract = make_contract(task="multiclass", columns=columns, label=None)
    text = (
        "golden: core\nmodel: credit\ncases:\n"
        "  - id: a\n    kind: high_impact\n    inputs: {query: 7}\n"
        "    expect:\n      probabilities: {yes: 0.75, no: 0.25}\n      verdict: yes\n"
        "      found: [a, 2]\n      tokens: 12\n"
    )
    (case,) = read(text, contract).cases
    assert case.inputs == {"query": "7"}
    assert case.expected == {
        "probabilities": [0.25, 0.75],
        "verdict": "yes",
        "found": ["a", "2"],
        "tokens": 12,
    }
    wrong = text.replace("yes: 0.75, ", "maybe: 0.75, ").replace("[a, 2]", "[a, b, c, d]")
    told = "\n".join(problems(wrong.replace("tokens: 12", "tokens: 1.5"), contract))
    for words in ("exactly the classes no, yes", "at most 3 items", "must be a whole number"):
        assert words in told


@pytest.mark.parametrize(
    "text", ["", "x", "[1]", "a: &b 1\nc: *b", "golden: a\nmodel: credit\ncases: []", "{" * 40]
)
def test_rubbish_is_told_with_a_line(text):
    found = problems(text)
    assert found
    assert all(each.startswith("line ") for each in found)


@given(text=st.text(max_size=200))
def test_no_text_breaks_the_reader(text):
    with pytest.raises(ConfigurationError):
        read(f"golden: {text}")


@given(
    name=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
    case=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
    version=st.integers(1, 10**6),
    repeat=st.integers(1, 1000),
)
def test_request_ids_name_their_case(name, case, version, repeat):
    key = CaseKey(name, version, case, repeat)
    assert CaseKey.of(key.request_id) == key
    assert len(key.request_id) <= 200


@pytest.mark.parametrize("text", ["", "a", "a@1/b", "a@x/b#1", "a@1/b#", "a b@1/c#1", "a@1/b#1\n"])
def test_other_ids_name_none(text):
    assert CaseKey.of(text) is None
