"""`inferwatch up`, `worker`, `doctor`: run the service and look whether it can run."""

from __future__ import annotations

import json
import logging
import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.errors import ConfigurationError
from monitor.settings import Settings, process_environment

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from monitor.jobs.audit_heads import HeadKeeper


def register(app: typer.Typer) -> None:
    """Mount the commands."""
    app.command()(up)
    app.command()(worker)
    app.command()(doctor)


def up() -> None:
    """Run everything as one program: database, migrations, collector, worker, dashboard.

    Without DATABASE_URL the embedded Postgres starts, and ends with this program. Ctrl-C ends all
    parts. The first start makes the project "default" and prints an API key once. Until there is
    an account, each start prints a one-time link that makes the first and opens the dashboard.
    """
    from monitor.postgres.binaries import find_postgres_bin
    from monitor.postgres.server import embedded_database
    from monitor.supervise import Supervisor, service_parts

    settings = Settings.from_environment()
    start_log()
    with ExitStack() as stack:
        url = settings.database_url
        if url is None:
            binaries = find_postgres_bin(settings.postgres_bin)
            url = stack.enter_context(embedded_database(settings.home, binaries))
        key = prepare(url)
        link = prepare_link(url, settings)
        environment = {**process_environment(), "DATABASE_URL": url}
        environment.pop("DATABASE_URL_FILE", None)
        parts = service_parts(settings.collector_port, settings.dashboard_port, settings.host)
        Supervisor(parts, environment).run(lambda: _say_ready(settings, key, link))


def _say_ready(settings: Settings, key: str | None, link: str | None) -> None:
    typer.echo(f"Collector  http://{settings.host}:{settings.collector_port}/docs")
    typer.echo(f"Dashboard  http://{settings.host}:{settings.dashboard_port}")
    if link is not None:
        typer.echo(f"Sign in    {link}")
        typer.echo("           (makes the first account; once, within a day)")
    if key is not None:
        typer.echo(f"API key    {key}")
        typer.echo("           (project default; scopes ingest and labels; shown this once)")
    typer.echo("Ctrl-C ends everything. Next: inferwatch contract infer FILE, then contract apply.")


def prepare(url: str) -> str | None:
    """Migrate, make partitions and the first project; a fresh API key when there was none."""
    from monitor.jobs.keep_house import prepare_partitions
    from monitor.scheduler import utc_now
    from monitor.store import projects, schema
    from monitor.store.engine import Role, make_engine, transaction

    engine = make_engine(url)
    try:
        schema.upgrade(engine)
        prepare_partitions(engine, utc_now())
        with transaction(engine, None, Role.OWNER) as connection:
            project = projects.ensure_project(connection, "default")
            if projects.has_key(connection, project):
                return None
            scopes = (projects.Scope.INGEST, projects.Scope.LABELS)
            return projects.create_key(connection, project, "first key", scopes, by="inferwatch up")
    finally:
        engine.dispose()


def prepare_link(url: str, settings: Settings) -> str | None:
    """A one-time link for the first account; None when there is one, or people need no link."""
    from monitor.scheduler import utc_now
    from monitor.store.engine import Role, make_engine, transaction
    from monitor.store.one_time_links import first_link

    if not settings.dashboard_auth:
        return None
    engine = make_engine(url, pool_size=1)
    try:
        with transaction(engine, None, Role.OWNER) as connection:
            return first_link(connection, settings.public_url, "inferwatch", utc_now())
    finally:
        engine.dispose()


def worker(
    once: Annotated[
        bool, typer.Option("--once", help="Do what is due now, deliver once, and end.")
    ] = False,
) -> None:
    """Run the scheduled jobs and deliveries until Ctrl-C.

    Works on DATABASE_URL, or on the embedded database when that runs.
    """
    import random

    from monitor.cli.common import settings_with_database
    from monitor.jobs.run import Runner
    from monitor.scheduler import Worker, utc_now, worker_name
    from monitor.store import schema
    from monitor.store.bulk import BulkConnections
    from monitor.store.engine import Role
    from monitor.store.open import open_engine, required_url

    settings = settings_with_database()
    start_log()
    engine = open_engine(settings)
    schema.require_current(engine)
    runner = Runner(
        engine=engine,
        bulk=BulkConnections(required_url(settings), Role.WORKER),
        worker=worker_name(),
        public_url=settings.public_url,
        api_url=settings.api_url,
        clock=utc_now,
        environment=process_environment(),
        rng=random.SystemRandom(),
    )
    made = Worker(engine, runner, utc_now(), heads=_head_keeper(engine, settings))
    if once:
        made.keep_house()
        made.sign_heads()
        made.close()
        done, sent = runner.catch_up(), runner.deliver_due()
        # An action in earnest follows its dry run; each is asked for once, so this ends.
        while runner.respond_due():
            sent += runner.deliver_due()
        typer.echo(f"{done} windows done, {sent} messages sent")
        return
    scheduler = made.scheduler()
    signal.signal(signal.SIGTERM, lambda *_: scheduler.shutdown(wait=False))
    try:
        scheduler.start()
    except KeyboardInterrupt:
        scheduler.shutdown(wait=False)
    finally:
        made.close()


def _head_keeper(engine: Engine, settings: Settings) -> HeadKeeper | None:
    """Who signs heads of the audit chain; None where no key was given and none can be made."""
    from monitor.installation_key import signing_key
    from monitor.jobs.audit_heads import AuditWebhook, HeadKeeper

    outside = AuditWebhook.of(settings)
    try:
        return HeadKeeper(engine, signing_key(settings), outside)
    except ConfigurationError as error:
        if settings.signing_key is not None or outside is not None:
            raise
        # Everything else a worker does needs no key.
        logging.getLogger("inferwatch.audit").warning("audit heads are not signed: %s", error)
        return None


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check the installation; say what is wrong and what to do. Exit code 1 when something is."""
    from monitor.doctor import examine

    findings = examine(Settings.from_environment())
    if as_json:
        typer.echo(json.dumps([vars(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            typer.echo(f"{'ok ' if finding.ok else 'BAD'}  {finding.what}: {finding.text}")
            if finding.remedy:
                typer.echo(f"     -> {finding.remedy}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def start_log() -> None:
    """One line an event on standard error."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for noisy in ("alembic", "apscheduler", "httpx", "httpcore"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
