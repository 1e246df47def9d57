"""Two traces of a function with a step, one failed, by OTLP; where to stands in OTEL_ variables."""

import contextlib
import time

import mlflow


@mlflow.trace(span_type="RETRIEVER")
def retrieval(text):
    time.sleep(0.02)
    return [text]


@mlflow.trace(span_type="CHAIN", attributes={"model_version": "3"})
def served(age):
    retrieval("q")
    used = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    mlflow.get_current_active_span().set_attribute("mlflow.chat.tokenUsage", used)
    if age < 0:
        raise ValueError("secret 4711")
    return {"score": age / 100}


served(41)
with contextlib.suppress(ValueError):
    served(-1)
mlflow.flush_trace_async_logging()
