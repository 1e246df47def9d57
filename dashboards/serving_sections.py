"""Sections of the serving page after operation; a new one is a function in a file and a line here.

Each reads a report of its own and draws nothing where the model has nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Callable

from dashboards.frame import Frame
from dashboards.latency_view import draw_over_time
from dashboards.serving_costs import draw_cascade, draw_costs
from dashboards.serving_language import draw_language
from dashboards.serving_server import draw_server
from monitor.reports.models import ModelFacts
from monitor.windows import Window

Section = Callable[[Frame, ModelFacts, Window], None]

SECTIONS: tuple[Section, ...] = (
    draw_over_time,
    draw_language,
    draw_costs,
    draw_cascade,
    draw_server,
)
