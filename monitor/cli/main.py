"""The command `inferwatch`: puts the groups of commands together and says errors plainly.

Exit codes: 0 done, 1 something was found (mistakes, a failed check), 2 the command could not run.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType
from typing import Annotated

import typer

from alerts.errors import AlertsError
from monitor.errors import InferwatchError

CANNOT_RUN = 2
HELP = "Watches machine-learning models after deployment."
MODULES = (
    *("contract", "baseline", "alerts", "respond", "deliveries"),
    *("incidents", "promise", "backtest"),
    *("measurements", "labels", "groups", "explain", "compare"),
    *("golden", "shadow", "review"),
    *("workload", "costs", "language", "stages"),
    *("report", "reports"),
    *("scrape", "server"),
    *("deployments", "collect_env"),
    *("keys", "user", "project", "explore"),
    *("audit", "verify", "reproduce", "retention", "erase"),
    *("collect", "sidecar", "imports", "run", "dashboard", "demo", "db"),
)
"""Files of commands in this folder, in the order of the help. Each has one of: `register(app)`,
a typer `app` of its own, or one function with its name."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; errors a person can mend end as plain text and exit code 2."""
    try:
        build_app()(list(arguments) if arguments is not None else None, prog_name="inferwatch")
    except (InferwatchError, AlertsError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(CANNOT_RUN) from None


def build_app() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        name="inferwatch",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback(help=HELP)(_options)
    for name in MODULES:
        if find_spec(f"monitor.cli.{name}") is not None:
            _mount(app, name, import_module(f"monitor.cli.{name}"))
    return app


def _mount(app: typer.Typer, name: str, module: ModuleType) -> None:
    if hasattr(module, "register"):
        module.register(app)
    elif hasattr(module, "app"):
        app.add_typer(module.app, name=name)
    else:
        app.command(name)(getattr(module, name))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"inferwatch {version('inferwatch')}")
        raise typer.Exit


def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Options of the whole program."""
