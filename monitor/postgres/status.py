"""What is known about an embedded server: values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class ServerCondition(StrEnum):
    """What a look at the server found."""

    NOT_SET_UP = "not set up"
    STOPPED = "stopped"
    RUNNING = "running"
    NOT_ANSWERING = "not answering"


@dataclass(frozen=True)
class RunningServer:
    """A server that has answered a query. The two URLs hold passwords and stay out of repr.

    `parent` is the process that the server ends with, None if it stays until it is stopped.
    `notice` says where the data lies when that is not the home folder.
    """

    url: str = field(repr=False)
    admin_url: str = field(repr=False)
    pid: int
    port: int
    started_here: bool
    parent: int | None
    notice: str | None


@dataclass(frozen=True)
class ServerStatus:
    """The state of an embedded server. `parent` is the process it ends with, if any."""

    condition: ServerCondition
    pid: int | None
    port: int | None
    major_version: int | None
    parent: int | None
    data_folder: Path
    log_file: Path

    @property
    def is_running(self) -> bool:
        return self.condition is ServerCondition.RUNNING
