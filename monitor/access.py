"""Who may see and do what: roles, rights, and the one table that joins them. Pure.

A person has one role in a project. `docs/access.md` shows the same table; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class AccessRole(StrEnum):
    """What a person is in a project."""

    VIEWER = "viewer"
    ENGINEER = "engineer"
    ON_CALL = "on-call"
    REVIEWER = "reviewer"
    ADMIN = "admin"


class Right(StrEnum):
    """One thing that a role may allow, in the words of the documents and of refusals."""

    SEE_NUMBERS = "see numbers and charts"
    SEE_ALERTS = "see the page of an alert"
    SEE_ROWS = "see masked rows"
    SEE_REPORTS = "see reports"
    SEE_EVIDENCE = "see evidence"
    SEE_SETTINGS = "see contracts and rules"
    ACKNOWLEDGE = "acknowledge alerts"
    SNOOZE = "snooze alerts"
    SILENCE = "silence alerts and end silences"
    RESPOND = "start responses and report their outcome"
    RESOLVE = "resolve alerts"
    ARCHIVE = "archive alerts and take them back"
    JUDGE = "judge alerts and incidents (false alarm, fault, new normal)"


_ACTS = frozenset(
    {Right.ACKNOWLEDGE, Right.SNOOZE, Right.SILENCE, Right.RESOLVE, Right.ARCHIVE, Right.JUDGE}
)
_WORK = frozenset({Right.SEE_NUMBERS, Right.SEE_ALERTS, Right.SEE_ROWS, Right.SEE_REPORTS})

RIGHTS: Mapping[AccessRole, frozenset[Right]] = {
    AccessRole.VIEWER: frozenset({Right.SEE_NUMBERS, Right.SEE_ALERTS, Right.SEE_REPORTS}),
    AccessRole.ENGINEER: _WORK | _ACTS | {Right.SEE_EVIDENCE, Right.SEE_SETTINGS},
    AccessRole.ON_CALL: _WORK | _ACTS | {Right.RESPOND, Right.SEE_SETTINGS},
    AccessRole.REVIEWER: frozenset(
        {Right.SEE_NUMBERS, Right.SEE_REPORTS, Right.SEE_EVIDENCE, Right.SEE_SETTINGS}
    ),
    AccessRole.ADMIN: frozenset(Right),
}
"""The table. What is not in it is refused."""


@dataclass(frozen=True)
class Person:
    """Somebody who is signed in, with a role in each project that is open to them."""

    account_id: int
    login: str
    roles: Mapping[int, AccessRole]
    everywhere: AccessRole | None = None

    def role_in(self, project_id: int) -> AccessRole | None:
        """The role in a project: the project's own one, else the one for all projects."""
        return self.roles.get(project_id, self.everywhere)

    def may(self, right: Right, project_id: int) -> bool:
        """Whether the role in the project allows it."""
        return allows(self.role_in(project_id), right)


def allows(role: AccessRole | None, right: Right) -> bool:
    """Whether a role allows something; no role allows nothing."""
    return role is not None and right in RIGHTS[role]


def table_of_rights() -> str:
    """The table in Markdown, as the documents show it."""
    head = ["| | " + " | ".join(AccessRole) + " |", "| --- |" + " --- |" * len(AccessRole)]
    rows = (
        f"| {right} | " + " | ".join("yes" if allows(r, right) else "" for r in AccessRole) + " |"
        for right in Right
    )
    return "\n".join([*head, *(row.replace("|  |", "| |").replace("|  |", "| |") for row in rows)])
