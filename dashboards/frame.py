"""What every page needs before it draws: database, project, zone, range, links.

All of it is kept in the address, so that a copied link shows the same thing. Problems end the page
with a sentence that says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar
from zoneinfo import ZoneInfo

import streamlit as st

from alerts.errors import AlertsError
from dashboards import data, kit
from dashboards.registry import page_of
from dashboards.words import escape
from monitor.errors import InferwatchError
from monitor.reports.database import ProjectName
from monitor.reports.measurements import Filter
from monitor.reports.time_range import parse_day, window_of_days, zone_of
from monitor.settings import Settings

Answer = TypeVar("Answer")
REMEMBERED = "project_of_this_session"
AS_OF = "as_of"


@dataclass(frozen=True)
class Frame:
    """Whose data is shown, and in which zone times are told."""

    database_url: str
    project: ProjectName
    projects: tuple[ProjectName, ...]
    zone: ZoneInfo
    now: datetime
    known_by: datetime | None = None
    deployment: int | None = None

    @property
    def deployments(self) -> tuple[int, ...]:
        """The deployment that the page is narrowed to, nothing for all of them."""
        return () if self.deployment is None else (self.deployment,)

    def ask(self, report: Callable[..., Answer], *arguments: object) -> Answer:
        """A report's answer; an error of ours ends the page with its words.

        Where the page is shown as known on a day or for one deployment, so is every filter of
        measurements that names none itself.
        """
        asked = [self._narrowed(argument) for argument in arguments]
        try:
            return data.ask(self.database_url, self.project.id, report, *asked)
        except InferwatchError as error:
            kit.failed("This can't be shown", str(error))
            st.stop()

    def _narrowed(self, argument: object) -> object:
        if not isinstance(argument, Filter):
            return argument
        if self.known_by is not None:
            argument = replace(argument, known_by=self.known_by)
        if not argument.deployment_ids:
            argument = replace(argument, deployment_ids=self.deployments)
        return argument

    def do(self, action: Callable[..., None], *arguments: object) -> str | None:
        """Carry out an action of a person; the words of its error, None when it was done."""
        try:
            action(data.engine(self.database_url), self.project.id, *arguments)
        except (InferwatchError, AlertsError) as error:
            return str(error)
        data.forget()
        return None

    def link(self, url_path: str, label: str, *, icon: str | None = None, **query: str) -> None:
        """A link to another page of the same project, with the days and deployment shown here.

        The label is text from outside.
        """
        page = page_of(url_path)
        parameters = {"project": self.project.name, **_kept(query), **query}
        st.page_link(
            page.path, label=escape(label), icon=icon or page.icon, query_params=parameters
        )


def begin(title: str) -> Frame:
    """The frame of a page, its title drawn; ends the page when there is nothing to show."""
    address = _database_url()
    zone = zone_of(st.query_params.get("zone") or st.context.timezone)
    known = _projects(address)
    if not known:
        st.title(title)
        kit.empty(
            "There is no project yet",
            "Apply a contract; that makes the project and its first model.",
            "inferwatch contract apply contract.yaml",
        )
        st.stop()
    project = _chosen(known)
    _heading(title, known, project)
    now, deployment = datetime.now(UTC), number_parameter("deployment")
    return Frame(address, project, known, zone, now, _known_by(zone), deployment)


def _known_by(zone: ZoneInfo) -> datetime | None:
    day = parse_day(parameter(AS_OF))
    return window_of_days(day, day, zone).end if day is not None else None


def _kept(query: Mapping[str, str]) -> dict[str, str]:
    """Parameters of this address that hold on the next page too.

    A deployment is one of a model: on the way to another model it means nothing.
    """
    model = parameter("model")
    names = ["zone", "range", "from", "to", AS_OF]
    if model is not None and query.get("model", model) == model:
        names += ["model", "deployment"]
    found = ((name, parameter(name)) for name in names)
    return {name: value for name, value in found if value is not None}


def parameter(name: str) -> str | None:
    """A parameter of the address; an empty one is none."""
    return st.query_params.get(name) or None


def number_parameter(name: str) -> int | None:
    """A whole number from the address, None when it is anything else."""
    text = parameter(name) or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _database_url() -> str:
    try:
        address = Settings.from_environment().database_url
    except InferwatchError as error:
        kit.failed("The settings can't be used", str(error))
        st.stop()
    if address is None:
        kit.failed(
            "No database is named",
            "Set DATABASE_URL, or start everything together with: inferwatch up",
        )
        st.stop()
    return address


def _projects(address: str) -> tuple[ProjectName, ...]:
    try:
        return data.project_names(address)
    except InferwatchError as error:
        kit.failed("The database can't be read", str(error))
        st.stop()


def _chosen(known: tuple[ProjectName, ...]) -> ProjectName:
    """The project of the address, else the session's last one, else the first."""
    by_name = {project.name: project for project in known}
    wanted = parameter("project")
    if wanted is not None and wanted not in by_name:
        kit.failed("There is no such project", f"{wanted} is not a project here; choose another.")
        wanted = None
    name = wanted or st.session_state.get(REMEMBERED)
    return by_name.get(name or "", known[0])


def _heading(title: str, known: tuple[ProjectName, ...], project: ProjectName) -> None:
    """The title, and in the sidebar the choice of project."""
    st.session_state[REMEMBERED] = project.name
    st.title(title)
    names = [each.name for each in known]
    with st.sidebar:
        picked = st.selectbox(
            "Project", names, index=names.index(project.name), key=f"project:{project.name}"
        )
    if picked != project.name:
        st.query_params.from_dict({"project": picked})
        st.session_state[REMEMBERED] = picked
        st.rerun()
