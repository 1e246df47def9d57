"""Keyed hashes of texts: stable names for ids that reveal nothing without the key. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pandas.util import hash_array

KEY_LENGTH = 16
# Any 16 bytes survive this decoding; the texts are passed as bytes and are not touched by it.
_KEY_ENCODING = "latin-1"


def keyed_hash(
    strings: Sequence[str] | pa.Array | pa.ChunkedArray, key16: bytes
) -> npt.NDArray[np.int64]:
    """SipHash-2-4 of each text's UTF-8 bytes under a 16-byte key, text[n] -> int64[n].

    A fixed one-to-one mixing of the 64 bits follows (pandas). The same text and key give the same
    number on every machine. None is not allowed: raises AssertionError.
    Source: Aumasson and Bernstein (2012), "SipHash: a fast short-input PRF".
    """
    if len(key16) != KEY_LENGTH:
        raise AssertionError(f"the hash key has {KEY_LENGTH} bytes, not {len(key16)}")
    texts = strings
    if not isinstance(texts, pa.Array | pa.ChunkedArray):
        texts = pa.array(list(texts), pa.string())
    if texts.null_count:
        raise AssertionError("a missing text has no key; leave such rows out before hashing")
    raw = texts.cast(pa.binary()).to_numpy(zero_copy_only=False)
    if len(raw) == 0:
        return np.zeros(0, np.int64)
    hashed = hash_array(
        raw, encoding=_KEY_ENCODING, hash_key=key16.decode(_KEY_ENCODING), categorize=False
    )
    return hashed.view(np.int64)
