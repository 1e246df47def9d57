"""Which column of a contract holds which standard field. Pure."""

from __future__ import annotations

from monitor.contract import Column, ColumnType, Contract
from monitor.fields import FieldKind, standard_field, unit_factor

MEASURED_TYPES = frozenset({ColumnType.NUMBER, ColumnType.INTEGER})


def column_holding(contract: Contract, field: str) -> Column | None:
    """The first column that names this field, or is called so; None when there is none."""
    for column in contract.columns:
        if (column.field or column.name) == field:
            return column
    return None


def measured_column(contract: Contract, field: str) -> Column | None:
    """The number or integer column that holds this field in a unit that is known; or None."""
    column = column_holding(contract, field)
    if column is None or column.type not in MEASURED_TYPES:
        return None
    return column if canonical_factor(column) is not None else None


def canonical_factor(column: Column) -> float | None:
    """What a value of the column is multiplied by to be in its field's own unit; None: unknown."""
    wanted = standard_field(column.field or column.name)
    return unit_factor(wanted, column.unit) if wanted is not None else None


def word_columns(contract: Contract) -> tuple[str, ...]:
    """Category columns with a standard field of few words: all but the conversation's id."""
    return _of_kind(contract, FieldKind.WORD, ColumnType.CATEGORY)


def flag_columns(contract: Contract) -> tuple[str, ...]:
    """Boolean columns with a standard flag field."""
    return _of_kind(contract, FieldKind.FLAG, ColumnType.BOOLEAN)


def _of_kind(contract: Contract, kind: FieldKind, of_type: ColumnType) -> tuple[str, ...]:
    found = []
    for column in contract.columns:
        held = standard_field(column.field or column.name)
        if column.type is of_type and held is not None and held.kind is kind:
            found.append((column.name, held.name))
    return tuple(name for name, field in found if field != "conversation")
