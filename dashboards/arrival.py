"""What holds for a run of any page: whose database, who looks, which projects, which of them."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dashboards import data
from dashboards.registry import PageEntry
from dashboards.visitor import Visitor, visitor
from monitor.errors import ConfigurationError, InferwatchError, Problem
from monitor.reports.database import ProjectName
from monitor.settings import Settings

REMEMBERED = "project_of_this_session"


@dataclass(frozen=True)
class Arrival:
    """Who looks at what. `projects` are those with a role for the person; `others` counts the rest.

    `unknown` is a project of the address that is not among them.
    """

    database_url: str
    visitor: Visitor
    projects: tuple[ProjectName, ...]
    others: int
    project: ProjectName | None
    unknown: str | None

    def shows(self, page: PageEntry) -> bool:
        """Whether the person's role in the project allows the page."""
        return self.project is None or self.visitor.person.may(page.right, self.project.id)


def arrive() -> Arrival:
    """Find it all out; raises ConfigurationError, NotAllowed and the store's errors."""
    settings = Settings.from_environment()
    address = settings.database_url
    if address is None:
        remedy = "set it, or start everything together with: inferwatch up"
        raise ConfigurationError("environment", [Problem("DATABASE_URL", f"is missing; {remedy}")])
    found = visitor(data.engine(address), settings)
    known = data.project_names(address)
    mine = found.open_to(known)
    wanted = st.query_params.get("project") or None
    by_name = {project.name: project for project in mine}
    unknown = wanted if wanted is not None and wanted not in by_name else None
    name = st.session_state.get(REMEMBERED) if wanted is None or unknown is not None else wanted
    project = by_name.get(name or "", mine[0] if mine else None)
    return Arrival(address, found, mine, len(known) - len(mine), project, unknown)


def arrival_or_none() -> Arrival | None:
    """The same for the menu, which is drawn whatever happens; the page tells what went wrong."""
    try:
        return arrive()
    except InferwatchError:
        return None
