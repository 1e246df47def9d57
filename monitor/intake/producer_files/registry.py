"""All formats of producers' files. A new format is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from monitor.intake.producer_files.azure import AZURE
from monitor.intake.producer_files.base import FileFormat
from monitor.intake.producer_files.bentoml import BENTOML
from monitor.intake.producer_files.databricks import DATABRICKS
from monitor.intake.producer_files.feast import FEAST
from monitor.intake.producer_files.kserve import KSERVE_FILES
from monitor.intake.producer_files.mlflow import MLFLOW_TRACE
from monitor.intake.producer_files.onnxruntime import ONNX_RUNTIME
from monitor.intake.producer_files.sagemaker import SAGEMAKER_CAPTURE, SAGEMAKER_GROUND_TRUTH
from monitor.intake.producer_files.sources import Head
from monitor.intake.producer_files.tensorflow_serving import TENSORFLOW_SERVING
from monitor.intake.producer_files.torchserve import TORCHSERVE
from monitor.intake.producer_files.triton import TRITON_TRACE
from monitor.intake.producer_files.vertex import VERTEX

FILE_FORMATS: Mapping[str, FileFormat] = {
    each.name: each
    for each in (
        SAGEMAKER_CAPTURE,
        SAGEMAKER_GROUND_TRUTH,
        AZURE,
        DATABRICKS,
        VERTEX,
        KSERVE_FILES,
        MLFLOW_TRACE,
        TRITON_TRACE,
        ONNX_RUNTIME,
        BENTOML,
        TORCHSERVE,
        TENSORFLOW_SERVING,
        FEAST,
    )
}


def recognised(head: Head) -> FileFormat | None:
    """The format of a file by its content; None for one that no producer here writes."""
    return next((each for each in FILE_FORMATS.values() if each.recognises(head)), None)
