"""A person's own text model: words hashed into 32 counts by scikit-learn, of length 1."""

from __future__ import annotations

from typing import Any

from sklearn.feature_extraction.text import HashingVectorizer

SIZE = 32
_WORDS = HashingVectorizer(n_features=SIZE, alternate_sign=False)


def hashed(texts: list[str]) -> Any:
    """n texts → array (n, 32)."""
    return _WORDS.transform(texts).toarray()


def broken(texts: list[str]) -> Any:
    """A model that fails."""
    raise RuntimeError(f"no memory for {len(texts)} texts")


def short(texts: list[str]) -> Any:
    """A model that answers for one text too few."""
    return hashed(texts)[1:]


not_a_model = 3
