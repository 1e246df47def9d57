"""The section `owners` of alerts.yaml: people and escalation, read and checked.

owners:
  - name: flight-ml
    people: [ada@example.org, {name: Grace, email: grace@example.org, receiver: grace-phone}]
    receiver: on-call
    escalation:                        # of pages that nobody takes on
      - {after: 2m, to: [backup]}      # receivers, or people who have one
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import pairwise

import yaml

from alerts.config_matchers import read_reference
from alerts.durations import duration_text, read_duration
from alerts.owners import EscalationStep, Owner, Person
from alerts.yaml_source import Section, did_you_mean, read_text, section

_SECOND = timedelta(seconds=1)


def read_owners(sections: Sequence[Section], receivers: Sequence[str]) -> list[Owner]:
    """All owners whose names were checked; unusable ones are left out, reported."""
    people = {each.place: _read_people(each, receivers) for each in sections}
    reach = {
        name: person.receiver
        for known in people.values()
        for person in known
        for name in (person.name, person.email)
        if name is not None
    }
    read = [_read_owner(each, receivers, people[each.place], reach) for each in sections]
    return [owner for owner in read if owner is not None]


def _read_owner(
    each: Section,
    receivers: Sequence[str],
    people: Sequence[Person],
    reach: Mapping[str, str | None],
) -> Owner | None:
    if "people" not in each.nodes:
        each.missing("people", "list at least one person who answers")
    elif not people:
        each.complain("people", "must list at least one person who answers")
    if "receiver" not in each.nodes:
        each.missing("receiver", "name the receiver that reaches this owner")
    receiver = read_reference(each, "receiver", receivers)
    steps = each.items(
        "escalation", lambda node, place: _read_step(each, node, place, receivers, reach)
    )
    for earlier, later in pairwise(steps):
        if later.after <= earlier.after:
            told = f"{duration_text(later.after)} after {duration_text(earlier.after)}"
            each.complain("escalation", f"steps must follow each other in time, got {told}")
    each.finish()
    if receiver is None:
        return None
    persons = tuple(person for person in people if person.email or person.receiver)
    names = tuple(person.name for person in people)
    return Owner(each.raw_text("name"), names, receiver, persons, tuple(steps))


def _read_people(each: Section, receivers: Sequence[str]) -> list[Person]:
    return each.items("people", lambda node, place: _read_person(each, node, place, receivers))


def _read_person(
    each: Section, node: yaml.Node, place: str, receivers: Sequence[str]
) -> Person | None:
    if not isinstance(node, yaml.MappingNode):
        text = read_text(node, place, each.problems)
        return Person(text) if text is not None else None
    person = section(node, place, each.problems)
    if person is None:
        raise AssertionError("a mapping node is a section")
    name = person.text("name", limit=100)
    if "name" not in person.nodes:
        person.missing("name", "say who it is")
    email = person.text("email", limit=254)
    if email is not None and ("@" not in email or " " in email):
        person.complain("email", f"must be an address such as ada@example.org, got {email!r}")
    receiver = read_reference(person, "receiver", receivers)
    person.finish()
    return Person(name, email, receiver) if name is not None else None


def _read_step(
    each: Section,
    node: yaml.Node,
    place: str,
    receivers: Sequence[str],
    reach: Mapping[str, str | None],
) -> EscalationStep | None:
    step = section(node, place, each.problems)
    if step is None:
        return None
    after = read_duration(step, "after", least=_SECOND)
    for name, remedy in (("after", "such as 2m"), ("to", "list receivers or people")):
        if step.get(name) is None:
            step.missing(name, remedy)
    names = step.items("to", lambda item, at: read_text(item, at, step.problems, limit=254))
    if step.get("to") is not None and not names:
        step.complain("to", "must name at least one receiver or person")
    found = []
    for name in names:
        receiver = name if name in receivers else reach.get(name)
        if receiver is not None:
            found.append(receiver)
        elif name in reach:
            step.complain("to", f"{name!r} has no receiver of their own; give this person one")
        else:
            hint = did_you_mean(name, [*receivers, *reach])
            step.complain("to", f"no receiver and no person is called {name!r}{hint}")
    step.finish()
    return EscalationStep(after, tuple(dict.fromkeys(found))) if after and found else None
