"""Keyed hashes against a SipHash-2-4 written out here and its published test vector."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.keys import keyed_hash

MASK = 2**64 - 1
KEY = bytes(range(16))


def siphash(key: bytes, data: bytes) -> int:
    """SipHash-2-4 after Aumasson and Bernstein (2012), section 2."""
    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]

    def rotate(x: int, by: int) -> int:
        return (x << by | x >> (64 - by)) & MASK

    def round_() -> None:
        v[0] = v[0] + v[1] & MASK
        v[1] = rotate(v[1], 13) ^ v[0]
        v[0] = rotate(v[0], 32)
        v[2] = v[2] + v[3] & MASK
        v[3] = rotate(v[3], 16) ^ v[2]
        v[0] = v[0] + v[3] & MASK
        v[3] = rotate(v[3], 21) ^ v[0]
        v[2] = v[2] + v[1] & MASK
        v[1] = rotate(v[1], 17) ^ v[2]
        v[2] = rotate(v[2], 32)

    whole = len(data) // 8 * 8
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, whole, 8)]
    words.append(int.from_bytes(data[whole:], "little") | (len(data) % 256) << 56)
    for word in words:
        v[3] ^= word
        round_()
        round_()
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        round_()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def mixed(x: int) -> int:
    """The fixed mixing that follows (splitmix64's finaliser)."""
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def test_reference_agrees_with_the_published_vector() -> None:
    # Aumasson and Bernstein (2012), appendix A: key 00..0f, input 00..0e
    assert siphash(KEY, bytes(range(15))) == 0xA129CA6149BE45E5


@given(st.lists(st.text(max_size=40), max_size=20), st.binary(min_size=16, max_size=16))
def test_equals_siphash_of_utf8_bytes(texts: list[str], key: bytes) -> None:
    texts = [t for t in texts if not any("\ud800" <= c <= "\udfff" for c in t)]
    expected = [mixed(siphash(key, text.encode())) for text in texts]
    assert [h & MASK for h in keyed_hash(texts, key).tolist()] == expected


def test_arrow_arrays_and_slices_hash_alike() -> None:
    texts = ["名", "a", "", "x" * 300]
    array = pa.array(["skip", *texts]).slice(1)
    chunked = pa.chunked_array([texts[:1], texts[1:]])
    assert keyed_hash(array, KEY).tolist() == keyed_hash(texts, KEY).tolist()
    assert keyed_hash(chunked, KEY).tolist() == keyed_hash(texts, KEY).tolist()


def test_missing_texts_and_short_keys_are_refused() -> None:
    with pytest.raises(AssertionError, match="missing text"):
        keyed_hash(pa.array(["a", None]), KEY)
    with pytest.raises(AssertionError, match="16 bytes"):
        keyed_hash(["a"], b"short")
