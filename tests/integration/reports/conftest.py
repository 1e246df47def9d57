"""Reports are tested on one server and copies of one seeded database."""

from tests.seeded_database import database, own_database, postgres, seeded_template

__all__ = ["database", "own_database", "postgres", "seeded_template"]
