"""Migrations from code: upgrade, current revision, and readiness. No ini file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Engine

from monitor.errors import DatabaseNotReady
from monitor.store.engine import Role, transaction

MIGRATION_LOCK = 7_205_301_148


def migration_config() -> Config:
    """Alembic's settings, with the scripts found through the installed package."""
    spec = find_spec("migrations")
    if spec is None or not spec.submodule_search_locations:
        raise AssertionError("the migrations package is installed with this one")
    config = Config()
    config.set_main_option("script_location", str(Path(spec.submodule_search_locations[0])))
    return config


def newest_revision() -> str:
    """The revision this program needs."""
    head = ScriptDirectory.from_config(migration_config()).get_current_head()
    if head is None:
        raise AssertionError("there is at least one migration")
    return head


def current_revision(engine: Engine) -> str | None:
    """The revision the database has, None when it was never migrated."""
    with transaction(engine, None, Role.OWNER) as connection:
        return MigrationContext.configure(connection).get_current_revision()


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the database to a revision. One migrator at a time; a second one waits its turn."""
    config = migration_config()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as holder:
        holder.execute(sa.text("select pg_advisory_lock(:key)"), {"key": MIGRATION_LOCK})
        try:
            with engine.connect() as connection:
                config.attributes["connection"] = connection
                command.upgrade(config, revision)
        finally:
            holder.execute(sa.text("select pg_advisory_unlock(:key)"), {"key": MIGRATION_LOCK})


def require_current(engine: Engine) -> None:
    """Raises DatabaseNotReady unless the schema is the one this program needs."""
    found, needed = current_revision(engine), newest_revision()
    if found != needed:
        raise DatabaseNotReady(
            f"the database is at revision {found or 'none'}, this program needs {needed};"
            " run `inferwatch migrate`"
        )
