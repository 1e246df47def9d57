"""The alert's page run headless: what a person can do there, and who it says knows what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from monitor.reports.actions import archive, silence
from monitor.reports.alert_detail import alert_detail
from monitor.reports.alerts import finding
from monitor.reports.silences import silence_lines
from monitor.store.engine import Role, transaction
from monitor.store.responding import stop_actions
from monitor.store.tables import response_action
from tests.contracts.test_pages import all_text, closed_connections, run_page
from tests.dashboard_seed import PROJECT
from tests.seeded_database import SeededDatabase, database, own_database, seeded_template

__all__ = ["closed_connections", "database", "own_database", "seeded_template"]

PAGE = "deployment-contrast/distance"


def number_of(source: SeededDatabase) -> int:
    return source.seeded.alert_ids[PAGE]


def open_page(source: SeededDatabase, monkeypatch) -> AppTest:
    return run_page(source.url, monkeypatch, "alert", alert=str(number_of(source)))


def choose(test: AppTest, deed: str, by: str = "Ada *Lovelace*") -> None:
    test.radio[0].set_value(deed).run()
    test.text_input[0].input(by)


def press(test: AppTest, label: str) -> None:
    (button,) = [each for each in test.button if each.label == label]
    button.click().run()
    assert not test.exception, [each.value for each in test.exception]


def test_snoozing_by_the_form(own_database: SeededDatabase, monkeypatch):
    test = open_page(own_database, monkeypatch)
    choose(test, "Snooze")
    (length,) = [each for each in test.selectbox if each.label == "For how long"]
    length.select("1 day")
    before = datetime.now(UTC)
    press(test, "Snooze")
    until = own_database.ask(finding, number_of(own_database)).snoozed_until
    assert until is not None
    assert timedelta(0) <= until - before - timedelta(days=1) < timedelta(minutes=1)
    assert "Snoozed until" in all_text(test)
    assert "snoozed" in all_text(test)


def test_a_silence_needs_a_reason_and_can_be_ended_on_the_page(
    own_database: SeededDatabase, monkeypatch
):
    test = open_page(own_database, monkeypatch)
    choose(test, "Silence")
    press(test, "Silence")
    assert "write why" in all_text(test)
    assert own_database.ask(silence_lines) == ()
    test.text_area[0].input("planned <b>work</b> $x$")
    test.checkbox[0].check()
    press(test, "Silence")
    (made,) = own_database.ask(silence_lines)
    assert (made.silence.author, made.silence.reason) == (
        "Ada *Lovelace*",
        "planned <b>work</b> $x$",
    )
    assert "rule" in {each.label for each in made.silence.matchers}
    assert len(made.silence.matchers) > 5
    assert "planned <b>work</b> $x$" in " ".join(each.value for each in test.info).replace("\\", "")
    press(test, f"End silence {made.silence.id}")
    assert own_database.ask(silence_lines) == ()


def test_archiving_and_taking_it_back(own_database: SeededDatabase, monkeypatch):
    test = open_page(own_database, monkeypatch)
    choose(test, "Archive")
    press(test, "Archive")
    assert own_database.ask(finding, number_of(own_database)).archived_by == "Ada *Lovelace*"
    assert "Archive" not in test.radio[0].options
    choose(test, "Unarchive")
    press(test, "Unarchive")
    assert own_database.ask(finding, number_of(own_database)).archived_by is None


def test_an_archived_alert_that_is_over_can_still_be_taken_back(
    own_database: SeededDatabase, monkeypatch
):
    own_database.ask(archive, number_of(own_database), "Ada", "", own_database.now)
    test = open_page(own_database, monkeypatch)
    choose(test, "Resolve")
    press(test, "Resolve")
    assert test.radio[0].options == ["Unarchive"]


def test_an_alert_that_was_none_ends_as_a_false_alarm(own_database: SeededDatabase, monkeypatch):
    test = open_page(own_database, monkeypatch)
    choose(test, "False alarm")
    press(test, "False alarm")
    found = own_database.ask(finding, number_of(own_database))
    assert (found.state, found.resolved_reason) == ("resolved", "false_alarm")
    newest = own_database.ask(alert_detail, number_of(own_database)).timeline[0]
    assert newest.by == "Ada *Lovelace*"
    assert "1 told as a false alarm" in all_text(test)


def test_a_response_is_started_and_its_outcome_reported(own_database: SeededDatabase, monkeypatch):
    test = open_page(own_database, monkeypatch)
    assert "Actions" not in [each.value for each in test.header]
    choose(test, "Respond")
    press(test, "Respond")
    assert "Action 1 is requested: carried out by Ada *Lovelace*" in (
        test.success[0].value.replace("\\", "")
    )
    assert "Actions" in [each.value for each in test.header]
    (outcome,) = [each for each in test.radio if each.label == "Outcome"]
    outcome.set_value("Failed")
    (detail,) = [each for each in test.text_input if each.label == "What happened"]
    detail.input("router <i>away</i>")
    press(test, "Report the outcome")
    row = response_action.c
    with transaction(own_database.engine, own_database.seeded.project_id, Role.OWNER) as connection:
        stored = connection.execute(sa.select(row.state, row.outcome_by, row.outcome_detail)).one()
    assert tuple(stored) == ("failed", "Ada *Lovelace*", "router <i>away</i>")
    assert "router <i>away</i>" in all_text(test)


def test_the_page_tells_who_knows_what_and_that_the_rule_was_never_tried(
    database: SeededDatabase, monkeypatch
):
    test = open_page(database, monkeypatch)
    text = all_text(test)
    for part in ("on-call` was told of it", "1 message could not be delivered", "never rehearsed",
                 "inferwatch respond rehearse deployment-contrast"):  # fmt: skip
        assert part in text, part
    (messages,) = [each.value for each in test.dataframe if "last try" in each.value]
    assert list(messages["state"]) == ["dead", "sent"]
    assert messages["last try"][1] == "sent: HTTP 200"


def test_the_list_tells_silences_untried_rules_and_stopped_actions(
    own_database: SeededDatabase, monkeypatch
):
    until = datetime.now(UTC) + timedelta(hours=1)
    arguments = (number_of(own_database), until, "Ada", "known *fault*", datetime.now(UTC))
    own_database.ask(silence, *arguments)
    stop_actions(
        own_database.engine, own_database.seeded.project_id, "Grace", "router mends",
        datetime.now(UTC),
    )  # fmt: skip
    test = run_page(own_database.url, monkeypatch, "alert", project=PROJECT)
    text = all_text(test)
    assert "Silence 1 by Ada until" in text
    assert "known *fault*" in text
    assert "rules without a rehearsal that passed" in text
    assert "Actions are stopped by Grace" in test.warning[0].value.replace("\\", "")
    press(test, "End silence 1")
    assert "write who you are" in all_text(test)
    (name,) = [each for each in test.text_input if each.label == "Your name"]
    name.input("Grace")
    press(test, "End silence 1")
    assert own_database.ask(silence_lines) == ()
    assert "Silence 1 by Ada" not in all_text(test)
