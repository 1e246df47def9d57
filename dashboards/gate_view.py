"""The few pages that the gate itself shows, and their headers. Pure."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, StrictUndefined

FOLDER = Path(__file__).parent
STYLE = (FOLDER / "gate.css").read_text(encoding="utf-8")
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode("ascii")
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src data:;"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_TEMPLATE = Environment(
    autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
).from_string((FOLDER / "gate.html").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Field:
    """One line to fill in."""

    name: str
    label: str
    kind: str = "text"
    value: str = ""
    autocomplete: str = ""
    hint: str = ""
    required: bool = True


@dataclass(frozen=True)
class GateForm:
    """A form with one button. `hidden` are names and values that come back with it."""

    action: str
    button: str
    fields: tuple[Field, ...] = ()
    hidden: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class GateView:
    """One page: its HTTP status, what it says, a problem in red, a form, a way on."""

    status: int
    title: str
    lines: tuple[str, ...] = ()
    problem: str = ""
    form: GateForm | None = None
    link: tuple[str, str] | None = None


def html_of(view: GateView) -> str:
    """The page; every text in it is escaped."""
    return _TEMPLATE.render(view=view, style=STYLE)
