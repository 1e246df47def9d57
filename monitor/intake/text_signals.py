"""What an answer's text says of itself: empty, repeating, declining. Pure; no text is kept.

Repeating is seq-rep-4 of Welleck et al. (2020, "Neural text generation with unlikelihood
training"): 1 - distinct 4-grams / 4-grams of words. An answer of at least 50 words repeats itself
when over half of its 4-grams occurred before. Not for lists, tables and code, which repeat by
their nature: watch the share, not one answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST_CHARACTERS = 100_000
LEAST_WORDS, GRAM, REPEATED_SHARE = 50, 4, 0.5
BEGINNING = 300


def text_signals(fields: Mapping[str, Any], refusals: Sequence[str]) -> dict[str, bool]:
    """Flags that follow from the fields of a request; those that are told already stay."""
    text = fields.get("output_text")
    found: dict[str, bool] = {}
    if not isinstance(text, str):
        return found
    calls = fields.get("tool_calls")
    found["empty_output"] = not text.strip() and not calls
    found["repeated_output"] = repetition(text) > REPEATED_SHARE
    if refusals:
        start = text[:BEGINNING].lower()
        found["refusal"] = bool(fields.get("refusal")) or any(
            phrase.lower() in start for phrase in refusals
        )
    return {name: value for name, value in found.items() if name == "refusal" or name not in fields}


def repetition(text: str) -> float:
    """Share of 4-grams of words that occurred before, 0 for fewer than 50 words."""
    words = text[:MOST_CHARACTERS].split()
    if len(words) < LEAST_WORDS:
        return 0.0
    grams = [tuple(words[i : i + GRAM]) for i in range(len(words) - GRAM + 1)]
    return 1 - len(set(grams)) / len(grams)
