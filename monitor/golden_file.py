"""The YAML (or JSON) file of a golden set: read with every mistake and its line at once.

Pure: it opens no file and knows no database. The contract says which columns there are, and how a
value that is written plainly is meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from alerts.yaml_source import Problems, Section, compose, section
from monitor.contract import Contract
from monitor.errors import ConfigurationError, Problem
from monitor.golden import (
    NAME_PATTERN,
    Allowed,
    CaseKind,
    ExpectedOutcome,
    GoldenCase,
    GoldenSet,
    numeric_outputs,
)
from monitor.golden_values import read_expected, read_inputs

MOST_CASES = 5_000
_NAME = re.compile(NAME_PATTERN, re.ASCII)
_NAME_RULE = "is 1 to 100 characters A-Z, a-z, 0-9, '.', '_' or '-', the first a letter or digit"


def golden_model(text: str, source: str) -> str:
    """The model that a file names, so that its contract can be looked up before reading the rest.

    Raises ConfigurationError when the file can't be read or names none.
    """
    problems = Problems()
    root = compose(text, problems)
    part = section(root, "", problems) if root is not None else None
    name = part.text("model") if part is not None else None
    if part is not None and name is None and not problems.found:
        part.missing("model", "write the name of the model whose contract the columns are of")
    if name is None:
        raise _error(source, problems)
    return name


def read_golden(text: str, source: str, contract: Contract) -> GoldenSet:
    """The golden set that a text holds; `source` names the file in messages.

    Raises ConfigurationError with every mistake, in order of lines.
    """
    problems = Problems()
    root = compose(text, problems)
    part = section(root, "", problems) if root is not None else None
    found = _Reader(contract, problems).read(part) if part is not None else None
    if problems.found or found is None:
        raise _error(source, problems)
    return found


def _error(source: str, problems: Problems) -> ConfigurationError:
    found = sorted(problems.found, key=lambda each: each.line)
    return ConfigurationError(
        source, [Problem(p.place or "file", p.message, p.line) for p in found]
    )


@dataclass(frozen=True)
class _Reader:
    contract: Contract
    problems: Problems

    def read(self, part: Section) -> GoldenSet:
        name = self._name(part, "golden", "write a name for the set")
        model = part.text("model")
        if model is None:
            part.missing("model", "write the name of the model")
        elif model != self.contract.model:
            part.complain("model", f"is {model!r}, but the contract is of {self.contract.model!r}")
        cases = part.items("cases", self._case)
        if part.get("cases") is None:
            part.missing("cases", "write a list of cases: id, kind, inputs, expect")
        elif not cases and not self.problems.found:
            part.complain("cases", "must not be empty; write at least one case")
        if len(cases) > MOST_CASES:
            part.complain("cases", f"holds {len(cases)} cases; a set has at most {MOST_CASES}")
        self._refuse_doubles(part)
        found = GoldenSet(
            name=name or "unnamed",
            model=self.contract.model,
            why=part.text("why", limit=2_000) or "",
            required_share=self._share(part),
            tolerances=self._tolerances(part, "tolerances"),
            cases=tuple(cases),
        )
        part.finish()
        return found

    def _case(self, node: yaml.Node, place: str) -> GoldenCase | None:
        part = section(node, place, self.problems)
        if part is None:
            return None
        name = self._name(part, "id", "every case needs a name of its own")
        kind = part.word("kind", CaseKind)
        if kind is None and part.get("kind") is None:
            part.missing("kind", f"one of {', '.join(CaseKind)}")
        inputs = read_inputs(part, self.contract, malformed=kind is CaseKind.MALFORMED)
        expected, outcome = self._expect(part)
        found = GoldenCase(
            id=name or "unnamed",
            kind=kind or CaseKind.REPRESENTATIVE,
            inputs=inputs,
            expected=expected,
            outcome=outcome,
            tolerances=self._tolerances(part, "tolerances"),
            why=part.text("why", limit=2_000) or "",
        )
        for column in set(found.tolerances) - set(expected) if expected else ():
            part.complain("tolerances", f"names {column!r}, which this case does not expect")
        part.finish()
        return found

    def _expect(self, part: Section) -> tuple[Mapping[str, object], ExpectedOutcome | None]:
        node = part.get("expect")
        words = ", ".join(ExpectedOutcome)
        if node is None:
            part.missing("expect", f"write output columns and their values, or one of {words}")
            return {}, None
        if isinstance(node, yaml.ScalarNode):
            return {}, part.word("expect", ExpectedOutcome)
        return read_expected(part, self.contract), None

    def _tolerances(self, part: Section, key: str) -> dict[str, Allowed]:
        node = part.get(key)
        inner = section(node, part.at(key), self.problems) if node is not None else None
        if inner is None:
            return {}
        found = {}
        for column in numeric_outputs(self.contract):
            each = inner.get(column)
            one = self._allowed(each, inner.at(column)) if each is not None else None
            if one is not None:
                found[column] = one
        inner.finish()
        return found

    def _allowed(self, node: yaml.Node, place: str) -> Allowed | None:
        part = section(node, place, self.problems)
        if part is None:
            return None
        ends = {}
        for name in ("absolute", "relative"):
            value = part.number(name)
            if value is not None and value < 0:
                part.complain(name, f"must not be below 0, got {value:g}")
            ends[name] = max(0.0, value or 0.0)
        if part.get("absolute") is None and part.get("relative") is None:
            part.missing("absolute or relative", "write for example {absolute: 0.001}")
        part.finish()
        return Allowed(**ends)

    def _share(self, part: Section) -> float:
        value = part.number("required_share")
        if value is None:
            return 1.0
        if not 0 < value <= 1:
            part.complain("required_share", f"must be above 0 and at most 1, got {value:g}")
        return value

    def _name(self, part: Section, key: str, remedy: str) -> str | None:
        name = part.text(key)
        if name is None:
            if part.get(key) is None:
                part.missing(key, remedy)
            return None
        if not _NAME.fullmatch(name):
            part.complain(key, f"{_NAME_RULE}; got {name[:60]!r}")
            return None
        return name

    def _refuse_doubles(self, part: Section) -> None:
        node = part.nodes.get("cases")
        items = node.value if isinstance(node, yaml.SequenceNode) else []
        first: dict[str, int] = {}
        for place, item in enumerate(items):
            name = _id_of(item)
            if name is None:
                continue
            line = item.start_mark.line + 1
            if name in first:
                said = f"{name!r} is given twice, first on line {first[name]}; ids are unique"
                self.problems.add(item, f"cases[{place}].id", said)
            first.setdefault(name, line)


def _id_of(node: yaml.Node) -> str | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            named = isinstance(key, yaml.ScalarNode) and key.value == "id"
            if named and isinstance(value, yaml.ScalarNode):
                return str(value.value)
    return None
