"""The pages, in the order of the menu. A new one is a file in `views/` and a line here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from monitor.access import Right

VIEWS = Path(__file__).parent / "views"


@dataclass(frozen=True)
class PageEntry:
    """One page: address (`/model`; the first one is also at `/`), title, icon of links, file.

    `right` is what a reader's role must allow.
    """

    url_path: str
    title: str
    icon: str
    file: str
    right: Right = Right.SEE_NUMBERS

    @property
    def path(self) -> Path:
        """The file of the page."""
        return VIEWS / self.file


PAGES = (
    PageEntry("overview", "Overview", ":material/dashboard:", "overview.py"),
    PageEntry("model", "Model", ":material/monitoring:", "model.py"),
    PageEntry("column", "Column", ":material/bar_chart:", "column.py"),
    PageEntry("serving", "Serving", ":material/speed:", "serving.py"),
    PageEntry("versions", "Versions", ":material/deployed_code_history:", "versions.py"),
    PageEntry("calibration", "Calibration", ":material/straighten:", "calibration.py"),
    PageEntry("groups", "Groups", ":material/groups:", "groups.py"),
    PageEntry("compare", "Compare", ":material/compare_arrows:", "compare.py"),
    PageEntry("labels", "Labels", ":material/label:", "labels.py"),
    PageEntry("reports", "Reports", ":material/description:", "reports.py", Right.SEE_REPORTS),
    PageEntry("schema", "Schema and rejections", ":material/rule:", "schema.py"),
    PageEntry("runs", "Runs", ":material/checklist:", "runs.py"),
    PageEntry("alert", "Alert", ":material/notifications:", "alert.py", Right.SEE_ALERTS),
    PageEntry("settings", "Settings", ":material/tune:", "settings.py", Right.SEE_SETTINGS),
)


def page_of(url_path: str) -> PageEntry:
    """The page at an address; KeyError when there is none."""
    return {page.url_path: page for page in PAGES}[url_path]
