"""Traps of the bulk driver: each was seen to lose or change data, so each has a test."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import adbc_driver_manager as driver
import psycopg
import pyarrow as pa
import pytest

from monitor.errors import DatabaseUnavailable
from monitor.store.bulk import BulkConnections, copy_in, execute, is_outage, literal, read, sqlstate
from monitor.store.engine import Role

SCHEMA = pa.schema([("id", pa.int32()), ("value", pa.float64())])


@pytest.fixture
def bulk(database_url: str, admin_url: str) -> Iterator[BulkConnections]:
    with psycopg.connect(admin_url) as admin:
        admin.execute("create table trap (id int primary key, value float8)")
        admin.execute("alter table trap owner to inferwatch")
    made = BulkConnections(database_url, Role.OWNER)
    yield made
    made.close()


def rows(*pairs: tuple[int, float | None]) -> pa.Table:
    ids, values = zip(*pairs, strict=True)
    return pa.table({"id": ids, "value": values}, schema=SCHEMA)


def stored(admin_url: str) -> list[tuple[int, float | None]]:
    with psycopg.connect(admin_url) as admin:
        return admin.execute("select id, value from trap order by id").fetchall()


def test_an_integer_array_is_refused_where_the_driver_would_store_its_bits(
    bulk: BulkConnections, admin_url: str
) -> None:
    schema = pa.schema([("id", pa.int32()), ("value", pa.int64())])
    wrong = pa.table({"id": [1], "value": [3]}, schema=schema)
    with pytest.raises(AssertionError, match="trap"):
        bulk.run(lambda cursor: copy_in(cursor, "trap", wrong, SCHEMA))
    assert stored(admin_url) == []
    # The reason for the refusal: without it the driver takes the rows and stores other numbers.
    with bulk.transaction() as cursor:
        cursor.adbc_ingest("trap", wrong, mode="append")
    assert stored(admin_url) == [(1, pytest.approx(1.5e-323))]


@pytest.mark.parametrize(
    "schema",
    [
        pa.schema([("value", pa.float64()), ("id", pa.int32())]),
        pa.schema([("id", pa.int32()), ("value", pa.float32())]),
        pa.schema([("id", pa.int64()), ("value", pa.float64())]),
    ],
)
def test_only_exactly_the_frozen_schema_passes(bulk: BulkConnections, schema: pa.Schema) -> None:
    table = pa.table({name: [1] for name in schema.names}, schema=schema)
    with pytest.raises(AssertionError):
        bulk.run(lambda cursor: copy_in(cursor, "trap", table, SCHEMA))


def test_a_transaction_is_open_after_a_read(bulk: BulkConnections, admin_url: str) -> None:
    with bulk.transaction() as cursor:
        read(cursor, "select 1 as one").read_all()
    with pytest.raises(ZeroDivisionError):
        bulk.run(lambda cursor: (copy_in(cursor, "trap", rows((1, 1.0)), SCHEMA), 1 / 0))
    assert stored(admin_url) == []


def test_a_half_read_result_leaves_the_next_transaction_whole(
    bulk: BulkConnections, admin_url: str
) -> None:
    with bulk.transaction() as cursor:
        reader = read(cursor, "select g as n from generate_series(1, 500000) g")
        assert reader.read_next_batch().num_rows > 0
    with bulk.transaction() as cursor:
        copy_in(cursor, "trap", rows((1, 1.0)), SCHEMA)
    assert stored(admin_url) == [(1, 1.0)]


def test_nothing_is_seen_by_others_before_the_commit(bulk: BulkConnections, admin_url: str) -> None:
    with bulk.transaction() as cursor:
        execute(cursor, "insert into trap values (7, 7)")
        copy_in(cursor, "trap", rows((1, 1.0)), SCHEMA)
        assert stored(admin_url) == []
    assert stored(admin_url) == [(1, 1.0), (7, 7.0)]


def test_after_a_failed_copy_the_connection_works_and_nothing_is_half_stored(
    bulk: BulkConnections, admin_url: str
) -> None:
    bulk.run(lambda cursor: copy_in(cursor, "trap", rows((2, 2.0)), SCHEMA))
    with pytest.raises(driver.IntegrityError) as caught:
        bulk.run(lambda cursor: copy_in(cursor, "trap", rows((1, 1.0), (2, 9.0)), SCHEMA))
    assert sqlstate(caught.value) == "23505"
    bulk.run(lambda cursor: copy_in(cursor, "trap", rows((3, None)), SCHEMA))
    assert stored(admin_url) == [(2, 2.0), (3, None)]


@pytest.mark.parametrize(
    ("statement", "state"),
    [
        ("select 1/0", "22012"),
        ("select * from no_such_table", "42P01"),
        ("insert into trap values (null, 1)", "23502"),
        ("select 'x'::int", "22P02"),
    ],
)
def test_every_error_of_the_server_has_its_sqlstate(
    bulk: BulkConnections, statement: str, state: str
) -> None:
    with pytest.raises(driver.Error) as caught:
        bulk.run(lambda cursor: execute(cursor, statement))
    assert sqlstate(caught.value) == state
    assert not is_outage(state)


def test_the_true_number_of_rows_comes_back(bulk: BulkConnections) -> None:
    insert = "insert into trap select g, g from generate_series(1, 41) g"
    assert bulk.run(lambda cursor: execute(cursor, insert)) == 41


def test_a_connection_cut_between_two_batches_costs_nothing(
    bulk: BulkConnections, admin_url: str
) -> None:
    bulk.run(lambda cursor: copy_in(cursor, "trap", rows((1, 1.0)), SCHEMA))
    cut(admin_url)
    bulk.run(lambda cursor: copy_in(cursor, "trap", rows((2, 2.0)), SCHEMA))
    assert [number for number, _ in stored(admin_url)] == [1, 2]


def test_a_connection_cut_inside_a_transaction_is_tried_again(
    bulk: BulkConnections, admin_url: str
) -> None:
    tries = []

    def work(cursor: object) -> None:
        tries.append(len(tries))
        execute(cursor, "insert into trap values (5, 5)")
        if len(tries) == 1:
            cut(admin_url)
        copy_in(cursor, "trap", rows((6, 6.0)), SCHEMA)

    bulk.run(work)
    assert tries == [0, 1]
    assert [number for number, _ in stored(admin_url)] == [5, 6]


def test_postgres_that_stays_away_is_an_outage_that_names_no_secret(
    bulk: BulkConnections, database_url: str
) -> None:
    gone = database_url.replace("/test_", "/never_made_")
    with pytest.raises(DatabaseUnavailable) as caught:
        BulkConnections(nowhere(), Role.INGEST).run(lambda cursor: execute(cursor, "select 1"))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    with pytest.raises((driver.Error, DatabaseUnavailable)):
        BulkConnections(gone, Role.INGEST).run(lambda cursor: execute(cursor, "select 1"))


def test_values_of_a_row_stand_in_no_error_that_leaves_the_store(
    bulk: BulkConnections, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    bulk.run(lambda cursor: execute(cursor, "create table named (name text primary key)"))
    insert = "insert into named values ('ada.lovelace@example.org')"
    bulk.run(lambda cursor: execute(cursor, insert))
    with pytest.raises(driver.Error) as caught:
        bulk.run(lambda cursor: execute(cursor, insert))
    assert sqlstate(caught.value) == "23505"
    assert "lovelace" not in str(caught.value)
    assert "lovelace" not in caplog.text
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_each_thread_has_a_connection_of_its_own(bulk: BulkConnections) -> None:
    found: list[int] = []
    barrier = threading.Barrier(3)

    def look() -> None:
        with bulk.transaction() as cursor:
            table = read(cursor, "select pg_backend_pid() as pid").read_all()
            barrier.wait(10)
            found.append(table["pid"][0].as_py())

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 3


@pytest.mark.parametrize(
    "text", ["it's", 'a "b"', "back\\slash", "\\'; drop table trap; --", "%s", "✓ 🜁", "a\nb", ""]
)
def test_a_literal_comes_back_as_it_was(bulk: BulkConnections, text: str) -> None:
    with bulk.transaction() as cursor:
        table = read(cursor, f"select {literal(text)}::text as it").read_all()
    assert table["it"][0].as_py() == text


@pytest.mark.parametrize("value", [None, True, False, 0, -5, 2**62])
def test_a_literal_of_another_type_comes_back(bulk: BulkConnections, value: object) -> None:
    with bulk.transaction() as cursor:
        table = read(cursor, f"select {literal(value)} as it").read_all()
    assert table["it"][0].as_py() == value


def test_a_role_lasts_as_long_as_its_connection(database_url: str) -> None:
    bulk = BulkConnections(database_url, Role.INGEST)
    for _ in range(2):
        with bulk.transaction() as cursor:
            table = read(cursor, "select current_user::text as name").read_all()
        assert table["name"][0].as_py() == "inferwatch_ingest"
    bulk.close()


def cut(admin_url: str) -> None:
    """End every connection of the product to this database."""
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where datname = current_database() and usename = 'inferwatch'"
        )


def nowhere() -> str:
    return "postgresql://inferwatch:secret@127.0.0.1:9/none"
