"""One page of a long list: the database counts and cuts, so that a page costs a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

PAGE_SIZE = 50

Row = TypeVar("Row")


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Rows `number` (from 1) of `total` rows cut into pages of `size`."""

    rows: tuple[Row, ...]
    total: int
    number: int
    size: int

    @property
    def pages(self) -> int:
        """How many pages there are; an empty list has one."""
        return max(1, -(-self.total // self.size))

    @property
    def first(self) -> int:
        """Number of the first row shown, 0 for an empty list."""
        return (self.number - 1) * self.size + 1 if self.total else 0

    @property
    def last(self) -> int:
        """Number of the last row shown."""
        return min(self.number * self.size, self.total)


def fetch_page(
    connection: Connection,
    query: sa.Select[Any],
    number: int,
    make: Callable[[Any], Row],
    size: int = PAGE_SIZE,
) -> Page[Row]:
    """Count all rows of an ordered query and fetch one page; a number out of range is moved in."""
    counted = sa.select(sa.func.count()).select_from(query.order_by(None).subquery())
    total = int(connection.scalar(counted) or 0)
    pages = max(1, -(-total // size))
    number = min(max(number, 1), pages)
    rows = connection.execute(query.limit(size).offset((number - 1) * size))
    return Page(tuple(make(row) for row in rows), total, number, size)


def cut_page(rows: tuple[Row, ...], number: int, size: int) -> Page[Row]:
    """A page of rows that are in memory already."""
    pages = max(1, -(-len(rows) // size))
    number = min(max(number, 1), pages)
    return Page(rows[(number - 1) * size : number * size], len(rows), number, size)
