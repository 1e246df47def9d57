"""The migrations make exactly the tables that the program declares, from nothing and once."""

from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Engine

from monitor.errors import DatabaseNotReady, DatabaseUnavailable
from monitor.settings import Settings
from monitor.store import schema
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.open import open_store
from monitor.store.tables import metadata
from tests.conftest import opened


def scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(schema.migration_config())


def test_there_is_one_head_and_one_root() -> None:
    assert len(scripts().get_heads()) == 1
    assert len(scripts().get_bases()) == 1
    assert schema.newest_revision() == scripts().get_heads()[0]


def test_every_migration_says_when_it_runs() -> None:
    for script in scripts().walk_revisions():
        assert script.module.phase in ("pre", "post"), script.revision
        assert "phase:" in (script.module.__doc__ or ""), script.revision


def test_tables_of_the_program_and_of_the_migrations_are_the_same(engine: Engine) -> None:
    with transaction(engine, None, Role.OWNER) as connection:
        found = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(found, metadata) == []


def test_check_constraints_are_the_same_too(engine: Engine) -> None:
    wanted = {
        constraint.name
        for table in metadata.tables.values()
        for constraint in table.constraints
        if isinstance(constraint, sa.CheckConstraint)
    }
    with transaction(engine, None, Role.OWNER) as connection:
        found = set(
            connection.scalars(
                sa.text(
                    "select conname from pg_constraint c join pg_class t on t.oid = c.conrelid"
                    " where contype = 'c' and t.relnamespace = 'public'::regnamespace"
                    " and not t.relispartition"
                )
            )
        )
    assert found == wanted


def test_an_empty_database_is_brought_up_and_again_changes_nothing(
    empty_database_url: str,
) -> None:
    with opened(empty_database_url) as engine:
        assert schema.current_revision(engine) is None
        schema.upgrade(engine)
        assert schema.current_revision(engine) == schema.newest_revision()
        schema.upgrade(engine)
        schema.require_current(engine)


def test_two_migrators_at_once_make_it_once(empty_database_url: str) -> None:
    failures: list[BaseException] = []
    barrier = threading.Barrier(3)

    def work() -> None:
        with opened(empty_database_url) as engine:
            barrier.wait(10)
            try:
                schema.upgrade(engine)
            except BaseException as error:  # noqa: BLE001 -- shown by the assertion below
                failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with opened(empty_database_url) as engine:
        schema.require_current(engine)


def test_what_was_never_migrated_says_what_to_do(empty_database_url: str) -> None:
    store = IntakeStore(empty_database_url, make_engine(empty_database_url))
    with pytest.raises(DatabaseNotReady, match=r"revision none.*inferwatch migrate"):
        store.ready()
    with pytest.raises(DatabaseNotReady, match="inferwatch migrate"):
        store.model_context(1, "credit")
    store.close()


def test_another_revision_is_not_ready(engine: Engine, store: IntakeStore) -> None:
    store.ready()
    with transaction(engine, None, Role.OWNER) as connection:
        connection.execute(sa.text("update alembic_version set version_num = '9999'"))
    with pytest.raises(DatabaseNotReady, match="9999"):
        store.ready()


def test_a_database_that_does_not_answer_is_unavailable() -> None:
    settings = Settings.from_environment({"DATABASE_URL": "postgresql://a:secret@127.0.0.1:9/x"})
    store = open_store(settings)
    with pytest.raises(DatabaseUnavailable) as caught:
        store.ready()
    assert "secret" not in str(caught.value)
    store.close()
