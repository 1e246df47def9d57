"""AlarmBench: worlds are what their laws say, shifts do what they say and nothing else."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from benchmarks.alarms.binning import counted_rows, hour_numbers
from benchmarks.alarms.our_pairs import PairWatch
from benchmarks.alarms.ours import HOUR
from benchmarks.alarms.scene import FIRST, REFERENCE_HOURS, TIME
from benchmarks.alarms.shifts import NEW_WORD, SHIFTS
from benchmarks.alarms.streams import COMPARED, Stream
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
