"""Every registered page, run headless: full, empty, failed and hostile data, no error on any.

A page is tested by being registered.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import altair as alt
import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

import dashboards
from dashboards import data
from dashboards.registry import PAGES, VIEWS, page_of
from monitor.reports.alerts import finding
from monitor.reports.incidents import incident_facts
from monitor.store.engine import Role, transaction
from monitor.store.tables import measurement, rejection
from tests.dashboard_seed import EMPTY_PROJECT, MODEL, ODD_NAMES, PROJECT, SILENT_MODEL, STALE_MODEL
from tests.many_runs import many_runs
from tests.promise_seed import HOSTILE_SENTENCE
from tests.seeded_database import SeededDatabase, database, own_database, seeded_template

__all__ = ["database", "many_runs", "own_database", "seeded_template"]

APP = Path(dashboards.__file__).parent / "app.py"
OF_OPEN_ALERTS = ["Acknowledge", "Snooze", "Silence", "Respond", "Resolve", "Archive"]
BIG_IDS = (9007199254740993, 9007199254740992, 4611686018427387905)


@pytest.fixture(autouse=True)
def closed_connections():
    """Pages keep their connections for the next session; a test run has to let go of them."""
    yield
    data.forget()
    data.engine.clear()


def run_page(url: str | None, monkeypatch, page: str, **query: str) -> AppTest:
    """The page as a browser with this address would get it."""
    monkeypatch.setenv("INFERWATCH_DASHBOARD_AUTH", "off")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    if url is not None:
        monkeypatch.setenv("DATABASE_URL", url)
    test = AppTest.from_file(str(APP), default_timeout=60)
    test.query_params.update(query)
    test.run()
    if page != PAGES[0].url_path:
        test.query_params.update(query)
        test.switch_page(str(page_of(page).path.relative_to(APP.parent))).run()
    assert not test.exception, [each.value for each in test.exception]
    return test


def all_text(test: AppTest) -> str:
    """Every text of the page, tables included, Markdown's backslashes and code marks taken off."""
    kinds = (
        *(test.markdown, test.caption, test.text, test.title, test.header, test.code),
        test.subheader,
        test.info,
    )
    texts = [str(each.value) for kind in kinds for each in kind]
    texts += [f"{each.label} {each.value}" for each in test.metric]
    texts += [frame.value.to_csv() for frame in test.dataframe]
    joined = "\n".join(texts).replace("\u2060", "")
    return re.sub(r"\\([^\w\s])", r"\1", joined)


def charts_of(test: AppTest) -> list[dict]:
    """The specifications of all charts, read strictly: NaN and Infinity are errors, and each is one
    by Vega-Lite's schema."""
    found = [
        json.loads(each.proto.spec, parse_constant=pytest.fail)
        for each in test.get("vega_lite_chart")
    ]
    for spec in found:
        alt.Root.validate(spec)
    return found


FULL = {
    "overview": {},
    "model": {"model": MODEL},
    "column": {"model": MODEL, "column": "distance"},
    "alert": {"alert": "1"},
}


def test_the_registry_and_the_folder_hold_the_same_pages():
    assert {page.path for page in PAGES} == set(VIEWS.glob("*.py"))
    assert len({page.url_path for page in PAGES}) == len(PAGES)
    assert VIEWS.name != "pages"


@pytest.mark.parametrize("page", [page.url_path for page in PAGES])
class TestEveryPage:
    """What holds for any page that is registered."""

    def test_full_data(self, database: SeededDatabase, monkeypatch, page: str):
        test = run_page(database.url, monkeypatch, page, project=PROJECT, **FULL.get(page, {}))
        assert test.title[0].value == page_of(page).title
        charts = charts_of(test)
        assert len(charts) <= 6

    def test_a_project_without_models_says_what_to_do(
        self, database: SeededDatabase, monkeypatch, page: str
    ):
        test = run_page(database.url, monkeypatch, page, project=EMPTY_PROJECT)
        text = all_text(test)
        assert "contract apply" in text or "No rule is breached" in text

    @pytest.mark.parametrize("model", [STALE_MODEL, SILENT_MODEL])
    def test_too_few_failed_and_no_data(
        self, database: SeededDatabase, monkeypatch, page: str, model: str
    ):
        run_page(database.url, monkeypatch, page, project=PROJECT, model=model, column="wind")

    def test_what_is_not_there_is_told(self, database: SeededDatabase, monkeypatch, page: str):
        hostile = "<script>alert(1)</script>"
        query = dict.fromkeys(("model", "column", "fingerprint", "from", "to", "zone"), hostile)
        test = run_page(database.url, monkeypatch, page, project=PROJECT, **query)
        assert len(test.title) == 1

    def test_an_unknown_project_falls_back_and_says_so(
        self, database: SeededDatabase, monkeypatch, page: str
    ):
        test = run_page(database.url, monkeypatch, page, project="other*project")
        assert "other*project is not a project here" in all_text(test)

    def test_without_a_database_it_says_which_setting(self, monkeypatch, page: str):
        assert "DATABASE_URL" in all_text(run_page(None, monkeypatch, page))

    def test_a_database_that_is_away_is_told_in_words(self, monkeypatch, page: str):
        test = run_page("postgresql://nobody:x@127.0.0.1:9/none", monkeypatch, page)
        assert "Postgres does not answer" in all_text(test)


def test_the_overview_tells_bad_news_first(database: SeededDatabase, monkeypatch):
    test = run_page(database.url, monkeypatch, "overview", project=PROJECT)
    text = all_text(test)
    for part in ("1 page", "2 tickets", "2 notices", "5 blind spots", "no fresh requests since"):
        assert part in text
    assert "distance of deployment 2 stands apart: 0.500 psi" in text
    assert "alert when above 0.1" in text
    assert "Reduce traffic" in text
    headings = [each.value for each in test.header]
    assert headings == ["Alerts", "Blind spots", "Models", "System health"]


def test_the_model_page_tells_numbers_with_interval_and_n(database: SeededDatabase, monkeypatch):
    query = {"project": PROJECT, "model": MODEL}
    test = run_page(database.url, monkeypatch, "model", **query, section="quality")
    text = all_text(test)
    assert re.search(r"AUC by window .*: 7\d(\.\d+)? %, 95 % interval .* %, n 900\.", text)
    assert "with too few rows" in text
    assert len(charts_of(test)) == 3
    drift = all_text(run_page(database.url, monkeypatch, "model", **query, section="drift"))
    assert "no verdict on quality" in drift


def test_states_without_numbers_say_what_to_do(database: SeededDatabase, monkeypatch):
    query = {"project": PROJECT, "model": STALE_MODEL}
    told = {
        "quality": ("Too few rows for quality", "0 labels, 50 needed",
                    "Too few labels for calibration"),
        "drift": ("Drift could not be measured", "the profile of this day can't be read"),
        "latency": ("It needs 20 requests a window",),
    }  # fmt: skip
    for section, parts in told.items():
        text = all_text(run_page(database.url, monkeypatch, "model", **query, section=section))
        assert [part for part in parts if part not in text] == []


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_have_a_chart_with_data_and_stand_exactly(
    database: SeededDatabase, monkeypatch, name: str
):
    """pub-056: names are data; none is read as a path, markup or maths."""
    query = {"project": PROJECT, "model": MODEL, "column": name}
    test = run_page(database.url, monkeypatch, "column", **query)
    assert f"{name}, cells that moved most" in all_text(test).replace("`", "")
    first = test.get("vega_lite_chart")[0].proto
    assert "price" not in first.spec
    (cells, *_) = [frame.value for frame in test.dataframe if "share now" in frame.value.columns]
    assert len(cells) == 11
    assert (cells["rows now"] != "0").sum() >= 9
    for chart in charts_of(test):
        fields = set(re.findall(r'"field": ?"([^"]+)"', json.dumps(chart)))
        assert fields <= {
            *("at", "value", "low", "high", "series", "when", "utc", "text", "name", "what"),
            *("label", "baseline", "current", "then", "now", "kind", "cell", "n", "piece"),
        }


def test_odd_names_stand_in_the_heat_map(database: SeededDatabase, monkeypatch):
    query = {"project": PROJECT, "model": MODEL, "section": "drift"}
    test = run_page(database.url, monkeypatch, "model", **query)
    names = ["column", "window", "value", "state", "rows", "deployments"]
    (told,) = [frame.value for frame in test.dataframe if list(frame.value) == names]
    assert set(ODD_NAMES) <= set(told["column"])


def test_big_integers_stand_digit_for_digit(own_database: SeededDatabase, monkeypatch):
    """pub-053: as doubles the first two would be equal."""
    seeded = own_database.seeded
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        row = connection.execute(
            sa.select(measurement).where(measurement.c.check_name == "contrast").limit(1)
        ).one()
        newest = {"window_start": seeded.window.end - timedelta(minutes=30)}
        newest["window_end"] = seeded.window.end
        for place, big in enumerate(BIG_IDS):
            values = {**row._mapping, **newest, "n": big, "column_name": f"id {place}"}
            del values["id"]
            connection.execute(sa.insert(measurement).values(values))
    query = {"project": PROJECT, "model": MODEL, "section": "rows"}
    test = run_page(own_database.url, monkeypatch, "model", **query)
    (told,) = [frame.value for frame in test.dataframe if "known at" in frame.value]
    for place, big in enumerate(BIG_IDS):
        (value,) = told.loc[told["column"] == f"id {place}", "value"]
        assert value.endswith(f", n {big:,}")
    assert len(set(told["value"][:3])) == 3


def test_refused_records_name_their_sender_as_plain_text(own_database: SeededDatabase, monkeypatch):
    said = "<b>shop</b> [x](javascript:alert(1))"
    row = {"project_id": own_database.seeded.project_id, "model_id": None, "kind": "requests",
           "place": 7, "reason": "unknown_model", "message": "no such model", "excerpt": "",
           "received_at": own_database.now, "sent_with": "nightly key",
           "producer": said}  # fmt: skip
    with transaction(own_database.engine, own_database.seeded.project_id, Role.OWNER) as connection:
        connection.execute(sa.insert(rejection).values(**row))
    test = run_page(own_database.url, monkeypatch, "schema", project=PROJECT, model=MODEL)
    told = all_text(test)
    assert "Which producer sent them" in told
    tables = [each.value for each in test.dataframe]
    seen = {tuple(pair) for each in tables if {"API key", "producer"} <= set(each.columns)
            for pair in each[["API key", "producer"]].itertuples(index=False)}  # fmt: skip
    assert {("nightly key", said), ("not known", "not known")} <= seen


def test_a_stored_infinity_breaks_no_page(own_database: SeededDatabase, monkeypatch):
    """pub-050 on the page: charts are strict JSON and the failure is told."""
    seeded = own_database.seeded
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        row = connection.execute(
            sa.select(measurement)
            .where(measurement.c.method == "auc", measurement.c.state == "measured")
            .limit(1)
        ).one()
        values = {**row._mapping, "value": float("inf"), "high": float("nan")}
        del values["id"], values["known_at"]
        values["known_at"] = own_database.now.replace(year=own_database.now.year + 1)
        connection.execute(sa.insert(measurement).values(values))
    query = {"project": PROJECT, "model": MODEL, "section": "quality"}
    test = run_page(own_database.url, monkeypatch, "model", **query)
    charts_of(test)
    assert "1 failed" in all_text(test)


def test_a_link_of_a_message_opens_its_alert(database: SeededDatabase, monkeypatch):
    number = database.seeded.alert_ids["deployment-contrast/distance"]
    fingerprint = database.ask(finding, number).fingerprint
    test = run_page(database.url, monkeypatch, "alert", fingerprint=fingerprint)
    text = all_text(test)
    assert "distance of deployment 2 stands apart" in text
    for part in ("alert when above 0.1", "Impact:", "Before you act:", "How far it may go:",
                 "https://runbooks.example.org/contrast", "HTTP 503"):  # fmt: skip
        assert part in text


def test_a_link_of_a_message_finds_the_project_too(database: SeededDatabase, monkeypatch):
    """Messages name no project; the reader's last one may be another."""
    number = database.seeded.alert_ids["deployment-contrast/distance"]
    query = {"fingerprint": database.ask(finding, number).fingerprint, "project": EMPTY_PROJECT}
    test = run_page(database.url, monkeypatch, "alert", **query)
    assert "distance of deployment 2 stands apart" in all_text(test)
    assert test.query_params["project"] == PROJECT


def test_taking_on_an_alert_by_the_form(own_database: SeededDatabase, monkeypatch):
    number = own_database.seeded.alert_ids["deployment-contrast/distance"]
    test = run_page(own_database.url, monkeypatch, "alert", alert=str(number))
    test.button[0].click().run()
    assert "write who you are" in all_text(test)
    test.text_input[0].input("Ada *Lovelace*")
    test.text_area[0].input("rolling back :material/home: $x$")
    test.button[0].click().run()
    assert not test.exception
    assert own_database.ask(finding, number).acknowledged_by == "Ada *Lovelace*"
    text = all_text(test)
    assert "firing: acknowledged" in text
    assert "rolling back :material/home: $x$" in text
    assert test.text_input[0].value == "Ada *Lovelace*"
    test.radio[0].set_value("Resolve").run()
    test.text_input[0].input("Ada")
    test.button[0].click().run()
    assert own_database.ask(finding, number).state == "resolved"
    assert "This alert is over" in all_text(test)


def test_an_alert_whose_rules_can_not_be_read_is_still_shown(
    own_database: SeededDatabase, monkeypatch
):
    with transaction(own_database.engine, own_database.seeded.project_id, Role.OWNER) as connection:
        connection.execute(sa.text("update alert_config set source = 'nonsense'"))
    number = own_database.seeded.alert_ids["auc-low/"]
    text = all_text(run_page(own_database.url, monkeypatch, "alert", alert=str(number)))
    assert "threshold not readable" in text


def test_one_project_never_sees_the_other_s_answers(database: SeededDatabase, monkeypatch):
    """The same question a moment later, of another project."""
    data.forget()
    full = all_text(run_page(database.url, monkeypatch, "overview", project=PROJECT))
    empty = all_text(run_page(database.url, monkeypatch, "overview", project=EMPTY_PROJECT))
    assert MODEL in full
    assert MODEL not in empty


def test_the_page_draws_50_of_6000_runs_and_says_so(many_runs: tuple[str, str], monkeypatch):
    """pub-066 on the page: what is drawn and sent is one page, and filters look at all."""
    url, project = many_runs
    query = {"project": project, "runs_page": "2"}
    test = run_page(url, monkeypatch, "overview", **query)
    (runs,) = [frame.value for frame in test.dataframe if "rows read" in frame.value]
    assert len(runs) == 50
    text = all_text(test)
    assert "Rows 51 to 100 of 6,000, page 2 of 120" in text
    assert "Rows 1 to 12 of 200, page 1 of 17" in text
    assert "Rows 1 to 20 of 4,000, page 1 of 200" in text
    test.selectbox(key="run_state").select("failed").run()
    assert "page 2 of 4" in all_text(test)


def test_the_model_page_tells_the_promise_and_the_incidents(database: SeededDatabase, monkeypatch):
    query = {"project": PROJECT, "model": MODEL, "section": "drift"}
    test = run_page(database.url, monkeypatch, "model", **query)
    text = all_text(test)
    for part in (
        "available, not yet verified",
        "At most 1 false drift incident a month in expectation, if coming weeks behave like the",
        "without an incident would verify it",
        "It does not hold for 2 of 9 columns:",
        "`price $ net $`: 3 healthy weeks, 4 needed",
        "Waiting for a decision: `x[0]`",
        "Backtest of 8 healthy weeks (56.0 days)",
        "Incident 2, led by `distance`",
        "Incident 3, led by `carrier`",
        "deployment `autumn*new`",
    ):
        assert part in text
    (learned,) = [frame.value for frame in test.dataframe if "wobble a day" in frame.value]
    assert set(learned["column"]) >= {"distance", *ODD_NAMES}
    assert set(learned.loc[learned["promise"] == "no", "column"]) == {"x[0]", "price $ net $"}


def test_a_model_without_history_says_that_the_promise_waits(database: SeededDatabase, monkeypatch):
    query = {"project": PROJECT, "model": STALE_MODEL, "section": "drift"}
    text = all_text(run_page(database.url, monkeypatch, "model", **query))
    assert "0 of 4 healthy weeks of history are there" in text
    assert "No drift incident so far" in text


def test_the_page_of_an_incident_s_alert_tells_what_was_seen(database: SeededDatabase, monkeypatch):
    number = database.seeded.alert_ids["drift-incident/distance"]
    test = run_page(database.url, monkeypatch, "alert", alert=str(number))
    text = all_text(test)
    for part in ("Drift incident 2", "What else was seen", HOSTILE_SENTENCE,
                 "consistent with a fault in that deployment", "Nobody has said yet"):  # fmt: skip
        assert part in text
    assert "caused by the" not in text
    (moved,) = [frame.value for frame in test.dataframe if "expected" in frame.value]
    assert set(moved["column"]) == {"distance"}
    (columns,) = [frame.value for frame in test.dataframe if "strongest window" in frame.value]
    assert list(columns["deployments"]) == ["autumn*new"]
    assert test.radio[0].options == [*OF_OPEN_ALERTS, "False alarm", "Fault", "New normal"]


def test_other_alerts_offer_no_verdict(database: SeededDatabase, monkeypatch):
    test = run_page(database.url, monkeypatch, "alert", alert="1")
    assert test.radio[0].options == [*OF_OPEN_ALERTS, "False alarm"]
    assert "What else was seen" not in all_text(test)


def test_verdicts_by_the_form(own_database: SeededDatabase, monkeypatch):
    seeded = own_database.seeded
    number = seeded.alert_ids["drift-incident/distance"]
    test = run_page(own_database.url, monkeypatch, "alert", alert=str(number))
    for word, verdict in (("Fault", "fault"), ("New normal", "adopt")):
        test.radio[0].set_value(word).run()
        test.text_input[0].input("Ada *L*")
        test.button[0].click().run()
        assert not test.exception
        judged = own_database.ask(incident_facts, seeded.incidents.open).judgement
        assert (judged.verdict, judged.by) == (verdict, "Ada *L*")
        assert own_database.ask(finding, number).state == "firing"
    assert "Judged as the new normal by `Ada *L*`" in all_text(test)
    test.radio[0].set_value("False alarm").run()
    test.text_area[0].input("a *holiday*")
    test.button[0].click().run()
    assert own_database.ask(finding, number).resolved_reason == "false_alarm"
    text = all_text(test)
    assert "firing → resolved: false alarm" in text
    assert "a *holiday*" in text
    assert test.radio[0].options == ["False alarm", "Fault", "New normal"]


def test_the_column_page_tells_what_the_drift_alarms_see(database: SeededDatabase, monkeypatch):
    query = {"project": PROJECT, "model": MODEL}
    test = run_page(database.url, monkeypatch, "column", **query, column="distance")
    text = all_text(test)
    assert "windows of a day; newest" in text
    assert "PSI units, 95 % interval" in text
    assert "would have shown with 90 % certainty, in standard deviations: 0." in text
    hours = run_page(
        database.url, monkeypatch, "column", **query, column="distance", seasonal_windows="1h"
    )
    assert "windows of an hour; newest" in all_text(hours)
    held = all_text(run_page(database.url, monkeypatch, "column", **query, column="price $ net $"))
    assert "The promise does not hold for it: 3 healthy weeks, 4 needed" in held
    entity = all_text(run_page(database.url, monkeypatch, "column", **query, column="tail"))
    assert "The drift alarms don't watch this column" in entity


def test_the_model_page_shows_what_was_known_on_a_day(own_database: SeededDatabase, monkeypatch):
    """A correction that came later is not there, and the page says that it looks back."""
    seeded, tomorrow = own_database.seeded, own_database.now + timedelta(days=1)
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        rows = connection.execute(
            sa.select(measurement).where(
                measurement.c.method == "auc", measurement.c.state == "measured"
            )
        ).all()
        for row in rows:
            values = {**row._mapping, "value": 0.512345, "low": 0.5, "high": 0.52}
            del values["id"]
            values["known_at"] = tomorrow
            connection.execute(sa.insert(measurement).values(values))
    query = {"project": PROJECT, "model": MODEL, "zone": "UTC", "section": "quality"}
    now = all_text(run_page(own_database.url, monkeypatch, "model", **query))
    today = own_database.now.date().isoformat()
    then = all_text(run_page(own_database.url, monkeypatch, "model", as_of=today, **query))
    assert "51.2 %" in now
    assert "51.2 %" not in then
    assert re.search(r"AUC by window .*: 7\d(\.\d+)? %", then)
    assert f"as they were known at the end of {today}" in then
    assert "as they were known" not in now
