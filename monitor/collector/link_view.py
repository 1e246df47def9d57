"""What the page of a signed link shows, and its HTML. Pure: no request, no database."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from alerts.summaries import alert_link
from alerts.text import clean, words
from monitor.reports.alerts import Finding

MAX_SHOWN = 1_000
STYLE = """
:root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}
body{margin:0;padding:1rem;background:light-dark(#f4f5f7,#14171c);color:light-dark(#1a1d23,#e8eaee)}
main{max-width:34rem;margin:0 auto;padding:1.25rem;border-radius:.75rem;
background:light-dark(#fff,#1f242c);overflow-wrap:anywhere}
h1{font-size:1.35rem;margin:0 0 .75rem}
.what{font-size:1.1rem;font-weight:600;margin:.5rem 0}
.page,.ticket,.notice{font-size:.85rem;padding:.1rem .5rem;border-radius:1rem;color:#fff;
background:#b42318}.ticket{background:#9a4a00}.notice{background:#175cd3}
dl{display:grid;grid-template-columns:minmax(6rem,auto) 1fr;gap:.2rem .9rem;margin:.75rem 0}
dt{color:light-dark(#565d68,#a7afbb)}dd{margin:0}
.soft{color:light-dark(#565d68,#a7afbb)}
label{display:block;margin:.75rem 0 .2rem;font-weight:600}
input,select,textarea{box-sizing:border-box;width:100%;font:inherit;padding:.5rem;
border:1px solid light-dark(#868e99,#77808c);border-radius:.4rem;
background:light-dark(#fff,#14171c);color:inherit}
button{margin-top:1rem;width:100%;font:inherit;font-weight:600;padding:.75rem;border:0;
border-radius:.5rem;background:#175cd3;color:#fff;cursor:pointer}
button:focus-visible,input:focus-visible,select:focus-visible,textarea:focus-visible,
a:focus-visible{outline:3px solid #f79009;outline-offset:2px}
a{color:light-dark(#175cd3,#84adff)}
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode("ascii")
HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_HASH}';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex, nofollow",
}
_TEMPLATE = Environment(
    autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
).from_string((Path(__file__).parent / "link_page.html").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class ShownAlert:
    """The alert as the page tells it."""

    what: str
    severity: str
    facts: tuple[tuple[str, str], ...]
    runbook: str = ""

    @property
    def runbook_is_link(self) -> bool:
        """Whether a browser may follow it."""
        return self.runbook.startswith(("https://", "http://"))


@dataclass(frozen=True)
class Form:
    """The one button, and what is asked beside it. `who` is known already or empty.

    `by`, `comment` and `chosen` are what was filled in before and could not be used.
    """

    button: str
    who: str
    lengths: tuple[tuple[str, str], ...] = ()
    chosen: str = ""
    by: str = ""
    comment: str = ""
    max_name: int = 200
    max_comment: int = 2_000


@dataclass(frozen=True)
class View:
    """One page: its HTTP status, what it says, and perhaps the alert and the form."""

    status: int
    title: str
    lines: tuple[str, ...] = ()
    alert: ShownAlert | None = None
    form: Form | None = None
    dashboard: str = ""


def html_of(view: View) -> str:
    """The page; every text in it is escaped."""
    return _TEMPLATE.render(view=view, style=STYLE)


def shown(found: Finding) -> ShownAlert:
    """An alert for the page, all texts cleaned."""
    rule, judged = found.rule, found.judged
    facts = [
        ("Rule", found.rule_name),
        ("Model", found.model),
        ("State", words(found.state)),
        ("Since", minute_text(found.since)),
        ("Alert when", found.threshold),
    ]
    if judged is not None and judged.value is not None:
        facts.append(("Newest value", f"{judged.value:.4g} {judged.unit}, n {judged.n:,}"))
    if found.acknowledged_by:
        facts.append(("Taken on by", found.acknowledged_by))
    facts.append(("Owner", found.owner))
    facts.append(("Response", words(found.response).capitalize()))
    for name in ("impact", "precondition", "limit", "command"):
        if rule is not None and getattr(rule, name):
            facts.append((name.capitalize(), getattr(rule, name)))
    return ShownAlert(
        what=clean(found.sentence, MAX_SHOWN),
        severity=found.severity,
        facts=tuple((name, clean(value, MAX_SHOWN)) for name, value in facts),
        runbook=clean(rule.runbook, MAX_SHOWN) if rule is not None and rule.runbook else "",
    )


def minute_text(moment: datetime) -> str:
    """`2026-03-01 09:30 UTC`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def dashboard_link(public_url: str, found: Finding) -> str:
    """The alert's page."""
    return alert_link(public_url.rstrip("/"), found.fingerprint)
