"""Bytes that real producers wrote elsewhere, where a checkout has them beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

CAPTURES = Path(__file__).parents[2] / "../shared/producers/captures"


def capture(name: str) -> Path:
    """A file or folder of captures; skips the test where this checkout has none."""
    path = (CAPTURES / name).resolve()
    if not path.exists():
        pytest.skip(f"no capture {name} beside this checkout: the producers' own tests run it")
    return path
