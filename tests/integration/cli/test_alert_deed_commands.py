"""`inferwatch alerts snooze`, `archive`, `unarchive`, `retire-model` and `export`."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.engine import Engine

from monitor.store.engine import Role, transaction
from monitor.store.tables import model
from tests.integration.cli.conftest import Run
from tests.integration.cli.test_alert_commands import (
    applied,
    history,
    measure,
    rules_file,
    state,
)

__all__ = ["applied", "rules_file"]


@pytest.fixture
def alerted(applied: Run, engine: Engine, database_url: str) -> Run:
    """A project with one alert that fires."""
    measure(engine, database_url, "age", 0.5)
    return applied


def listed(run: Run) -> dict[str, object]:
    (one,) = json.loads(run("alerts", "list", "--all", "--json").out)
    assert isinstance(one, dict)
    return one


def test_an_alert_is_snoozed_for_a_while_or_until_a_moment(alerted: Run, engine: Engine) -> None:
    before = datetime.now(UTC)
    done = alerted("alerts", "snooze", 1, "--for", "1h30m", "--by", "ada", "--comment", "deploying")
    assert done.code == 0, done.err
    until = datetime.fromisoformat(str(listed(alerted)["snoozed_until"]))
    assert timedelta(0) <= until - before - timedelta(minutes=90) < timedelta(minutes=1)
    reason, by, comment = history(engine)[-1][2:]
    assert (reason, by) == ("snoozed", "ada")
    assert str(comment).endswith("deploying")

    day = (before + timedelta(days=3)).date()
    assert alerted("alerts", "snooze", 1, "--until", day).code == 0
    assert str(listed(alerted)["snoozed_until"]).startswith(f"{day} 00:00:00")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ((), "--for"),
        (("--for", "1h", "--until", "2030-01-01"), "one of them"),
        (("--for", "soon"), "soon"),
        (("--until", "yesterday"), "--until"),
        (("--until", "2001-01-01"), "future"),
        (("--for", "0"), "future"),
    ],
)
def test_a_snooze_without_an_end_ahead_is_refused(
    alerted: Run, options: tuple[str, ...], word: str
) -> None:
    ended = alerted("alerts", "snooze", 1, *options)
    assert ended.code == 2
    assert word in ended.err
    assert listed(alerted)["snoozed_until"] is None


def test_an_alert_is_archived_and_taken_back(alerted: Run) -> None:
    assert alerted("alerts", "archive", 1, "--by", "ada").code == 0
    assert (listed(alerted)["standing"], listed(alerted)["archived_by"]) == ("archived", "ada")
    assert "archived" in alerted("alerts", "list").out
    assert alerted("alerts", "unarchive", 1, "--by", "ada").code == 0
    assert listed(alerted)["standing"] == "new"
    again = alerted("alerts", "unarchive", 1)
    assert (again.code, "not archived" in again.err) == (2, True)


def test_an_alert_is_shown_with_who_was_told_and_what_was_asked(alerted: Run) -> None:
    assert alerted("respond", "run", 1, "--by", "ada").code == 0
    shown = alerted("alerts", "show", 1).out
    told = shown.partition("Who was told:")[2]
    assert "on-call was told of it" in told
    assert "1 messages wait to be sent" in told
    assert "action 1, investigate: requested, asked for by ada" in told.partition("Actions:")[2]
    body = json.loads(alerted("alerts", "show", 1, "--json").out)
    assert [(each["receiver"], each["event"]) for each in body["told"]] == [("on-call", "opened")]
    assert [each["state"] for each in body["deliveries"]] == ["waiting"]
    assert [each["requested_by"] for each in body["actions"]] == ["ada"]


def test_a_retired_model_ends_its_alerts_for_that_reason(alerted: Run, engine: Engine) -> None:
    with transaction(engine, 1, Role.OWNER) as connection:
        name = connection.scalar(model.select().with_only_columns(model.c.name))
    unknown = alerted("alerts", "retire-model", "nobody")
    assert (unknown.code, "nobody" in unknown.err) == (2, True)

    done = alerted("alerts", "retire-model", name, "--by", "ada")

    assert "1 open alerts ended" in done.out
    assert state(engine) == {"drifted": "resolved"}
    assert history(engine)[-1][2:4] == ("model_retired", "ada")
    assert alerted("alerts", "ack", 1).code == 2


@pytest.mark.parametrize("form", ["json", "ndjson", "csv"])
def test_an_export_goes_to_a_file_or_out(alerted: Run, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"alerts.{form}"
    alerted("alerts", "ack", 1, "--by", "ada", "--comment", "=1+1")
    to_file = alerted("alerts", "export", "--from", "2026-01-01", "--format", form,
                      "--output", path)  # fmt: skip
    out = alerted("alerts", "export", "--from", "2026-01-01", "--format", form).out
    assert to_file.code == 0, to_file.err
    text = path.read_text()
    if form == "json":
        body = json.loads(text)
        assert [each["reason"] for each in body["transitions"]] == ["breach_held", "acknowledged"]
        assert body["project"] == "default"
        assert json.loads(out)["alerts"] == body["alerts"]
    elif form == "ndjson":
        kinds = [json.loads(line)["kind"] for line in text.splitlines()]
        assert kinds == ["alert", "transition", "transition", "delivery"]
        assert out == text
    else:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["kind"] for row in rows] == ["alert", "transition", "transition", "delivery"]
        assert rows[2]["comment"] == "'=1+1"
        assert out.splitlines() == text.splitlines()


def test_an_export_of_another_time_is_empty_but_whole(alerted: Run) -> None:
    alerted("alerts", "resolve", 1)
    body = json.loads(alerted("alerts", "export", "--from", "2020-01-01", "--to", "2020-02-01").out)
    assert [body[name] for name in ("alerts", "transitions", "deliveries", "silences")] == [[]] * 4
    wrong = alerted("alerts", "export", "--from", "2020-02-01", "--to", "2020-01-01")
    assert (wrong.code, "--from" in wrong.err) == (2, True)
