"""Shows a run on a terminal: bars while it works, then sentences and a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from monitor.demo.narrate import MONTH_COLUMNS, month_table, narrate
from monitor.demo.progress import Advance
from monitor.demo.summary import Summary


class TerminalTeller:
    """Tells a run on a rich console."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def say(self, sentence: str) -> None:
        """Show one sentence."""
        self.console.print(sentence, highlight=False, markup=False)

    @contextmanager
    def stage(self, title: str, total: int | None) -> Iterator[Advance]:
        """A bar until the block ends; without a total it counts what was done."""
        with self._bars(total) as bars:
            task = bars.add_task(title, total=total, where="")

            def advance(done: int, where: str) -> None:
                bars.update(task, advance=done, where=where)

            yield advance
            self._finish(bars, task)

    def _bars(self, total: int | None) -> Progress:
        return Progress(
            SpinnerColumn(),
            TextColumn("{task.description:<48}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn() if total is not None else TextColumn("{task.completed:,.0f}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[where]}", markup=False),
            console=self.console,
        )

    def _finish(self, bars: Progress, task: TaskID) -> None:
        done = bars.tasks[0].completed
        bars.update(task, total=max(done, 1), completed=max(done, 1), where="")


def show_summary(console: Console, summary: Summary) -> None:
    """The sentences of a summary, and quality by month as a table."""
    console.print()
    for sentence in narrate(summary):
        console.print(f"• {sentence}", highlight=False, markup=False)
    if not summary.months:
        return
    table = Table(*MONTH_COLUMNS, title="Quality and calibration by month of the request")
    for row in month_table(summary.months):
        table.add_row(*row)
    console.print(table)
