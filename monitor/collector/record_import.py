"""Records that this program made itself, through intake and store as if they had come over HTTP."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from monitor.collector.intake import Limits, intake_context, parse_current, store_one
from monitor.collector.ports import Store
from monitor.intake.base import IntakeContext
from monitor.intake.json_requests import NDJSON_REQUESTS
from monitor.records import IntakeAnswer
from monitor.store.models import ModelContext

MOST_RECORDS = 10_000
MOST_BYTES = 1 << 28


def import_records(
    store: Store,
    model: ModelContext,
    leg: str,
    records: Sequence[dict[str, Any]],
    now: datetime,
) -> IntakeAnswer:
    """Store request records of one leg; the answer counts what became of them.

    They are written as newline-delimited JSON and read by the same code as a producer's body, so
    that nothing can be stored that a producer could not have sent.
    """
    context = intake_context(model, leg, now, Limits(MOST_RECORDS, MOST_BYTES), anytime=False)
    lines = [json.dumps(record, ensure_ascii=False, allow_nan=False) for record in records]
    body = "\n".join(lines).encode()

    def parse(asked: IntakeContext) -> Any:
        return NDJSON_REQUESTS.parse(body, asked)

    batch, used = parse_current(store, model.contract.model, context, parse)
    return store_one(store, batch, used).answer
