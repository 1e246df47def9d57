"""What several commands need: the database in use, the project, files, names and tables."""

from __future__ import annotations

import getpass
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.errors import ConfigurationError, DatabaseUnavailable, Problem

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

    from monitor.jobs.base import JobContext
    from monitor.settings import Settings
    from monitor.store.models import ModelContext
    from monitor.windows import Window

MAX_FILE_BYTES = 4 << 20
PIPE_WIDTH = 200

Project = Annotated[str, typer.Option("--project", help="The project; made when it is new.")]
KnownProject = Annotated[str, typer.Option("--project", help="The project.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        help="A day (its end, in the contract's time zone) or a moment: what was known then.",
        show_default=False,
    ),
]
By = Annotated[
    str | None, typer.Option("--by", help="Who does it; without it the name of the login.")
]


def settings_with_database() -> Settings:
    """Settings with the address of the database: DATABASE_URL, or the embedded server that runs.

    Raises DatabaseUnavailable when the embedded server does not run.
    """
    from monitor.postgres.server import EmbeddedServer
    from monitor.settings import Settings

    settings = Settings.from_environment()
    if settings.database_url is not None:
        return settings
    server = EmbeddedServer(settings.home)
    found = server.status()
    if not found.is_running:
        raise DatabaseUnavailable(
            f"the database in {settings.home} is {found.condition}: run `inferwatch db start`"
            " (or `inferwatch up`, which starts everything), or set DATABASE_URL"
        )
    return replace(settings, database_url=server.url)


@contextmanager
def open_database(*, migrated: bool = True) -> Iterator[Engine]:
    """An engine on the database in use, closed at the end of the block.

    Raises DatabaseNotReady when the schema is not the one this program needs, unless `migrated`
    is false.
    """
    from monitor.store.engine import make_engine
    from monitor.store.open import required_url
    from monitor.store.schema import require_current

    engine = make_engine(required_url(settings_with_database()), pool_size=1)
    try:
        if migrated:
            require_current(engine)
        yield engine
    finally:
        engine.dispose()


def find_project(engine: Engine, name: str) -> int:
    """The project's number; UnknownSubject names those there are."""
    from monitor.store.engine import Role, transaction
    from monitor.store.projects import project_number

    with transaction(engine, None, Role.OWNER) as connection:
        return project_number(connection, name)


def find_context(engine: Engine, project_id: int, model: str) -> ModelContext:
    """The model with its newest contract; UnknownSubject names the models there are."""
    from monitor.store.engine import Role, transaction

    with transaction(engine, project_id, Role.OWNER) as connection:
        return context_in(connection, project_id, model)


def context_in(connection: Connection, project_id: int, model: str) -> ModelContext:
    """The same inside an open transaction of the owner."""
    import sqlalchemy as sa

    from monitor.store.models import model_context, model_number
    from monitor.store.tables import project

    model_number(connection, project_id, model)
    key = connection.scalar(sa.select(project.c.hash_key).where(project.c.id == project_id))
    context = model_context(connection, project_id, model, bytes(key or b""))
    if context is None:
        raise AssertionError("a model is stored together with its first contract")
    return context


@contextmanager
def job_context(engine: Engine, project: str, model: ModelContext) -> Iterator[JobContext]:
    """What a job is given, for a command that does a job's work now."""
    from monitor.jobs.base import JobContext
    from monitor.store.bulk import BulkConnections
    from monitor.store.engine import Role
    from monitor.store.open import required_url

    settings = settings_with_database()
    bulk = BulkConnections(required_url(settings), Role.WORKER)
    try:
        yield JobContext(
            engine=engine,
            bulk=bulk,
            project=project,
            model=model,
            worker="command",
            now=datetime.now(UTC),
            public_url=settings.public_url,
        )
    finally:
        bulk.close()


def login(by: str | None) -> str:
    """The given name, or that of the person who is logged in."""
    if by is not None and by.strip():
        return by.strip()
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return f"user {os.getuid()}"


def read_text_file(path: Path, most_bytes: int = MAX_FILE_BYTES) -> str:
    """The text of a configuration file; ConfigurationError when it can't be read."""
    try:
        if path.stat().st_size > most_bytes:
            raise _unreadable(path, f"is larger than {most_bytes >> 20} MB")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise _unreadable(path, f"can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, f"is not UTF-8 text (byte {error.start})") from error


def read_moment(text: str, option: str, zone: str) -> datetime:
    """A day in the contract's time zone (its first moment), or a moment with a zone."""
    from zoneinfo import ZoneInfo

    from monitor.calendar import local_day

    remedy = "write for example 2026-03-01 or 2026-03-01T06:00Z"
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        moment = None
    if moment is None or (moment.tzinfo is None and len(text.strip()) > len("2026-03-01")):
        what = f"{text[:40]!r} is neither a day nor a moment with a zone; {remedy}"
        raise ConfigurationError("command", [Problem(option, what)])
    if moment.tzinfo is not None:
        return moment.astimezone(UTC)
    return local_day(moment.replace(hour=12, tzinfo=ZoneInfo(zone)), zone).start


def read_span(text: str, option: str, zone: str) -> Window:
    """FROM/TO as a window: days in the contract's time zone, or moments with a zone."""
    from monitor.windows import Window

    start, slash, end = text.partition("/")
    if not slash:
        what = f"{text[:60]!r} is not FROM/TO; write for example 2026-03-01/2026-03-08"
        raise ConfigurationError("command", [Problem(option, what)])
    first, last = read_moment(start, option, zone), read_moment(end, option, zone)
    if not first < last:
        raise ConfigurationError("command", [Problem(option, "it ends before it begins")])
    return Window(first, last)


def read_as_of(text: str | None, zone: str) -> datetime | None:
    """The moment of `--as-of`: of a day its end, so that all that came on that day is known."""
    from monitor.calendar import local_day

    if text is None:
        return None
    moment = read_moment(text, "--as-of", zone)
    is_day = len(text.strip()) == len("2026-03-01")
    return local_day(moment, zone).end if is_day else moment


def print_json(value: Any) -> None:
    """Print one JSON value; moments as ISO text."""
    typer.echo(json.dumps(value, indent=2, default=str, ensure_ascii=False))


def print_table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows as a table; texts are shown as they are, never as markup."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    # Somebody who reads through a pipe gets whole lines.
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(width=width).print(table)


def plain(value: Any) -> str:
    """A value for a table's cell: moments to the minute, nothing for None, nothing unprintable."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%MZ}"
    return "".join(
        sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in str(value)
    )


def _unreadable(path: Path, what: str) -> ConfigurationError:
    return ConfigurationError(str(path), [Problem("file", what)])
