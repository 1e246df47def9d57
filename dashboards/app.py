"""The frame of all pages: browser title and menu. What a page shows is in its own file."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboards import sidebar, words
from dashboards.arrival import arrival_or_none
from dashboards.registry import PAGES

# The pages of the menu have no icon: Streamlit would make it the browser's, fetched from outside.
st.set_page_config(
    page_title="Inferwatch", page_icon=str(Path(__file__).parent / "icon.png"), layout="wide"
)

sidebar.restore()
here = arrival_or_none()
menu = [
    st.Page(
        page.path,
        title=page.title,
        url_path=page.url_path,
        default=page is PAGES[0],
        visibility="visible" if here is None or here.shows(page) else "hidden",
    )
    for page in PAGES
]
chosen = st.navigation(menu, position="top")
try:
    chosen.run()
finally:
    sidebar.remember()

if here is not None and here.visitor.name is not None:
    with st.container(horizontal=True, vertical_alignment="center"):
        role = here.visitor.person.role_in(here.project.id) if here.project is not None else None
        known_as = f"Signed in as {words.code(here.visitor.name)}"
        st.caption(f"{known_as}, {role}" if role is not None else known_as, width="content")
        st.link_button("Sign out", "/logout", type="tertiary")
