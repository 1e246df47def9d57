"""A whole session on a terminal: opening words, database, run, findings, dashboard until Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from rich.console import Console

from monitor.demo.control import TrafficControl
from monitor.demo.database import demo_database
from monitor.demo.deployments import DEPLOYMENTS, FAULTY
from monitor.demo.options import DemoOptions
from monitor.demo.orchestrate import Installation, dashboard, installed, sign_in_address
from monitor.demo.plant import rollout_day
from monitor.demo.processes import chosen_port
from monitor.demo.receiver import WebhookReceiver
from monitor.demo.run import SPRING, Run
from monitor.demo.signed_server import new_secret
from monitor.demo.summary import Summary
from monitor.demo.terminal import TerminalTeller, show_summary
from monitor.demo.traffic import Traffic
from monitor.settings import Settings


def run_session(settings: Settings, options: DemoOptions) -> Summary:
    """Run the demo and tell it on standard output; returns the findings."""
    started = time.monotonic()
    teller = TerminalTeller(Console())
    for sentence in opening(options):
        teller.say(sentence)
    run = Run(options, teller)
    prepared = run.prepare()
    port = chosen_port(settings.dashboard_port)
    with (
        demo_database(settings, options.home, keep=options.keep) as url,
        WebhookReceiver(new_secret()) as receiver,
        TrafficControl(new_secret(), Traffic(options.seed), SPRING.start) as control,
        installed(url, f"http://127.0.0.1:{port}", receiver, control) as place,
    ):
        found = run.replay(place, prepared, receiver, control)
        found = replace(found, seconds=time.monotonic() - started)
        show_summary(teller.console, found)
        if options.summary is not None:
            options.summary.write_text(found.to_text(), encoding="utf-8")
            teller.say(f"The numbers are in {options.summary}.")
        if options.dashboard:
            _stay_open(teller, place, port, options)
    if settings.database_url is not None:
        teller.say("Look around in your database: inferwatch dashboard")
    elif options.keep:
        teller.say(
            f"The database is kept; look around: INFERWATCH_HOME={options.home} inferwatch up"
        )
    elif not options.dashboard:
        teller.say("To look around, run the demo without --no-dashboard, or with --keep.")
    return found


def opening(options: DemoOptions) -> Iterator[str]:
    """What will happen, the planted fault included."""
    yield (
        "The flights from New York of April to December 2013 are replayed through Inferwatch. A "
        "model trained on January to March says two hours before departure which will be late."
    )
    names = [each.name for each in DEPLOYMENTS]
    yield (
        f"Deployment {names[0]} serves alone until {rollout_day(options.plant)}; from then on "
        f"{', '.join(names)} serve side by side, drawn for each request by a hash (seed "
        f"{options.seed})."
    )
    if options.plant is None:
        yield "No fault is planted, so none should be named at the end."
        return
    yield (
        f"A fault is planted: from {options.plant.start} on, {options.plant.column} reaches "
        f"deployment {DEPLOYMENTS[FAULTY].name} multiplied by {options.plant.factor:g}. What is "
        "told at the end is taken from measurements; the search for it knows nothing of this line."
    )


def _stay_open(
    teller: TerminalTeller, place: Installation, port: int, options: DemoOptions
) -> None:
    log = options.home / "dashboard.log"
    with dashboard(place, port, log) as (address, process):
        teller.say(f"Look around: {sign_in_address(place)} (Ctrl-C ends it)")
        teller.say(f"The link makes the first account, once; afterwards: {address}")
        with suppress(KeyboardInterrupt):
            process.wait()
            teller.say(f"The dashboard ended by itself; its log is {log}.")
