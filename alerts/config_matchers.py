"""Parts that several sections of alerts.yaml have: matchers of labels, names declared elsewhere.

`alerts.config` documents the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import yaml

from alerts.model import LABEL_NAME
from alerts.rules import Matcher
from alerts.yaml_source import Section, describe, did_you_mean, is_null, read_text, section

USUAL_LABELS = (
    "project",
    "model",
    "check",
    "method",
    "column",
    "segment",
    "deployment",
    "deployment_name",
    "incident",
    "scope",
    "leg",
    "scale",
    "baseline",
    "label",
    "job",
    "receiver",
    "defined_response",
)
"""Labels that readings carry; others are taken, unless they look like a misspelled one."""

_NEAR_A_USUAL_LABEL = 0.8
_NAME_LIMIT = 100

Value = TypeVar("Value")


def required(each: Section, name: str, value: Value | None, remedy: str) -> Value | None:
    """The value; an absent key is reported, a wrong one was reported when it was read."""
    if each.get(name) is None:
        each.missing(name, remedy)
    return value


def read_reference(
    each: Section, name: str, known: Sequence[str], what: str | None = None
) -> str | None:
    """The name of something declared elsewhere in the file; `what` it is, if not as the key."""
    text = each.text(name, limit=_NAME_LIMIT)
    if text is not None and text not in known:
        each.complain(name, f"no {what or name} is called {text!r}{did_you_mean(text, known)}")
        return None
    return text


def read_names(each: Section, name: str, known: Sequence[str], what: str) -> tuple[str, ...]:
    """Names of things that the file declares elsewhere, each once."""
    found = each.items(
        name, lambda node, place: read_text(node, place, each.problems, limit=_NAME_LIMIT)
    )
    for text in found:
        if text not in known:
            each.complain(name, f"no {what} is called {text!r}{did_you_mean(text, known)}")
    return tuple(dict.fromkeys(text for text in found if text in known))


def read_matchers(each: Section, name: str, known: Sequence[str]) -> tuple[Matcher, ...] | None:
    """Label: value, list of values or beginning with `*`; None when it is absent or no mapping.

    A label that is none of the `known` ones but looks like one is reported.
    """
    node = each.get(name)
    when = section(node, each.at(name), each.problems) if node is not None else None
    if when is None:
        return None
    if not when.nodes:
        each.complain(name, "must name at least one label")
    matchers = (_read_matcher(when, label, value, known) for label, value in when.nodes.items())
    return tuple(matcher for matcher in matchers if matcher is not None)


def _read_matcher(
    when: Section, name: str, node: yaml.Node, known: Sequence[str]
) -> Matcher | None:
    if not LABEL_NAME.fullmatch(name):
        when.complain(name, f"label {name!r} must be a lower-case word")
        return None
    if name not in known:
        hint = did_you_mean(name, known, cutoff=_NEAR_A_USUAL_LABEL)
        if hint:
            when.complain(name, f"no reading has the label {name!r}{hint}")
    nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
    patterns = [_read_pattern(when, name, each) for each in nodes]
    if not patterns:
        when.complain(name, "lists no value")
    return Matcher(name, tuple(pattern for pattern in patterns if pattern is not None))


def _read_pattern(when: Section, name: str, node: yaml.Node) -> str | None:
    if not isinstance(node, yaml.ScalarNode) or is_null(node):
        when.problems.add(
            node, when.at(name), f"must be text or a list of texts, got {describe(node)}"
        )
        return None
    pattern = str(node.value)
    if "*" in pattern[:-1]:
        when.problems.add(node, when.at(name), f"{pattern!r}: `*` may only stand at the end")
        return None
    return pattern
