"""The frame of all pages: browser title and menu. What a page shows is in its own file."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboards import sidebar
from dashboards.registry import PAGES

# The pages of the menu have no icon: Streamlit would make it the browser's, fetched from outside.
st.set_page_config(
    page_title="Inferwatch", page_icon=str(Path(__file__).parent / "icon.png"), layout="wide"
)

sidebar.restore()
chosen = st.navigation(
    [
        st.Page(page.path, title=page.title, url_path=page.url_path, default=page is PAGES[0])
        for page in PAGES
    ],
    position="top",
)
try:
    chosen.run()
finally:
    sidebar.remember()
