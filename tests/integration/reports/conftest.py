"""Reports are tested on copies of one seeded database."""

from tests.many_runs import many_runs
from tests.seeded_database import database, own_database, seeded_template

__all__ = ["database", "many_runs", "own_database", "seeded_template"]
