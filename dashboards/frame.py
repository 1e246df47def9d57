"""What every page needs before it draws: database, project, zone, range, links.

All of it is kept in the address, so that a copied link shows the same thing. Problems end the page
with a sentence that says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar
from zoneinfo import ZoneInfo

import streamlit as st

from alerts.errors import AlertsError
from dashboards import data, kit
from dashboards.arrival import REMEMBERED, Arrival, arrive
from dashboards.registry import PAGES, page_of
from dashboards.visitor import Visitor
from dashboards.words import escape
from monitor.access import AccessRole, Right, allows
from monitor.errors import ConfigurationError, InferwatchError, NotAllowed
from monitor.reports.database import ProjectName
from monitor.reports.measurements import Filter
from monitor.reports.time_range import parse_day, window_of_days, zone_of

Answer = TypeVar("Answer")
AS_OF = "as_of"


@dataclass
class Narrowing:
    """The segment that the page's numbers are narrowed to; the page learns it after its model."""

    segment: int | None = None


@dataclass(frozen=True)
class Frame:
    """Whose data is shown, and in which zone times are told."""

    database_url: str
    project: ProjectName
    projects: tuple[ProjectName, ...]
    zone: ZoneInfo
    now: datetime
    visitor: Visitor
    known_by: datetime | None = None
    deployment: int | None = None
    narrowing: Narrowing = field(default_factory=Narrowing)

    @property
    def segment(self) -> int:
        """The number of the segment that the page is narrowed to, 0 for all requests."""
        return self.narrowing.segment or 0

    @property
    def deployments(self) -> tuple[int, ...]:
        """The deployment that the page is narrowed to, nothing for all of them."""
        return () if self.deployment is None else (self.deployment,)

    @property
    def role(self) -> AccessRole:
        """What the reader is in this project."""
        role = self.visitor.person.role_in(self.project.id)
        if role is None:
            raise AssertionError("a frame is made of a project that is open to the reader")
        return role

    def may(self, right: Right) -> bool:
        """Whether the reader's role allows it here."""
        return allows(self.role, right)

    def ask(self, report: Callable[..., Answer], *arguments: object) -> Answer:
        """A report's answer; an error of ours ends the page with its words.

        Where the page is shown as known on a day, for one deployment or one segment, so is every
        filter of measurements that names none itself.
        """
        asked = [self._narrowed(argument) for argument in arguments]
        try:
            return data.ask(self.database_url, self.project.id, self.role, report, *asked)
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
        if not argument.segment_id:
            argument = replace(argument, segment_id=self.segment)
        return argument

    def do(self, action: Callable[..., None], *arguments: object, right: Right) -> str | None:
        """Carry out an action of a person; the words of its error, None when it was done.

        It is refused unless the session holds at this moment and its role allows `right`.
        """
        engine = data.engine(self.database_url)
        try:
            self.visitor.check(engine, self.project.id, right)
            action(engine, self.project.id, *arguments)
        except (InferwatchError, AlertsError) as error:
            return str(error)
        data.forget()
        return None

    def link(self, url_path: str, label: str, *, icon: str | None = None, **query: str) -> None:
        """A link to another page of the same project, with the days and deployment shown here.

        The label is text from outside; only the label where the reader's role does not allow that
        page.
        """
        page = page_of(url_path)
        if not self.may(page.right):
            st.markdown(escape(label))
            return
        parameters = {"project": self.project.name, **_kept(query), **query}
        st.page_link(
            page.path, label=escape(label), icon=icon or page.icon, query_params=parameters
        )


def begin(title: str) -> Frame:
    """The frame of a page, its title drawn; ends the page when there is nothing to show."""
    here = _arrived()
    zone = zone_of(st.query_params.get("zone") or st.context.timezone)
    if here.project is None:
        st.title(title)
        _without_project(here)
        st.stop()
    if here.unknown is not None:
        told = f"{here.unknown} is not a project here that is open to you; choose another."
        kit.failed("There is no such project", told)
    _heading(title, here.projects, here.project)
    frame = Frame(
        here.database_url, here.project, here.projects, zone, datetime.now(UTC), here.visitor,
        _known_by(zone), number_parameter("deployment"),
    )  # fmt: skip
    _refuse_unless_allowed(frame, title)
    return frame


def _arrived() -> Arrival:
    try:
        return arrive()
    except InferwatchError as error:
        headings = {
            ConfigurationError: "The settings can't be used",
            NotAllowed: "You are not signed in",
        }
        kit.failed(headings.get(type(error), "The database can't be read"), str(error))
        st.stop()


def _without_project(here: Arrival) -> None:
    if here.others:
        kit.empty(
            "No project is open to you yet",
            "An admin gives you a role in one, or in all of them.",
            f"inferwatch user role {here.visitor.person.login} viewer --project NAME",
        )
        return
    kit.empty(
        "There is no project yet",
        "Apply a contract; that makes the project and its first model.",
        "inferwatch contract apply contract.yaml",
    )


def _refuse_unless_allowed(frame: Frame, title: str) -> None:
    """End a page that the reader's role does not allow, before anything of it is read."""
    (page,) = [each for each in PAGES if each.title == title]
    if not frame.may(page.right):
        told = f"The role {frame.role} in {frame.project.name} does not allow to {page.right}."
        kit.failed("This page is not open to you", f"{told} An admin can give you another role.")
        st.stop()


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
