"""Files of a path by the format their content shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from monitor.errors import RequestRefused
from monitor.intake.producer_files.base import FileFormat
from monitor.intake.producer_files.registry import FILE_FORMATS, recognised
from monitor.intake.producer_files.sources import Container, Head, SourceFile

OWN = "inferwatch"
MOST_FILES = 100_000


@dataclass
class FoundFiles:
    """What a path holds: files by format, files of our own format, and the rest with the reason.

    `hidden`: files whose name, or a folder of theirs, begins with `.` or `_`.
    """

    groups: dict[str, list[SourceFile]] = field(default_factory=dict)
    own: list[SourceFile] = field(default_factory=list)
    left: list[tuple[SourceFile, str]] = field(default_factory=list)
    hidden: int = 0
    unreadable: int = 0

    def formats(self) -> Sequence[tuple[FileFormat, list[SourceFile]]]:
        """Formats that were found, with their files."""
        return [(FILE_FORMATS[name], files) for name, files in self.groups.items()]


def find_files(path: Path, insisted: str | None = None) -> FoundFiles:
    """Look at a file, or at all files of a folder; a single file that no producer wrote is ours.

    `insisted` is the name of a format, or OWN, that all files are taken for. Raises RequestRefused
    when a single file can't be read, or a folder holds too many.
    """
    found = FoundFiles()
    single = path.is_file()
    for each in [path] if single else _files(path, found):
        file = SourceFile(each, each.parent if single else path)
        try:
            name = insisted or _format(file.head, single=single)
        except RequestRefused as error:
            if single:
                raise
            found.left.append((file, str(error)))
            found.unreadable += 1
            continue
        if name == OWN:
            found.own.append(file)
        elif name is not None:
            found.groups.setdefault(name, []).append(file)
        elif file.head.container is Container.EMPTY:
            found.left.append((file, "empty"))
        else:
            found.left.append((file, "no known format"))
    return found


def _format(head: Head, *, single: bool) -> str | None:
    known = recognised(head)
    if known is not None:
        return known.name
    return OWN if single or is_own(head.entry) else None


def is_own(entry: Mapping[str, object]) -> bool:
    """Whether an entry is a request or label of our own format."""
    return "request_id" in entry and (
        "event_time" in entry or {"value", "observed_at"} <= entry.keys()
    )


def _files(folder: Path, whole: FoundFiles) -> list[Path]:
    """Files by name; hidden ones and marks of other programs (`_SUCCESS`) are counted."""
    found = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if not path.is_file():
            continue
        if any(part.startswith((".", "_")) for part in parts):
            whole.hidden += 1
            continue
        found.append(path)
        if len(found) > MOST_FILES:
            told = f"{folder.name}: more than {MOST_FILES} files"
            raise RequestRefused(413, "too_many_files", told)
    return found
