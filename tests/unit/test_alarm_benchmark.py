"""AlarmBench: worlds, shifts, figures and world files. Needs no peer."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from benchmarks.alarms.binning import counted_rows, hour_numbers
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
from benchmarks.alarms.our_pairs import PairWatch
from benchmarks.alarms.ours import HOUR
from benchmarks.alarms.peers.registry import PEER_CONTESTANTS
from benchmarks.alarms.peers.verdicts import Verdicts, tune
from benchmarks.alarms.report import contest_json
from benchmarks.alarms.scene import FIRST, REFERENCE_HOURS, TIME
from benchmarks.alarms.shifts import NEW_WORD, SHIFTS
from benchmarks.alarms.streams import COMPARED, Planted, Stream
from benchmarks.alarms.worlds.from_file import WorldRefused, load_world
from benchmarks.alarms.worlds.registry import WORLDS
from monitor.checks.promise.budget import Budget

DAYS = 58


@pytest.fixture(scope="module")
def stream() -> Stream:
    return Stream(COMPARED, 3, "test")


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_is_the_same_for_a_seed_and_another_for_another(name: str) -> None:
    def counts(seed: int, month: int) -> list[np.ndarray]:
        rng = WORLDS[name].random(seed, month, "test")
        return [one.counts for one in WORLDS[name].generate(rng, 64).counted(rng)]

    first = counts(1, 0)
    assert all(np.array_equal(a, b) for a, b in zip(first, counts(1, 0), strict=True))
    assert not np.array_equal(first[0].sum(axis=1), counts(1, 1)[0].sum(axis=1))
    assert not np.array_equal(first[0].sum(axis=1), counts(2, 0)[0].sum(axis=1))


@pytest.mark.parametrize("name", ["S3", "S9", "U1", "U2", "U3"])
def test_rows_and_counts_are_the_same_world(name: str) -> None:
    rng = WORLDS[name].random(5, 0, "test")
    scene = WORLDS[name].generate(rng, DAYS)
    counted, table = scene.counted(rng), scene.table(rng)
    assert table.column(TIME).type == pa.timestamp("us", tz="UTC")
    from_rows = counted_rows(table, REFERENCE_HOURS, DAYS * 24)
    assert [one.name for one in counted] == [one.name for one in from_rows]
    for direct, rows in zip(counted, from_rows, strict=True):
        n = direct.counts.sum()
        assert rows.counts.sum() == pytest.approx(n, rel=0.02)
        missing = direct.counts[:, -1].sum() / n
        assert rows.counts[:, -1].sum() / n == pytest.approx(missing, abs=0.005)


def test_counts_follow_the_law_of_the_rows() -> None:
    """The same cells, filled by rows and by multinomials: equal shares up to chance."""
    rng = WORLDS["U2"].random(6, 0, "test")
    scene = WORLDS["U2"].generate(rng, DAYS)
    hours = np.repeat(np.arange(DAYS * 24), scene.volumes)
    for name in ("amount_0", "sparse_0", "partial_0", "kind_0"):
        law = scene.laws[name]
        cells = law.fit(rng, scene.volumes[:REFERENCE_HOURS])
        values = law.draw(rng, hours)
        if name != "kind_0":
            values = values.to_numpy(zero_copy_only=False)
        seen = np.bincount(cells.assign(values), minlength=cells.n_cells) / len(hours)
        expected = scene.volumes @ law.shares(cells) / len(hours)
        error = np.sqrt(expected * (1 - expected) / len(hours))
        assert (np.abs(seen - expected) < 5 * error + 1e-9).all(), name


def test_unknown_kinds_of_nights_hold_0_to_3_rows() -> None:
    rng = WORLDS["U3"].random(1, 0, "test")
    counted = WORLDS["U3"].generate(rng, 86).counted(rng)
    volumes = counted[0].counts.sum(axis=1).reshape(-1, 24)
    assert volumes[:, :7].max() == 3
    assert volumes[:, 12].mean() > 15


def test_a_shift_changes_its_column_after_its_onset_and_nothing_else(stream: Stream) -> None:
    table = stream.clean
    moments = table.column(TIME).cast(pa.int64()).to_numpy()
    ages = (moments - moments.min() // 3_600_000_000 * 3_600_000_000) / 3.6e9
    assert len(stream.planted) == len(SHIFTS) >= 12
    for planted in stream.planted:
        assert 0 <= planted.onset - REFERENCE_HOURS < 168
        before = pa.array(ages < planted.onset)
        usual = table.column(planted.column).combine_chunks()
        values = stream.values(planted)
        assert values.type == usual.type
        assert values.filter(before).equals(usual.filter(before)), planted.name
        assert not values.equals(usual), planted.name
    shifted = stream.shift_table()
    assert shifted.column_names == [TIME, *(planted.name for planted in stream.planted)]
    whole = stream.shift_table(whole=True)
    assert whole.column_names == [*table.column_names, *shifted.column_names[1:]]
    again = Stream(COMPARED, 3, "test").shift_table()
    assert again.equals(shifted)


def _after(stream: Stream, shift: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Usual and shifted values after the onset, their hours, and the reference's sd."""
    planted = next(one for one in stream.planted if one.shift.name == shift)
    usual = stream.clean.column(planted.column).to_numpy()
    values = stream.values(planted).to_numpy(zero_copy_only=False)
    hours = hour_numbers(stream.clean)
    after = hours > planted.onset
    sd = np.nanstd(usual[hours < REFERENCE_HOURS]) if usual.dtype != object else math.nan
    return usual[after], values[after], hours[after] - planted.onset, float(sd)


@pytest.mark.parametrize(("shift", "size"), [("mean_10", 0.1), ("mean_25", 0.25), ("mean_50", 0.5)])
def test_means_move_by_what_they_say(stream: Stream, shift: str, size: float) -> None:
    usual, values, _, sd = _after(stream, shift)
    assert (values - usual) / sd == pytest.approx(size)


def test_the_spread_grows_by_a_quarter(stream: Stream) -> None:
    usual, values, _, _ = _after(stream, "spread")
    assert values.std() / usual.std() == pytest.approx(1.25)


def test_two_percent_go_beyond_the_top_of_the_reference(stream: Stream) -> None:
    usual, values, _, _ = _after(stream, "tail")
    changed = values != usual
    assert changed.mean() == pytest.approx(0.02, abs=0.003)
    assert values[changed].min() > np.quantile(usual, 0.997)


def test_categories_change_as_they_say(stream: Stream) -> None:
    usual, values, _, _ = _after(stream, "category")
    assert np.mean(values == "v08") / np.mean(usual == "v08") == pytest.approx(2, rel=0.1)
    _, values, _, _ = _after(stream, "new")
    assert np.mean(values == NEW_WORD) == pytest.approx(0.01, abs=0.002)
    assert not pc.any(pc.equal(stream.clean.column("kind_50"), NEW_WORD)).as_py()


def test_three_points_more_are_missing(stream: Stream) -> None:
    usual, values, _, _ = _after(stream, "missing")
    assert np.isnan(values).mean() - np.isnan(usual).mean() == pytest.approx(0.03, abs=0.003)


def test_five_percent_come_in_fahrenheit(stream: Stream) -> None:
    usual, values, _, _ = _after(stream, "unit")
    changed = values != usual
    assert changed.mean() == pytest.approx(0.05, abs=0.005)
    assert values[changed] == pytest.approx(usual[changed] * 1.8 + 32)


def test_a_ninth_of_the_rows_moves(stream: Stream) -> None:
    usual, values, _, sd = _after(stream, "subgroup")
    changed = values != usual
    assert changed.mean() == pytest.approx(0.11, abs=0.02)
    assert ((values - usual) / sd)[changed] == pytest.approx(0.5)


def test_a_ramp_takes_seven_days(stream: Stream) -> None:
    usual, values, ages, sd = _after(stream, "ramp")
    moved = (values - usual) / sd
    assert moved[ages > 169] == pytest.approx(0.5)
    assert moved[(ages > 83) & (ages < 85)].mean() == pytest.approx(0.25, abs=0.005)


def test_a_turned_pair_keeps_the_values_of_every_hour(stream: Stream) -> None:
    usual, values, ages, _ = _after(stream, "correlation")
    partner = stream.clean.column("pair_a").to_numpy()[-len(usual) :]
    assert np.corrcoef(partner, usual)[0, 1] > 0.5
    assert np.corrcoef(partner, values)[0, 1] < -0.5
    hour = np.floor(ages - ages[0] + 1e-6) == 3
    assert np.sort(usual[hour]) == pytest.approx(np.sort(values[hour]))


def test_a_stale_column_repeats_one_value(stream: Stream) -> None:
    usual, values, _, _ = _after(stream, "stale")
    assert len(np.unique(values)) == 1
    assert len(np.unique(usual)) > 1_000


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


def test_correlations_of_a_turned_pair_fire_and_name_it(stream: Stream) -> None:
    counted = counted_rows(stream.clean, REFERENCE_HOURS, 86 * 24)
    pairs = PairWatch(stream.clean, counted, [one.name for one in counted])
    assert pairs.firings(Budget(pairs=True)) == []
    turned = next(one for one in stream.planted if one.shift.name == "correlation")
    found = pairs.firings(Budget(pairs=True), {turned.column: stream.values(turned)})
    assert {one.columns for one in found} == {("pair_a", "pair_b")}
    onset = FIRST + turned.onset * HOUR
    assert 0 < (found[0].firing.end - onset) / HOUR <= 48
    assert len(found) >= (86 * 24 - turned.onset) // 24


def test_sums_of_pairs_are_those_of_a_profile(stream: Stream) -> None:
    """One day, row by row: scores of the cells, products of rows that have both values."""
    counted = counted_rows(stream.clean, REFERENCE_HOURS, 86 * 24)
    names = ["n03", "partial"]
    watch = PairWatch(stream.clean, counted, names)
    day = hour_numbers(stream.clean) // 24 == 5
    scores = []
    for one in counted:
        if one.name in names:
            values = stream.clean.column(one.name).to_numpy()[day]
            scores.append(
                [
                    int(one.cells.scores()[one.cells.assign(values[k : k + 1])[0]])
                    for k in range(len(values))
                ]
            )
    partial = stream.clean.column("partial").to_numpy()[day]
    n = [len(partial), int((~np.isnan(partial)).sum())]
    product = sum(a * b for a, b, c in zip(*scores, partial, strict=True) if not math.isnan(c))
    window = watch.windows([5])
    assert window.views == ("n03", "partial")
    assert window.sums[0].tolist() == [
        sum(a * a for a in scores[0]),
        product,
        sum(b * b for b in scores[1]),
    ]
    assert window.n[0].tolist() == [n[0], n[1], n[1]]
    assert window.means[0] == pytest.approx([sum(scores[0]) / n[0], sum(scores[1]) / n[1]])


def test_a_month_of_a_world_keeps_quiet_and_finds_its_shift() -> None:
    month = run_month("S3", seed=1, month=0)
    assert month.incidents == month.plain_incidents == 0
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
