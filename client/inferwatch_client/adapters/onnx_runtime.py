"""ONNX Runtime: version tags of a session, and a stand-in for it that logs each run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from inferwatch_client.client import Client
from inferwatch_client.digests import file_digest
from inferwatch_client.inference import STANDARD_TIMES, Inference, TimeColumns

Columns = Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]]
MAX_TAG_LENGTH = 500
_GRAPH, _INITIALIZER, _DATA_TYPE = 7, 5, 2  # field numbers of onnx.proto
_KINDS = {1: "float32", 2: "uint8", 3: "int8", 10: "float16", 11: "float64", 16: "bfloat16",
          17: "float8e4m3fn", 19: "float8e5m2", 21: "uint4", 22: "int4"}  # fmt: skip
"""TensorProto.DataType of weights; int32 and int64 hold shapes and indices, and are left out."""


def session_tags(session: Any, model_path: str | Path | None = None) -> dict[str, str]:
    """runtime, runtime_version, runtime_backend (providers in use, in order), build_options and,
    with the path of the model, model_digest and precision (kinds of its weights).

    Weights kept in a file beside the model are not in the digest: name it with `file_digest`.
    """
    import onnxruntime

    providers = session.get_providers()
    tags = {
        "runtime": "onnxruntime",
        "runtime_version": onnxruntime.__version__,
        "runtime_backend": "+".join(providers),
        "build_options": onnxruntime.get_build_info()[:MAX_TAG_LENGTH].strip(),
    }
    if providers == ["CPUExecutionProvider"]:
        tags["accelerator"] = "none"
    options = session.get_session_options()
    if options.intra_op_num_threads > 0:  # 0: as many as onnxruntime thinks right
        tags["threads"] = str(options.intra_op_num_threads)
    version = session.get_modelmeta().version
    if 0 < version < 1 << 62:  # 0 and the largest number stand for none
        tags["model_version"] = str(version)
    if model_path is not None:
        tags["model_digest"] = file_digest(model_path)
        kinds = weight_kinds(Path(model_path).read_bytes())
        if kinds:
            tags["precision"] = "+".join(kinds)
    return tags


class WatchedSession:
    """Stands in for an InferenceSession: everything is passed on, and each run is logged.

    A run is one request. `columns(inputs, outputs)` gives what to log, from arrays by their names.
    """

    def __init__(
        self,
        client: Client,
        session: Any,
        columns: Columns,
        *,
        model_path: str | Path | None = None,
        times: TimeColumns = STANDARD_TIMES,
        tags: Mapping[str, str] | None = None,
        model: str | None = None,
        leg: str | None = None,
    ) -> None:
        """`tags` are added to those of `session_tags`, and win."""
        self._client = client
        self._session = session
        self._columns = columns
        self._times = times
        self._output_names = [output.name for output in session.get_outputs()]
        known = session_tags(session, model_path)
        self._place: dict[str, Any] = {
            "tags": {**known, **(tags or {})},
            "model": model,
            "leg": leg,
        }

    def __getattr__(self, name: str) -> Any:
        if name == "_session":  # a copy that is being made has none yet
            raise AttributeError(name)
        return getattr(self._session, name)

    def run(self, output_names: Any, input_feed: Mapping[str, Any], run_options: Any = None) -> Any:
        """As the session's."""
        with Inference(self._client, times=self._times, **self._place) as inference:
            answers = self._session.run(output_names, input_feed, run_options)
            ended = dict(zip(output_names or self._output_names, answers, strict=False))
            try:
                inference.add(self._columns(input_feed, ended))
            except Exception as error:  # noqa: BLE001 - a mistake in `columns` is not the model's
                inference.drop("columns_failed", type(error).__name__)
        return answers


def weight_kinds(model: bytes) -> list[str]:
    """Kinds of numbers in the weights of an ONNX file, such as float32 or int8; empty if none.

    Reads the few fields it needs of the protobuf message. A file that is none gives what was found
    before it broke off.
    """
    found: set[str] = set()
    content = memoryview(model)
    for graph in _fields(content, _GRAPH):
        for tensor in _fields(graph, _INITIALIZER):
            kind = next(_numbers(tensor, _DATA_TYPE), 0)
            if kind in _KINDS:
                found.add(_KINDS[kind])
    return sorted(found)


def _fields(message: memoryview, wanted: int) -> Iterator[memoryview]:
    for number, value in _parts(message):
        if number == wanted and isinstance(value, memoryview):
            yield value


def _numbers(message: memoryview, wanted: int) -> Iterator[int]:
    for number, value in _parts(message):
        if number == wanted and isinstance(value, int):
            yield value


def _parts(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        wire = key & 7
        if wire == 0:
            value, place = _varint(message, place)
            yield key >> 3, value
            continue
        if wire == 2:
            size, place = _varint(message, place)
        else:
            size = {1: 8, 5: 4}.get(wire, len(message))
        if place + size > len(message):
            return
        yield key >> 3, message[place : place + size]
        place += size


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(message) and shift < 64:
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return value, place
