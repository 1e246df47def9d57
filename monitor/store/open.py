"""Opens the store from settings: the one place that turns a URL into connections."""

from __future__ import annotations

from sqlalchemy.engine import Engine

from monitor.errors import ConfigurationError, Problem
from monitor.settings import Settings
from monitor.store.engine import make_engine
from monitor.store.intake_store import IntakeStore


def open_engine(settings: Settings) -> Engine:
    """An engine on the database that the settings name."""
    return make_engine(required_url(settings), pool_size=max(5, settings.intake_threads + 2))


def open_store(settings: Settings) -> IntakeStore:
    """The collector's store on the database that the settings name."""
    return IntakeStore(required_url(settings), open_engine(settings))


def required_url(settings: Settings) -> str:
    """DATABASE_URL; ConfigurationError with the remedy when it is not set."""
    if settings.database_url is None:
        remedy = "set it, or start everything with `inferwatch up`, which brings its own Postgres"
        raise ConfigurationError("environment", [Problem("DATABASE_URL", f"is not set; {remedy}")])
    return settings.database_url
