"""TensorFlow Serving's PredictionLog in TFRecord files. Pure.

Its messages are read by field numbers (tensorflow_serving/apis 2.21.0: prediction_log.proto,
logging.proto, predict.proto, classification.proto, regression.proto; tensorflow/core/framework/
tensor.proto; tensorflow/core/example). A log has no id, no latency, and seconds only.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from monitor.intake.producer_files.base import (
    BadRecord,
    FileFormat,
    Gathered,
    Piece,
    ReadOptions,
)
from monitor.intake.producer_files.exchanges import Exchange, add_exchange
from monitor.intake.producer_files.moments import epoch_moment
from monitor.intake.producer_files.payloads import Payload, PayloadFault
from monitor.intake.producer_files.protobuf_wire import Message, WireError
from monitor.intake.producer_files.sources import (
    UNREADABLE,
    Container,
    Head,
    SourceFile,
    broken_off,
)
from monitor.intake.producer_files.tensors import examples_of, tensors_of
from monitor.intake.producer_files.tfrecord import Broken, read_tfrecords
from monitor.records import RejectionReason

_METADATA, _CLASSIFY, _REGRESS, _PREDICT = 1, 2, 3, 6
_OTHERS = {4: "multi-inference", 5: "session run", 7: "streamed prediction"}


def _read(files: Sequence[SourceFile], _: ReadOptions) -> Iterator[Piece]:
    for file in files:
        gathered = Gathered(file.name)
        alike: Counter[str] = Counter()
        try:
            with file.opened() as raw:
                for place, data in enumerate(read_tfrecords(raw)):
                    gathered.place = place
                    _take(data, alike, gathered)
                    if gathered.full:
                        yield gathered.take(0.0)
        except UNREADABLE as error:
            gathered.refuse(broken_off(error))
        yield gathered.take(1.0)


def _take(data: bytes | Broken, alike: Counter[str], gathered: Gathered) -> None:
    if isinstance(data, Broken):
        gathered.note(f"{data.message}; what came before is kept")
        gathered.refuse(BadRecord(RejectionReason.UNREADABLE, data.message))
        return
    digest = hashlib.sha256(data).hexdigest()[:24]
    alike[digest] += 1
    name = f"tfserving-{digest}" + (f"-{alike[digest]}" if alike[digest] > 1 else "")
    try:
        _add(Message(data), name, gathered)
    except (WireError, PayloadFault) as error:
        gathered.refuse(BadRecord(RejectionReason.UNREADABLE, str(error), name))
    except BadRecord as bad:
        gathered.refuse(bad)


def _add(log: Message, name: str, gathered: Gathered) -> None:
    about = log.message(_METADATA)
    kind = next((n for n in (_PREDICT, _CLASSIFY, _REGRESS) if n in log.numbers()), None)
    if kind is None:
        other = next((text for n, text in _OTHERS.items() if n in log.numbers()), "unknown")
        gathered.ignore(f"logs of the kind {other}: not read")
        return
    inner = log.message(kind)
    request, response = inner.message(1), inner.message(2)
    spec = next(
        (s for s in (about.message(1), request.message(1), response.message(2)) if s.numbers()),
        Message(b""),
    )
    share = about.message(2).double(1)
    asked, told = _BODIES[kind](request, response)
    model = spec.text(1)
    add_exchange(
        gathered,
        Exchange(
            request_id=name,
            event_time=_when(about, name),
            models=(model,) if model else (),
            fields={} if not share else {"sampling_rate": share},
            attributes={"tensorflow.signature": spec.text(3)} if spec.text(3) else {},
            request_tags=_version(spec),
            resource_tags={"runtime": "tensorflow-serving"},
        ),
        asked,
        told,
    )


def _when(about: Message, name: str) -> datetime:
    seconds = about.integer(4)
    if seconds <= 0:
        raise BadRecord(RejectionReason.MISSING_TIME, "log_metadata has no timestamp_secs", name)
    return epoch_moment(seconds, 1_000.0, name)


def _version(spec: Message) -> dict[str, str]:
    """A number, or the label by which the caller asked."""
    number = spec.message(2)
    if spec.blob(2) is not None:
        return {"model_version": str(number.integer(1))}
    return {"model_version": spec.text(4)} if spec.text(4) else {}


def _predict(request: Message, response: Message) -> tuple[Payload, Payload | None]:
    told = tensors_of(response.messages(1))
    return Payload(tensors_of(request.messages(2))), Payload(told) if told else None


def _classify(request: Message, response: Message) -> tuple[Payload, Payload | None]:
    rows: list[dict[str, Any]] = []
    for result in response.message(1).messages(1):
        classes = result.messages(1)
        # An absent score is 0 in proto3, and stands as a float of 4 bytes.
        scores = {c.text(1): (c.repeated(2, "f") or [0.0])[0] for c in classes}
        rows.append({"label": max(scores, key=lambda k: scores[k]), "scores": scores}
                    if scores else {})  # fmt: skip
    return Payload(examples_of(request.message(2))), Payload(tuple(rows)) if rows else None


def _regress(request: Message, response: Message) -> tuple[Payload, Payload | None]:
    rows = [{"value": (r.repeated(1, "f") or [0.0])[0]}
            for r in response.message(1).messages(1)]  # fmt: skip
    return Payload(examples_of(request.message(2))), Payload(tuple(rows)) if rows else None


_BODIES = {_PREDICT: _predict, _CLASSIFY: _classify, _REGRESS: _regress}


def _recognises(head: Head) -> bool:
    """A TFRecord whose first record has one of the log's kinds."""
    if head.container is not Container.TFRECORD:
        return False
    length = int.from_bytes(head.start[:8], "little")
    try:
        numbers = Message(head.start[12 : 12 + length]).numbers()
    except WireError:
        return len(head.start) < 12 + length and head.start[12:13] in b"\x0a\x12\x1a\x32"
    return bool(numbers) and numbers <= set(range(1, 8)) and numbers != {1}


TENSORFLOW_SERVING = FileFormat(
    name="tensorflow-serving-log",
    producer="TensorFlow Serving PredictionLog",
    gives=("inputs and outputs by row", "model, version and signature", "sampling rate"),
    lacks=("request ids", "latency", "failed requests", "times finer than a second"),
    recognises=_recognises,
    read=_read,
)
