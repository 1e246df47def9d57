"""Contracts and rules in force with their history, and what a version changed."""

from __future__ import annotations

from monitor.reports.history import (
    changes,
    contract_text,
    contract_versions,
    rule_versions,
    rules_text,
)
from monitor.store.engine import Role, transaction
from monitor.store.models import apply_contract
from tests.dashboard_seed import MODEL, RULES, contract_of
from tests.seeded_database import SeededDatabase


def test_a_second_contract_stands_first_with_who_and_the_text(own_database: SeededDatabase):
    seeded = own_database.seeded
    changed = contract_of(MODEL).model_copy(update={"owner": "night-shift"})
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        apply_contract(connection, seeded.project_id, changed, source="owner: night", by="bo")
    found = own_database.ask(contract_versions, seeded.model_id)
    assert [(each.version, each.by) for each in found] == [(2, "bo"), (1, "ada")]
    assert own_database.ask(contract_text, seeded.model_id, 2) == "owner: night"
    assert own_database.ask(contract_text, seeded.model_id, 3) is None


def test_the_rules_in_force_are_those_applied(database: SeededDatabase):
    newest = database.ask(rule_versions)[0]
    assert database.ask(rules_text, newest.version) == RULES


def test_changes_name_only_what_differs():
    said = changes("a\nb\nc", "a\nB\nc", ("version 1", "version 2"))
    assert {line for line in said.splitlines() if line[0] in "+-" and line[:2] not in "+++---"} == {
        "-b", "+B",
    }  # fmt: skip
    assert changes("a", "a", ("version 1", "version 2")) == ""
