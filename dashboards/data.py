"""Questions to the reports, remembered for a few seconds a project.

Only the engine is kept as a resource; answers are values. Every answer is kept under the address
of the database, the project, the reader's role and the question, so that nobody sees what was
answered to a reader of another project or with other rights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from monitor.access import AccessRole
from monitor.reports.database import ProjectName, connect, projects

KEPT_SECONDS = 15
KEPT_ANSWERS = 300

Answer = TypeVar("Answer")


@st.cache_resource(show_spinner=False, max_entries=4, on_release=lambda held: held.dispose())
def engine(database_url: str) -> Any:
    """The connections that all sessions share."""
    return connect(database_url)


def ask(
    database_url: str,
    project_id: int,
    role: AccessRole,
    report: Callable[..., Answer],
    *arguments: object,
) -> Answer:
    """The report's answer for a project; at most KEPT_SECONDS old."""
    name = f"{report.__module__}.{report.__qualname__}"
    return _answer(database_url, project_id, role.value, name, arguments, report)  # type: ignore[no-any-return]


def project_names(database_url: str) -> tuple[ProjectName, ...]:
    """All projects; at most KEPT_SECONDS old."""
    return _projects(database_url)  # type: ignore[no-any-return]


def forget() -> None:
    """Forget all answers: somebody changed something."""
    _answer.clear()


@st.cache_data(ttl=KEPT_SECONDS, max_entries=KEPT_ANSWERS, show_spinner=False)
def _answer(
    database_url: str,
    project_id: int,
    role: str,  # noqa: ARG001 - part of the key
    name: str,  # noqa: ARG001 - the key that stands for the report, which can't be hashed
    arguments: tuple[object, ...],
    _report: Callable[..., Any],
) -> Any:
    return _report(engine(database_url), project_id, *arguments)


@st.cache_data(ttl=KEPT_SECONDS, max_entries=20, show_spinner=False)
def _projects(database_url: str) -> Any:
    return projects(engine(database_url))
