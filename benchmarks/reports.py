"""`python -m benchmarks.reports`: a year's report of one model by the command line, in every form.

The database is that of the dashboard's benchmark: 20 models with a year of hourly profiles and
5,000 alerts. Timed is the whole program, from its start to its end.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pypdf import PdfReader
from rich.console import Console

from benchmarks.machine import describe_machine
from benchmarks.table import show, write_json
from benchmarks.year import fill
from monitor.postgres.server import embedded_database
from monitor.store import schema
from monitor.store.engine import make_engine

RESULTS = Path(__file__).parent / "results" / "reports.json"
FORMS = ("json", "csv", "html", "pdf", "zip")
BAR_SECONDS = 20.0


def main() -> None:
    """Fill, build, print, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--alerts", type=int, default=5_000)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="inferwatch-reports-") as home,
        embedded_database(Path(home)) as url,
    ):
        value = measure(url, Path(home), options)
    write_json(options.output, value)
    report(value)


def measure(url: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds and size of each form."""
    engine = make_engine(url)
    schema.upgrade(engine)
    now = datetime.now(UTC)
    year = fill(engine, now, options.models, options.months, options.alerts)
    engine.dispose()
    first, last = now - timedelta(days=30 * options.months), now - timedelta(days=1)
    asked = [
        *(sys.executable, "-m", "monitor", "report", year.models[0], "--project", "flights"),
        *("--from", f"{first:%Y-%m-%d}", "--to", f"{last:%Y-%m-%d}", "-o", "-"),
    ]
    environment = {**os.environ, "DATABASE_URL": url, "INFERWATCH_HOME": str(folder / "home")}
    forms = {}
    for form in FORMS:
        began = time.perf_counter()
        ran = subprocess.run(
            [*asked, "--format", form], env=environment, stdout=subprocess.PIPE, check=True
        )
        forms[form] = {"s": round(time.perf_counter() - began, 2), "bytes": len(ran.stdout)}
        if form == "pdf":
            forms[form]["pages"] = len(PdfReader(io.BytesIO(ran.stdout)).pages)
    return {
        "rows": year.rows, "months": options.months, "forms": forms, "bar_s": BAR_SECONDS,
        "machine": describe_machine(["typst"]),
    }  # fmt: skip


def report(value: dict[str, Any]) -> None:
    """The figures as a table."""
    rows = [
        (name, f"{each['s']:.2f}", f"{each['bytes']:,}", str(each.get("pages", "")))
        for name, each in value["forms"].items()
    ]
    title = f"A report of {value['months']} months of one model (bar {value['bar_s']:.0f} s)"
    show(Console(width=100), title, ("form", "seconds", "bytes", "pages"), rows)


if __name__ == "__main__":
    main()
