"""The YAML file of scrape targets: servers whose metrics are read now and then. Pure.

targets:
  - name: vllm-a
    url: http://10.0.0.5:8000/metrics   # or url_env: NAME, or url_file: PATH
    models: [chat]                      # whose readings those are that name no model
    every: 15s                          # 5s to 5m, 15s by default
    deployment: blue                    # a note for people: what runs there
    authorization_env: NAME             # or authorization_file: the whole header value
    private_addresses_allowed: true     # opens loopback and private networks
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import yaml

from alerts.channels.http_post import one_of, read_address
from alerts.config import Receiver
from alerts.durations import read_duration
from alerts.yaml_source import Problems, Section, compose, read_text, section
from monitor.errors import ConfigurationError, Problem

USUAL_PAUSE, SHORTEST_PAUSE, LONGEST_PAUSE = (
    timedelta(seconds=15), timedelta(seconds=5), timedelta(minutes=5)
)  # fmt: skip
MOST_TARGETS, MOST_MODELS = 200, 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_REMEDY = "secrets never stand in this file; put it into authorization_env or authorization_file"


@dataclass(frozen=True)
class ScrapeTarget:
    """One server's page of metrics. `options` hold address and credentials as receivers do."""

    name: str
    models: tuple[str, ...]
    every: timedelta = USUAL_PAUSE
    deployment: str | None = None
    options: Mapping[str, str | bool] = field(default_factory=dict, hash=False)

    @property
    def address(self) -> str:
        """Where it is read, or which variable or file says so."""
        named = ("url", "url_env", "url_file")
        return next((str(self.options[name]) for name in named if name in self.options), "")

    @property
    def private_allowed(self) -> bool:
        """Whether loopback and private networks are open to it."""
        return bool(self.options.get("private_addresses_allowed"))

    def as_receiver(self) -> Receiver:
        """The target as what reads secrets of receivers takes it."""
        return Receiver(self.name, "scrape", options=dict(self.options))

    def to_json(self) -> dict[str, Any]:
        """For the database."""
        return {
            "models": list(self.models), "seconds": self.every.total_seconds(),
            "deployment": self.deployment, "options": dict(self.options),
        }  # fmt: skip

    @classmethod
    def from_json(cls, name: str, body: Mapping[str, Any]) -> ScrapeTarget:
        """What `to_json` made."""
        return cls(
            name, tuple(body["models"]), timedelta(seconds=body["seconds"]), body["deployment"],
            body["options"],
        )  # fmt: skip


def read_targets(text: str, source: str) -> tuple[ScrapeTarget, ...]:
    """The targets of a file. Raises ConfigurationError with every mistake and its line."""
    problems = Problems()
    root = compose(text, problems)
    top = section(root, "", problems) if root is not None else None
    found: list[ScrapeTarget] = []
    if top is not None:
        if "targets" not in top.nodes:
            top.missing("targets", "give a list; an empty one ends all scraping")
        found = top.items("targets", lambda node, place: _read_target(node, place, problems))
        top.finish()
        _check_all(top, found)
    if problems.found:
        told = sorted(problems.found, key=lambda each: each.line)
        raise ConfigurationError(
            source, [Problem(p.place or "file", p.message, p.line) for p in told]
        )
    return tuple(found)


def _check_all(top: Section, found: list[ScrapeTarget]) -> None:
    names = [each.name for each in found]
    for name in sorted({each for each in names if names.count(each) > 1}):
        top.complain("targets", f"two targets are called {name!r}; readings are kept by the name")
    if len(found) > MOST_TARGETS:
        top.complain("targets", f"at most {MOST_TARGETS} targets, got {len(found)}")


def _read_target(node: yaml.Node, place: str, problems: Problems) -> ScrapeTarget | None:
    each = section(node, place, problems)
    if each is None:
        return None
    before = len(problems.found)
    name = _read_name(each)
    options = read_address(each)
    each.refuse("authorization", _REMEDY)
    options |= one_of(each, ("authorization_env", "authorization_file"), refused=True)
    url, private = options.get("url"), options["private_addresses_allowed"]
    guarded = any(key.startswith("authorization") for key in options)
    if isinstance(url, str) and guarded and not private and url.startswith("http://"):
        each.complain("url", "must begin with https://, because a secret is sent to it")
    models = each.items("models", lambda item, at: read_text(item, at, problems, limit=200))
    if not models:
        each.missing("models", "list the models whose readings name no model")
    if len(models) > MOST_MODELS:
        each.complain("models", f"at most {MOST_MODELS} models, got {len(models)}")
    every = read_duration(each, "every", least=SHORTEST_PAUSE, most=LONGEST_PAUSE)
    deployment = each.text("deployment", limit=200)
    each.finish()
    if len(problems.found) > before:
        return None
    return ScrapeTarget(
        name, tuple(dict.fromkeys(models)), every or USUAL_PAUSE, deployment, options
    )


def _read_name(each: Section) -> str:
    name = each.text("name", limit=100)
    if name is None:
        each.missing("name", "a short name; readings are kept by it")
    elif not _NAME.fullmatch(name):
        each.complain("name", "is letters, digits, '.', '_' or '-', the first a letter or digit")
    return name or ""
