"""Homes for embedded servers, each cleaned up whatever the test did."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.postgres.folders import FALLBACK_ROOT
from monitor.postgres.server import EmbeddedServer
from tests.database import temporary_home
from tests.postgres.support import TEST_OPTIONS


@pytest.fixture
def home() -> Iterator[Path]:
    with temporary_home() as folder:
        yield folder
        clear(folder)


@pytest.fixture
def server(home: Path) -> EmbeddedServer:
    """A server that has not been started."""
    return EmbeddedServer(home, options=TEST_OPTIONS)


def clear(home: Path) -> None:
    """Stop what runs in `home` and remove its data if that lies elsewhere."""
    server = EmbeddedServer(home)
    server.stop(immediate=True)
    data = server.folders.data
    if data.is_symlink() and data.readlink().is_relative_to(FALLBACK_ROOT):
        shutil.rmtree(data.readlink().parent, ignore_errors=True)
