"""Make a data folder and write the server's settings file. Starts no server."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from monitor.errors import EmbeddedPostgresError
from monitor.postgres.account import ServerAccount
from monitor.postgres.binaries import PostgresBinaries

SUPERUSER = "supervisor"
SETTINGS_FILE = "inferwatch.conf"
_LOCALES = ("C.UTF-8", "C")
_TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class ServerOptions:
    """What a caller may choose.

    `durable=False` is for tests only: committed rows outlive a killed server, but not a machine
    that loses power.
    """

    durable: bool = True
    shared_buffers: str = "128MB"
    max_connections: int = 100


def initialise(
    data: Path, binaries: PostgresBinaries, account: ServerAccount, password: str, durable: bool
) -> None:
    """Make the data folder `data`: it appears complete or not at all."""
    partial = data.with_name(data.name + ".partial")
    arguments: list[str | Path] = [
        binaries.initdb,
        "--pgdata", partial,
        "--username", SUPERUSER,
        "--auth=scram-sha-256",
        "--pwfile=/proc/self/fd/0",
        "--data-checksums",
        "--encoding=UTF8",
        *([] if durable else ["--no-sync"]),
    ]  # fmt: skip
    failure = ""
    for locale in _LOCALES:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        account.own(partial)
        done = _run_initdb([*arguments, f"--locale={locale}"], account, password)
        if done.returncode == 0:
            break
        failure = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        if "locale" not in failure:
            raise EmbeddedPostgresError(f"initdb failed for {data}:\n{failure}")
    else:
        raise EmbeddedPostgresError(f"initdb failed for {data}:\n{failure}")
    with (partial / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write(f"\ninclude_if_exists = '{SETTINGS_FILE}'\n")
    partial.rename(data)


def _run_initdb(
    arguments: Sequence[str | Path], account: ServerAccount, password: str
) -> subprocess.CompletedProcess[bytes]:
    # A nameless file, given to the account: readable by initdb, and nothing to clean up.
    with tempfile.TemporaryFile() as file:
        file.write(password.encode() + b"\n")
        file.seek(0)
        if account.drops_rights:
            os.fchown(file.fileno(), account.user, account.group)
        return account.run(arguments, stdin=file, timeout=_TIMEOUT_SECONDS)


def write_settings(
    data: Path, account: ServerAccount, options: ServerOptions, port: int, socket: Path | None
) -> None:
    """Write the settings file that postgresql.conf includes."""
    settings = _settings(options, port, socket)
    lines = [f"{name} = {_quoted(value)}" for name, value in settings]
    lines.insert(0, "# Rewritten at every start. To change a setting for good, use ALTER SYSTEM.")
    descriptor, name = tempfile.mkstemp(dir=data, prefix=f".{SETTINGS_FILE}-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    account.own(Path(name))
    Path(name).replace(data / SETTINGS_FILE)


def _settings(options: ServerOptions, port: int, socket: Path | None) -> list[tuple[str, str]]:
    settings = [
        ("listen_addresses", "127.0.0.1"),
        ("port", str(port)),
        ("unix_socket_directories", f'"{socket}"' if socket else ""),
        ("unix_socket_permissions", "0700"),
        ("cluster_name", "inferwatch"),
        ("max_connections", str(options.max_connections)),
        ("shared_buffers", options.shared_buffers),
        ("max_wal_size", "2GB"),
        ("password_encryption", "scram-sha-256"),
        ("timezone", "UTC"),
        ("log_timezone", "UTC"),
        # Statements and their details may hold people's data: neither belongs in a log file.
        ("log_error_verbosity", "terse"),
        ("log_min_error_statement", "panic"),
    ]
    if not options.durable:
        # synchronous_commit stays on: what was acknowledged must outlive a killed server.
        settings += [("fsync", "off"), ("full_page_writes", "off")]
    return settings


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def require_same_version(data: Path, binaries: PostgresBinaries) -> None:
    """Raise EmbeddedPostgresError when `data` was made by another major version."""
    made_by = read_major_version(data)
    if made_by in (None, binaries.major):
        return
    raise EmbeddedPostgresError(
        f"the data in {data} was made by PostgreSQL {made_by}, but the programs in "
        f"{binaries.folder} are PostgreSQL {binaries.major}, which can't read it. Set "
        f"INFERWATCH_PG_BIN to the bin folder of PostgreSQL {made_by} to go on as before. To "
        f"change version: start with {made_by}, save with pg_dump, stop, move the data folder "
        f"away, start with {binaries.major} and load the dump."
    )


def read_major_version(data: Path) -> int | None:
    """The major version that made the data folder; None when there is none."""
    try:
        text = (data / "PG_VERSION").read_text(encoding="ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return int(text) if text.isdigit() else None
