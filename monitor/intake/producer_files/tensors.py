"""TensorFlow's TensorProto and Example, from protocol buffers into rows. Pure."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from monitor.intake.producer_files.payloads import PayloadFault, tensor_rows
from monitor.intake.producer_files.protobuf_wire import Message

MOST_VALUES = 1_000_000
_STRING = 7
_FORMS = {1: "f", 2: "d", 3: "i", 4: "B", 5: "h", 6: "b", 9: "q", 10: "?", 17: "H", 19: "e",
          22: "I", 23: "Q"}  # fmt: skip
_FIELDS = {1: (5, "f"), 2: (6, "d"), 3: (7, "i"), 4: (7, "i"), 5: (7, "i"), 6: (7, "i"),
           9: (10, "i"), 10: (11, "i"), 17: (7, "i"), 22: (16, "i"), 23: (17, "i")}  # fmt: skip
"""By DataType: how `tensor_content` is packed, and which field holds the values otherwise."""


def tensors_of(entries: Sequence[Message]) -> tuple[Mapping[str, Any], ...]:
    """Rows of a map from name to TensorProto; a tensor without dimensions is one row."""
    split: dict[str, list[Any]] = {}
    for entry in entries:
        name, tensor = entry.text(1), entry.message(2)
        dims = [each.integer(1) for each in tensor.message(2).messages(2)]
        split[name] = tensor_rows(_values(tensor, dims, name), dims)
    lengths = {len(rows) for rows in split.values()}
    if len(lengths) > 1:
        # Tensors of different lengths, such as [2] beside a scalar, are one request.
        return ({name: rows[0] if len(rows) == 1 else rows for name, rows in split.items()},)
    return tuple(dict(zip(split, row, strict=True)) for row in zip(*split.values(), strict=True))


def _values(tensor: Message, dims: Sequence[int], name: str) -> list[Any]:
    wanted = 1
    for size in dims:
        wanted *= size
    if not 0 <= wanted <= MOST_VALUES:
        raise PayloadFault(f"the tensor {name[:80]!r} has {wanted} values")
    kind, content = tensor.integer(1), tensor.blob(4)
    if kind == _STRING:
        found: list[Any] = [value.decode("utf-8", "replace") for value in tensor.every(8)]
    elif content and kind in _FORMS:
        width = struct.calcsize(_FORMS[kind])
        if len(content) != wanted * width:
            raise PayloadFault(f"the tensor {name[:80]!r} has other bytes than its shape says")
        found = list(struct.unpack(f"<{wanted}{_FORMS[kind]}", content))
    elif kind in _FIELDS:
        found = tensor.repeated(*_FIELDS[kind])
        found = [bool(value) for value in found] if kind == 10 else found
    else:
        raise PayloadFault(f"the tensor {name[:80]!r} is of DataType {kind}, which is not read")
    if len(found) > wanted:
        raise PayloadFault(f"the tensor {name[:80]!r} has more values than its shape says")
    # TensorProto leaves out values that repeat the last one.
    fill = found[-1] if found else ("" if kind == _STRING else 0)
    return found + [fill] * (wanted - len(found))


def examples_of(request_input: Message) -> tuple[Mapping[str, Any], ...]:
    """Rows of an Input: its examples, with the features of a shared context."""
    plain = request_input.message(1).messages(1)
    shared = request_input.message(2)
    context = _features(shared.message(2)) if shared.numbers() else {}
    return tuple({**context, **_features(each)} for each in (plain or shared.messages(1)))


def _features(example: Message) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in example.message(1).messages(1):
        feature = entry.message(2)
        values: list[Any] = [
            value.decode("utf-8", "replace") for value in feature.message(1).every(1)
        ]
        values = (
            values or feature.message(2).repeated(1, "f") or feature.message(3).repeated(1, "i")
        )
        found[entry.text(1)] = values[0] if len(values) == 1 else values
    return found
