"""The table of rights: what the documents show is what the program does."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboards.registry import PAGES
from monitor.access import RIGHTS, AccessRole, Person, Right, allows, table_of_rights

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "access.md"
DEEDS = {right for right in Right if not right.startswith("see ")}


def test_the_document_shows_the_table() -> None:
    assert table_of_rights() in DOCUMENT.read_text(encoding="utf-8")


def test_every_role_is_in_the_table_and_every_right_has_somebody() -> None:
    assert set(RIGHTS) == set(AccessRole)
    assert set().union(*RIGHTS.values()) == set(Right)
    assert RIGHTS[AccessRole.ADMIN] == set(Right)


def test_who_only_looks_does_nothing_and_reviewers_see_no_rows() -> None:
    for role in (AccessRole.VIEWER, AccessRole.REVIEWER):
        assert not RIGHTS[role] & DEEDS
        assert Right.SEE_ROWS not in RIGHTS[role]
    assert {Right.SEE_REPORTS, Right.SEE_EVIDENCE} <= RIGHTS[AccessRole.REVIEWER]


@pytest.mark.parametrize("right", list(Right))
def test_no_role_no_right(right: Right) -> None:
    assert not allows(None, right)
    assert not Person(1, "ada", {2: AccessRole.ADMIN}).may(right, 3)


def test_pages_ask_for_rights_to_see() -> None:
    assert all(page.right not in DEEDS for page in PAGES)
