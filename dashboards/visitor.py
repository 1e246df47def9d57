"""Who is looking: read anew from the session with every run of a page, never kept by the browser.

The gate let the socket through; this asks again, so that a role that was taken away is gone with
the next run, and a deed is judged by the rights of its own moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from dashboards.session_book import cookie_name
from monitor.access import AccessRole, Person, Right
from monitor.errors import NotAllowed
from monitor.reports.access import person_of, require, required_person
from monitor.reports.database import ProjectName
from monitor.settings import Settings

OWNER_OF_STATE = "account_of_this_session"
ANYBODY = Person(0, "", {}, AccessRole.ADMIN)
"""Who looks at a dashboard without sign-in, which listens on this machine alone."""


@dataclass(frozen=True)
class Visitor:
    """The person with the session's token; no token where there is no sign-in."""

    person: Person
    token: str | None

    @property
    def name(self) -> str | None:
        """The name that deeds are recorded under; None where it has to be asked for."""
        return self.person.login if self.token is not None else None

    def open_to(self, known: tuple[ProjectName, ...]) -> tuple[ProjectName, ...]:
        """The projects in which the person has a role."""
        return tuple(each for each in known if self.person.role_in(each.id) is not None)

    def check(self, engine: Any, project_id: int, right: Right) -> None:
        """Raises NotAllowed unless the session holds and its role allows it, now."""
        if self.token is None:
            require(self.person, project_id, right)
        else:
            required_person(engine, self.token, project_id, right, datetime.now(UTC))


def visitor(engine: Any, settings: Settings) -> Visitor:
    """Who looks at the page that runs; raises NotAllowed when the session is over."""
    if not settings.dashboard_auth:
        return Visitor(ANYBODY, None)
    token = st.context.cookies.get(cookie_name(settings))
    found = person_of(engine, token, datetime.now(UTC)) if token else None
    if token is None or found is None:
        raise NotAllowed("your session is over; sign in again")
    # A tab that is signed in anew may be given the state of the person before.
    if st.session_state.get(OWNER_OF_STATE, found.account_id) != found.account_id:
        st.session_state.clear()
    st.session_state[OWNER_OF_STATE] = found.account_id
    return Visitor(found, token)
