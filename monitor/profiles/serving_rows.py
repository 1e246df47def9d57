"""The rows of serving parts while they are built: which group each is in, and columns on demand."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.layout import Layout
from monitor.profiles.arrays import Floats, Integers, totals_by_key
from monitor.profiles.log_cells import log_tables
from monitor.profiles.rows import RequestRows

LOG, MISSING = "log/", "missing/"
MAX_WORDS = 200
MAX_WORD_LENGTH = 100


class Words(NamedTuple):
    """`codes` int64[m] into `names`; -1 without a word, len(names) for a word that has no name."""

    names: tuple[str, ...]
    codes: Integers


@dataclass(eq=False)
class ServingRows:
    """m memberships of rows in groups: `places` int64[m] the row, `members` int64[m] the group.

    `dense` and `sparse` are the arrays of each group's part, filled by those who count.
    """

    rows: RequestRows
    layout: Layout
    places: Integers
    members: Integers
    n_groups: int
    dense: list[dict[str, Integers]] = field(default_factory=list)
    sparse: list[dict[str, tuple[Integers, Integers]]] = field(default_factory=list)
    _numbers: dict[str, Floats] = field(default_factory=dict)

    def number(self, column: str) -> Floats:
        """A number, integer or boolean column, float64[m], NaN where it is missing."""
        if column not in self._numbers:
            slot = self.layout.slot(column)
            self._numbers[column] = self.rows.number_column(slot.number_start)[self.places]
        return self._numbers[column]

    def words(self, column: str, most: int = MAX_WORDS) -> Words:
        """A category column. Of more than `most` words those with the smallest hash have names.

        So the names do not depend on which rows are looked at together: a word that is named for
        the whole is named in every piece of it, and its count adds up exactly.
        """
        texts = self.rows.text_column(self.layout.slot(column).text_start)
        encoded = texts.dictionary_encode()
        words = [short_word(each) for each in encoded.dictionary.to_pylist()]
        names = kept_words(words, most)
        place = {name: code for code, name in enumerate(names)}
        of_word = np.array([place.get(each, len(names)) for each in words] + [-1], np.int64)
        codes = encoded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
        return Words(names, of_word[codes.astype(np.int64)][self.places])

    def places_of(self, column: str, values: tuple[str, ...]) -> Integers:
        """The place of each row's category among `values`, int64[m]; -1 for any other."""
        texts = self.rows.text_column(self.layout.slot(column).text_start)
        found = pc.index_in(texts, value_set=pa.array(values, pa.string()))
        places = np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
        return places[self.places]

    def count_codes(self, codes: Integers, n_codes: int) -> tuple[Integers, Integers, Integers]:
        """Groups, codes and rows of every pair that occurs; negative codes are left out."""
        given = codes >= 0
        found, totals = totals_by_key(self.members[given] * n_codes + codes[given], ())
        return found // n_codes, found % n_codes, totals[:, 0]

    def add_log(self, name: str, values: Floats) -> None:
        """The cells of values float64[m], NaN left out and counted; nothing for empty groups."""
        absent = np.isnan(values)
        tables = log_tables(values[~absent], self.members[~absent], self.n_groups)
        missing = np.bincount(self.members[absent], minlength=self.n_groups)
        for group, table in enumerate(tables):
            if len(table[0]):
                self.sparse[group][LOG + name] = table
            if missing[group]:
                self.dense[group][MISSING + name] = missing[group : group + 1].astype(np.int64)

    def add_counts(self, name: str, codes: Integers, size: int) -> None:
        """`name` int64[size]: rows by code, negative codes left out."""
        given = codes >= 0
        keys = self.members[given] * size + codes[given]
        counts = np.bincount(keys, minlength=self.n_groups * size).astype(np.int64)
        for group, found in enumerate(counts.reshape(self.n_groups, size)):
            self.dense[group][name] = found


def short_word(text: str) -> str:
    """A word as it is counted: without line ends, at most 100 characters."""
    return text.replace("\n", " ")[:MAX_WORD_LENGTH]


def kept_words(words: list[str], most: int) -> tuple[str, ...]:
    """The words that have names, in order: all, or the `most` with the smallest SHA-256."""
    distinct = sorted(set(words))
    if len(distinct) <= most:
        return tuple(distinct)
    ranked = sorted(distinct, key=lambda word: hashlib.sha256(word.encode()).digest())
    return tuple(sorted(ranked[:most]))
