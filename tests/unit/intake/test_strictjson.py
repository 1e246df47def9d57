import contextlib
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.strictjson import (
    HugeInteger,
    JsonFault,
    StrictJsonError,
    loads,
    nests_deeper_than,
    split_array,
    storable,
    visible,
)


def test_tokens_beyond_json_stay_what_they_are() -> None:
    read = loads(b'[NaN, Infinity, -Infinity, 1e999, "\\ud800", "a\\u0000b"]')
    assert math.isnan(read[0])
    assert read[1:4] == [math.inf, -math.inf, math.inf]
    assert read[4:] == ["\ud800", "a\0b"]


def test_an_integer_of_5000_digits_is_kept_as_written() -> None:
    digits = "9" * 5000
    assert loads(digits.encode()) == HugeInteger(digits)
    assert HugeInteger(digits).as_float() == math.inf
    assert loads(b"9007199254740993") == 9007199254740993


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b'{"a": 1, "b": 2, "a": 1}', JsonFault.DUPLICATE_KEY),
        (b'{"a": {"b": 1, "b": 1}}', JsonFault.DUPLICATE_KEY),
        (b"[" * 33 + b"]" * 33, JsonFault.TOO_DEEP),
        (b"[" * 200_000, JsonFault.TOO_DEEP),
        (b'{"a":' * 100_000, JsonFault.TOO_DEEP),
        (b'{"a": "\xff"}', JsonFault.ENCODING),
        (b"", JsonFault.SYNTAX),
        (b"{}{}", JsonFault.SYNTAX),
        (b'{"a": tru}', JsonFault.SYNTAX),
        (b'"a\x00"', JsonFault.SYNTAX),
    ],
)
def test_what_can_not_be_read_says_why(body: bytes, fault: JsonFault) -> None:
    with pytest.raises(StrictJsonError) as caught:
        loads(body)
    assert caught.value.fault is fault


def test_brackets_inside_strings_are_no_nesting() -> None:
    text = b'["' + b"[" * 100 + b'\\"' + b"{" * 100 + b'"]'
    assert not nests_deeper_than(text, 32)
    assert loads(text) == ["[" * 100 + '"' + "{" * 100]
    assert nests_deeper_than(b"[" * 33 + b"]" * 33, 32)
    assert not nests_deeper_than(b"[" * 32 + b"]" * 32, 32)


def test_a_broken_element_does_not_cost_its_neighbours() -> None:
    body = b'[{"a": 1}, {"b": }, [1, 2], "x,]", {"c": "\\"]"} ]'
    assert split_array(body) == [b'{"a": 1}', b'{"b": }', b"[1, 2]", b'"x,]"', b'{"c": "\\"]"}']
    assert split_array(b" [ ] ") == []


@pytest.mark.parametrize("body", [b'[{"a": 1}', b'{"a": 1}', b"[1, 2]]", b'["a]', b"[1] [2]", b""])
def test_an_array_that_does_not_balance_is_refused(body: bytes) -> None:
    with pytest.raises(StrictJsonError):
        split_array(body)


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet='[]{},:"\\u0 1e-', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    for read in (loads, split_array):
        with contextlib.suppress(StrictJsonError):
            read(body)


@settings(deadline=None)
@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=300))
def test_visible_text_can_be_stored(text: str) -> None:
    shown = visible(text, 100)
    assert storable(shown)
    assert len(shown) <= 100
    shown.encode()
    if storable(text[:100]):
        assert shown == text[:100]
