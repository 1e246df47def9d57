"""PredictionLogs of three kinds, framed as TensorFlow frames them, in the file named."""

import struct
import sys
from pathlib import Path

import google_crc32c
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import prediction_log_pb2


def framed(data):
    def masked(part):
        crc = google_crc32c.value(part)
        return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF

    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))


def started(kind):
    log = prediction_log_pb2.PredictionLog()
    about = log.log_metadata
    about.model_spec.name = "credit"
    about.model_spec.version.value = 7
    about.sampling_config.sampling_rate = 0.1
    about.timestamp_secs = 1_714_557_600
    inner = getattr(log, kind)
    inner.request.model_spec.CopyFrom(about.model_spec)
    return log, inner


predict, inner = started("predict_log")
age = inner.request.inputs["age"]
age.dtype = types_pb2.DT_INT64
age.tensor_shape.dim.add().size = 2
age.int64_val.extend([41, -1])
city = inner.request.inputs["city"]
city.dtype = types_pb2.DT_STRING
city.tensor_shape.dim.add().size = 2
city.string_val.extend([b"Bonn", b"Ulm"])
score = inner.response.outputs["score"]
score.dtype = types_pb2.DT_DOUBLE
score.tensor_shape.dim.add().size = 2
score.tensor_content = struct.pack("<2d", 0.25, 0.75)

classify, inner = started("classify_log")
example = inner.request.input.example_list.examples.add()
example.features.feature["age"].float_list.value.append(41)
for label, value in (("no", 0.25), ("yes", 0.75)):
    found = inner.response.result.classifications
    one = (found[0] if found else found.add()).classes.add()
    one.label, one.score = label, value

regress, inner = started("regress_log")
example = inner.request.input.example_list.examples.add()
example.features.feature["age"].int64_list.value.append(41)
inner.response.result.regressions.add().value = 0.5

with Path(sys.argv[1]).open("wb") as file:
    for log in (predict, classify, regress):
        file.write(framed(log.SerializeToString()))
