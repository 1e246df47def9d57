"""Bulk reads and writes by ADBC: one long-lived connection a thread, autocommit off.

The driver encodes by the Arrow type, not the column's, and would store wrong bits without an error;
so every write asserts the one frozen schema it was made for. After an error a transaction can only
be rolled back (no savepoints), and a connection whose error carries no SQLSTATE is thrown away.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import adbc_driver_manager as driver
import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa
from sqlalchemy.engine import make_url

from monitor.errors import DatabaseUnavailable
from monitor.store.engine import CONNECT_SECONDS, Role

UNIQUE_VIOLATION = "23505"
CHECK_VIOLATION = "23514"
RETRIED_STATES = frozenset({"40001", "40P01", "55P03"})
Result = TypeVar("Result")


class BulkConnections:
    """ADBC connections of one role, a connection a thread, opened when first used."""

    def __init__(self, database_url: str, role: Role) -> None:
        self._url = _libpq_url(database_url)
        self._role = role
        self._held = threading.local()
        self._lock = threading.Lock()
        self._all: list[Any] = []

    def run(self, work: Callable[[Any], Result], *, attempts: int = 3) -> Result:
        """Run `work(cursor)` in one transaction, again on deadlock or a lost connection.

        Raises DatabaseUnavailable when Postgres stays away. Other driver errors keep their class
        and SQLSTATE but lose their text, in which Postgres repeats keys and values of rows.
        """
        for attempt in range(1, attempts + 1):
            try:
                with self.transaction() as cursor:
                    return work(cursor)
            except driver.Error as error:
                state = sqlstate(error)
                lost = isinstance(error, driver.OperationalError) and is_outage(state)
                if lost:
                    self._drop()
                if attempt < attempts and (lost or state in RETRIED_STATES):
                    continue
                if lost:
                    raise DatabaseUnavailable(
                        "Postgres does not answer; nothing was stored"
                    ) from None
                raise _without_values(error, state) from None
        raise AssertionError("the loop above returns or raises")

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A cursor in one transaction: commit at the end, rollback on any error."""
        connection = self._connection()
        try:
            with connection.cursor() as cursor:
                yield cursor
            connection.commit()
        except BaseException:
            with suppress(driver.Error):
                connection.rollback()
            raise

    def close(self) -> None:
        """Close every connection of every thread."""
        with self._lock:
            for connection in self._all:
                with suppress(driver.Error):
                    connection.close()
            self._all.clear()
        self._held = threading.local()

    def _connection(self) -> Any:
        found = getattr(self._held, "connection", None)
        if found is None:
            found = self._held.connection = self._open()
            with self._lock:
                self._all.append(found)
        return found

    def _open(self) -> Any:
        connection = adbc.connect(self._url)
        if self._role is Role.OWNER:
            return connection
        try:
            with connection.cursor() as cursor:
                execute(cursor, f'set role "{self._role.value}"')
            connection.commit()
        except driver.Error:
            connection.close()
            raise
        return connection

    def _drop(self) -> None:
        connection, self._held.connection = getattr(self._held, "connection", None), None
        if connection is not None:
            with self._lock, suppress(ValueError):
                self._all.remove(connection)
            with suppress(driver.Error):
                connection.close()


def execute(cursor: Any, statement: str) -> int:
    """Run a statement without parameters; the affected rows (cursor.rowcount is always -1)."""
    prepared = cursor.adbc_statement
    prepared.set_sql_query(statement)
    count: int = prepared.execute_update()
    return count


def copy_in(
    cursor: Any, table: str, rows: pa.Table, schema: pa.Schema, *, temporary: bool = False
) -> None:
    """COPY rows into a table; they must have exactly this schema. Call it last in a transaction."""
    if not rows.schema.equals(schema):
        raise AssertionError(f"rows for {table} have {rows.schema}, not the frozen {schema}")
    cursor.adbc_ingest(table, rows, mode="append", temporary=temporary)


def read(cursor: Any, query: str) -> pa.RecordBatchReader:
    """Stream a query's rows as Arrow batches. Parameters are rendered by `literal` before."""
    cursor.execute(query)
    reader: pa.RecordBatchReader = cursor.fetch_record_batch()
    return reader


def literal(value: object) -> str:
    """A value as a safely quoted SQL literal, where the driver can't bind parameters."""
    if isinstance(value, bool) or value is None:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    if "\0" in text:
        raise AssertionError("a NUL character never reaches SQL")
    quoted = text.replace("'", "''")
    return "E'" + quoted.replace("\\", "\\\\") + "'"


def sqlstate(error: driver.Error) -> str | None:
    """The five-character SQLSTATE, None when the connection itself failed."""
    state = getattr(error, "sqlstate", None)
    return state.strip("\0") or None if isinstance(state, str) else None


def is_outage(state: str | None) -> bool:
    """True when the error says the server is away, shutting down or out of connections."""
    return state is None or (state[:2] in {"08", "53", "57"} and state != "57014")


def _without_values(error: driver.Error, state: str | None) -> driver.Error:
    text = f"Postgres refused the statement (SQLSTATE {state})"
    return type(error)(text, status_code=error.status_code, sqlstate=state)


def _libpq_url(database_url: str) -> str:
    url = make_url(database_url).set(drivername="postgresql")
    url = url.update_query_dict(
        {"connect_timeout": str(CONNECT_SECONDS), "application_name": "inferwatch"}
    )
    return re.sub(r"^postgresql\+\w+", "postgresql", url.render_as_string(hide_password=False))
