"""An alert that is only supposed: what would happen if a rule fired on these labels. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from alerts.config import AlertConfig
from alerts.model import Alert, AlertState, Labels, ResponseAction, Severity
from alerts.notify.items import Known
from alerts.rules import Bounds, Rule, Subject
from alerts.subjects import RULE_WORDS

Word = TypeVar("Word", bound=StrEnum)


def supposed_alert(config: AlertConfig, labels: Mapping[str, str], now: datetime) -> Known:
    """A firing alert with these labels.

    `rule` names the rule that it is of; its exact conditions on labels are taken as labels where
    none is given. Without it `severity`, `owner`, `response` and `about` say what the rule is like.
    Raises ValueError, with what is wrong and what there is, for words that do not exist.
    """
    name = labels.get("rule")
    rule = config.rule(name) if name is not None else None
    if name is not None and rule is None:
        known = ", ".join(each.name for each in config.rules) or "none"
        raise ValueError(f"no rule is called {name!r}; there are {known}")
    own = {key: value for key, value in labels.items() if key not in RULE_WORDS}
    if rule is None:
        rule = _rule_like(config, labels)
    else:
        exact = {
            each.label: each.patterns[0]
            for each in rule.when
            if len(each.patterns) == 1 and not each.patterns[0].endswith("*")
        }
        own = {**exact, **own}
    subject = Labels.from_mapping(own)
    return Known(
        Alert(
            subject.fingerprint(rule.name),
            rule.name,
            subject,
            state=AlertState.FIRING,
            episode=1,
            since=now,
            pending_since=now,
            fired_at=now,
            noticed_at=now,
        ),
        rule,
    )


def _rule_like(config: AlertConfig, labels: Mapping[str, str]) -> Rule:
    owner = labels.get("owner", "")
    names = [each.name for each in config.owners]
    if owner and owner not in names:
        raise ValueError(f"no owner is called {owner!r}; there are {', '.join(names)}")
    about = labels.get("about")
    return Rule(
        name="",
        when=(),
        condition=Bounds(),
        severity=_word(Severity, labels.get("severity", "ticket"), "severity"),
        owner=owner,
        response=_word(ResponseAction, labels.get("response", "investigate"), "response"),
        about=_word(Subject, about, "about") if about else None,
    )


def _word(words: type[Word], text: str, name: str) -> Word:
    known = [each.value for each in words]
    if text not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {text!r}")
    return words(text)
