"""The section `inhibit` of alerts.yaml: which alerts keep others quiet, read and checked.

    inhibit:
      - name: upstream-down
        source: {rule: feed-lost}             # while such an alert fires
        target: {check: [drift, quality]}     # openings of such alerts wait
        equal: [model]                        # both carry these labels with the same value
      - {name: no-traffic, enabled: false}    # switches off one of the usual ones

The usual ones (`alerts.inhibition.USUAL_INHIBITIONS`) are in force; one of the same name takes
their place.
"""

from __future__ import annotations

from collections.abc import Sequence

from alerts.config_matchers import read_matchers
from alerts.config_routing import MATCHED
from alerts.inhibition import USUAL_INHIBITIONS, Inhibition
from alerts.model import LABEL_NAME
from alerts.yaml_source import Section, did_you_mean, read_text


def read_inhibitions(sections: Sequence[Section]) -> list[Inhibition]:
    """Those of the file and the usual ones that it neither replaces nor switches off."""
    named = [each.raw_text("name") for each in sections]
    usual = [each for each in USUAL_INHIBITIONS if each.name not in named]
    read = [_read_inhibition(each) for each in sections]
    return [*usual, *(inhibition for inhibition in read if inhibition is not None)]


def _read_inhibition(each: Section) -> Inhibition | None:
    enabled = each.flag("enabled") is not False
    name = each.raw_text("name")
    usual = [one.name for one in USUAL_INHIBITIONS]
    parts = ("source", "target", "equal")
    if not enabled:
        if name not in usual:
            hint = did_you_mean(name, usual) or f"; those are {', '.join(usual)}"
            each.complain("name", f"only a usual inhibition is switched off{hint}")
        for part in parts:
            each.refuse(part, "has no meaning beside `enabled: false`; remove it")
        each.finish()
        return None
    for part in parts:
        if each.get(part) is None:
            each.missing(part, "name labels; see the documentation of routing")
    source = read_matchers(each, "source", MATCHED)
    target = read_matchers(each, "target", MATCHED)
    equal = each.items("equal", lambda node, place: read_text(node, place, each.problems, limit=63))
    for label in equal:
        hint = did_you_mean(label, MATCHED) if label not in MATCHED else ""
        if not LABEL_NAME.fullmatch(label) or hint:
            each.complain("equal", f"{label!r} is no label{hint}")
    if each.get("equal") is not None and not equal:
        each.complain("equal", "must name at least one label, such as model")
    each.finish()
    if not source or not target or not equal:
        return None
    return Inhibition(name, source, target, tuple(dict.fromkeys(equal)))
