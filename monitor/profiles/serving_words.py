"""Words and flags of a serving part: how often each occurs. Exact integers.

`word/{column}` + line end + word int64[1]: requests with that word, for category columns with a
standard word field. Words are cut to 100 characters. A piece names at most 200 words, those with
the smallest hash; `rest/{column}` int64[1] counts the others, so a column of more than 200 words
should declare its categories or not be called a word. `flag/{column}` int64[2]: requests
without and with the flag; the others said neither.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.contract import Contract
from monitor.profiles.part import Part
from monitor.profiles.serving_rows import MAX_WORDS, ServingRows, kept_words
from monitor.profiles.standard_columns import flag_columns, word_columns

WORD, REST, FLAG = "word/", "rest/", "flag/"


@dataclass(frozen=True)
class FlagCounts:
    """Requests that said no and yes."""

    no: int
    yes: int

    @property
    def n(self) -> int:
        return self.no + self.yes


def add_words(serving: ServingRows, contract: Contract) -> None:
    """Count the words of every word column."""
    for column in word_columns(contract):
        words = serving.words(column)
        names = (*(f"{WORD}{column}\n{word}" for word in words.names), REST + column)
        counted = serving.count_codes(words.codes, len(names))
        for group, code, rows in zip(*counted, strict=True):
            serving.dense[group][names[code]] = np.array([rows], np.int64)


def add_flags(serving: ServingRows, contract: Contract) -> None:
    """Count every flag column."""
    for column in flag_columns(contract):
        values = serving.number(column)
        codes = np.where(np.isnan(values), -1, values != 0).astype(np.int64)
        serving.add_counts(FLAG + column, codes, 2)


def word_counts(part: Part, column: str) -> dict[str, int]:
    """Requests by word, for the words that are named; see `unnamed_words`.

    A word's count is exact however the part was put together of pieces.
    """
    prefix = f"{WORD}{column}\n"
    found = {
        name.removeprefix(prefix): int(counts[0])
        for name, counts in part.dense.items()
        if name.startswith(prefix)
    }
    if REST + column not in part.dense:
        return found
    return {word: found[word] for word in kept_words(list(found), MAX_WORDS)}


def unnamed_words(part: Part, column: str) -> int:
    """Requests whose word has no name in `word_counts`: 0 unless there are more than 200 words."""
    prefix = f"{WORD}{column}\n"
    every = sum(int(n[0]) for name, n in part.dense.items() if name.startswith(prefix))
    rest = part.dense.get(REST + column, np.zeros(1, np.int64))
    return int(rest[0]) + every - sum(word_counts(part, column).values())


def flag_counts(part: Part, column: str) -> FlagCounts:
    """Requests without and with a flag; both 0 where the part does not count it."""
    counts = part.dense.get(FLAG + column, np.zeros(2, np.int64))
    return FlagCounts(int(counts[0]), int(counts[1]))
