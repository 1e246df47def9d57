"""The text of a contract to a Contract, with every mistake and its line at once.

Scalars are taken as they are written (`NO` is the text NO, `1` in a list of categories is the text
1); the field decides what they mean. Pure: it opens no file and knows no database.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from alerts.yaml_source import Problems as YamlProblems
from alerts.yaml_source import compose, is_null, plain_text
from monitor.contract import (
    LOG_FLOOR,
    Alarms,
    Baseline,
    Column,
    ColumnType,
    Contract,
    Lateness,
    Retention,
)
from monitor.contract_costs import Cascade, Costs
from monitor.contract_language import Language
from monitor.contract_quality import Fairness, Label, ServiceObjective
from monitor.contract_words import Mistake, culprit, mistakes_of, split_joined
from monitor.contract_workload import Workload
from monitor.errors import Problem

_SECTIONS: Mapping[str, type[BaseModel]] = {
    "label": Label,
    "lateness": Lateness,
    "retention": Retention,
    "baseline": Baseline,
    "alarms": Alarms,
    "fairness": Fairness,
    "objective": ServiceObjective,
    "workload": Workload,
    "costs": Costs,
    "cascade": Cascade,
    "language": Language,
}
_STAND_INS = {"model": "unnamed", "owner": "-", "purpose": "-", "task": "binary"}
_UNREADABLE = "(unreadable column"
_MAX_ROUNDS = 20


@dataclass
class ContractReader:
    """One reading: the tree of nodes, for lines, and the problems found so far."""

    problems: list[Problem] = field(default_factory=list)
    _root: yaml.Node | None = None

    def read(self, text: str) -> Contract | None:
        """The contract, or None when there are problems."""
        found = YamlProblems()
        self._root = compose(text, found)
        self.problems += [Problem(each.place, each.message, each.line) for each in found.found]
        if self._root is None:
            return None
        value = self._plain(self._root, ())
        if not isinstance(value, dict):
            self._report(Mistake((), "a contract is keys and values, such as `model: NAME`"))
            return None
        wanted = {name: part for name, part in value.items() if part is not None}
        self._check(wanted)
        return None if self.problems else Contract.model_validate(wanted)

    def _check(self, value: dict[str, Any]) -> None:
        """Check the parts by themselves, then how the sound ones fit together."""
        rest: dict[str, Any] = dict(value)
        if isinstance(value.get("columns"), list):
            items = value["columns"]
            rest["columns"] = [self._checked_column(items[i], i) for i in range(len(items))]
        broken = {name for name in _SECTIONS if name in value and not self._sound(value, name)}
        for name in broken | ({"label"} if "retention" in broken else set()):
            rest.pop(name, None)
        stand_ins: dict[str, Any] = {**_STAND_INS, "columns": [_unreadable(0)]}
        columns = _items(rest.get("columns")) or stand_ins["columns"]
        unsure = any(each["name"].startswith(_UNREADABLE) for each in columns)
        for mistake in _mistakes(Contract, rest, stand_ins):
            if mistake.path:
                self._report(mistake)
            elif not (unsure and "is not declared" in mistake.message):
                self._report(self._placed(mistake, value))
        if "retention" in value and "retention" not in broken:
            for mistake in _floor_mistakes(value["retention"]):
                self._report(mistake)

    def _checked_column(self, item: Any, index: int) -> Any:
        """The column when it is sound, else a sound one that takes its place in later checks."""
        if not isinstance(item, dict):
            self._report(Mistake(("columns", index), "a column is keys and values: name, type, …"))
            return _unreadable(index)
        wanted = {name: part for name, part in item.items() if part is not None}
        found = [*_range_mistakes(wanted), *_mistakes(Column, wanted, {})]
        for mistake in _once(found):
            self._report(mistake.under("columns", index))
        return _stand_in(wanted, found, index) if found else wanted

    def _sound(self, value: Mapping[str, Any], name: str) -> bool:
        part = value[name]
        if not isinstance(part, dict):
            self._report(Mistake((name,), f"{name} is keys and values"))
            return False
        wanted = {key: each for key, each in part.items() if each is not None}
        found = _mistakes(_SECTIONS[name], wanted, {})
        for mistake in found:
            self._report(mistake.under(name))
        return not found

    def _placed(self, mistake: Mistake, value: Mapping[str, Any]) -> Mistake:
        """A mistake of the contract as a whole, put where a person would mend it."""
        told = sum(each.message == mistake.message for each in self.problems)
        places = list(_places(mistake.message, value))
        return Mistake(places[min(told, len(places) - 1)] if places else (), mistake.message)

    def _report(self, mistake: Mistake) -> None:
        problem = Problem(self._place(mistake.path), mistake.message, self._line(mistake))
        if problem not in self.problems:
            self.problems.append(problem)

    def _place(self, path: tuple[str | int, ...]) -> str:
        """`columns[3] (age).range`: index from 0, with the column's name where there is one."""
        text = ""
        for depth, step in enumerate(path):
            if isinstance(step, str):
                text += f".{step}" if text else step
                continue
            text += f"[{step}]"
            if path[:depth] == ("columns",):
                name = _child(self._node(path[: depth + 1]), "name")
                text += f" ({name.value})" if isinstance(name, yaml.ScalarNode) else ""
        return text or "file"

    def _line(self, mistake: Mistake) -> int:
        node = self._node(mistake.path, at_key=mistake.at_key)
        return node.start_mark.line + 1 if node is not None else 1

    def _node(self, path: Iterable[str | int], *, at_key: bool = False) -> yaml.Node | None:
        """The deepest node on a path that exists; the key itself for `at_key`."""
        node, steps = self._root, list(path)
        for place, step in enumerate(steps):
            last = place == len(steps) - 1
            found = _child(node, step, key=at_key and last)
            if found is None:
                return node
            node = found
        return node

    def _plain(self, node: yaml.Node, path: tuple[str | int, ...]) -> Any:
        """Nodes as dict, list, text, bool or None. A key given twice counts once."""
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, (*path, i)) for i, item in enumerate(node.value)]
        if not isinstance(node, yaml.MappingNode):
            return _scalar(node)
        found: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self.problems.append(Problem(self._place(path), "a key is one word", line))
            elif key.value in found:
                again = f"key {key.value!r} is given twice, first on line {lines[key.value]}"
                self.problems.append(Problem(self._place(path), again, line))
            else:
                lines[key.value] = line
                found[key.value] = self._plain(value, (*path, key.value))
        return found


def _mistakes(
    model: type[BaseModel], value: Mapping[str, Any], stand_ins: Mapping[str, Any]
) -> list[Mistake]:
    """All mistakes of one part. What is wrong is taken out and the rest checked again, because
    rules between fields are looked at only when the fields by themselves are right.
    """
    kept, found, told = dict(value), [], set[str]()
    for _ in range(_MAX_ROUNDS):
        try:
            model.model_validate(kept)
            break
        except ValidationError as error:
            fresh = [each for each in mistakes_of(error, model) if culprit(each) not in told]
        for mistake in fresh:
            name = culprit(mistake)
            told.add(name)
            kept.pop(name, None)
            if name in stand_ins:
                kept[name] = stand_ins[name]
        found += [part for each in fresh for part in split_joined(each)]
        if not fresh:
            break
    return found


def _range_mistakes(column: dict[str, Any]) -> list[Mistake]:
    """Ends that are no finite numbers; the range is taken out so that it is not told twice."""
    ends = column.get("range")
    if not isinstance(ends, list) or all(end is None or _is_finite(end) for end in ends):
        return []
    del column["range"]
    return [Mistake(("range",), "each end is a finite number, or null for an open end")]


def _is_finite(text: Any) -> bool:
    try:
        return isinstance(text, str) and math.isfinite(float(text))
    except ValueError:
        return False


def _unreadable(index: int) -> dict[str, Any]:
    return {"name": f"{_UNREADABLE} {index})", "type": ColumnType.CATEGORY.value}


def _stand_in(column: Mapping[str, Any], found: Iterable[Mistake], index: int) -> dict[str, Any]:
    """A sound column with what is right of a broken one."""
    bad = {culprit(mistake) for mistake in found}
    if "name" in bad:
        return _unreadable(index)
    kept = {name: column[name] for name in ("name", "type", "role") if name in column}
    kept = {name: part for name, part in kept.items() if name not in bad}
    kind = kept.setdefault("type", ColumnType.CATEGORY.value)
    if kind in (ColumnType.VECTOR, ColumnType.RANKED_LIST):
        kept["size"] = 1
    if kind == ColumnType.CLASS_SCORES:
        kept["categories"] = ["-"]
    return kept


def _floor_mistakes(section: Mapping[str, Any]) -> Iterable[Mistake]:
    """Spans shorter than logs must be kept. Stored contracts of earlier releases may have them."""
    wanted = Retention.model_validate({k: part for k, part in section.items() if part is not None})
    for name, span in (("requests", wanted.requests), ("labels", wanted.labels)):
        if span < LOG_FLOOR:
            told = f"logs are kept for six months at least; write {LOG_FLOOR.days}d or more"
            yield Mistake(("retention", name), told)


def _once(found: Iterable[Mistake]) -> list[Mistake]:
    return list(dict.fromkeys(found))


def _places(message: str, value: Mapping[str, Any]) -> Iterable[tuple[str | int, ...]]:
    """Paths that a message about the whole contract is about, the best first."""
    if message.startswith("retention.requests"):
        yield ("retention", "requests") if "retention" in value else ("label",)
        return
    for i, segment in enumerate(_items(value.get("segments"))):
        names = [segment] if isinstance(segment, str) else segment
        if message.startswith(f"segment {names} "):
            yield ("segments", i)
        for name in names:
            if message.startswith(f"segment column {name!r} "):
                yield ("segments", i)
    for i, stage in enumerate(_items(value.get("stages"))):
        if isinstance(stage, dict) and message.startswith(f"stage {stage.get('name')!r}"):
            yield ("stages", i)
    columns = [each if isinstance(each, dict) else {} for each in _items(value.get("columns"))]
    for key, subject in (("name", "column {!r} is declared"), ("role", "role {}")):
        for i in range(len(columns) - 1, -1, -1):
            about = subject.format(columns[i].get(key))
            if message.startswith(about) if key == "name" else message.endswith(about):
                yield ("columns", i, key)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _child(node: yaml.Node | None, step: str | int, *, key: bool = False) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        items: list[yaml.Node] = node.value
        return items[step] if 0 <= step < len(items) else None
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if isinstance(name, yaml.ScalarNode) and name.value == step:
                return name if key else value
    return None


def _scalar(node: yaml.Node) -> str | bool | None:
    """Null, true and false when they stand without quotes; everything else as written."""
    if is_null(node):
        return None
    text = plain_text(node)
    return text == "true" if text in ("true", "false") else str(node.value)
