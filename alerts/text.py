"""Making text from outside safe to send and show: no control characters, never longer than said."""

from __future__ import annotations

import unicodedata
from datetime import datetime

_ELLIPSIS = "…"
_DIRECTION_CHANGERS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e")
_ISOLATES = frozenset("\u2066\u2067\u2068\u2069\ufeff")
_DROPPED_CATEGORIES = frozenset(("Cc", "Cs", "Zl", "Zp"))


def clean(text: str, limit: int) -> str:
    """One line of at most `limit` characters.

    White space becomes single blanks. Control characters, lone surrogates and marks that turn the
    direction of reading are dropped: they could hide or reorder what a person reads.
    """
    joined = " ".join(text[: limit * 4].split())
    kept = joined
    if not joined.isprintable():  # all that is dropped is not printable: most texts need no more
        kept = "".join(each for each in joined if not _is_dropped(each))
    return kept if len(kept) <= limit else kept[: limit - 1] + _ELLIPSIS


def _is_dropped(character: str) -> bool:
    if character in _DIRECTION_CHANGERS or character in _ISOLATES:
        return True
    return unicodedata.category(character) in _DROPPED_CATEGORIES


def words(term: str) -> str:
    """A member of a closed list for people: `reduce_traffic` becomes `reduce traffic`."""
    return term.replace("_", " ")


def moment_text(moment: datetime) -> str:
    """ISO 8601 with Z for UTC."""
    return moment.isoformat().replace("+00:00", "Z")
