"""How a run tells what it is doing. The command line shows bars; tests listen. Pure."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

Advance = Callable[[int, str], None]
"""Called with how much more is done, and where the replayed clock stands."""


class Teller(Protocol):
    """Receives sentences and the progress of stages."""

    def say(self, sentence: str) -> None:
        """Show one sentence."""

    def stage(self, title: str, total: int | None) -> AbstractContextManager[Advance]:
        """Show a stage until the block ends; `total` is None where the amount is not known."""
