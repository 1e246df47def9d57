"""What lies under an alert: segments of its window, and requests that give nothing away."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
import sqlalchemy as sa

from monitor.profiles.sample import EVENT_TIME, HASH, OUTCOME, REQUEST_ID, sample_to_bytes
from monitor.records import TIMESTAMP
from monitor.reports.alert_evidence import ROWS_SHOWN, alert_evidence
from monitor.reports.alerts import finding
from monitor.reports.models import model_facts
from monitor.store.engine import Role, transaction
from monitor.store.profile_rows import write_sample
from monitor.store.tables import measurement, segment
from monitor.windows import Grain, Window
from tests.dashboard_seed import MODEL
from tests.seeded_database import SeededDatabase

ALERT = "deployment-contrast/distance"


def _sample(at, n: int) -> bytes:
    return sample_to_bytes(
        pa.table(
            {
                HASH: pa.array(range(n), pa.int64()),
                EVENT_TIME: pa.array([at] * n).cast(TIMESTAMP),
                REQUEST_ID: [f"passenger-{number:04d}" for number in range(n)],
                OUTCOME: pa.array([0] * n, pa.int16()),
                "distance": [7777.5] * n,
                "score": [0.875] * n,
                "late": [1.0] * n,
                "tail": ["N4711"] * n,
            }
        )
    )


def test_requests_are_few_masked_and_their_ids_cut(own_database: SeededDatabase):
    seeded = own_database.seeded
    found = own_database.ask(finding, seeded.alert_ids[ALERT])
    at = found.judged.at - timedelta(minutes=1)
    day = Window.holding(at, Grain.DAY).start
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        write_sample(connection, seeded.project_id, seeded.model_id, day,
                     int(found.labels["deployment"]), "live", 40, _sample(at, 40))  # fmt: skip
    columns = own_database.ask(model_facts, MODEL).columns
    told = own_database.ask(alert_evidence, seeded.model_id, columns, found)
    assert told.columns == ("distance", "score", "late")
    assert len(told.rows) == ROWS_SHOWN
    assert {row.request for row in told.rows} == {"passenge…"}
    shown = str(told.rows)
    assert not any(secret in shown for secret in ("7777", "0.875", "N4711"))

    open_columns = tuple(replace(each, sensitivity="public") for each in columns)
    told = own_database.ask(alert_evidence, seeded.model_id, open_columns, found)
    assert told.rows[0].cells[:2] == ("7777.5", "0.875")


def test_the_entity_stays_masked_even_when_it_is_called_public(own_database: SeededDatabase):
    seeded = own_database.seeded
    found = own_database.ask(finding, seeded.alert_ids[ALERT])
    found = replace(found, labels={**found.labels, "column": "tail"})
    at = found.judged.at - timedelta(minutes=1)
    day = Window.holding(at, Grain.DAY).start
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        write_sample(connection, seeded.project_id, seeded.model_id, day,
                     int(found.labels["deployment"]), "live", 2, _sample(at, 2))  # fmt: skip
    columns = own_database.ask(model_facts, MODEL).columns
    told = own_database.ask(
        alert_evidence, seeded.model_id,
        tuple(replace(each, sensitivity="public") for each in columns), found,
    )  # fmt: skip
    assert told.columns[0] == "tail"
    assert "N4711" not in str(told.rows)


def test_segments_of_the_judged_window_the_worst_first(own_database: SeededDatabase):
    seeded = own_database.seeded
    found = own_database.ask(finding, seeded.alert_ids[ALERT])
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        row = connection.execute(
            sa.select(measurement).where(
                measurement.c.check_name == "contrast",
                measurement.c.column_name == "distance",
                measurement.c.window_end == found.judged.at,
                measurement.c.window_start == found.judged.window_start,
            )
        ).first()
        for carrier, value in (("AA", 0.2), ("UA", 0.9), ("DL", 0.4)):
            number = connection.scalar(
                sa.insert(segment)
                .values(project_id=seeded.project_id, model_id=seeded.model_id,
                        definition={"carrier": carrier})
                .returning(segment.c.id)
            )  # fmt: skip
            values = {**row._mapping, "segment_id": number, "value": value}
            del values["id"]
            connection.execute(sa.insert(measurement).values(values))
    told = own_database.ask(alert_evidence, seeded.model_id, (), found)
    names = [part.segment for part in told.parts]
    assert names == ["carrier=UA", "carrier=DL", "carrier=AA"]
