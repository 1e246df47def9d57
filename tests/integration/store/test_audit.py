"""The audit chain in Postgres: written by the database, changed by nobody, whole under load."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DBAPIError, ProgrammingError

from alerts.rules import Matcher
from monitor.evidence.canonical import canonical, read_canonical
from monitor.evidence.chain import check_chain, head_of
from monitor.store import audit
from monitor.store.engine import Role, transaction
from monitor.store.models import ModelContext
from monitor.store.projects import create_key, revoke_key
from monitor.store.silences import WantedSilence, add_silence, end_silence
from tests.factories import apply, make_contract

NOW = datetime.now(UTC)
ROLES = [Role.INGEST, Role.WORKER, Role.DASHBOARD, Role.EXPORT]


def entries(engine: Engine, project_id: int) -> list[dict[str, object]]:
    """The whole chain, found whole first."""
    with transaction(engine, project_id, Role.WORKER) as connection:
        audit.link_waiting(connection, project_id)
        lines = audit.chain_lines(connection, project_id)
        name = audit.project_name(connection, project_id)
    assert list(check_chain(lines, head_of(lines, name), "chain")) == []
    return [read_canonical(line) for line in lines]


def deeds(engine: Engine, project_id: int) -> list[tuple[object, object, object]]:
    return [(one["deed"], one["actor"], one["subject"]) for one in entries(engine, project_id)]


def test_rows_that_matter_append_themselves(engine: Engine, project_id: int) -> None:
    apply(engine, project_id, make_contract())
    with transaction(engine, None, Role.OWNER) as connection:
        key = create_key(connection, project_id, "sender", ["ingest"], by="ana")
    prefix = key.split("_")[1]
    with transaction(engine, project_id, Role.OWNER) as connection:
        audit.act_as(connection, "ben")
        revoke_key(connection, project_id, prefix, NOW)
    wanted = WantedSilence(
        (Matcher("model", ("credit",)),), NOW, NOW + timedelta(hours=1), "cleo", "upkeep “ä”\n"
    )
    number = add_silence(engine, project_id, wanted, NOW).id
    end_silence(engine, project_id, number, "dan", NOW + timedelta(minutes=1))
    found = deeds(engine, project_id)
    assert found[0][0] == "contract_applied"
    assert found[0][2] == "credit"
    assert found[1:] == [
        ("key_created", "ana", prefix),
        ("key_revoked", "ben", prefix),
        ("silence_created", "cleo", str(number)),
        ("silence_ended", "dan", str(number)),
    ]
    assert key not in json.dumps(entries(engine, project_id))


def test_what_is_rolled_back_leaves_no_entry(engine: Engine, project_id: int) -> None:
    with engine.connect() as connection:
        create_key(connection, project_id, "sender", ["ingest"], by="ana")
        audit.append(connection, project_id, "ana", "tried", "x")
        connection.rollback()
    assert entries(engine, project_id) == []


HARD = {
    "text": '\u2028 \x7f \x1f \t \n " \\ / é 😀 <script>',
    "numbers": [0, -1, 2**53 - 1, -(2**53) + 1],
    "list": [None, True, False, {}, [], {"b": 1, "a": {"Z": 1, "_": 2, "z": 3}}],
}


def test_the_database_writes_the_same_canonical_form(engine: Engine, project_id: int) -> None:
    with transaction(engine, project_id, Role.WORKER) as connection:
        assert audit.append(connection, project_id, "ana", "tried", "x", HARD) == 1
        text = connection.scalar(
            sa.text("select audit_json(cast(:v as jsonb))"), {"v": json.dumps(HARD)}
        )
    assert str(text).encode() == canonical(HARD)
    assert entries(engine, project_id)[0]["detail"] == HARD


def test_numbers_that_would_be_rounded_are_kept_as_text(engine: Engine, project_id: int) -> None:
    with transaction(engine, project_id, Role.WORKER) as connection:
        audit.append(connection, project_id, "ana", "tried", "x", {"a": 0.1, "b": 2**60})
    assert entries(engine, project_id)[0]["detail"] == {"a": "0.1", "b": str(2**60)}


def test_a_key_that_is_not_ascii_is_refused(engine: Engine, project_id: int) -> None:
    with (
        pytest.raises(DBAPIError, match="plain ASCII"),
        transaction(engine, project_id, Role.WORKER) as connection,
    ):
        audit.append(connection, project_id, "ana", "tried", "x", {"ä": 1})


@pytest.mark.parametrize("role", ROLES)
def test_no_role_writes_changes_or_deletes_an_entry_by_itself(
    engine: Engine, project_id: int, role: Role
) -> None:
    with transaction(engine, project_id, role) as connection:
        audit.append(connection, project_id, "ana", "tried", "x")
    for statement in (
        "insert into audit_entry select * from audit_entry",
        "update audit_entry set actor = 'mallory'",
        "delete from audit_entry",
        "truncate audit_entry",
        "select audit_link(1, 'a', 'b', 'c', '{}')",
        "delete from audit_due",
    ):
        with (
            pytest.raises(ProgrammingError, match="permission denied"),
            transaction(engine, project_id, role) as connection,
        ):
            connection.execute(sa.text(statement))


def test_the_owner_is_refused_too(engine: Engine, project_id: int) -> None:
    with transaction(engine, project_id, Role.OWNER) as connection:
        audit.append(connection, project_id, "ana", "tried", "x")
    for statement in (
        "update audit_entry set actor = 'mallory'",
        "delete from audit_entry",
        "truncate audit_entry",
    ):
        with (
            pytest.raises(ProgrammingError, match="never changed or deleted"),
            transaction(engine, project_id, Role.OWNER) as connection,
        ):
            connection.execute(sa.text(statement))


def test_an_entry_of_another_project_is_refused(engine: Engine, project_id: int) -> None:
    with (
        pytest.raises(ProgrammingError, match="project of its transaction"),
        transaction(engine, project_id, Role.WORKER) as connection,
    ):
        audit.append(connection, project_id + 1, "ana", "tried", "x")


def test_a_table_of_the_same_name_in_the_session_takes_no_entry(
    engine: Engine, project_id: int
) -> None:
    with transaction(engine, project_id, Role.WORKER) as connection:
        connection.execute(
            sa.text("create temp table audit_entry on commit drop as table public.audit_entry")
        )
        audit.append(connection, project_id, "ana", "tried", "x")
        assert connection.scalar(sa.text("select count(*) from pg_temp.audit_entry")) == 0
    assert deeds(engine, project_id) == [("tried", "ana", "x")]


def test_a_baseline_of_one_moment_is_linked_though_the_chain_went_on(
    engine: Engine, project_id: int, credit: ModelContext
) -> None:
    with transaction(engine, project_id, Role.WORKER, snapshot=True) as seen:
        seen.execute(sa.text("select count(*) from model"))
        with transaction(engine, project_id, Role.WORKER) as other:
            audit.append(other, project_id, "ana", "meanwhile", "x")
        assert audit.append(seen, project_id, "ben", "baseline_set", "credit") is None
    assert deeds(engine, project_id)[-2:] == [
        ("meanwhile", "ana", "x"),
        ("baseline_set", "ben", "credit"),
    ]


def test_many_writers_make_one_chain_without_a_gap(engine: Engine, project_id: int) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(15):
                with transaction(engine, project_id, Role.WORKER) as connection:
                    audit.append(connection, project_id, f"writer {number}", "wrote", str(turn))
        except BaseException as error:  # noqa: BLE001 -- shown by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    found = entries(engine, project_id)
    assert [one["seq"] for one in found] == list(range(1, 91))
    moments = [str(one["at"]) for one in found]
    assert moments == sorted(moments)


def test_a_signed_head_is_kept_as_it_was_signed(engine: Engine, project_id: int) -> None:
    head = audit.SignedHead(3, NOW, b"{}", b"s" * 64, "ab" * 32, None)
    with transaction(engine, project_id, Role.WORKER) as connection:
        audit.save_head(connection, project_id, head)
        audit.save_head(connection, project_id, head)
        audit.mark_sent(connection, project_id, 3, NOW)
        found = audit.signed_heads(connection, project_id)
    assert [(one.seq, one.body, one.sent_at is not None) for one in found] == [(3, b"{}", True)]
    with (
        pytest.raises(ProgrammingError, match="never changed or deleted"),
        transaction(engine, project_id, Role.OWNER) as connection,
    ):
        connection.execute(sa.text("update audit_head set signature = 'x'"))


ALERT = (
    "insert into alert (project_id, fingerprint, rule, model, state, data_state, severity, owner,"
    " response, episode, since, body, config_version) values (1, 'f', 'r', 'credit', 'firing',"
    " 'ok', 'page', 'o', 'investigate', 1, now(), '{}', 1)"
)
TRANSITION = (
    "insert into alert_transition (project_id, alert_id, episode, from_state, to_state, reason,"
    " \"by\", comment, at, body) values (1, 1, 1, 'firing', 'firing', '%s', %s, 'c', now(), '{}')"
)
ACTION = (
    "insert into response_action (project_id, episode, rule, response, action, model,"
    " deployment_ids, dry_run, state, requested_by, requested_at, body) values (1, 1, 'r',"
    " 'roll_back', 'roll_back', 'credit', '{1}', false, 'requested', 'ana', now(), '{}')"
)
INCIDENT = (
    "insert into incident (project_id, model_id, leg, state, opened_at, last_at, until_at,"
    " leading_column, body) values (1, 1, 'live', 'open', now(), now(), now(), 'age', '{}')"
)
JUDGE = "update incident set verdict = 'fault', verdict_by = 'ana', verdict_at = now()"
HOLD = (
    "insert into legal_hold (project_id, classes, reason, placed_by) values"
    " (1, '{requests}', 'case', 'ana')"
)
OUTCOME = "update response_action set state = 'done', outcome = 'done', outcome_by = 'ana'"


@pytest.mark.parametrize(
    ("statements", "deed", "subject"),
    [
        ([ALERT, TRANSITION % ("acknowledged", "'ana'")], "alert_acknowledged", "1"),
        ([ALERT, TRANSITION % ("false_alarm", "'ana'")], "alert_false_alarm", "1"),
        ([ALERT, TRANSITION % ("closed_by_hand", "'ana'")], "alert_closed_by_hand", "1"),
        ([ALERT, TRANSITION % ("breach_held", "null")], None, None),
        ([ACTION], "response_requested", "credit"),
        ([ACTION, OUTCOME], "response_outcome", "credit"),
        (["insert into response_switch (project_id, stopped, by, reason) values"
          " (1, true, 'ana', 'x')"], "responses_switched", "responses"),
        (["insert into alert_config (project_id, version, source, applied_by) values"
          " (1, 1, 'x', 'ana')"], "rules_applied", "rules"),
        ([INCIDENT, JUDGE], "incident_judged", "credit"),
        (["update model set retired_at = now(), retired_by = 'ana'"], "model_retired", "credit"),
        ([HOLD], "hold_placed", "all models"),
        ([HOLD, "update legal_hold set released_at = now(), released_by = 'ana'"],
         "hold_released", "all models"),
    ],
)  # fmt: skip
def test_each_deed_has_its_entry(
    engine: Engine,
    project_id: int,
    credit: ModelContext,
    statements: list[str],
    deed: str | None,
    subject: str | None,
) -> None:
    before = len(entries(engine, project_id))
    for statement in statements:
        with transaction(engine, project_id, Role.OWNER) as connection:
            connection.execute(sa.text(statement))
    new = deeds(engine, project_id)[before:]
    if deed is None:
        assert new == []
    else:
        assert new[-1] == (deed, "ana", subject)
