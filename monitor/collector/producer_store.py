"""Records of foreign producers through the contract of their model into the store. Blocking."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Any

from monitor.collector.intake import Limits, intake_context, parse_current, store_one
from monitor.collector.ports import Store
from monitor.collector.text_models import TextModels
from monitor.intake.base import IntakeContext
from monitor.intake.json_labels import NDJSON_LABELS
from monitor.intake.json_requests import NDJSON_REQUESTS
from monitor.intake.producer_record import ProducerLabel, ProducerRecord, Read
from monitor.intake.told_requests import to_request
from monitor.origin import UNKNOWN, Origin
from monitor.records import LIVE_LEG, IntakeAnswer, Rejection, RejectionReason
from monitor.registration import ResolvedTags, resolve_tags
from monitor.store.models import ModelContext

MOST_RECORDS = 50_000
MOST_BYTES = 1 << 29


@dataclass
class ProducerAnswer:
    """What became of records and labels: accepted + duplicate + conflict + rejected = told.

    `ignored`: well-formed things that are no requests. `unplaced`: rejected, as no model of the
    project goes by any of their names; their places are in `rejections` too.
    """

    accepted: int = 0
    duplicate: int = 0
    conflict: int = 0
    violations: int = 0
    ignored: int = 0
    unplaced: int = 0
    rejections: list[Rejection] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def rejected(self) -> int:
        return len(self.rejections)

    def as_answer(self) -> IntakeAnswer:
        """The same as the answer of a body of one model, rejections in the order of places."""
        told = tuple(sorted(self.rejections, key=lambda one: one.place))
        return IntakeAnswer(
            self.accepted, self.duplicate, self.conflict, told, violations=self.violations
        )

    def add(self, answer: IntakeAnswer, places: Sequence[int]) -> None:
        """Count one model's answer; its rejections get their places in the body."""
        self.accepted += answer.accepted
        self.duplicate += answer.duplicate
        self.conflict += answer.conflict
        self.violations += answer.violations
        for one in answer.rejections:
            place = places[one.place] if one.place < len(places) else one.place
            self.rejections.append(
                Rejection(place, one.reason, one.message, one.request_id, one.excerpt, one.origin)
            )


@dataclass(frozen=True)
class Sender:
    """Who sends: a project, perhaps one model and leg for all records, how far back, from where."""

    project_id: int
    received_at: datetime
    model: str | None = None
    leg: str = LIVE_LEG
    anytime: bool = False
    origin: Origin = UNKNOWN


class ProducerStore:
    """Places records by the names of their models and stores them model by model."""

    def __init__(self, store: Store, text_models: TextModels | None = None) -> None:
        self._store = store
        self._text_models = text_models or TextModels()

    def keep(self, sender: Sender, read: Read) -> ProducerAnswer:
        """Store what was read; returns after the commits. Doing it again gives duplicates."""
        answer = ProducerAnswer(
            ignored=read.ignored, rejections=list(read.rejections), notes=list(read.notes)
        )
        unplaced = [replace(one, origin=sender.origin) for one in read.rejections]
        requests: dict[tuple[str, str], list[tuple[int, ProducerRecord]]] = defaultdict(list)
        contexts: dict[str, ModelContext] = {}
        for place, record in zip(read.places or count(), read.records, strict=False):
            model = self._model(sender, record.models)
            if model is None:
                unplaced.append(_unknown_model(place, record, sender.origin))
                continue
            name = model.contract.model
            contexts[name] = model
            requests[name, record.leg or sender.leg].append((place, record))
        for (name, leg), placed in requests.items():
            self._keep_requests(sender, contexts[name], leg, placed, answer)
        self._keep_labels(sender, read.labels, answer)
        new = unplaced[len(read.rejections) :]
        answer.unplaced = len(new)
        answer.rejections += new
        if unplaced:
            self._store.keep_unplaced(
                sender.project_id, "requests", sender.received_at, tuple(unplaced)
            )
        return answer

    def _model(self, sender: Sender, names: Sequence[str]) -> ModelContext | None:
        wanted = [sender.model] if sender.model is not None else list(names)
        return self._store.model_known_as(sender.project_id, tuple(wanted))

    def _keep_requests(
        self,
        sender: Sender,
        model: ModelContext,
        leg: str,
        placed: Sequence[tuple[int, ProducerRecord]],
        answer: ProducerAnswer,
    ) -> None:
        records = [record for _, record in placed]
        tags, resolved = self._tags(sender, model, records)
        vectors, not_embedded = self._text_models.vectors(model.contract, records)
        answer.notes += not_embedded
        told = [
            to_request(record, model.contract, found, made)
            for record, found, made in zip(records, tags, vectors, strict=True)
        ]
        context = self._context(sender, model, leg)
        body = _lines(told)

        def parse(asked: IntakeContext) -> Any:
            return NDJSON_REQUESTS.parse(body, asked)

        batch, used = parse_current(self._store, model.contract.model, context, parse)
        batch = _told_origins(batch, records, sender.origin)
        answer.add(store_one(self._store, batch, used).answer, [place for place, _ in placed])
        self._store.registrations.keep_evidence(
            sender.project_id, model.model_id, resolved, sender.received_at
        )

    def _tags(
        self, sender: Sender, model: ModelContext, records: Sequence[ProducerRecord]
    ) -> tuple[list[dict[str, str]], list[tuple[ResolvedTags, int]]]:
        """Each record's version tags, and of how many records what was known."""
        at = sender.received_at
        book = self._store.registrations.book(sender.project_id, model.model_id, at)
        known: dict[Any, tuple[ResolvedTags, dict[str, str]]] = {}
        counts: Counter[Any] = Counter()
        tags = []
        for record in records:
            matching = book.matching(record.joins, record.event_time or at)
            key = (
                tuple(record.request_tags.items()),
                tuple(record.resource_tags.items()),
                tuple(each.number for each in matching),
            )
            if key not in known:
                found = resolve_tags(record.request_tags, record.resource_tags, matching)
                known[key] = found, found.tags.as_dict()
            counts[key] += 1
            tags.append(known[key][1])
        return tags, [(known[key][0], requests) for key, requests in counts.items()]

    def _keep_labels(
        self, sender: Sender, labels: Sequence[ProducerLabel], answer: ProducerAnswer
    ) -> None:
        by_model: dict[str, list[tuple[int, ProducerLabel]]] = defaultdict(list)
        contexts: dict[str, ModelContext] = {}
        for place, label in enumerate(labels):
            model = self._model(sender, label.models)
            if model is None:
                message = _not_known(label.models)
                answer.rejections.append(
                    Rejection(place, RejectionReason.UNKNOWN_MODEL, message, label.request_id)
                )
                answer.unplaced += 1
                continue
            contexts[model.contract.model] = model
            by_model[model.contract.model].append((place, label))
        for name, placed in by_model.items():
            context = self._context(sender, contexts[name], sender.leg)
            body = _lines([_label_record(label) for _, label in placed])
            batch = NDJSON_LABELS.parse(body, context)
            answer.add(store_one(self._store, batch, context).answer, [p for p, _ in placed])

    def _context(self, sender: Sender, model: ModelContext, leg: str) -> IntakeContext:
        limits = Limits(MOST_RECORDS, MOST_BYTES)
        return intake_context(
            model, leg, sender.received_at, limits, anytime=sender.anytime, origin=sender.origin
        )


def _label_record(label: ProducerLabel) -> dict[str, Any]:
    told = {
        "request_id": label.request_id, "value": label.value, "label": label.label,
        "source": label.source,
        "observed_at": None if label.observed_at is None else label.observed_at.isoformat(),
        "event_time": None if label.event_time is None else label.event_time.isoformat(),
    }  # fmt: skip
    return {name: value for name, value in told.items() if value is not None}


def _lines(records: Sequence[dict[str, Any]]) -> bytes:
    # NaN and infinities stay what they are: intake makes violations of them.
    return "\n".join(json.dumps(each, default=str) for each in records).encode()


def _unknown_model(place: int, record: ProducerRecord, origin: Origin) -> Rejection:
    return Rejection(
        place,
        RejectionReason.UNKNOWN_MODEL,
        _not_known(record.models),
        record.request_id or None,
        origin=origin.told_by(record.joins),
    )


def _told_origins(batch: Any, records: Sequence[ProducerRecord], origin: Origin) -> Any:
    """The batch, its rejections naming the service or source that each record tells of."""
    told = tuple(
        replace(one, origin=origin.told_by(records[one.place].joins))
        if one.place < len(records) else one
        for one in batch.rejections
    )  # fmt: skip
    return replace(batch, rejections=told) if told else batch


def _not_known(names: Sequence[str]) -> str:
    if not names:
        return "the record names no model; name one with ?model= or the header X-Inferwatch-Model"
    told = " or ".join(repr(name[:100]) for name in names[:3])
    return f"no model is known as {told}; add the name to also_known_as of its contract"
