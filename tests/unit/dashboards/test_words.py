"""Numbers, times and untrusted text in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards import words
from dashboards.server import INLINE_SCRIPT, content_security_policy, security_headers

UTC_ZONE, TOKYO = ZoneInfo("UTC"), ZoneInfo("Asia/Tokyo")
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
BIG_IDS = (9007199254740993, 9007199254740992, 4611686018427387905)


@pytest.mark.parametrize("number", BIG_IDS)
def test_whole_numbers_keep_every_digit(number: int):
    assert words.whole(number).replace(",", "") == str(number)


@pytest.mark.parametrize(
    ("value", "unit", "told"),
    [
        (0.25, "psi", "0.25 PSI units"),
        (0.731234, "share", "73.1 %"),
        (0.99987, "share", "99.99 %"),
        (0.0, "share", "0 %"),
        (123456.7, "ms", "123,457 ms"),
        (0.1, "baseline_sd", "0.1 baseline standard deviations"),
        (1, "columns", "1 column"),
        (1.5, "columns", "1.5 columns"),
        (None, "psi", "–"),
        (float("nan"), "psi", "–"),
    ],
)
def test_numbers_with_their_unit(value: float | None, unit: str, told: str):
    assert words.number(value, unit) == told


def test_a_number_is_told_with_interval_and_n():
    told = words.measured(0.731, 0.72, 0.74, 0.95, 12345, "share")
    assert told == "73.1 %, 95 % interval 72 % to 74 %, n 12,345"
    assert words.measured(0.3, None, None, None, 5, "psi") == "0.3 PSI units, n 5"


def test_moments_name_their_zone():
    assert words.moment(NOON, UTC_ZONE) == "2026-11-29 12:00 UTC"
    assert words.moment(NOON, TOKYO) == "2026-11-29 21:00 Asia/Tokyo"
    assert words.moment(None, UTC_ZONE) == "never"


def test_whole_days_are_told_as_days_of_the_zone():
    start = datetime(2024, 3, 8, 15, tzinfo=UTC)
    assert words.span(start, start + timedelta(days=1), TOKYO) == "2024-03-09"
    assert words.span(start, start + timedelta(days=2), TOKYO) == "2024-03-09 to 2024-03-10"
    assert words.span(start, start + timedelta(days=1), UTC_ZONE) == (
        "2024-03-08 15:00 to 2024-03-09 15:00 UTC"
    )


@pytest.mark.parametrize(
    ("back", "told"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=30), "1 day ago"),
        (timedelta(days=4718), "12 years ago"),
        (timedelta(minutes=-9), "9 minutes ahead of this clock"),
    ],
)
def test_how_long_ago(back: timedelta, told: str):
    assert words.ago(NOON - back, NOON) == told


PUNCTUATION = "\\`*_{}[]()#+-.!<>|~$:&^=@/\"'"


@given(st.text(alphabet=PUNCTUATION + "ab 温"))
def test_escaped_text_has_no_bare_markup_and_loses_nothing(text: str):
    escaped = words.escape(text)
    bare, place = "", 0
    while place < len(escaped):
        if escaped[place] == "\\":
            bare += escaped[place + 1]
            place += 2
            continue
        assert escaped[place] not in PUNCTUATION
        bare += escaped[place]
        place += 1
    assert bare.replace("\u2060", "") == words.clean(text)


@given(st.text())
def test_a_code_span_is_closed_by_nothing_inside_it(text: str):
    span = words.code(text)
    fence = len(span) - len(span.lstrip("`"))
    inner = span[fence:-fence]
    runs = {len(run) for run in inner.replace(" ", "x").split("x") if set(run) == {"`"}}
    assert fence not in runs
    assert "\n" not in span


@pytest.mark.parametrize("text", ["a\nb", "a\u202eb", "a\x00b", "a\u2028b", "a\tb"])
def test_control_characters_and_turned_writing_become_a_space(text: str):
    assert words.clean(text) == "a b"


def test_the_policy_allows_the_inline_script_by_hash_and_nothing_from_outside():
    policy = content_security_policy("<script>let a = 1</script><script src='x.js'></script>")
    assert INLINE_SCRIPT.findall("<script>let a = 1</script>") == ["let a = 1"]
    # printf 'let a = 1' | openssl dgst -sha256 -binary | base64
    assert "'sha256-LAfYd7pbFUgwfQu8b4q135PeTG2z+/coPEUYCd74eCQ='" in policy
    assert "http" not in policy
    assert "unsafe-eval" not in policy
    assert "script-src 'self' 'sha256-" in security_headers()["content-security-policy"]


def test_a_time_is_told_in_utc_only_where_it_is_not_already():
    later = NOON + timedelta(hours=3)
    assert words.in_utc(NOON, UTC_ZONE) is None
    assert words.in_utc(None, TOKYO) is None
    assert words.in_utc(NOON, TOKYO) == "In UTC: 2026-11-29 12:00 UTC"
    assert (
        words.in_utc(NOON, TOKYO, later) == "In UTC: 2026-11-29 12:00 UTC to 2026-11-29 15:00 UTC"
    )


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-2*3", "@SUM(1)", " =1", "|x", "-cmd|' /C calc'!A0", "＝1"]
)
def test_a_cell_is_no_formula(text: str):
    assert words.cell(text) == "\u2060" + text


@pytest.mark.parametrize(
    "text", ["", "a=b", "-0.664 %", "+10.0 points", "-7e-06 ms", "-1,234", "–"]
)
def test_numbers_and_words_stay_as_they_are(text: str):
    assert words.cell(text) == text
