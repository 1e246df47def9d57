"""The documents say what the program does: names, settings, commands, links and their form."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from inferwatch_client.options import (
    KEY_VARIABLE,
    MODEL_VARIABLE,
    SPOOL_VARIABLE,
    URL_VARIABLE,
)
from typer.main import get_command

from alerts.channels.registry import CHANNELS
from alerts.channels.webhook import signed_headers
from alerts.model import AlertState, ResolvedReason, ResponseAction, Severity
from alerts.rules import Subject
from dashboards.registry import PAGES
from monitor.checks.registry import CHECKS
from monitor.cli.main import build_app
from monitor.collector.app import create_app
from monitor.collector.schemas import IntakeAnswerBody
from monitor.contract import (
    Baseline,
    Column,
    ColumnRole,
    ColumnType,
    Contract,
    Lateness,
    Retention,
    RiskTier,
    Sensitivity,
    Task,
)
from monitor.contract_quality import (
    Fairness,
    Favourable,
    Feedback,
    Label,
    ServiceObjective,
    Signal,
    SignalDirection,
    SignalKind,
)
from monitor.contract_stages import Stage
from monitor.intake.registry import LABEL_FORMATS, REQUEST_FORMATS
from monitor.records import RejectionReason, RequestOutcome, ViolationReason
from monitor.settings import Settings
from monitor.store.engine import Role
from monitor.store.projects import Scope
from tests.acceptance.screenshots import names as picture_names
from tests.documents import (
    DOCUMENTS,
    ROOT,
    blocks,
    inferwatch_commands,
    prints_as_said,
    prose,
    steps,
)

README = ROOT / "README.md"
DOCS = ROOT / "docs"
SETTINGS_ROW = re.compile(r"^\| `([A-Z_]+)` \| (.+?) \|", re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CHANGE = re.compile(r"\* \[(CHANGE|FEATURE|ENHANCEMENT|BUGFIX)\] [\w ]+: \S.* \(#\d+\)")
MOST_README_LINES = 150
USAGE_ERROR = typer.BadParameter.__mro__[1]
"""What every mistake of a command line is; typer names only some of its kinds."""


class _Recorder(dict[str, str]):
    """An empty environment that remembers what was asked of it."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return default


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def known_settings() -> tuple[set[str], Settings]:
    """Every variable that settings.py reads, and the settings of an empty environment."""
    recorder = _Recorder()
    settings = Settings.from_environment(recorder)
    return {name for name in recorder.asked if not name.endswith("_FILE")}, settings


def told_names(text: str) -> set[str]:
    """What stands in the text as code, `a/b` and `a, b` apart."""
    return {word for code in re.findall(r"`([^`\n]+)`", text) for word in re.split(r"[\s,]+", code)}


def test_settings_page_lists_exactly_the_settings() -> None:
    known, settings = known_settings()
    told = dict(SETTINGS_ROW.findall(text_of("settings.md")))
    assert set(told) == known
    assert len(known) == len(fields(settings))


def test_settings_page_gives_the_real_defaults() -> None:
    known, settings = known_settings()
    told = dict(SETTINGS_ROW.findall(text_of("settings.md")))
    other_fields = {"DATABASE_URL": "database_url", "INFERWATCH_PG_BIN": "postgres_bin"}
    for name in sorted(known):
        value = getattr(settings, other_fields.get(name, name.removeprefix("INFERWATCH_").lower()))
        default = told[name].strip("`")
        if isinstance(value, Path):
            assert Path(default).expanduser() == value, name
        elif isinstance(value, bool):
            assert default == ("on" if value else "off"), name
        elif isinstance(value, int | float):
            assert float(default) == value, name
        elif value is None:
            assert default == "unset", name
    assert told["INFERWATCH_HOST"] == f"`{settings.host}`"
    address = told["INFERWATCH_PUBLIC_URL"].strip("`")
    filled = address.replace("HOST", settings.host, 1)
    assert filled.replace("DASHBOARD_PORT", str(settings.dashboard_port)) == settings.public_url
    filled = told["INFERWATCH_API_URL"].strip("`").replace("HOST", settings.host, 1)
    assert filled.replace("COLLECTOR_PORT", str(settings.collector_port)) == settings.api_url


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_no_document_names_a_setting_that_is_not_read(document: Path) -> None:
    known, _ = known_settings()
    tests_only = {"INFERWATCH_TEST_DATABASE_URL", "INFERWATCH_WEEKLY"}
    of_the_client = {URL_VARIABLE, KEY_VARIABLE, MODEL_VARIABLE, SPOOL_VARIABLE}
    named = set(re.findall(r"\bINFERWATCH_[A-Z_]+", document.read_text(encoding="utf-8")))
    assert {name.removesuffix("_FILE") for name in named} <= known | tests_only | of_the_client


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with its words."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, each in inner.items():
        yield from leaves(each, (*path, name))


COMMANDS = dict(leaves(get_command(build_app())))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_is_told(words: tuple[str, ...]) -> None:
    wanted = re.compile(rf"inferwatch\s+{re.escape(' '.join(words))}\b")
    assert any(wanted.search(document.read_text(encoding="utf-8")) for document in DOCUMENTS)


def commands_of_documents() -> list[tuple[str, list[str]]]:
    """Commands of blocks, and of the text itself where they stand as code, with their place."""
    found = []
    for document in DOCUMENTS:
        runnable = [
            (f":{b.line}", b.text) for b in blocks(document) if b.kind in ("console", "text")
        ]
        coded = re.findall(r"`(inferwatch [^`]+)`", prose(document))
        for place, text in [*runnable, *(("", code.replace("\n", " ")) for code in coded)]:
            found += [(document.name + place, words) for words in inferwatch_commands(text)]
    return found


def test_commands_in_documents_exist_with_their_options() -> None:
    found = commands_of_documents()
    assert len(found) > 40
    wrong = [f"{place}: inferwatch {' '.join(w)}: {why}" for place, w in found if (why := fault(w))]
    assert not wrong, "\n".join(wrong)


def fault(words: list[str]) -> str:
    """Why a command line can't be right; empty when it can."""
    path = next((p for p in COMMANDS if tuple(words[: len(p)]) == p), None)
    if path is None:
        return "" if any(p[: len(words)] == tuple(words) for p in COMMANDS) else "no such command"
    command = COMMANDS[path]
    context = command.context_class(command, **command.context_settings)
    given = [word for word in words[len(path) :] if word != "…"]
    try:
        command.make_parser(context).parse_args(list(given))
    except USAGE_ERROR as error:
        return f"{type(error).__name__}: {error}"
    return ""


def test_a_wrong_command_is_found() -> None:
    assert fault(["contract", "apply", "x.yaml", "--baseline", "y.csv"]) == ""
    assert fault(["contract", "aply", "x.yaml"])
    assert fault(["contract", "apply", "x.yaml", "--baselin", "y.csv", "--force"])
    assert list(inferwatch_commands("$ KEY=$(inferwatch keys create --scope a) | cat")) == [
        ["keys", "create", "--scope", "a"]
    ]


NAMES = [
    *(("measurements.md", entry.method) for entry in CHECKS),
    *(("measurements.md", entry.unit) for entry in CHECKS if entry.unit not in ("label", "column")),
    *(("http-api.md", reason.value) for reason in RejectionReason),
    *(("http-api.md", outcome.name.lower()) for outcome in RequestOutcome),
    *(("http-api.md", scope.value) for scope in Scope),
    *(("http-api.md", form) for form in {*REQUEST_FORMATS, *LABEL_FORMATS}),
    *(("contract.md", reason.name.lower()) for reason in ViolationReason),
    *(("contract.md", word.value) for kind in (ColumnType, ColumnRole, Task) for word in kind),
    *(("contract.md", word.value) for kind in (Sensitivity, RiskTier) for word in kind),
    *(("contract.md", word.value) for kind in (Feedback, Favourable) for word in kind),
    *(("contract.md", word.value) for kind in (SignalKind, SignalDirection) for word in kind),
    *(("contract.md", name) for model in (Contract, Column) for name in model.model_fields),
    *(
        ("contract.md", f"{section}.{name}")
        for section, model in (
            ("label", Label),
            ("signals", Signal),
            ("fairness", Fairness),
            ("objective", ServiceObjective),
            ("stages", Stage),
            ("lateness", Lateness),
            ("retention", Retention),
            ("baseline", Baseline),
        )
        for name in model.model_fields
    ),
    *(("alerts.md", reason.value) for reason in ResolvedReason),
    *(("dashboard.md", page.title) for page in PAGES),
    *(("operating.md", role.value) for role in Role if role is not Role.OWNER),
]


@pytest.mark.parametrize(("page", "name"), sorted(set(NAMES)))
def test_every_name_of_the_program_is_told(page: str, name: str) -> None:
    text = text_of(page)
    sections = {"label", "lateness", "retention", "baseline"}
    if name in sections and page == "contract.md":
        assert f"`{name}." in text
    elif page in ("measurements.md", "dashboard.md"):
        assert re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", text)
    else:
        assert name in told_names(text)


def test_alert_words_stand_in_the_example() -> None:
    text = text_of("alerts.md")
    receivers = (ROOT / "examples" / "receivers.yaml").read_text(encoding="utf-8")
    for name in CHANNELS:
        assert f"channel: {name}" in receivers
        assert f"| `{name}` |" in text_of("channels.md")
    for word in (*ResponseAction, *Severity, *Subject, *AlertState):
        assert re.search(rf"\b{word.value}\b", text), word


def python_block(page: str) -> dict[str, Any]:
    """The names that the one Python block of a page defines."""
    (block,) = (each for each in blocks(DOCS / page) if each.kind == "python")
    names: dict[str, Any] = {}
    exec(block.text, names)
    return names


def test_the_receivers_check_of_the_page_takes_our_signatures_and_no_others() -> None:
    is_genuine = python_block("channels.md")["is_genuine"]
    secret, other = (f"whsec_{base64.b64encode(bytes([n]) * 32).decode()}" for n in (1, 2))
    body, now = b'{"type":"finding.opened"}', datetime.now(UTC)
    headers = signed_headers((bytes([2]) * 32, bytes([1]) * 32), "msg_1", now, body)
    assert is_genuine(secret, headers, body)
    assert is_genuine(other, headers, body)
    assert not is_genuine(secret, headers, body + b" ")
    assert not is_genuine(secret, {**headers, "webhook-id": "msg_2"}, body)
    assert not is_genuine(f"whsec_{base64.b64encode(bytes(32)).decode()}", headers, body)
    late = signed_headers((bytes([1]) * 32,), "msg_1", now - timedelta(minutes=6), body)
    assert not is_genuine(secret, late, body)


def test_the_answer_of_the_page_has_the_real_fields() -> None:
    examples = [json.loads(b.text) for b in blocks(DOCS / "http-api.md") if b.kind == "json"]
    (answer,) = (each for each in examples if "accepted" in each)
    IntakeAnswerBody.model_validate(answer)
    assert set(answer) == set(IntakeAnswerBody.model_fields)


def test_every_refusal_of_a_body_is_told() -> None:
    text = text_of("http-api.md")
    for reason in re.findall(r"RequestRefused\(\s*(?:\d{3}),\s*\"(\w+)\"", refusing_code()):
        assert f"`{reason}`" in text, reason


def refusing_code() -> str:
    """The source of everything that may refuse a body as a whole."""
    folders = (ROOT / "monitor" / "collector", ROOT / "monitor" / "intake")
    return "\n".join(p.read_text(encoding="utf-8") for f in folders for p in f.glob("*.py"))


def test_every_call_of_the_collector_is_told() -> None:
    settings = Settings.from_environment({"DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"})
    described = create_app(settings).openapi()
    for path, calls in described["paths"].items():
        for verb in calls:
            assert f"{verb.upper()} {path}" in text_of("http-api.md")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_images_lead_somewhere(document: Path) -> None:
    for target in LINK.findall(prose(document)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, _ = target.partition("#")
        assert not path or (document.parent / path).is_file(), target


def test_readme_shows_picture_and_commands_before_anything_else() -> None:
    text = README.read_text(encoding="utf-8")
    first = text.partition("\n## ")[0]
    image, demo, tests = (first.find(w) for w in ("![", "\nmake demo", "\nmake test"))
    assert first.startswith("# Inferwatch\n")
    assert 0 < image < demo < tests
    paragraphs = [part for part in first[:image].split("\n\n")[1:] if part.strip()]
    assert len(paragraphs) == 1
    assert len(text.splitlines()) <= MOST_README_LINES


def test_every_page_of_the_documents_is_linked_from_the_readme() -> None:
    linked = set(LINK.findall(prose(README)))
    assert {f"docs/{page.name}" for page in DOCS.glob("*.md")} <= linked


def test_changelog_lines_have_the_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(("*", "-"))]
    assert lines
    assert [line for line in lines if not CHANGE.fullmatch(line)] == []


def test_what_a_command_prints_is_compared_line_by_line() -> None:
    assert prints_as_said(("a …", "…", "z"), "a 1\nb\nc\nz\n")
    assert prints_as_said(("a", "…"), "a")
    assert not prints_as_said(("a", "z"), "a\nb\nz\n")
    assert not prints_as_said(("a (1)",), "a 1\n")


def test_console_blocks_hold_commands_first() -> None:
    for document in DOCUMENTS:
        for block in blocks(document):
            if block.kind == "console":
                assert block.text.startswith("$ "), f"{document}:{block.line}"
                assert list(steps(block))


def test_every_page_has_its_picture() -> None:
    """`make pictures` makes them; a page that is new needs one."""
    shown = (ROOT / "docs" / "pages.md").read_text(encoding="utf-8")
    for name in picture_names():
        assert f"](images/{name}.png)" in shown, name
        assert (ROOT / "docs" / "images" / f"{name}.png").stat().st_size > 10_000, name
