"""`inferwatch demo`: a year of real flights through the whole product, and what was found."""

from __future__ import annotations

import signal
import sys
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

DEFAULT_PLANT = "distance*1.609344@2013-09-01"
ENDED_BY_SIGNAL = 143


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(demo)


def demo(
    no_dashboard: Annotated[
        bool, typer.Option("--no-dashboard", help="End when the findings are told.")
    ] = False,
    summary: Annotated[
        Path | None, typer.Option("--summary", help="Write the findings to this file as JSON.")
    ] = None,
    plant: Annotated[
        str,
        typer.Option(
            "--plant",
            help="The fault of one deployment: COLUMN*FACTOR@DATE, a number column of the model "
            "from a day of April to December 2013 on; or none.",
        ),
    ] = DEFAULT_PLANT,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Decides which deployment answers a request.")
    ] = 1,
    home: Annotated[
        Path | None,
        typer.Option(
            "--home", help="Folder of the demo's own database; default demo in INFERWATCH_HOME."
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the demo's database there at the end.")
    ] = False,
    first_day: Annotated[
        datetime,
        typer.Option("--first-day", formats=["%Y-%m-%d"], help="Replay from this day on."),
    ] = datetime(2013, 4, 1),  # noqa: DTZ001 - a calendar day in New York
    limit_days: Annotated[
        int | None, typer.Option("--limit-days", min=1, help="Replay only so many days.")
    ] = None,
) -> None:
    """Replay the flights of April to December 2013 through collector, jobs, rules and webhook.

    A fault is planted in one of three deployments, openly; what is told at the end follows from
    measurements alone. The dashboard stays open until Ctrl-C. With DATABASE_URL set, that database
    is used. Exit codes: 0 all was told, 2 it could not run; the error says why.
    """
    from monitor.demo.options import DemoOptions, replayable
    from monitor.demo.plant import parse_plant
    from monitor.demo.session import run_session
    from monitor.settings import Settings

    signal.signal(signal.SIGTERM, _end)
    # A shell starts background programs deaf to Ctrl-C; the dashboard below would not be.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    settings = Settings.from_environment()
    options = DemoOptions(
        plant=parse_plant(plant),
        seed=seed,
        home=(home or settings.home / "demo").expanduser().absolute(),
        dashboard=not no_dashboard,
        summary=summary,
        keep=keep,
        first_day=replayable(first_day.date()),
        limit_days=limit_days,
    )
    run_session(settings, options)


def _end(_number: int, _frame: FrameType | None) -> None:
    """Leave through every open block, so that database and processes end too."""
    sys.exit(ENDED_BY_SIGNAL)
