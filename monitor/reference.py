"""Reference files: read as one Arrow table, whatever their format.

It knows formats of files, not what the columns mean: that is the contract's (or, for a draft,
`reference_draft`'s) work.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from monitor.errors import ConfigurationError, Problem

MAX_HEADER_CHARACTERS = 1_000_000
EMPTY_MEANS_MISSING = ("",)


def read_reference(path: Path) -> pa.Table:
    """The rows of a Parquet, CSV or Feather file, chosen by the name's ending.

    In CSV an empty field is missing and nothing else is: `NA` stays the text NA. Raises
    ConfigurationError when the file can't be used, naming every column name that stands twice.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(READERS)
        raise _unusable(path, f"can't be told by its ending; known are {known}")
    try:
        table = reader(path)
    except FileNotFoundError:
        raise _unusable(path, "does not exist") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError, csv.Error) as error:
        what = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
        raise _unusable(path, f"can't be read: {what}") from error
    _refuse_repeated(path, table.column_names)
    if table.num_rows == 0:
        raise _unusable(path, "holds no rows")
    return table


def _read_csv(path: Path) -> pa.Table:
    # Arrow gives two columns of one name without a word; the header is looked at first.
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = next(csv.reader([file.readline(MAX_HEADER_CHARACTERS)]), [])
    _refuse_repeated(path, header)
    return pyarrow.csv.read_csv(
        path,
        convert_options=pyarrow.csv.ConvertOptions(
            null_values=list(EMPTY_MEANS_MISSING),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _read_parquet(path: Path) -> pa.Table:
    _refuse_repeated(path, pyarrow.parquet.read_schema(path).names)
    return pyarrow.parquet.read_table(path, partitioning=None)


def _read_feather(path: Path) -> pa.Table:
    return pyarrow.feather.read_table(path)


# No NDJSON: Arrow's reader ends the whole process on a line that holds `null` alone.
READERS: Mapping[str, Callable[[Path], pa.Table]] = {
    ".parquet": _read_parquet,
    ".csv": _read_csv,
    ".feather": _read_feather,
    ".arrow": _read_feather,
}


def _refuse_repeated(path: Path, names: list[str]) -> None:
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        shown = ", ".join(map(repr, repeated[:10]))
        raise _unusable(path, f"names columns more than once: {shown}; give each a name of its own")


def _unusable(path: Path, what: str) -> ConfigurationError:
    return ConfigurationError(str(path), [Problem("file", what)])
