"""Runs migrations on the connection that monitor.store.schema hands over.

Each migration is one transaction with short lock and long statement limits: a migration that can't
get its lock gives up instead of making intake wait behind it.
"""

from alembic import context
from sqlalchemy import text

from monitor.store.tables import metadata


def run() -> None:
    connection = context.config.attributes["connection"]
    context.configure(
        connection=connection,
        target_metadata=metadata,
        transaction_per_migration=True,
        compare_type=True,
    )
    with context.begin_transaction():
        connection.execute(text("set local lock_timeout = '5s'"))
        connection.execute(text("set local statement_timeout = '15min'"))
        context.run_migrations()
    connection.commit()


run()
