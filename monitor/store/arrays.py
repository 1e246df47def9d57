"""Many rows at once into tables with row-level security, which COPY itself refuses.

Few rows go as one statement each; many are copied into a temporary table and inserted from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import sql
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

COPIED_FROM = 100
"""From this many rows on a temporary table pays."""


def insert_rows(
    connection: Connection,
    table: sa.Table,
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    *,
    replace: bool = False,
) -> None:
    """Insert rows (values in the order of `columns`); `replace` overwrites rows of the same key.

    Arrays and JSON are given as text. Must run inside a transaction. Errors are SQLAlchemy's, as
    of every other statement.
    """
    if not rows:
        return
    try:
        _insert(_cursor(connection), table, columns, rows, replace)
    except psycopg.Error as error:
        raise DBAPIError.instance(
            f"insert into {table.name}", None, error, psycopg.Error,
            hide_parameters=True, dialect=connection.dialect,
        ) from None  # fmt: skip


def _insert(
    cursor: psycopg.Cursor[Any],
    table: sa.Table,
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    replace: bool,
) -> None:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    target = sql.Identifier(table.name)
    conflict = _on_conflict(table, columns) if replace else sql.SQL("")
    if len(rows) < COPIED_FROM:
        holes = sql.SQL(", ").join(_cast(table, name) for name in columns)
        insert = sql.SQL("insert into {} ({}) values ({}){}").format(target, names, holes, conflict)
        cursor.executemany(insert, rows)
        return
    stage = sql.Identifier(f"stage_{table.name}")
    cursor.execute(
        sql.SQL("create temp table {} on commit drop as select {} from {} with no data").format(
            stage, names, target
        )
    )
    with cursor.copy(sql.SQL("copy {} ({}) from stdin").format(stage, names)) as copy:
        for row in rows:
            copy.write_row(row)
    cursor.execute(
        sql.SQL("insert into {} ({}) select {} from {}{}").format(
            target, names, names, stage, conflict
        )
    )
    cursor.execute(sql.SQL("drop table {}").format(stage))


def _cursor(connection: Connection) -> psycopg.Cursor[Any]:
    raw = connection.connection.driver_connection
    if not isinstance(raw, psycopg.Connection):
        raise AssertionError("the engine is made for psycopg (make_engine)")
    return raw.cursor()


def _cast(table: sa.Table, name: str) -> sql.Composable:
    kind = table.c[name].type.compile(_DIALECT)
    return sql.SQL("%s::" + kind)


def _on_conflict(table: sa.Table, columns: Sequence[str]) -> sql.Composable:
    key = [column.name for column in table.primary_key.columns]
    changes = sql.SQL(", ").join(
        sql.SQL("{} = excluded.{}").format(sql.Identifier(name), sql.Identifier(name))
        for name in columns
        if name not in key
    )
    names = sql.SQL(", ").join(map(sql.Identifier, key))
    return sql.SQL(" on conflict ({}) do update set {}").format(names, changes)


def array_literal(values: Sequence[int]) -> str:
    """An integer array as Postgres text."""
    return "{" + ",".join(str(int(value)) for value in values) + "}"


_DIALECT = sa.create_mock_engine("postgresql+psycopg://", lambda *_: None).dialect
