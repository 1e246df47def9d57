"""What describes a text, against counting one character at a time."""

from __future__ import annotations

import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monitor.intake import text_numbers as module
from monitor.intake.text_numbers import text_numbers
from monitor.layout import TextNumber

texts = (
    st.none() | st.text(st.characters(codec="utf-8"), max_size=30) | st.text("aZ9 .é\n", max_size=8)
)


def slow_numbers(text: str | None) -> list[float]:
    """By the definitions, one character at a time."""
    if not text:
        return [0.0] * 6
    plane = [character for character in text if ord(character) < 0xFFFF]
    kinds = [unicodedata.category(character) for character in plane]
    signs = [
        kind[0] == "P" or (kind[0] == "S" and character.isascii())
        for character, kind in zip(plane, kinds, strict=True)
    ]
    counts = [
        kinds.count("Nd"),
        kinds.count("Lu"),
        sum(not character.isascii() for character in text),
        sum(signs),
    ]
    return [len(text), len(text.split()), *(count / len(text) for count in counts)]


@given(st.lists(texts, max_size=12))
@example(["", None, "Äpfel kosten 3,50 € je Stück!", "日本語 テスト", "😀 A", "  ", " a", "b", "٣"])
@settings(max_examples=200)
def test_numbers_follow_their_definitions(given_texts: list[str | None]) -> None:
    found = text_numbers(pa.array(given_texts, pa.string()))
    wanted = np.array([slow_numbers(text) for text in given_texts]).reshape(-1, 6)
    assert np.array_equal(found, wanted)


@given(st.lists(texts, max_size=12), st.integers(1, 9), st.integers(0, 3))
def test_pieces_and_slices_change_nothing(
    given_texts: list[str | None], at_once: int, skipped: int
) -> None:
    array = pa.array([*(["x"] * skipped), *given_texts], pa.string())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHARACTERS_AT_ONCE", at_once)
        found = text_numbers(array.slice(skipped))
    assert np.array_equal(found, text_numbers(pa.array(given_texts, pa.string())))


def test_a_known_text() -> None:
    found = text_numbers(pa.array(["Call ME at 0800-11, O.K.?"]))
    # 25 characters; 5 words; 6 digits; C, M, E, O and K; - , . . and ?
    assert found.tolist() == [[25, 5, 6 / 25, 5 / 25, 0, 5 / 25]]
    assert [number.value for number in TextNumber] == [
        "length",
        "words",
        "digits",
        "upper_case",
        "beyond_ascii",
        "punctuation",
    ]
