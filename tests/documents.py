"""The documents as tests read them: fenced blocks, the commands in them, and what they answer.

A ```console block holds commands after `$ ` and, below each, lines it prints; `…` stands for
anything, and a line `…` alone for any lines. Such blocks are run. Commands in ```text blocks only
have to parse.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCUMENTS = (
    ROOT / "README.md",
    ROOT / ".github" / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
)
_FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<kind>\w*)$")
_SETTING = re.compile(r"[A-Z_]+=\S*")
_ENDS = frozenset({"|", "&&", "||", ";", ">", ">>", "2>", "&"})
ANY = "…"


@dataclass(frozen=True)
class Block:
    """One fenced block: its kind, the line of its fence, its text."""

    document: Path
    line: int
    kind: str
    text: str


@dataclass(frozen=True)
class Step:
    """One command of a console block and the lines it is said to print."""

    place: str
    command: str
    printed: tuple[str, ...]


def blocks(document: Path) -> Iterator[Block]:
    """The fenced blocks of a document, in order; a fence that never ends fails."""
    opened: tuple[str, str, int] | None = None
    lines: list[str] = []
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if opened is None:
            opened = (fence["ticks"], fence["kind"], number) if fence else None
            lines = []
        elif line == opened[0]:
            yield Block(document, opened[2], opened[1], "\n".join(lines))
            opened = None
        else:
            lines.append(line)
    assert opened is None, f"{document}: the block of line {opened and opened[2]} never ends"


def prose(document: Path) -> str:
    """The document without its fenced blocks."""
    text = document.read_text(encoding="utf-8")
    return re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$", "", text)


def steps(block: Block) -> Iterator[Step]:
    """The commands of a console block with what each prints."""
    command: list[str] = []
    printed: list[str] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            if command:
                yield _step(block, command, printed)
            command, printed = [line[2:]], []
        elif command and not printed and (command[-1].endswith("\\") or _is_open(command)):
            command.append(line)
        else:
            printed.append(line)
    if command:
        yield _step(block, command, printed)


def _is_open(command: list[str]) -> bool:
    """Whether a quotation goes on in the next line."""
    try:
        shlex.split("\n".join(command))
    except ValueError:
        return True
    return False


def _step(block: Block, command: list[str], printed: list[str]) -> Step:
    place = f"{block.document.relative_to(ROOT)}:{block.line}"
    return Step(place, "\n".join(command), tuple(printed))


def inferwatch_commands(text: str) -> Iterator[list[str]]:
    """The words of every `inferwatch …` command in a text of commands, without its first word."""
    joined = text.replace("\\\n", " ")
    for line in joined.splitlines():
        for part in re.split(r"\$\(|&&|\|\|", line.removeprefix("$ ")):
            words = _words(part)
            while words and _SETTING.fullmatch(words[0]):
                words = words[1:]
            if words[:1] == ["inferwatch"]:
                yield words[1:]


def _words(part: str) -> list[str]:
    try:
        words = shlex.split(part, comments=True)
    except ValueError:  # the other half of a quotation stands elsewhere
        words = part.split()
    cut = [word.rstrip(')"') if word.endswith((")", ')"')) else word for word in words]
    end = next((place for place, word in enumerate(cut) if word in _ENDS), len(cut))
    return [word for word in cut[:end] if word]


def prints_as_said(said: tuple[str, ...], printed: str) -> bool:
    """Whether a text has the lines that a document shows, `…` standing for anything."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == ANY else re.escape(line).replace(re.escape(ANY), ".*") + r"\n"
        for line in said
    )
    return re.fullmatch(pattern, printed if printed.endswith("\n") else printed + "\n") is not None
