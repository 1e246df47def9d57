"""Two traces of a function with a step, one of them failed, as JSON lines in the file named."""

import contextlib
import sys
import time
import warnings
from pathlib import Path

import mlflow

warnings.filterwarnings("ignore")
folder, written = sys.argv[1:3]
mlflow.set_tracking_uri(f"file://{folder}/mlruns")
mlflow.set_experiment("traces")


@mlflow.trace(span_type="RETRIEVER")
def search(text):
    time.sleep(0.02)
    return [text]


@mlflow.trace(span_type="CHAT_MODEL", attributes={"model_version": "3"})
def answer(x):
    search("q")
    if x < 0:
        raise ValueError("secret 4711")
    mlflow.update_current_trace(tags={"model": "credit"})
    return x + 1


answer(1)
with contextlib.suppress(ValueError):
    answer(-1)
if hasattr(mlflow, "flush_trace_async_logging"):
    mlflow.flush_trace_async_logging()
client = mlflow.MlflowClient()
number = client.get_experiment_by_name("traces").experiment_id
places = {"locations": [number]} if mlflow.__version__.startswith("3") else {
    "experiment_ids": [number]}  # fmt: skip
with Path(written).open("w") as file:
    for trace in client.search_traces(**places):
        file.write(trace.to_json() + "\n")
