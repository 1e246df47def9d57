"""YAML read as nodes that know their lines, so that every mistake can be reported at once.

Nothing is constructed from tags. Aliases, explicit tags, several documents and deep nesting are
refused before the tree is built. It must not know what the file is about.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

import yaml

from alerts.errors import ConfigProblem

MAXIMUM_CHARACTERS = 1_000_000
MAXIMUM_DEPTH = 20
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_WHOLE = re.compile(r"\d{1,12}")
_BAD_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")

Word = TypeVar("Word", bound=StrEnum)
Item = TypeVar("Item")


@dataclass
class Problems:
    """The mistakes found so far."""

    found: list[ConfigProblem] = field(default_factory=list)

    def add(self, node: yaml.Node | None, place: str, message: str) -> None:
        """One mistake at a node; without a node it stands on line 1."""
        line = node.start_mark.line + 1 if node is not None else 1
        self.found.append(ConfigProblem(line, place, message))


def compose(text: str, problems: Problems) -> yaml.Node | None:
    """The root node; None, with the reasons added, when the text can't be read at all."""
    if len(text) > MAXIMUM_CHARACTERS:
        problems.add(None, "file", f"longer than {MAXIMUM_CHARACTERS} characters")
        return None
    try:
        if not _is_plain(text, problems):
            return None
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        problems.found.append(ConfigProblem(line, "file", f"not readable as YAML: {error.problem}"))
        return None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problems.found.append(ConfigProblem(line, "file", f"not readable as YAML: {error.reason}"))
        return None
    if root is None:
        problems.add(None, "file", "is empty")
    return root


def _is_plain(text: str, problems: Problems) -> bool:
    """Whether the events hold nothing that composing would expand or recurse into."""
    depth, documents, plain = 0, 0, True
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1 if event.start_mark is not None else 1
        tag = getattr(event, "tag", None)
        message = None
        documents += isinstance(event, yaml.DocumentStartEvent)
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1
        if isinstance(event, yaml.AliasEvent):
            message = f"alias *{event.anchor} is not supported; write the value out"
        elif tag is not None:
            message = f"tag {tag} is not supported; write the plain value"
        elif depth > MAXIMUM_DEPTH:
            message = f"nested more than {MAXIMUM_DEPTH} levels deep"
        elif documents > 1:
            message = "holds more than one document; keep one"
        if message is not None:
            problems.found.append(ConfigProblem(line, "file", message))
            plain = False
        if depth > MAXIMUM_DEPTH or documents > 1:
            return False
    return plain


class Section:
    """A mapping node. Values asked for are checked; `finish` reports keys nobody asked for."""

    def __init__(self, node: yaml.MappingNode, place: str, problems: Problems) -> None:
        self.node = node
        self.place = place
        self.problems = problems
        self.nodes: dict[str, yaml.Node] = {}
        self._keys: dict[str, yaml.Node] = {}
        self._asked: set[str] = set()
        for key, value in node.value:
            self._take(key, value)

    def _take(self, key: yaml.Node, value: yaml.Node) -> None:
        if not isinstance(key, yaml.ScalarNode):
            self.problems.add(key, self.place, "a key must be one word")
        elif key.value in self.nodes:
            first = self._keys[key.value].start_mark.line + 1
            self.problems.add(
                key, self.place, f"key {key.value!r} is given twice, first on line {first}"
            )
        else:
            self.nodes[key.value] = value
            self._keys[key.value] = key

    def at(self, name: str) -> str:
        """The place of one key, for messages."""
        return f"{self.place}.{name}" if self.place else name

    def get(self, name: str) -> yaml.Node | None:
        """The node of a key, marked as asked for; a null counts as absent."""
        self._asked.add(name)
        node = self.nodes.get(name)
        return None if node is None or is_null(node) else node

    def complain(self, name: str, message: str) -> None:
        """A mistake at a key, or at the section when the key is absent."""
        self.problems.add(self.nodes.get(name, self.node), self.at(name), message)

    def refuse(self, name: str, message: str) -> None:
        """A key that must not be here: a mistake with a remedy of its own when it is."""
        self._asked.add(name)
        if name in self.nodes:
            self.problems.add(self._keys[name], self.at(name), message)

    def missing(self, name: str, remedy: str) -> None:
        """A key that must be here is not."""
        self.problems.add(self.node, self.place, f"{name} is missing; {remedy}")

    def text(self, name: str, *, limit: int = 500) -> str | None:
        """A line of text."""
        node = self.get(name)
        return None if node is None else read_text(node, self.at(name), self.problems, limit=limit)

    def raw_text(self, name: str) -> str:
        """The text of a key that was checked before, without a second report."""
        node = self.nodes.get(name)
        return str(node.value).strip() if isinstance(node, yaml.ScalarNode) else ""

    def word(self, name: str, words: type[Word]) -> Word | None:
        """One word of a closed list."""
        node = self.get(name)
        return None if node is None else read_word(node, self.at(name), self.problems, words)

    def number(self, name: str) -> float | None:
        """A finite number."""
        node = self.get(name)
        return None if node is None else read_number(node, self.at(name), self.problems)

    def whole(self, name: str, *, least: int) -> int | None:
        """A whole number of at least `least`."""
        node = self.get(name)
        if node is None:
            return None
        text = plain_text(node)
        if text is None or not _WHOLE.fullmatch(text) or int(text) < least:
            shown = describe(node)
            self.complain(name, f"must be a whole number of at least {least}, got {shown}")
            return None
        return int(text)

    def flag(self, name: str) -> bool | None:
        """true or false."""
        node = self.get(name)
        if node is None:
            return None
        text = plain_text(node)
        if text not in ("true", "false"):
            self.complain(name, f"must be true or false, got {describe(node)}")
            return None
        return text == "true"

    def items(self, name: str, read: Callable[[yaml.Node, str], Item | None]) -> list[Item]:
        """A list, each item read on its own; unreadable items are left out after their report."""
        node = self.get(name)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.complain(name, f"must be a list, got {describe(node)}")
            return []
        found = (read(item, f"{self.at(name)}[{i}]") for i, item in enumerate(node.value))
        return [item for item in found if item is not None]

    def finish(self) -> None:
        """Report the keys that nothing asked for."""
        for name, key in self._keys.items():
            if name not in self._asked:
                hint = did_you_mean(name, self._asked)
                self.problems.add(key, self.place or "file", f"unknown key {name!r}{hint}")


def section(node: yaml.Node, place: str, problems: Problems) -> Section | None:
    """The node as a mapping; None, reported, when it is something else."""
    if isinstance(node, yaml.MappingNode):
        return Section(node, place, problems)
    problems.add(node, place or "file", f"must be keys and values, got {describe(node)}")
    return None


def read_text(node: yaml.Node, place: str, problems: Problems, *, limit: int = 500) -> str | None:
    """Any scalar as it is written, without control characters, 1 to `limit` characters."""
    if not isinstance(node, yaml.ScalarNode):
        problems.add(node, place, f"must be text, got {describe(node)}")
        return None
    text = str(node.value).strip()
    if not text or len(text) > limit:
        problems.add(node, place, f"must hold 1 to {limit} characters, got {len(text)}")
        return None
    if _BAD_CHARACTERS.search(text):
        problems.add(node, place, "holds control characters; remove them")
        return None
    return text


def read_word(node: yaml.Node, place: str, problems: Problems, words: type[Word]) -> Word | None:
    """One member of the closed list."""
    known = [word.value for word in words]
    text = str(node.value) if isinstance(node, yaml.ScalarNode) else None
    if text in known:
        return words(text)
    hint = did_you_mean(text or "", known)
    problems.add(node, place, f"must be one of {', '.join(known)}; got {describe(node)}{hint}")
    return None


def read_number(node: yaml.Node, place: str, problems: Problems) -> float | None:
    """A finite number, written plainly."""
    text = plain_text(node)
    if text is None or not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        problems.add(node, place, f"must be a finite number, got {describe(node)}")
        return None
    return float(text)


def plain_text(node: yaml.Node) -> str | None:
    """The text of an unquoted scalar."""
    if isinstance(node, yaml.ScalarNode) and node.style is None:
        return str(node.value)
    return None


def is_null(node: yaml.Node) -> bool:
    """An empty value or null."""
    return bool(node.tag == "tag:yaml.org,2002:null")


def describe(node: yaml.Node) -> str:
    """What stands there, short enough for a message."""
    if isinstance(node, yaml.MappingNode):
        return "keys and values"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return repr(str(node.value)[:60])


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """A hint with the nearest known word, or nothing."""
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=cutoff)
    return f"; did you mean {near[0]!r}?" if near else ""
