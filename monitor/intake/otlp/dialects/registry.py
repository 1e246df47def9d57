"""All dialects, the most particular first: the first that takes a span reads it."""

from __future__ import annotations

from monitor.intake.otlp.dialects.engines import ENGINES
from monitor.intake.otlp.dialects.genai import GENAI
from monitor.intake.otlp.dialects.mlflow import MLFLOW
from monitor.intake.otlp.dialects.plain import PLAIN
from monitor.intake.otlp.dialects.triton import TRITON
from monitor.intake.otlp.trace import Dialect
from monitor.intake.otlp.wire import Span

DIALECTS: tuple[Dialect, ...] = (TRITON, ENGINES, MLFLOW, GENAI, PLAIN)


def dialect_of(span: Span) -> Dialect | None:
    """The dialect in which a span is a request; None for every other span."""
    return next((each for each in DIALECTS if each.is_request(span)), None)


def says_something(span: Span) -> bool:
    """Whether a span is a request or a part of one; all others are ignored."""
    return dialect_of(span) is not None or any(each.is_part(span) for each in DIALECTS)
