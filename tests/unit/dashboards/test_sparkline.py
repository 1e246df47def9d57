"""Small charts: what is in the picture, read back from it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from dashboards.sparkline import BARS_HEIGHT, bars_picture, line_picture

SVG = "{http://www.w3.org/2000/svg}"


def test_no_line_is_drawn_over_what_was_not_measured():
    picture = ElementTree.fromstring(line_picture((1.0, 2.0, None, 4.0, 3.0), (None, None)))
    pieces = [line.attrib["points"].split() for line in picture.iter(f"{SVG}polyline")]
    assert [len(piece) for piece in pieces] == [2, 2]
    assert list(picture.iter(f"{SVG}line")) == []


def test_higher_values_stand_higher_and_the_threshold_between_them():
    picture = ElementTree.fromstring(line_picture((0.0, 10.0), (None, 5.0)))
    (line,) = picture.iter(f"{SVG}polyline")
    low, high = (float(point.split(",")[1]) for point in line.attrib["points"].split())
    (threshold,) = picture.iter(f"{SVG}line")
    at = float(threshold.attrib["y1"])
    assert high < at < low  # the y axis of a picture points down
    assert at == pytest.approx((low + high) / 2)


@pytest.mark.parametrize("values", [(7.0,), (7.0, 7.0, 7.0), (None, 7.0, None)])
def test_one_value_or_the_same_again_is_still_a_picture(values: tuple[float | None, ...]):
    picture = ElementTree.fromstring(line_picture(values, (None, None)))
    assert picture.findall(f"{SVG}circle")


def test_bars_are_as_tall_as_their_counts():
    picture = ElementTree.fromstring(bars_picture((0, 5, 10)))
    tall = [float(bar.attrib["height"]) for bar in picture.iter(f"{SVG}rect")]
    assert tall[0] == 0
    assert tall[2] == 2 * tall[1]
    assert 0 < tall[2] <= BARS_HEIGHT


def test_days_without_any_request_break_nothing():
    picture = ElementTree.fromstring(bars_picture((0, 0)))
    assert [bar.attrib["height"] for bar in picture.iter(f"{SVG}rect")] == ["0.0", "0.0"]
