"""Many rows in one statement: `insert ... select from unnest(...)`.

COPY refuses tables with row-level security, and a statement a row costs a round trip each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

ROWS_A_STATEMENT = 2_000


def insert_rows(
    connection: Connection,
    table: sa.Table,
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    *,
    replace: bool = False,
) -> None:
    """Insert rows (values in the order of `columns`); `replace` overwrites rows of the same key."""
    statement = sa.text(_statement(connection, table, columns, replace))
    for start in range(0, len(rows), ROWS_A_STATEMENT):
        some = rows[start : start + ROWS_A_STATEMENT]
        values = {f"c{i}": list(column) for i, column in enumerate(zip(*some, strict=True))}
        connection.execute(statement, values)


def _statement(
    connection: Connection, table: sa.Table, columns: Sequence[str], replace: bool
) -> str:
    quote = connection.dialect.identifier_preparer.quote
    names = ", ".join(quote(name) for name in columns)
    picked, arrays = [], []
    for i, name in enumerate(columns):
        kind = table.c[name].type.compile(connection.dialect)
        nested = isinstance(table.c[name].type, sa.ARRAY)
        # unnest flattens arrays of arrays, so nested arrays travel as text literals.
        arrays.append(f"cast(:c{i} as text[])" if nested else f"cast(:c{i} as {kind}[])")
        picked.append(f"cast(r.v{i} as {kind})" if nested else f"r.v{i}")
    head = f"insert into {quote(table.name)} ({names}) select {', '.join(picked)}"
    aliases = ", ".join(f"v{i}" for i in range(len(columns)))
    statement = f"{head} from unnest({', '.join(arrays)}) as r({aliases})"
    return statement + (_on_conflict(table, columns, quote) if replace else "")


def _on_conflict(table: sa.Table, columns: Sequence[str], quote: Any) -> str:
    key = [column.name for column in table.primary_key.columns]
    others = [name for name in columns if name not in key]
    changes = ", ".join(f"{quote(name)} = excluded.{quote(name)}" for name in others)
    return f" on conflict ({', '.join(quote(name) for name in key)}) do update set {changes}"


def array_literal(values: Sequence[int]) -> str:
    """An integer array as Postgres text."""
    return "{" + ",".join(str(int(value)) for value in values) + "}"
