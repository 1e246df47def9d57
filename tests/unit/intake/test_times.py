from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.intake.times import FEW, TimeFault, micros_of, parse_times, read_moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2013-09-01T13:00:00Z", datetime(2013, 9, 1, 13, tzinfo=UTC)),
        ("2013-09-01t13:00:00z", datetime(2013, 9, 1, 13, tzinfo=UTC)),
        ("2013-09-01 13:00:00+00:00", datetime(2013, 9, 1, 13, tzinfo=UTC)),
        # The instants of a published case of mixed zones: 13:15 at +05:30 is 07:45Z.
        ("2024-03-07T13:15:00+05:30", datetime(2024, 3, 7, 7, 45, tzinfo=UTC)),
        ("2024-03-07T13:15:00-0530", datetime(2024, 3, 7, 18, 45, tzinfo=UTC)),
        # .NET writes 7 digits, Go and Java 9: cut, never rounded up into the next second.
        ("2026-09-01T00:00:00.9999999Z", datetime(2026, 9, 1, 0, 0, 0, 999_999, UTC)),
        ("2026-09-01T00:00:00.123456789Z", datetime(2026, 9, 1, 0, 0, 0, 123_456, UTC)),
        ("2026-09-01T00:00:00.5Z", datetime(2026, 9, 1, 0, 0, 0, 500_000, UTC)),
        ("1969-12-31T23:59:59.25Z", datetime(1969, 12, 31, 23, 59, 59, 250_000, UTC)),
    ],
)
def test_moments(text: str, moment: datetime) -> None:
    assert read_moment(text) == micros_of(moment)
    for repeat in (1, FEW):  # a few texts are read one by one, many all at once
        read = parse_times(pa.array([text, None, text] * repeat))
        assert read.micros.tolist() == [micros_of(moment), 0, micros_of(moment)] * repeat
        assert not read.faults.any()


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30T00:00:00Z",
        "2026-09-01T24:00:00Z",
        "2026-09-01T23:59:60Z",
        "2026-09-01",
        "2026-09-01T00:00Z",
        "2026-09-01T00:00:00.Z",
        "2026-09-01T00:00:00,5Z",
        "2026-09-01T00:00:00+25:00",
        "2026-09-01T00:00:00+02:75",
        "2026-09-01T00:00:00.1234567890Z",
        "0000-01-01T00:00:00Z",
        "0000-12-31T23:30:00-01:00",
        "0001-01-01T00:00:00+05:00",
        "9999-12-31T23:59:59-05:00",
        "1700000000",
        "٢٠٢٦-09-01T00:00:00Z",
        "2026-09-01T00:00:00Z\n",
        "",
        "yesterday",
    ],
)
def test_no_moment(text: str) -> None:
    assert read_moment(text) is TimeFault.BAD
    for repeat in (1, FEW):
        mixed = parse_times(pa.array(["2026-09-01T00:00:00Z", text] * repeat))
        assert mixed.faults.tolist() == [0, TimeFault.BAD] * repeat


@pytest.mark.parametrize("text", ["2024-03-07T08:00:00", "2024-03-07 08:00:00.123"])
def test_a_time_without_a_zone_is_never_guessed(text: str) -> None:
    assert read_moment(text) is TimeFault.WITHOUT_ZONE
    assert parse_times(pa.array([text])).faults.tolist() == [TimeFault.WITHOUT_ZONE]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.datetimes(datetime(1000, 1, 2), datetime(9999, 12, 30)),  # noqa: DTZ001
            st.integers(-23 * 60, 23 * 60),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_all_at_once_is_one_by_one_is_the_standard_library(
    pairs: list[tuple[datetime, int]],
) -> None:
    moments = [m.replace(tzinfo=timezone(timedelta(minutes=shift))) for m, shift in pairs]
    texts = [moment.isoformat() for moment in moments]
    wanted = [micros_of(moment) for moment in moments]
    assert [read_moment(text) for text in texts] == wanted
    assert parse_times(pa.array(texts)).micros.tolist() == wanted
    assert parse_times(pa.array(texts * FEW)).micros.tolist() == wanted * FEW
    assert parse_times(pa.array([*texts, "no time"])).micros.tolist() == [*wanted, 0]
