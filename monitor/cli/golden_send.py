"""A replay from the command line: options read, the deployment found, answers sent and stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from monitor.cli.common import settings_with_database
from monitor.errors import ConfigurationError, InferwatchError, Problem, UnknownSubject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.engine import Engine

    from monitor.deployment import Tags
    from monitor.jobs.base import JobContext
    from monitor.jobs.golden.protocol import Wire
    from monitor.jobs.golden.replay import Keep, Progress, Replay, ReplayCounts
    from monitor.store.golden import StoredSet
    from monitor.store.intake_store import IntakeStore
    from monitor.store.models import ModelContext


class AnswersNotStored(InferwatchError):
    """Some answers of a replay could not be stored; the text says how many and why."""


def deployment_of(
    engine: Engine, model: ModelContext, wanted: str | None, tag: list[str] | None, now: datetime
) -> int:
    """The number of a deployment by number, name or tags; with tags a new one gets the name.

    Raises ConfigurationError when neither is given: nothing is compared without its versions.
    """
    from monitor.store.engine import Role, transaction
    from monitor.store.models import deployment_names, register_deployment

    if not tag and wanted is None:
        remedy = "say what answers, by --deployment NUMBER or --tag NAME=TEXT"
        raise ConfigurationError("command", [Problem("--deployment", f"is missing; {remedy}")])
    project_id, model_id = model.project_id, model.model_id
    with transaction(engine, project_id, Role.INGEST) as connection:
        if tag:
            return register_deployment(connection, project_id, model_id, _tags(tag), wanted, now)[0]
        names = deployment_names(connection, project_id, model_id)
    return _known(model, names, wanted or "")


def _tags(given: list[str]) -> Tags:
    from monitor.deployment import Tags

    pairs = [each.partition("=") for each in given]
    if any(not (name and sign) for name, sign, _ in pairs):
        raise ConfigurationError("command", [Problem("--tag", "is not NAME=TEXT")])
    try:
        return Tags.of({name: value for name, _, value in pairs})
    except ValueError as error:
        raise ConfigurationError("command", [Problem("--tag", str(error))]) from None


def _known(model: ModelContext, names: Mapping[int, str], wanted: str) -> int:
    number = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else -1
    if number in model.deployment_ids:
        return number
    for each, name in names.items():
        if name == wanted:
            return each
    there = ", ".join(
        f"{each} {names.get(each, '')}".strip() for each in sorted(model.deployment_ids)
    )
    raise UnknownSubject(
        f"model {model.contract.model} has no deployment {wanted!r}; there are: {there or 'none'}"
    )


@contextmanager
def answers_kept(
    store: IntakeStore, context: JobContext, wanted: Replay, run: str
) -> Iterator[Keep]:
    """A place for answers: leg replay:RUN, through intake. Refuses a run that has some already.

    Raises AnswersNotStored at the end when intake did not take any of them.
    """
    from monitor.collector.record_import import import_records
    from monitor.golden import replay_leg

    leg = replay_leg(run)
    _refuse_used(context, wanted, leg)
    lost: list[str] = []

    def keep(records: list[dict[str, Any]]) -> None:
        answer = import_records(store, context.model, leg, records, datetime.now(UTC))
        lost.extend(f"{one.request_id}: {one.message}" for one in answer.rejections)
        lost.extend(["a request with the same id and time is there"] * answer.conflict)

    yield keep
    if lost:
        first = "; ".join(lost[:3])
        raise AnswersNotStored(f"{len(lost)} answers of run {run} could not be stored: {first}")


def _refuse_used(context: JobContext, wanted: Replay, leg: str) -> None:
    """A run is one replay: answers of two times in it could not be told apart later."""
    from monitor.jobs.golden.judge_run import of_set, read_leg

    there = of_set(read_leg(context, leg), wanted.content.name, wanted.version)
    if (there.deployment_id == wanted.deployment_id).any():
        raise ConfigurationError(
            "command",
            [
                Problem(
                    "--run",
                    f"leg {leg} holds answers of deployment {wanted.deployment_id} to"
                    f" {wanted.content.name}@{wanted.version} already; choose another name",
                )
            ],
        )


@dataclass(frozen=True)
class Sending:
    """How a replay is sent."""

    url: str
    run: str
    timeout: float
    repeat: int
    latency: str | None
    headers: dict[str, str]


def run_replay(
    engine: Engine,
    project: str,
    model: ModelContext,
    stored: StoredSet,
    wire: Wire,
    sending: Sending,
    deployment: str | None,
    tag: list[str] | None,
    *,
    quiet: bool,
) -> ReplayCounts:
    from monitor.cli.common import job_context
    from monitor.jobs.golden.answers import latency_column
    from monitor.jobs.golden.replay import Replay
    from monitor.jobs.golden.replay import replay as send_all
    from monitor.jobs.golden.send import ModelServer
    from monitor.store.open import open_store

    column = latency_column(model.contract, sending.latency)
    if column is None and sending.latency is not None:
        raise _wrong("--latency", f"{sending.latency!r} is no timing column of the contract")
    store = open_store(settings_with_database())
    try:
        number = deployment_of(engine, model, deployment, tag, datetime.now(UTC))
        wanted = Replay(stored.content, stored.version, number, sending.repeat, column)
        with (
            job_context(engine, project, model) as context,
            answers_kept(store, context, wanted, sending.run) as keep,
            ModelServer(sending.url, wire, sending.timeout, sending.headers) as server,
            _progress(wanted, quiet=quiet) as progress,
        ):
            return send_all(server, wanted, lambda: datetime.now(UTC), keep, progress)
    finally:
        store.close()


@contextmanager
def _progress(wanted: Replay, *, quiet: bool) -> Iterator[Progress]:
    """A bar on the error output; nothing where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    off = quiet or not console.is_terminal
    with Bar(*columns, console=console, transient=True, disable=off) as bar:
        task = bar.add_task(wanted.content.name, total=wanted.size)
        yield lambda done, of, case: bar.update(task, completed=done, total=of, description=case)


def wire_of(url: str, run: str, form: str, output: list[str] | None) -> Any:
    """Checks the options that need no database, all at once; a function from model to form."""
    from monitor.golden import replay_leg
    from monitor.intake.legs import is_leg
    from monitor.jobs.golden.protocol import Wire, WireForm

    problems = []
    if not _is_address(url):
        problems.append(
            Problem("--url", f"{url[:80]!r} is no address; write http://HOST:PORT/PATH")
        )
    if not is_leg(replay_leg(run)):
        told = "is 1 to 100 characters A-Z, a-z, 0-9, '.', '_' or '-', the first a letter or digit"
        problems.append(Problem("--run", f"{run[:80]!r} {told}"))
    if form not in list(WireForm):
        problems.append(Problem("--format", f"{form[:20]!r} is neither json nor v2"))
    problems += [
        Problem("--output", f"{each[:80]!r} is not NAME=COLUMN")
        for each in output or ()
        if not all(each.partition("=")[::2])
    ]
    if problems:
        raise ConfigurationError("command", problems)
    renames = dict(each.split("=", 1) for each in output or ())
    return lambda context: Wire(WireForm(form), context.contract, renames)


def _is_address(url: str) -> bool:
    import httpx

    try:
        parsed, port = httpx.URL(url), urlsplit(url).port
    except (httpx.InvalidURL, ValueError):
        return False
    plain = url.isprintable() and " " not in url
    return parsed.scheme in ("http", "https") and bool(parsed.host) and plain and port != 0


def read_headers(given: list[str] | None) -> dict[str, str]:
    found = {}
    for each in given or ():
        name, colon, value = each.partition(":")
        if not colon or not name.strip() or not (name + value).isascii():
            raise _wrong("--header", "is not 'NAME: VALUE' in ASCII")
        found[name.strip()] = value.strip()
    return found


def _wrong(option: str, what: str) -> InferwatchError:
    return ConfigurationError("command", [Problem(option, what)])
