"""Days chosen in the viewer's zone: table, chart and counters hold the same requests."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from monitor.profiles.part import Part, PartKind
from monitor.reports.health import rejections
from monitor.reports.model import traffic
from monitor.reports.profile_cover import covering, whole_days
from monitor.reports.time_range import (
    days_of,
    last_days,
    newest_range,
    parse_day,
    window_of_days,
    zone_of,
)
from monitor.store.engine import Role, transaction
from monitor.store.profile_rows import ProfileKey, StoredProfile, write_profiles
from monitor.store.tables import profile, rejection
from monitor.windows import Grain, Window
from tests.seeded_database import SeededDatabase

TOKYO = ZoneInfo("Asia/Tokyo")
# pub-071: a chosen day in Tokyo and four moments around its ends; the inner two are in it.
CHOSEN = date(2024, 3, 9)
MOMENTS = tuple(
    datetime.fromisoformat(text)
    for text in (
        "2024-03-08T14:59:59+00:00",
        "2024-03-08T15:00:00+00:00",
        "2024-03-09T14:59:59+00:00",
        "2024-03-09T15:00:00+00:00",
    )
)


def test_a_day_in_tokyo_is_its_own_24_hours():
    window = window_of_days(CHOSEN, CHOSEN, TOKYO)
    assert window == Window(
        datetime(2024, 3, 8, 15, tzinfo=UTC), datetime(2024, 3, 9, 15, tzinfo=UTC)
    )
    assert [moment in window for moment in MOMENTS] == [False, True, True, False]
    assert days_of(window, TOKYO) == (CHOSEN, CHOSEN)


@pytest.mark.parametrize(("day", "hours"), [(date(2024, 3, 31), 23), (date(2024, 10, 27), 25)])
def test_a_day_on_which_clocks_change_keeps_its_length(day: date, hours: int):
    window = window_of_days(day, day, ZoneInfo("Europe/Berlin"))
    assert window.end - window.start == timedelta(hours=hours)


def test_days_in_the_wrong_order_and_too_many_days():
    assert window_of_days(date(2024, 3, 2), date(2024, 3, 1), UTC_ZONE).start.day == 1
    long = window_of_days(date(1990, 1, 1), date(2024, 3, 1), UTC_ZONE)
    assert long.end - long.start == timedelta(days=731)
    assert long.end == datetime(2024, 3, 2, tzinfo=UTC)


UTC_ZONE = ZoneInfo("UTC")


def test_last_days_ends_with_the_day_that_holds_the_newest_row():
    midnight = datetime(2024, 3, 10, tzinfo=UTC)
    assert last_days(midnight, UTC_ZONE, 2) == Window(midnight - timedelta(days=2), midnight)


@pytest.mark.parametrize("text", [None, "", "2024-3-9", "yesterday", "2024-02-30", "99999-01-01"])
def test_what_is_no_day_is_none(text: str | None):
    assert parse_day(text) is None


@pytest.mark.parametrize("name", [None, "", "Mars/Olympus", "../../etc/passwd", "Europe"])
def test_an_unknown_zone_is_utc(name: str | None):
    assert zone_of(name).key == "UTC"


def test_chart_counter_and_table_agree_for_a_viewer_in_tokyo(own_database: SeededDatabase):
    seeded = own_database.seeded
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        _store(connection, seeded, MOMENTS)
        connection.execute(
            sa.insert(rejection),
            [
                {
                    "project_id": seeded.project_id,
                    "model_id": seeded.stale_model_id,
                    "kind": "requests",
                    "place": 0,
                    "reason": "missing_id",
                    "message": "",
                    "excerpt": "",
                    "received_at": at,
                }
                for at in MOMENTS
            ],
        )
    window = window_of_days(CHOSEN, CHOSEN, TOKYO)
    found = own_database.ask(traffic, seeded.stale_model_id, window, "Asia/Tokyo")
    assert found.requests == 2
    assert int(found.frame["n"].sum()) == 2
    assert found.predictions == 0
    assert own_database.ask(rejections, window, seeded.stale_model_id) == (("missing_id", 2),)
    month = window_of_days(date(2024, 3, 8), date(2024, 3, 12), TOKYO)
    by_day = own_database.ask(traffic, seeded.stale_model_id, month, "Asia/Tokyo").frame
    days = {at.astimezone(TOKYO).date(): n for at, n in zip(by_day["at"], by_day["n"], strict=True)}
    assert days == {date(2024, 3, 8): 1, CHOSEN: 2, date(2024, 3, 10): 1}


def test_days_and_hours_together_cover_a_window_once(own_database: SeededDatabase):
    """Roll-ups inside, hours at the edges: the sum is that of the hours alone."""
    seeded = own_database.seeded
    start = datetime(2024, 5, 1, 5, tzinfo=UTC)
    hours = [start + timedelta(hours=count) for count in range(80)]
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        _store(connection, seeded, hours)
        window = Window(hours[3], hours[60])
        first, last = whole_days(window)
        assert (first.day, last.day) == (2, 3)
        counted = sa.select(sa.func.sum(profile.c.n), sa.func.count()).where(
            profile.c.project_id == seeded.project_id,
            profile.c.model_id == seeded.stale_model_id,
            covering(window),
        )
        total, rows = connection.execute(counted).one()
    assert total == 57
    assert rows == 57 - 24 + 1


def _store(connection, seeded, moments):
    """One request at each moment, as the profile job stores it: its hour and its day."""
    counts: dict[tuple[Grain, datetime], int] = {}
    for at in moments:
        for grain in (Grain.HOUR, Grain.DAY):
            key = (grain, Window.holding(at, grain).start)
            counts[key] = counts.get(key, 0) + 1
    number = seeded.deployment_ids[0]
    write_profiles(
        connection,
        seeded.project_id,
        seeded.stale_model_id,
        [
            StoredProfile(
                ProfileKey(number, "live", 0, 0, PartKind.SERVING, grain, start), 1, n, Part()
            )
            for (grain, start), n in counts.items()
        ],
    )


@pytest.mark.parametrize("name", ["24h", "7d", "30d"])
@pytest.mark.parametrize("hour", [0, 6, 23])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_a_range_covers_its_hours_in_whole_local_days(name: str, hour: int, zone: str):
    """Up to the moment, from a local midnight; never more than one day longer than its name."""
    here = ZoneInfo(zone)
    end = datetime(2024, 7, 10, hour, tzinfo=UTC)
    window = newest_range(end, here, name)
    asked = {"24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}[name]
    assert window.start.astimezone(here).time() == window.end.astimezone(here).time() == time()
    assert window.end - timedelta(days=1) < end <= window.end
    assert window.end - window.start <= asked + timedelta(days=1)
    if name == "24h":
        assert window.start <= end - asked
