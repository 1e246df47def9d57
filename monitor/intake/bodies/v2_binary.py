"""Bodies of the Open Inference Protocol with raw tensors behind the JSON. Pure.

Reference: Open Inference Protocol, binary tensor data extension. The header that tells the length
of the JSON is lost in a log, so the JSON's own end is sought; tensors follow in the order of the
JSON, each `parameters.binary_data_size` bytes long.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from monitor.intake.producer_files.payloads import PayloadFault

MARK = b"binary_data_size"
_TYPES = {
    "BOOL": "?", "UINT8": "<u1", "UINT16": "<u2", "UINT32": "<u4", "UINT64": "<u8",
    "INT8": "<i1", "INT16": "<i2", "INT32": "<i4", "INT64": "<i8",
    "FP16": "<f2", "FP32": "<f4", "FP64": "<f8",
}  # fmt: skip


def has_binary(body: bytes) -> bool:
    """Whether a body says that tensors follow its JSON."""
    return body.lstrip()[:1] == b"{" and MARK in body


def decode_binary(body: bytes) -> Mapping[str, Any]:
    """The JSON with the tensors' values as `data`; raises PayloadFault."""
    text = body.decode("latin-1")  # one character a byte, so that the JSON's end is a byte's place
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
        head = json.loads(body[: len(text) - len(text.lstrip()) + end])
    except (ValueError, RecursionError):
        raise PayloadFault("the JSON before the raw tensors can't be read") from None
    raw = body[len(text) - len(text.lstrip()) + end :]
    made = dict(head)
    for key in ("inputs", "outputs"):
        tensors = head.get(key)
        if isinstance(tensors, list):
            made[key], raw = _filled(tensors, raw)
    if raw:
        raise PayloadFault(f"{len(raw)} bytes stand behind the last tensor")
    return made


def _filled(tensors: list[Any], raw: bytes) -> tuple[list[Any], bytes]:
    filled = []
    for tensor in tensors:
        if not isinstance(tensor, Mapping):
            raise PayloadFault("a tensor is a JSON object")
        parameters = tensor.get("parameters")
        size = parameters.get("binary_data_size") if isinstance(parameters, Mapping) else None
        if size is None:
            filled.append(tensor)
            continue
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= len(raw):
            raise PayloadFault("a tensor's binary_data_size is more than there is")
        values = _values(str(tensor.get("datatype")), raw[:size])
        filled.append({**tensor, "data": values})
        raw = raw[size:]
    return filled, raw


def _values(datatype: str, raw: bytes) -> list[Any]:
    if datatype == "BYTES":
        return _texts(raw)
    if datatype == "BF16":  # the upper half of a float32
        if len(raw) % 2:
            raise PayloadFault("a BF16 tensor has an odd number of bytes")
        halves = np.frombuffer(raw, "<u2").astype(np.uint32) << 16
        return [float(each) for each in halves.view(np.float32)]
    form = _TYPES.get(datatype)
    if form is None or len(raw) % np.dtype(form).itemsize:
        raise PayloadFault(f"a tensor of datatype {datatype[:20]!r} does not fit its bytes")
    found: list[Any] = np.frombuffer(raw, form).tolist()
    return found


def _texts(raw: bytes) -> list[str]:
    found, at = [], 0
    while at < len(raw):
        if at + 4 > len(raw):
            raise PayloadFault("a BYTES tensor ends inside a length")
        (size,) = struct.unpack_from("<I", raw, at)
        if at + 4 + size > len(raw):
            raise PayloadFault("a BYTES tensor ends inside a value")
        found.append(raw[at + 4 : at + 4 + size].decode("utf-8", "replace"))
        at += 4 + size
    return found
