"""The cascade counts of a serving part: did the router do what its threshold says? Exact integers.

`cascade/{threshold!r}` int64[4]: requests whose score says "pass on" and that were passed on, that
say so and were kept, that say "keep" and were passed on, that say so and were kept. The threshold
stands in the name, so that counts of two thresholds never add up. A request without a score or a
known route is in none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.contract_costs import Cascade, Escalation
from monitor.layout import Layout
from monitor.profiles.arrays import Integers
from monitor.profiles.part import Part
from monitor.profiles.rows import RequestRows

CASCADE = "cascade/"


@dataclass(frozen=True)
class RouterCounts:
    """Requests by what the score says and what was done."""

    passed_rightly: int
    kept_against: int
    passed_against: int
    kept_rightly: int

    @property
    def n(self) -> int:
        return self.passed_rightly + self.kept_against + self.passed_against + self.kept_rightly


def cascade_name(cascade: Cascade) -> str:
    """The name of a cascade's counts."""
    return f"{CASCADE}{cascade.threshold!r}/{cascade.escalate.value}"


def cascade_codes(rows: RequestRows, cascade: Cascade, layout: Layout) -> Integers:
    """For each row 0 to 3 in the order of the counts, -1 without score or known route."""
    if cascade.score is None or cascade.threshold is None:
        return np.full(len(rows), -1, np.int64)
    score = rows.number_column(layout.slot(cascade.score).number_start)
    routes = rows.text_column(layout.slot(cascade.route).text_start)
    place = pc.index_in(routes, value_set=pa.array(cascade.routes, pa.string())).fill_null(-1)
    route = np.asarray(place.to_numpy(zero_copy_only=False), np.int64)
    below = score < cascade.threshold
    says = below if cascade.escalate is Escalation.BELOW else ~below
    codes = np.where(says, 0, 2) + np.where(route > 0, 0, 1)
    known = ~np.isnan(score) & (route >= 0)
    found: Integers = np.where(known, codes, -1).astype(np.int64)
    return found


def router_counts(part: Part, cascade: Cascade) -> RouterCounts | None:
    """The counts; None when the part was counted without this threshold."""
    counts = part.dense.get(cascade_name(cascade))
    return None if counts is None else RouterCounts(*(int(each) for each in counts))
