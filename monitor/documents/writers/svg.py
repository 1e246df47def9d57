"""A chart as SVG: lines over the period with their intervals. Text is escaped."""

from __future__ import annotations

from datetime import timedelta
from xml.sax.saxutils import escape

from monitor.documents.parts import Chart, Line, Point
from monitor.documents.writers.written import moment, plain

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, KEY = 720, 240, 56, 10, 28, 18
# Okabe and Ito's colours, which people with any colour vision tell apart; dashes tell them too.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9")
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4")
GAP = timedelta(days=2)


def svg_of(chart: Chart) -> str:
    """The picture, with its words as title and description."""
    frame = _Frame(chart)
    height = HEIGHT + KEY * len(chart.lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{_text(chart.title)}</title><desc>{_text(chart.says)}</desc>",
        *frame.axes(),
    ]
    for number, line in enumerate(chart.lines):
        parts += frame.line(line, COLOURS[number % 5], DASHES[number % 5])
        parts += _key(line, number)
    return "".join([*parts, "</svg>"])


class _Frame:
    """Places moments and values."""

    def __init__(self, chart: Chart) -> None:
        points = [point for line in chart.lines for point in line.points]
        values = [value for p in points for value in (p.value, p.low, p.high) if value is not None]
        self.unit = chart.unit
        self.first = min(point.start for point in points)
        self.last = max(point.start for point in points)
        self.bottom, self.top = min(values), max(values)
        if self.bottom == self.top:
            self.bottom, self.top = self.bottom - 0.5, self.top + 0.5

    def x(self, point: Point) -> float:
        """Pixels from the left."""
        whole = (self.last - self.first) / timedelta(seconds=1) or 1.0
        part = (point.start - self.first) / timedelta(seconds=1)
        return LEFT + (WIDTH - LEFT - 10) * part / whole

    def y(self, value: float) -> float:
        """Pixels from the top."""
        share = (value - self.bottom) / (self.top - self.bottom)
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share

    def axes(self) -> list[str]:
        """Three lines with their values, and the first and last moment."""
        parts = []
        for value in (self.bottom, (self.bottom + self.top) / 2, self.top):
            at = self.y(value)
            parts.append(
                f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ccc"/>'
                f'<text x="{LEFT - 6}" y="{at + 4:.1f}" font-size="11" text-anchor="end"'
                f' font-family="sans-serif" fill="#333">{value:.3g}</text>'
            )
        for text, x, anchor in (
            (moment(self.first)[:10], LEFT, "start"), (_text(self.unit), WIDTH / 2, "middle"),
            (moment(self.last)[:10], WIDTH - 10, "end"),
        ):  # fmt: skip
            parts.append(
                f'<text x="{x}" y="{HEIGHT - 8}" font-size="11" text-anchor="{anchor}"'
                f' font-family="sans-serif" fill="#333">{text}</text>'
            )
        return parts

    def line(self, line: Line, colour: str, dash: str) -> list[str]:
        """Intervals as bars, values joined where they follow each other."""
        parts = []
        for point in line.points:
            if point.low is not None and point.high is not None:
                parts.append(
                    f'<line x1="{self.x(point):.1f}" x2="{self.x(point):.1f}"'
                    f' y1="{self.y(point.low):.1f}" y2="{self.y(point.high):.1f}"'
                    f' stroke="{colour}" stroke-opacity="0.3" stroke-width="2"/>'
                )
        for run in _runs(line.points):
            spots = " ".join(f"{self.x(p):.1f},{self.y(p.value or 0):.1f}" for p in run)
            parts.append(
                f'<polyline points="{spots}" fill="none" stroke="{colour}" stroke-width="1.6"'
                f' stroke-dasharray="{dash}"/>'
                if len(run) > 1
                else f'<circle cx="{spots.partition(",")[0]}" cy="{spots.partition(",")[2]}" r="2"'
                f' fill="{colour}"/>'
            )
        return parts


def _runs(points: tuple[Point, ...]) -> list[list[Point]]:
    runs: list[list[Point]] = []
    for point in points:
        if point.value is None:
            runs.append([])
            continue
        if not runs or not runs[-1] or point.start - runs[-1][-1].start > GAP:
            runs.append([])
        runs[-1].append(point)
    return [run for run in runs if run]


def _key(line: Line, number: int) -> list[str]:
    at = HEIGHT + KEY * number + 4
    colour, dash = COLOURS[number % 5], DASHES[number % 5]
    return [
        f'<line x1="{LEFT}" x2="{LEFT + 30}" y1="{at}" y2="{at}" stroke="{colour}"'
        f' stroke-width="2" stroke-dasharray="{dash}"/>'
        f'<text x="{LEFT + 38}" y="{at + 4}" font-size="11" font-family="sans-serif" fill="#333">'
        f"{_text(line.name or 'all')}</text>"
    ]


def _text(text: str) -> str:
    return escape(plain(text)[:120])
