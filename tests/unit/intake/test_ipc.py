import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.errors import RequestRefused
from monitor.intake.ipc import read_stream
from tests.unit.intake.factories import stream

TABLE = pa.table(
    {
        "a": pa.array(["x", None] * 50),
        "d": pa.array(["u", "v"] * 50).dictionary_encode(),
        "n": np.arange(100.0),
    }
)


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_a_stream_comes_back(compression: str | None) -> None:
    assert read_stream(stream(TABLE, compression), 100, 1 << 20).equals(TABLE)


def refused(body: bytes, max_records: int = 1_000, max_bytes: int = 1 << 20) -> tuple[int, str]:
    with pytest.raises(RequestRefused) as caught:
        read_stream(body, max_records, max_bytes)
    return caught.value.status, caught.value.reason


def test_a_small_body_that_unpacks_to_much_is_refused_before_unpacking() -> None:
    bomb = stream(pa.table({"n": np.zeros(8_000_000)}), "zstd")
    assert len(bomb) < 20_000
    assert refused(bomb, max_records=10**9) == (413, "too_large")


def test_a_null_column_of_a_billion_rows_is_refused() -> None:
    bomb = stream(pa.table({"n": pa.nulls(10**9)}))
    assert len(bomb) < 2_000
    assert refused(bomb) == (413, "too_many_records")


def test_records_of_several_batches_are_added_up() -> None:
    assert refused(stream(pa.concat_tables([TABLE] * 3)), max_records=299) == (
        413,
        "too_many_records",
    )


@pytest.mark.parametrize("body", [b"null\n", b"\xff\xff\xff\xff", b"ARROW1", b"\0" * 64, b"{}"])
def test_what_is_no_stream_is_refused(body: bytes) -> None:
    assert refused(body) == (400, "unreadable")


def test_an_empty_body_is_refused() -> None:
    assert refused(b"") == (400, "empty_body")


def test_a_stream_that_was_cut_off_is_refused() -> None:
    whole = stream(TABLE)
    for cut in range(len(whole) // 2, len(whole) - 60, 41):
        assert refused(whole[:cut]) == (400, "unreadable")


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=6))
def test_changed_bytes_are_read_or_refused(changes: list[tuple[int, int]]) -> None:
    body = bytearray(stream(TABLE, "zstd"))
    for place, value in changes:
        body[place % len(body)] = value
    try:
        table = read_stream(bytes(body), 1_000, 1 << 20)
    except RequestRefused as refusal:
        assert refusal.status in (400, 413, 422)  # noqa: PT017
    else:
        assert table.num_rows <= 1_000
