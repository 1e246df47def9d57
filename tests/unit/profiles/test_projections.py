"""Fixed directions: the same bytes for ever and in any chunking; cosines that are right."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.profiles.projections import directions, lengths, lengths_and_cosines
from monitor.profiles.view_values import derive_all
from monitor.profiles.views import views_of
from tests.unit.profiles.factories import contract_of

UNIT = 2.0**26

# Written once from this code and never to change: stored cells count projections on these.
FROZEN = {
    2: "cb3d7ecd2cd23cf19b5c290ceeef6c46",
    3: "2dd20b57151bf7829cfa8736ffdc1ed8",
    768: "1de7e682d2744a79db2a371256edc0d0",
}


def slow_directions(size: int, n: int) -> list[list[float]]:
    """One number at a time, with Python's integers."""
    stream = np.random.Philox(key=20_240_229 + size * 2**64)
    found = []
    for _ in range(n):
        sums = []
        for _ in range(size):
            halves = [part for _ in range(6) for part in divmod(int(stream.random_raw()), 2**32)]
            sums.append(sum(halves) - 6 * (2**32 - 1))
        length = sum(value**2 for value in sums) ** 0.5
        found.append([value / length for value in sums])
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 768])
def test_directions_follow_their_recipe(size: int) -> None:
    n = min(8, size)
    found = directions(size, n)
    assert np.array_equal(found, np.rint(found))
    np.testing.assert_allclose(found / UNIT, slow_directions(size, n), atol=2.0**-26)
    np.testing.assert_allclose(np.sum((found / UNIT) ** 2, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("size", sorted(FROZEN))
def test_directions_never_change(size: int) -> None:
    whole = directions(size, min(8, size)).astype("<i8")
    assert hashlib.sha256(whole.tobytes()).hexdigest()[:32] == FROZEN[size]


def test_directions_point_anywhere() -> None:
    cosines = directions(400, 8) @ directions(400, 8).T / UNIT**2
    apart = cosines[np.triu_indices(8, 1)]
    assert np.abs(apart).max() < 4 / 20  # the standard deviation of one is 1/√400
    axes = directions(4_000, 8) / UNIT * np.sqrt(4_000)
    assert abs(np.mean(axes)) < 4 / np.sqrt(axes.size)
    assert np.mean(axes**2) == pytest.approx(1, abs=1e-6)
    assert np.mean(axes**4) == pytest.approx(3, abs=0.15)  # close to normal: no axis preferred


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1), st.data())
def test_values_do_not_depend_on_the_chunk(
    size: int, n: int, seed: int, data: st.DataObject
) -> None:
    vectors = np.random.default_rng(seed).normal(size=(size, n)) * 10.0 ** (seed % 9)
    cut = data.draw(st.integers(0, n))
    contract = contract_of({"name": "v", "type": "vector", "size": size})
    views = views_of(contract)
    whole = derive_all(views, vectors)
    pieces = [derive_all(views, np.ascontiguousarray(part)) for part in np.split(vectors, [cut], 1)]
    alone = [derive_all(views, vectors[:, k : k + 1].copy()) for k in range(n)]
    for place, values in enumerate(whole):
        assert np.concatenate([piece[place] for piece in pieces]).tobytes() == values.tobytes()
        assert np.concatenate([one[place] for one in alone]).tobytes() == values.tobytes()


@given(st.integers(1, 60), st.integers(0, 2**32 - 1), st.sampled_from([1e-300, 1e-3, 1.0, 1e300]))
def test_a_projection_is_the_cosine(size: int, seed: int, scale: float) -> None:
    vector = np.random.default_rng(seed).normal(size=size)
    n = min(8, size)
    found = lengths_and_cosines((vector * scale)[:, None], tuple(range(1, n + 1)), n)[1][:, 0]
    wanted = directions(size, n) / UNIT @ (vector / np.linalg.norm(vector))
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert lengths((vector * scale)[:, None])[0] == pytest.approx(
        np.linalg.norm(vector) * scale, rel=1e-13
    )


def test_vectors_that_point_nowhere_are_missing() -> None:
    vectors = np.array([[0.0, np.nan, 1.0], [0.0, 1.0, 0.0]])
    found = lengths_and_cosines(vectors, (2, 1), 2)[1]
    assert np.isnan(found[:, :2]).all()
    assert found[:, 2].tolist() == [directions(2, 2)[1, 0] / UNIT, directions(2, 2)[0, 0] / UNIT]
    assert lengths(vectors)[0] == 0


def test_a_rotation_that_leaves_every_norm_alone_is_seen() -> None:
    rng = np.random.default_rng(5)
    before = rng.normal(size=(64, 2_000))
    before[:32] += 1
    turned = before[::-1]
    views = views_of(contract_of({"name": "v", "type": "vector", "size": 64}))
    then, now = derive_all(views, before), derive_all(views, np.ascontiguousarray(turned))
    np.testing.assert_allclose(np.sort(then[0]), np.sort(now[0]), rtol=1e-12)
    moved = [
        abs(np.mean(b) - np.mean(a)) / np.std(a) for a, b in zip(then[1:], now[1:], strict=True)
    ]
    assert max(moved) > 1
