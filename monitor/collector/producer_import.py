"""Files of foreign producers through the store, piece by piece, as if they had come over HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from monitor.collector.file_import import MAX_KEPT_REJECTIONS
from monitor.collector.ports import Store
from monitor.collector.producer_store import ProducerAnswer, ProducerStore, Sender
from monitor.collector.text_models import TextModels
from monitor.contract import ColumnType, Contract, Task
from monitor.errors import RequestRefused
from monitor.fields import FieldKind, standard_field
from monitor.intake.producer_files.base import FileFormat, Piece, ReadOptions
from monitor.intake.producer_files.sources import SourceFile
from monitor.intake.producer_record import ProducerLabel, ProducerRecord, Read
from monitor.intake.text_cells import TextCell, label_cell
from monitor.intake.told_requests import to_request
from monitor.origin import Origin
from monitor.records import Rejection, RejectionReason

SHOWN_RECORDS = 3
SHOWN_LENGTH = 60
_ENVELOPE = frozenset({"request_id", "event_time", "outcome", "outcome_reason", "tags"})
_NO_MODEL = "the file names no model; name it with --model"
_SHARE_UNKNOWN = (
    "which share of requests was captured is a setting of the producer and in no entry: say it"
    " with --sampling-rate; without it counts are those of the sample"
)
Progress = Callable[[float, int], None]


@dataclass
class ProducerImport:
    """What became of the files of one format; requests and labels are counted together.

    `shown`: the first requests as they reach the contract, texts hidden.
    """

    format: FileFormat
    files: int
    requests: int = 0
    labels: int = 0
    accepted: int = 0
    duplicate: int = 0
    conflict: int = 0
    rejected: int = 0
    violations: int = 0
    ignored: int = 0
    by_model: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    rejections: list[tuple[str, Rejection]] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    shown: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Known:
    """What the person who imports knows of all records: tags, and the share that was captured."""

    tags: Mapping[str, str] = field(default_factory=dict)
    sampling_rate: float | None = None


class ProducerImporter:
    """Stores pieces of files; `show` remembers the first records as they would be stored."""

    def __init__(
        self,
        store: Store,
        sender: Sender,
        known: Known,
        *,
        show: bool = False,
        text_models: TextModels | None = None,
    ) -> None:
        self._store, self._sender, self._known, self._show = store, sender, known, show
        self._producers = ProducerStore(store, text_models)

    def run(
        self,
        form: FileFormat,
        files: Sequence[SourceFile],
        options: ReadOptions,
        progress: Progress,
    ) -> ProducerImport:
        """Import the files of one format. One that breaks off keeps what was read before."""
        done = ProducerImport(form, len(files))
        order = {file.name: place for place, file in enumerate(files)}
        try:
            for piece in form.read(files, options):
                self._keep(piece, done)
                share = (order[piece.file] + piece.done_share) / len(files)
                progress(share, done.requests + done.labels)
        except RequestRefused as error:
            done.unreadable.append(f"{error}; what was read before it is stored")
        shares = self._known.sampling_rate
        if form.share_unknown and shares is None and done.requests:
            done.notes[_SHARE_UNKNOWN] = 1
        return done

    def _keep(self, piece: Piece, done: ProducerImport) -> None:
        records = [self._completed(record) for record in piece.records]
        labels = [self._typed(label) for label in piece.labels]
        done.requests += len(records)
        done.labels += len(labels)
        done.ignored += piece.ignored
        done.notes.update(piece.notes)
        self._note_models(records, done)
        origin = Origin(None, f"{done.format.name} file {PurePath(piece.file).name}")
        sender = replace(self._sender, origin=origin)
        read = Read(tuple(records), rejections=tuple(piece.rejections))
        answer = self._producers.keep(sender, read)
        done.notes.update(answer.notes)
        self._count(answer, piece.file, done, len(piece.rejections), piece.record_places)
        if labels:
            answer = self._producers.keep(sender, Read(labels=tuple(labels)))
            self._count(answer, piece.file, done, 0, piece.label_places)

    def _completed(self, record: ProducerRecord) -> ProducerRecord:
        known = self._known
        if known.tags:
            record = replace(record, resource_tags={**known.tags, **record.resource_tags})
        if known.sampling_rate is not None and "sampling_rate" not in record.fields:
            fields = {**record.fields, "sampling_rate": known.sampling_rate}
            record = replace(record, fields=fields)
        return record

    def _typed(self, label: ProducerLabel) -> ProducerLabel:
        """A label's CSV cell as the contract's labels are written."""
        if not isinstance(label.value, TextCell):
            return label
        contract = self._contract(label.models)
        return replace(label, value=label_cell(label.value, as_text=_labels_are_text(contract)))

    def _contract(self, models: Sequence[str]) -> Contract | None:
        names = (self._sender.model,) if self._sender.model is not None else tuple(models)
        found = self._store.model_known_as(self._sender.project_id, names)
        return None if found is None else found.contract

    def _note_models(self, records: Sequence[ProducerRecord], done: ProducerImport) -> None:
        names = Counter(record.models for record in records)
        for models, count in names.items():
            contract = self._contract(models)
            if contract is not None:
                done.by_model[contract.model] += count
        if self._show:
            for record in records[: SHOWN_RECORDS - len(done.shown)]:
                contract = self._contract(record.models)
                if contract is not None:
                    done.shown.append(_shown(record, contract))

    def _count(
        self,
        answer: ProducerAnswer,
        file: str,
        done: ProducerImport,
        placed: int,
        places: Sequence[int],
    ) -> None:
        """Rejections beyond the first `placed` name a record by its number in the piece."""
        done.accepted += answer.accepted
        done.duplicate += answer.duplicate
        done.conflict += answer.conflict
        done.rejected += answer.rejected
        done.violations += answer.violations
        for number, one in enumerate(answer.rejections):
            if len(done.rejections) >= MAX_KEPT_REJECTIONS:
                return
            told = one
            if number >= placed and one.place < len(places):
                told = replace(told, place=places[one.place])
            if one.reason is RejectionReason.UNKNOWN_MODEL and "names no model" in one.message:
                told = replace(told, message=_NO_MODEL)
            done.rejections.append((file, told))


def _labels_are_text(contract: Contract | None) -> bool:
    if contract is None:
        return False
    positive = contract.label.positive if contract.label is not None else None
    return contract.task is Task.MULTICLASS or isinstance(positive, str)


def _shown(record: ProducerRecord, contract: Contract) -> dict[str, Any]:
    """The request as the contract takes it; texts, and what it does not know, by length alone."""
    plain = {
        column.name
        for column in contract.columns
        if column.type is not ColumnType.TEXT and not _is_text(column.field or column.name)
    }
    tags = {**record.resource_tags, **record.request_tags}
    return {
        name: _short(value) if name in plain | _ENVELOPE else _length(value)
        for name, value in to_request(record, contract, tags).items()
    }


def _length(value: Any) -> Any:
    return value if isinstance(value, (int, float)) else f"<{len(str(value))} characters>"


def _is_text(name: str) -> bool:
    found = standard_field(name)
    return found is not None and found.kind is FieldKind.TEXT


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > SHOWN_LENGTH:
        return f"{value[:SHOWN_LENGTH]}…"
    return value if isinstance(value, (str, int, float, bool, dict)) or value is None else (
        str(value)[:SHOWN_LENGTH])  # fmt: skip
