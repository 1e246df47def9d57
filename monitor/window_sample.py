"""The stored sample of a window: what the samples of its days hold of it, merged."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy.engine import Connection

from monitor.profiles.sample import EVENT_TIME, merge_samples, sample_from_bytes
from monitor.store.profile_rows import read_samples
from monitor.windows import Grain, Window


def window_sample(
    connection: Connection,
    project_id: int,
    model_id: int,
    window: Window,
    leg: str,
    deployment_id: int | None = None,
) -> pa.Table | None:
    """At most 2,000 requests of a leg in the window; None when no sample holds any.

    Samples are kept by UTC day; the window may begin and end inside one.
    """
    days = Window(Window.holding(window.start, Grain.DAY).start, window.end)
    found = [
        _inside(sample_from_bytes(body), window)
        for _, number, its_leg, body in read_samples(connection, project_id, model_id, days)
        if its_leg == leg and deployment_id in (None, number)
    ]
    found = [sample for sample in found if sample.num_rows]
    return merge_samples(found) if found else None


def _inside(sample: pa.Table, window: Window) -> pa.Table:
    times = sample[EVENT_TIME]
    first, last = pa.scalar(window.start, times.type), pa.scalar(window.end, times.type)
    return sample.filter(pc.and_(pc.greater_equal(times, first), pc.less(times, last)))
