"""All kinds of requests that come in pieces. A new kind is one file and one line here."""

from __future__ import annotations

from monitor.intake.events.exchange import EXCHANGES
from monitor.intake.otlp.traces import TRACES
from monitor.intake.parts import Assembling

ASSEMBLING: tuple[Assembling, ...] = (EXCHANGES, TRACES)
