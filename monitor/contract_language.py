"""What a language model is made of and how it says no. Pure values."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from monitor.contract_base import Frozen

Phrase = Annotated[str, Field(min_length=3, max_length=200)]


class Architecture(Frozen):
    """The shape of the attention: what a token takes in the key-value cache."""

    layers: int = Field(ge=1, le=10_000)
    kv_heads: int = Field(ge=1, le=100_000)
    head_dim: int = Field(ge=1, le=100_000)
    bytes_per_value: float = Field(default=2, gt=0, le=16)


class Language(Frozen):
    """`refusals`: phrases that an answer begins with when it declines, in any case of letters."""

    refusals: tuple[Phrase, ...] = Field(default=(), max_length=200)
    architecture: Architecture | None = None


def kv_cache_bytes(architecture: Architecture, tokens: float) -> float:
    """Bytes of keys and values for so many tokens: 2 · layers · kv_heads · head_dim · bytes · n.

    An estimate from declared numbers: paging, padding and sharing of prefixes are not in it.
    """
    shape = architecture.layers * architecture.kv_heads * architecture.head_dim
    return 2 * shape * architecture.bytes_per_value * tokens
