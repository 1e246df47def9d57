"""Exports of alerts: whole, of one moment, adding up over adjoining spans."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from monitor.reports.alert_export import KINDS, alert_export
from monitor.reports.alert_export_files import CSV_COLUMNS, ExportFormat, cell, written
from monitor.store.engine import Role, transaction
from monitor.store.tables import (
    alert_transition,
    delivery,
    delivery_attempt,
    response_action,
    silence,
)
from monitor.windows import Window
from tests.dashboard_seed import EMPTY_PROJECT, PROJECT
from tests.seeded_database import SeededDatabase, database, own_database, seeded_template

__all__ = ["database", "own_database", "seeded_template"]

NEVER = datetime(2000, 1, 1, tzinfo=UTC)
LATER = datetime(2100, 1, 1, tzinfo=UTC)


def records(
    source: SeededDatabase, start: datetime = NEVER, end: datetime = LATER, project: int = 0
):
    number = project or source.seeded.project_id
    span = Window(start, end)
    with alert_export(source.engine, number, PROJECT, span, "http://p.test", LATER) as exported:
        return list(exported.records)


def text_of(source: SeededDatabase, form: ExportFormat, start: datetime = NEVER) -> str:
    with alert_export(
        source.engine, source.seeded.project_id, PROJECT, Window(start, LATER), "", LATER
    ) as exported:
        return b"".join(written(exported, form)).decode()


def add_action_and_silence(source: SeededDatabase, at: datetime) -> None:
    number = source.seeded.alert_ids["deployment-contrast/distance"]
    with transaction(source.engine, source.seeded.project_id, Role.OWNER) as connection:
        connection.execute(
            sa.insert(response_action).values(
                project_id=source.seeded.project_id, alert_id=number, episode=1, rule="r",
                response="move", action="reduce_traffic", model="m", deployment_ids=[1],
                dry_run=False, state="done", requested_by="Ada", requested_at=at,
                outcome="done", outcome_at=at, body={"to_percent": 5.0, "text": ""},
            )
        )  # fmt: skip
        connection.execute(
            sa.insert(silence).values(
                project_id=source.seeded.project_id,
                matchers=[{"label": "model", "patterns": ["m"]}],
                author="Ada", reason="deploying", starts_at=at, ends_at=at + timedelta(hours=1),
            )
        )  # fmt: skip


def test_every_row_of_every_kind_is_there_once(own_database: SeededDatabase):
    add_action_and_silence(own_database, own_database.now)
    found = records(own_database)
    with transaction(own_database.engine, own_database.seeded.project_id, Role.OWNER) as connection:
        counts = {
            kind: connection.scalar(sa.select(sa.func.count()).select_from(table))
            for kind, table in (
                ("transition", alert_transition),
                ("delivery", delivery),
                ("attempt", delivery_attempt),
                ("action", response_action),
                ("silence", silence),
            )
        }
    assert min(counts.values()) > 0
    for kind, count in {**counts, "alert": len(own_database.seeded.alert_ids)}.items():
        numbers = [record["number"] for each, record in found if each == kind]
        assert len(numbers) == len(set(numbers)) == count, kind
    order = [kind for kind, _ in found]
    assert order == sorted(order, key=KINDS.index)


def test_adjoining_spans_together_hold_what_the_whole_holds(database: SeededDatabase):
    with transaction(database.engine, database.seeded.project_id, Role.OWNER) as connection:
        moments = sorted(connection.scalars(sa.select(alert_transition.c.recorded_at)))
    cut = moments[len(moments) // 2]
    for kind in ("transition", "attempt"):
        whole = [record for each, record in records(database) if each == kind]
        parts = [
            record
            for span in ((NEVER, cut), (cut, LATER))
            for each, record in records(database, *span)
            if each == kind
        ]
        assert sorted(map(str, parts)) == sorted(map(str, whole))
        assert whole


def test_a_delivery_comes_along_with_an_attempt_made_in_the_span(own_database: SeededDatabase):
    later = own_database.now + timedelta(days=40)
    with transaction(own_database.engine, own_database.seeded.project_id, Role.OWNER) as connection:
        connection.execute(
            sa.update(delivery_attempt).where(delivery_attempt.c.attempt == 2).values(at=later)
        )
    found = records(own_database, later - timedelta(days=1))
    assert [kind for kind, _ in found if kind in ("delivery", "attempt")] == ["delivery", "attempt"]


def test_a_span_without_news_holds_the_alerts_that_are_open(database: SeededDatabase):
    found = records(database, LATER - timedelta(days=1))
    assert {kind for kind, _ in found} == {"alert"}
    assert {record["state"] for _, record in found} <= {"firing", "pending", "recovering"}


def test_nothing_of_another_project_comes_along(database: SeededDatabase):
    with transaction(database.engine, None, Role.OWNER) as connection:
        other = connection.scalar(
            sa.text("select id from project where name = :name"), {"name": EMPTY_PROJECT}
        )
    assert records(database, project=int(other or 0)) == []


def test_the_three_forms_tell_the_same_records(database: SeededDatabase):
    body = json.loads(text_of(database, ExportFormat.JSON))
    lines = [json.loads(each) for each in text_of(database, ExportFormat.NDJSON).splitlines()]
    rows = list(csv.DictReader(io.StringIO(text_of(database, ExportFormat.CSV), newline="")))
    names = {kind: "deliveries" if kind == "delivery" else f"{kind}s" for kind in KINDS}
    for kind, name in names.items():
        of_lines = [each for each in lines if each["kind"] == kind]
        assert of_lines == [{"kind": kind, **each} for each in body[name]], kind
        assert sum(row["kind"] == kind for row in rows) == len(body[name])
    assert (body["project"], body["made_at"]) == (PROJECT, "2100-01-01T00:00:00Z")
    assert tuple(rows[0]) == CSV_COLUMNS


def test_an_empty_export_is_a_whole_document(database: SeededDatabase):
    with alert_export(
        database.engine, 10_000, "nobody", Window(NEVER, LATER), "", LATER
    ) as exported:
        body = json.loads(b"".join(written(exported, ExportFormat.JSON)))
    assert {name: body[name] for name in ("alerts", "silences")} == {"alerts": [], "silences": []}


def test_no_message_body_leaves_with_its_links(own_database: SeededDatabase):
    with transaction(own_database.engine, own_database.seeded.project_id, Role.OWNER) as connection:
        connection.execute(
            sa.update(delivery).values(
                body={"title": "T", "lines": ["https://api.test/act/SECRET"], "body": {}}
            )
        )
    for form in ExportFormat:
        assert "SECRET" not in text_of(own_database, form)


@pytest.mark.parametrize(
    ("value", "written_as"),
    [
        ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@x", "'@x"), ("|x", "'|x"),
        ("%x", "'%x"), ("  =1", "'  =1"), ("\t=1", "'\t=1"), ("\r1", "'\r1"), ("＝1", "'＝1"),
        ("a\0b", "ab"), ("plain", "plain"), ("a=1", "a=1"), (None, ""), (-1.5, -1.5), (7, 7),
        (True, "True"),
        (datetime(2026, 3, 1, tzinfo=UTC), "2026-03-01T00:00:00Z"),
    ],
)  # fmt: skip
def test_no_cell_is_a_formula(value: object, written_as: object):
    assert cell(value) == written_as
