"""AlarmBench: its figures, its rules for contestants, and world files. Needs no peer."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.alarms.contest import Contest, Entry, delay_of, owed_delay_of
from benchmarks.alarms.file_months import run_file_month
from benchmarks.alarms.metrics import (
    Delays,
    Rate,
    binomial_limit,
    first_delay,
    merged,
    open_hours,
    paired_difference,
    poisson_upper,
    tuned_threshold,
    worse_classes,
)
from benchmarks.alarms.months import run_month
from benchmarks.alarms.options import parse
from benchmarks.alarms.peers.registry import PEER_CONTESTANTS
from benchmarks.alarms.peers.verdicts import Verdicts, tune
from benchmarks.alarms.report import contest_json
from benchmarks.alarms.shifts import SHIFTS
from benchmarks.alarms.streams import Planted
from benchmarks.alarms.worlds.from_file import WorldRefused, load_world
from benchmarks.alarms.worlds.registry import WORLDS


@pytest.mark.parametrize(("count", "upper"), [(40, 0.868), (55, 1.148), (70, 1.423)])
def test_upper_limits_of_sixty_months(count: int, upper: float) -> None:
    rate = Rate(count, 60)
    assert rate.upper95 == pytest.approx(upper, abs=5e-4)
    assert rate.promise_ratio == rate.upper95
    assert Rate(count, 60, promise=2).promise_ratio == pytest.approx(upper / 2, abs=5e-4)


@pytest.mark.parametrize(("days", "upper"), [(30, 3.0), (60, 1.5), (90, 1.0), (180, 0.5)])
def test_upper_limits_of_quiet_days(days: int, upper: float) -> None:
    assert poisson_upper(0, days / 30) == pytest.approx(upper, abs=5e-3)


def test_the_poisson_limit_is_where_so_few_become_unlikely() -> None:
    """P(at most k | limit) = 5 %, summed by hand."""
    limit = poisson_upper(3, 1.0)
    chance = sum(math.exp(-limit) * limit**k / math.factorial(k) for k in range(4))
    assert chance == pytest.approx(0.05)


def test_alarms_within_24_hours_are_one_incident() -> None:
    assert merged([5, 1, 29, 53]) == [(1, 53)]
    assert merged([1, 26]) == [(1, 1), (26, 26)]
    assert merged([1, 25, 25, 49.5]) == [(1, 25), (49.5, 49.5)]
    assert merged([]) == []


def test_open_hours_end_with_the_month() -> None:
    assert open_hours([(10, 12), (100, 100)], until=110) == 26 + 10


def test_delays_are_restricted_to_a_week() -> None:
    delays = Delays(np.array([2.0, 30.0, math.nan, 400.0]))
    assert delays.mean == pytest.approx((2 + 30 + 168 + 168) / 4)
    assert [delays.within(hours) for hours in (6, 24, 168)] == [0.25, 0.25, 0.5]
    assert delays.median == pytest.approx(215)
    assert Delays(np.array([1.0, math.nan, math.nan])).median == math.inf


def test_the_first_alarm_after_the_onset_counts() -> None:
    assert first_delay([90, 100, 130, 120], 100.5) == 19.5
    assert math.isnan(first_delay([90, 100], 100))
    planted = Planted(SHIFTS["mean_10"], "n01", 1400.0)
    alarms = [("mean_25.n01", 1402), ("mean_10.n01", 1410), ("mean_10.n01", 1434)]
    assert delay_of(planted, alarms) == 10
    assert owed_delay_of(planted, alarms, [("n02", 1434), ("n01", 1410)]) == 34
    assert owed_delay_of(planted, alarms, [("*", 1410)]) == 34


def test_a_paired_difference_covers_what_it_should() -> None:
    ours = np.array([10.0, 20.0, 30.0, 40.0] * 25)
    found = paired_difference(ours + 5, ours, seed=1)
    assert (found.mean, found.low, found.high) == (5, 5, 5)
    noisy = np.random.default_rng(1).normal(0, 10, 100)
    found = paired_difference(ours + 5 + noisy, ours, seed=1)
    half = 1.96 * noisy.std() / 10
    assert found.high - found.low == pytest.approx(2 * half, rel=0.1)


def test_classes_far_behind_are_listed() -> None:
    ours = {"a": np.array([50.0, 60.0]), "b": np.array([10.0, 10.0])}
    other = {"a": np.array([20.0, 30.0]), "b": np.array([1.0, 1.0])}
    assert worse_classes(other, ours) == ["a"]


def test_binomial_limits() -> None:
    assert binomial_limit(1_000, 0.01) == pytest.approx(0.021)
    assert math.isnan(binomial_limit(0, 0.01))


def test_tuning_stops_at_the_first_loose_threshold() -> None:
    """At 1 everything is one endless incident: few, and no reason to go so far down."""
    rates = {5.0: 0.0, 4.0: 0.5, 3.0: 1.0, 2.0: 2.0, 1.0: 0.1}
    assert tuned_threshold(rates, rates.__getitem__) == 3.0
    assert tuned_threshold([1.0], lambda _: 9.0) == math.inf


def _verdicts(rows: list[tuple[str, float, float, bool]], exact: bool = False) -> Verdicts:
    columns, ends, scores, shipped = (np.array(part) for part in zip(*rows, strict=True))
    return Verdicts(columns, ends, scores, shipped, exact)


def test_verdicts_alarm_as_shipped_or_at_a_threshold() -> None:
    verdicts = _verdicts([("a", 24, 1.0, False), ("a", 48, 2.0, True), ("b", 48, 3.0, True)])
    assert verdicts.alarms(None) == {("a", 48), ("b", 48)}
    assert verdicts.alarms(3.0) == {("b", 48)}
    assert _verdicts([("a", 1, 1.0, True), ("a", 2, 2.0, False)], exact=True).alarms(1.0) == {
        ("a", 1)
    }


def test_a_peer_is_tuned_to_one_incident_a_month() -> None:
    """Alarms two days apart are incidents; an infinite score alarms at any threshold."""
    loud = _verdicts([("a", 24, 5.0, True), ("a", 72, 4.0, True), ("a", 144, 3.0, True)])
    quiet = _verdicts([("a", 24, 0.0, False), ("a", 72, 1.0, False), ("b", 480, math.inf, True)])
    assert 4.0 < tune([loud, loud]) <= 5.0
    assert 3.0 < tune([loud, _verdicts([("a", 24, -1.0, False)])]) <= 4.0
    assert tune([loud, loud, loud, _verdicts([("a", 24, -1.0, False)])]) < 4.5
    assert 1.0 < tune([quiet]) < 1.1


def test_settings_run_one_by_one_are_chosen_among() -> None:
    rows = [
        ("a", 24, 1.0, True),
        ("a", 72, 1.0, True),
        ("a", 24, 2.0, False),
        ("a", 72, 2.0, False),
    ]
    assert tune([_verdicts([*rows, ("", 0, 3.0, False)], exact=True)]) == 3.0
    assert tune([_verdicts(rows, exact=True)]) == math.inf


def test_a_peer_keeps_only_its_own_statistic() -> None:
    table = pa.table(
        {
            "column": ["a", "a"],
            "end": [1, 2],
            "statistic": ["ADWIN", "PageHinkley"],
            "score": [2.7, 50.0],
            "alarm": [True, True],
        }
    )
    adwin = next(one for one in PEER_CONTESTANTS if one.statistic == "ADWIN")
    assert Verdicts.of([table], adwin).alarms(None) == {("a", 1.0)}


def _entry(name: str, tuned: bool, delays: list[float]) -> Entry:
    rate = Rate(1, 2)
    hours = {"mean_10": np.array(delays)}
    return Entry(name, "1", tuned, "", rate, 24.0, hours, hours)


def test_the_best_peer_is_the_quickest_tuned_one() -> None:
    contest = Contest(
        [
            _entry("Inferwatch", False, [60.0, 60.0]),
            _entry("Inferwatch", True, [1.0, 1.0]),
            _entry("slow", True, [math.nan, 100.0]),
            _entry("quick", True, [30.0, 32.0]),
            _entry("quick", False, [0.5, 0.5]),
        ],
        "Inferwatch",
        1,
    )
    found = contest_json(contest)
    assert found["comparison"]["best_peer"] == "quick"
    assert found["comparison"]["mean_hours_longer"] == -29
    assert found["comparison"]["more_than_24_hours_sooner"] == {"quick": ["mean_10"]}
    keys = {"name", "version", "tuned", "false_incidents_per_month", "mean_rmdt_hours"}
    assert all(keys <= set(entry) for entry in found["contestants"])


GOOD = """
import numpy as np, pyarrow as pa
from datetime import datetime, UTC
SHIFT = {"start_hour": 1400, "columns": ["x"]}
def generate(seed, days):
    rng = np.random.default_rng(seed)
    start = int(datetime(2024, 3, 4, 5, tzinfo=UTC).timestamp() * 1e6)
    ts = start + np.arange(0, days * 86_400_000_000, 600_000_000)
    x = rng.normal(size=len(ts))
    return pa.table({
        "ts": pa.array(ts, pa.timestamp("us", tz="UTC")), "x": x, "flag": x > 0,
        "word": np.where(x > 1, "a", "b"),
    })
"""


def _world_file(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_world_file_is_counted_on_the_products_cells(tmp_path: Path) -> None:
    world = load_world(_world_file(tmp_path, GOOD))
    first, counted = world.counted(1)
    assert first.isoformat() == "2024-03-04T05:00:00+00:00"
    assert [one.name for one in counted] == ["x", "flag", "word"]
    assert counted[0].counts.shape == (86 * 24, counted[0].cells.n_cells)
    assert (counted[0].counts.sum(axis=1) == 6).all()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("def generate", "def generated"), "defines no function generate"),
        (("SHIFT =", "MOVED ="), "defines no SHIFT"),
        (('"start_hour": 1400, ', ""), "SHIFT is"),
        (("1400", "100"), "first 1344 hours"),
        (("1400", '"noon"'), "must be a number"),
        (('["x"]', '"x"'), "a list of column names"),
        (('["x"]', '["y"]'), "column 'y'"),
        (('"ts"', '"time"'), "no column 'ts'"),
        (('tz="UTC"', "tz=None"), "must be pyarrow.timestamp"),
        (("days *", "3 *"), "covers 72 hours"),
        (("return pa.table", "return dict"), "must be a pyarrow.Table"),
        (('"flag": x > 0', '"flag": [[1]] * len(x)'), "column 'flag' is list"),
    ],
)
def test_a_world_file_that_lacks_something_is_refused(
    tmp_path: Path, change: tuple[str, str], told: str
) -> None:
    path = _world_file(tmp_path, GOOD.replace(*change))
    with pytest.raises(WorldRefused) as refused:
        load_world(path).counted(1)
    assert told in str(refused.value)
    assert str(path) in str(refused.value)


def test_months_of_a_world_keep_the_promise_and_find_their_shift() -> None:
    months = [run_month("S3", seed=1, month=number) for number in range(4)]
    assert sum(month.incidents for month in months) <= 2  # half of what is promised for four
    for month in months:
        assert month.share_available == 1.0
        assert month.shift_delay is not None
        assert month.shift_delay < 48
        n, below, far_below = month.tests["1 h"]
        assert n > 50_000
        assert far_below < below < 0.015 * n


def test_a_shift_of_a_world_file_is_found_and_is_not_false(tmp_path: Path) -> None:
    moved = "x = rng.normal(size=len(ts)); x[1400 * 6:] += 2"
    path = _world_file(tmp_path, GOOD.replace("x = rng.normal(size=len(ts))", moved))
    month = run_file_month(path, seed=1)
    assert month.firings > 0
    assert month.shift_delay is not None
    assert 0 < month.shift_delay <= 24
    moved_too = path.read_text(encoding="utf-8").replace('["x"]', '["flag", "word", "x"]')
    everything = run_file_month(_world_file(tmp_path, moved_too), seed=1)
    assert everything.incidents == 0


def test_a_missing_world_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorldRefused, match="no such file"):
        load_world(tmp_path / "none.py")


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse([]).worlds == tuple(WORLDS)
    assert parse(["--worlds", "S0,U3", "--months", "7"]).months == 7
    assert parse(["--smoke"]).months < 10
    assert not parse(["--no-peers"]).peers
    with pytest.raises(SystemExit):
        parse(["--worlds", "S0,X"])
    assert "no world X" in capsys.readouterr().err
