"""Small charts of a line or of bars as pictures: one cheap element each, told in words.

Only numbers go into them, never text from outside. The colours are readable on light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

LINE, THRESHOLD, BARS = "#3b82c4", "#d64545", "#6b8fb3"
EDGE = 3
WIDTH, HEIGHT = 150, 36
BARS_WIDTH, BARS_HEIGHT = 280, 48


def draw_line(values: Sequence[float | None], bounds: Sequence[float | None], alt: str) -> None:
    """A line with its thresholds; `alt` tells it in words."""
    st.image(line_picture(values, bounds), alt=alt, width=WIDTH)


def draw_bars(values: Sequence[int], alt: str) -> None:
    """One bar a value; `alt` tells them in words."""
    st.image(bars_picture(values), alt=alt, width=BARS_WIDTH)


def line_picture(values: Sequence[float | None], bounds: Sequence[float | None]) -> str:
    """SVG of a line with breaks where there is no number, thresholds dashed, the newest point
    filled. At least one value is a number."""
    width, height = WIDTH, HEIGHT
    known = [each for each in (*values, *bounds) if each is not None]
    low, high = min(known), max(known)
    spread = (high - low) or 1.0

    def y(value: float) -> float:
        return round(height - EDGE - (value - low) / spread * (height - 2 * EDGE), 1)

    step = (width - 2 * EDGE) / max(len(values) - 1, 1)
    at = [(round(EDGE + place * step, 1), each) for place, each in enumerate(values)]
    parts = [
        f'<line x1="0" x2="{width}" y1="{y(bound)}" y2="{y(bound)}" stroke="{THRESHOLD}"'
        ' stroke-width="1.2" stroke-dasharray="4 3"/>'
        for bound in bounds
        if bound is not None
    ]
    for piece in _pieces(at):
        points = " ".join(f"{x},{y(value)}" for x, value in piece)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{LINE}" stroke-width="1.6"/>'
        )
        if len(piece) == 1:
            parts.append(_dot(piece[0][0], y(piece[0][1]), 1.6))
    newest = [(x, value) for x, value in at if value is not None][-1]
    parts.append(_dot(newest[0], y(newest[1]), 2.6))
    return _picture(parts, width, height)


def bars_picture(values: Sequence[int]) -> str:
    """SVG of one bar a value, from zero."""
    width, height = BARS_WIDTH, BARS_HEIGHT
    top = max(values) or 1
    step = width / len(values)
    parts = []
    for place, each in enumerate(values):
        tall = round((height - 2) * each / top, 1)
        parts.append(
            f'<rect x="{place * step + step * 0.15:.1f}" y="{height - tall:.1f}"'
            f' width="{step * 0.7:.1f}" height="{tall}" fill="{BARS}"/>'
        )
    return _picture(parts, width, height)


def _pieces(at: Sequence[tuple[float, float | None]]) -> list[list[tuple[float, float]]]:
    """Runs of points that all have a number."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for x, value in at:
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append((x, value))
    return [piece for piece in pieces if piece]


def _dot(x: float, y: float, radius: float) -> str:
    return f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{LINE}"/>'


def _picture(parts: Sequence[str], width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'
    )
