"""Where a record came from: the name of the key it was sent with, and what its sender calls itself.

Both are kept beside refused records only. What a sender says of itself is untrusted text, so it is
cleaned and cut when it is stored, never on the path of records that are taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

LONGEST = 120
_CREDENTIALS = re.compile(r"//[^/@\s]*@")


@dataclass(frozen=True)
class Origin:
    """A sender. `key` is the name of its API key, never the key; None: not known."""

    key: str | None = None
    producer: str | None = None

    def told_by(self, joins: Mapping[str, str]) -> Origin:
        """The same sender, by what a record says of the service or source it came from."""
        service = joins.get("service.name")
        instance = joins.get("service.instance.id") if service else None
        said = f"{service} {instance}" if instance else service or joins.get("ce_source")
        return replace(self, producer=said) if said else self

    def cleaned(self) -> Origin:
        """Fit to be stored and shown: one short line, without credentials of an address."""
        return Origin(_cleaned(self.key), _cleaned(self.producer))


UNKNOWN = Origin()


def product_of(user_agent: str | None) -> str | None:
    """The first product of a User-Agent header: `inferwatch-client/1.0`."""
    return (user_agent or "").strip().partition(" ")[0] or None


def _cleaned(text: str | None) -> str | None:
    if text is None:
        return None
    plain = _CREDENTIALS.sub("//", text[: 4 * LONGEST]).partition("?")[0]
    shown = "".join(each if each.isprintable() else " " for each in plain)
    short = " ".join(shown.split())
    return (short if len(short) <= LONGEST else f"{short[: LONGEST - 1]}…") or None
