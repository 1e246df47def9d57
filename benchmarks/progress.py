"""Progress bars of a benchmark; plain lines where the output is no terminal."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich import progress
from rich.console import Console

Advance = Callable[..., None]


class Progress:
    """A few bars, shown while the block runs."""

    def __init__(self, console: Console) -> None:
        self._shown = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            console=console,
        )

    def bar(self, what: str, total: int) -> Advance:
        """A bar; call the result with how far to advance and, if wanted, what is going on."""
        task = self._shown.add_task(what, total=total)

        def advance(by: int, now: str = "") -> None:
            self._shown.update(task, advance=by, description=f"{what} {now}".strip())
            if now and not self._shown.console.is_terminal:
                self._shown.console.print(f"{what} {now}")

        return advance

    def __enter__(self) -> Self:
        self._shown.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._shown.stop()
