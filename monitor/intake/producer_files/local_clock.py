"""Local times without a zone: read only where a person says which clock wrote them. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")
MOST_MINUTES = 59


@dataclass(frozen=True)
class LocalClock:
    """The clock of the machine that wrote local times."""

    zone: tzinfo
    name: str

    @classmethod
    def of(cls, text: str) -> LocalClock:
        """`Europe/Berlin`, `UTC` or `+02:00`; raises ValueError for anything else."""
        found = _OFFSET.fullmatch(text)
        if found is not None and int(found[2]) < 24 and int(found[3]) <= MOST_MINUTES:
            shift = timedelta(hours=int(found[2]), minutes=int(found[3]))
            return cls(timezone(shift if found[1] == "+" else -shift), text)
        try:
            return cls(UTC if text.upper() == "UTC" else ZoneInfo(text), text)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                f"{text[:80]!r} is no time zone; say Europe/Berlin or +02:00"
            ) from None

    def moment(self, local: datetime) -> datetime:
        """The moment that a local time stands for; raises ValueError where there are two or none.

        When clocks go back an hour is shown twice, when they go forward one is never shown.
        """
        early = local.replace(tzinfo=self.zone, fold=0)
        late = local.replace(tzinfo=self.zone, fold=1)
        if early.astimezone(UTC).astimezone(self.zone).replace(tzinfo=None) != local:
            raise ValueError(f"{self.name} never showed this time: clocks went forward")
        if early.utcoffset() != late.utcoffset():
            raise ValueError(
                f"{self.name} showed this time twice: clocks went back; say the offset"
            )
        return early.astimezone(UTC)
