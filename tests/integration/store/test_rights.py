"""Roles of least right and row-level security, over every table there is."""

from __future__ import annotations

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine
from sqlalchemy.exc import ProgrammingError

from monitor.store import projects
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from monitor.store.tables import WITHOUT_ROW_SECURITY, metadata
from tests.factories import (
    START,
    apply,
    count,
    deployment,
    label,
    label_batch,
    make_contract,
    request,
    send,
)

PROJECT_TABLES = sorted(
    name
    for name, table in metadata.tables.items()
    if "project_id" in table.c and name not in WITHOUT_ROW_SECURITY
)
OF_ACCESS = ["account", "membership", "session", "one_time_link", "login_attempt"]
WORKING_ROLES = [Role.INGEST, Role.WORKER, Role.DASHBOARD, Role.EXPORT, Role.GATE]


@pytest.fixture
def other(engine: Engine) -> ModelContext:
    """A model of the same name in another project."""
    with transaction(engine, None, Role.OWNER) as connection:
        number = projects.ensure_project(connection, "other")
    return apply(engine, number, make_contract())


def test_only_known_tables_go_without_row_security(engine: Engine) -> None:
    with transaction(engine, None, Role.OWNER) as connection:
        found = connection.execute(
            sa.text(
                "select c.relname, c.relrowsecurity and c.relforcerowsecurity,"
                " (select count(*) from pg_policy p where p.polrelid = c.oid and p.polcmd = '*'"
                "   and p.polwithcheck is not null)"
                " from pg_class c where c.relnamespace = 'public'::regnamespace"
                " and c.relkind in ('r', 'p') and not c.relispartition"
            )
        ).all()
    guarded = {name for name, forced, policies in found if forced and policies == 1}
    bare = {name for name, forced, policies in found if not forced or policies != 1}
    assert guarded == set(PROJECT_TABLES)
    assert bare == WITHOUT_ROW_SECURITY | {"alembic_version"}


def test_the_working_roles_own_nothing_and_pass_no_guard(engine: Engine) -> None:
    with transaction(engine, None, Role.OWNER) as connection:
        roles = connection.execute(
            sa.text(
                "select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin"
                " from pg_roles where rolname like 'inferwatch\\_%' order by 1"
            )
        ).all()
        owned = "select distinct tableowner from pg_tables where schemaname = 'public'"
        owners = set(connection.scalars(sa.text(owned)))
        mine = "select rolsuper or rolbypassrls from pg_roles where rolname = current_user"
        login = connection.scalar(sa.text(mine))
    assert [row[0] for row in roles] == sorted(role.value for role in WORKING_ROLES)
    assert all(not any(row[1:]) for row in roles)
    assert owners.isdisjoint({role.value for role in WORKING_ROLES})
    assert login is False


def test_no_role_may_empty_a_table_or_make_one(engine: Engine) -> None:
    with transaction(engine, None, Role.OWNER) as connection:
        for role in WORKING_ROLES:
            for table in metadata.tables:
                wide = connection.scalar(
                    sa.text("select has_table_privilege(:role, :table, :rights)"),
                    {"role": role.value, "table": table, "rights": "truncate, trigger"},
                )
                assert not wide, f"{role} on {table}"
            makes = sa.text("select has_schema_privilege(:role, 'public', 'create')")
            assert not connection.scalar(makes, {"role": role.value})


def test_measurements_requests_and_labels_can_be_changed_by_nobody(engine: Engine) -> None:
    kept = ["measurement", "request_log", "label", "alert_transition", "contract", "baseline",
            "alert_config", "delivery_attempt", "intake_batch", "audit_entry", "deletion",
            "legal_hold"]  # fmt: skip
    with transaction(engine, None, Role.OWNER) as connection:
        for role in WORKING_ROLES:
            for table in kept:
                for right in ("update", "delete"):
                    may = connection.scalar(
                        sa.text("select has_table_privilege(:role, :table, :right)"),
                        {"role": role.value, "table": table, "right": right},
                    )
                    assert not may, f"{role} may {right} {table}"


@pytest.mark.parametrize(
    ("role", "tables"),
    [
        (Role.INGEST, ["request_log", "label", "measurement", "profile", "alert", "intake_mark",
                       "prediction_block", "sample", "delivery", "label_orphan", "rejection"]),
        (Role.WORKER, ["api_key", "violation_example"]),
        (Role.DASHBOARD, ["request_log", "label", "api_key", "intake_part", "label_mark",
                          *OF_ACCESS]),
        (Role.EXPORT, ["request_log", "label", "api_key", "rejection", "sample", "label_orphan",
                       "violation_example", "intake_part", *OF_ACCESS]),
        (Role.INGEST, OF_ACCESS),
        (Role.WORKER, OF_ACCESS),
        (Role.GATE, ["project", "request_log", "label", "api_key", "measurement", "alert",
                     "profile", "sample", "delivery", "contract"]),
    ],
)  # fmt: skip
def test_what_a_role_has_no_business_with_it_cannot_read(
    engine: Engine, project_id: int, role: Role, tables: list[str]
) -> None:
    for table in tables:
        with (
            pytest.raises(ProgrammingError, match="permission denied"),
            transaction(engine, project_id, role) as connection,
        ):
            count(connection, table)


@pytest.mark.parametrize("role", [Role.DASHBOARD, Role.EXPORT])
def test_the_hashing_key_is_for_intake_and_worker_only(
    engine: Engine, project_id: int, role: Role
) -> None:
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction(engine, project_id, role) as connection,
    ):
        connection.execute(sa.text("select hash_key from project"))
    with transaction(engine, project_id, role) as connection:
        assert connection.scalar(sa.text("select name from project")) == "default"


@pytest.mark.parametrize("role", [Role.OWNER, Role.WORKER, Role.DASHBOARD, Role.INGEST])
def test_rows_of_another_project_are_invisible(
    engine: Engine, project_id: int, credit: ModelContext, other: ModelContext, role: Role
) -> None:
    deployment(engine, other, model_version="9")
    for table in ("model", "contract", "deployment"):
        with transaction(engine, project_id, role) as connection:
            assert count(connection, table) == count(connection, table, "project_id = 1") == 1
        with transaction(engine, other.project_id, role) as connection:
            assert count(connection, table, f"project_id = {other.project_id}") == 1
            assert count(connection, table) == 1
        with transaction(engine, None, role) as connection:
            assert count(connection, table) == 0


def test_a_row_for_another_project_is_refused(
    engine: Engine, credit: ModelContext, other: ModelContext
) -> None:
    statement = sa.text(
        "insert into segment (project_id, model_id, definition) values (:project, :model, '{}')"
    )
    with (
        pytest.raises(ProgrammingError, match="row-level security"),
        transaction(engine, credit.project_id, Role.WORKER) as connection,
    ):
        connection.execute(statement, {"project": other.project_id, "model": other.model_id})


@pytest.mark.parametrize("table", PROJECT_TABLES)
def test_without_a_project_every_guarded_table_is_empty_even_for_the_owner(
    engine: Engine, admin_url: str, table: str
) -> None:
    with transaction(engine, None, Role.OWNER) as connection:
        assert count(connection, table) == 0
        guarded = connection.scalar(
            sa.text("select row_security_active(cast(:table as text))"), {"table": table}
        )
    assert guarded is True


def test_a_pooled_connection_carries_neither_role_nor_project_on(
    engine: Engine, project_id: int, credit: ModelContext
) -> None:
    with transaction(engine, project_id, Role.DASHBOARD) as connection:
        assert count(connection, "model") == 1
    with transaction(engine, None, Role.OWNER) as connection:
        user, project = connection.execute(
            sa.text("select current_user, current_setting('app.project', true)")
        ).one()
        assert user == "inferwatch"
        assert not project
        assert count(connection, "model") == 0


def test_people_reach_requests_through_the_view_of_their_project_only(
    store: IntakeStore, engine: Engine, credit: ModelContext, other: ModelContext
) -> None:
    number = deployment(engine, other, model_version="9")
    send(store, credit, [request("mine", START, age=33.0, city="Köln")])
    send(store, other, [request("theirs", START, deployment=number)])
    query = sa.text("select request_id, age, city, score from project_1.log_credit")
    with transaction(engine, credit.project_id, Role.DASHBOARD) as connection:
        assert connection.execute(query).all() == [("mine", 33.0, "Köln", 0.7)]
    for project in (other.project_id, None):
        with transaction(engine, project, Role.DASHBOARD) as connection:
            assert connection.execute(query).all() == []
    for role in (Role.INGEST, Role.WORKER):
        with (
            pytest.raises(ProgrammingError, match="permission denied"),
            transaction(engine, credit.project_id, role) as connection,
        ):
            connection.execute(query)


def test_the_view_follows_the_newest_contract_and_odd_names(
    store: IntakeStore, engine: Engine, project_id: int
) -> None:
    columns = [
        {"name": "we'ird \"c%s", "type": "category"},
        {"name": "Flag", "type": "boolean"},
        {"name": "k", "type": "integer"},
    ]
    context = apply(engine, project_id, make_contract(columns=columns[:2]))
    send(store, context, [{"request_id": "a", "event_time": START, "we'ird \"c%s": "x", "Flag": 1}])
    newer = apply(engine, project_id, make_contract(columns=columns[1:]))
    send(store, newer, [{"request_id": "b", "event_time": START, "Flag": 0, "k": 5}])
    with transaction(engine, project_id, Role.DASHBOARD) as connection:
        found = connection.execute(sa.text("select * from project_1.log_credit order by 1")).all()
    assert [(row.request_id, row.Flag, row.k) for row in found] == [
        ("a", True, None),
        ("b", False, 5),
    ]
    assert "we'ird \"c%s" not in found[0]._mapping


@pytest.mark.parametrize("role", [Role.DASHBOARD, Role.EXPORT])
def test_readers_may_not_call_what_writes_with_the_owners_rights(
    engine: Engine, project_id: int, role: Role
) -> None:
    for call in ("ensure_request_partition(date '2020-01-01')", "absorb_requests()",
                 "ensure_label_partition(date '2020-01-01')", "absorb_labels()"):  # fmt: skip
        with (
            pytest.raises(ProgrammingError, match="permission denied"),
            transaction(engine, project_id, role) as connection,
        ):
            connection.execute(sa.text(f"select {call}"))


def test_owner_functions_pin_their_search_path(engine: Engine) -> None:
    with transaction(engine, None, Role.OWNER) as connection:
        found = connection.execute(
            sa.text(
                "select proname, prosecdef, proconfig from pg_proc"
                " where pronamespace = 'public'::regnamespace"
            )
        ).all()
    assert {name for name, definer, _ in found if definer} == {
        *("ensure_request_partition", "ensure_label_partition"),
        *("absorb_requests", "absorb_labels"),
        *("audit_append", "audit_drain", "audit_row", "forget_sign_ins"),
    }
    for _, _, settings in found:
        assert settings[0].startswith("search_path=pg_catalog, public")


def test_intake_reads_back_nothing_it_wrote(
    store: IntakeStore, credit: ModelContext, admin_url: str
) -> None:
    send(store, credit, [request("a", START)])
    store.store_labels(label_batch(credit, [label("a", 1.0, START)]))
    with psycopg.connect(admin_url) as admin:
        rights = admin.execute(
            "select table_name, privilege_type from information_schema.role_table_grants"
            " where grantee = 'inferwatch_ingest' and table_name like any"
            " (array['request\\_log%', 'label%', 'intake\\_mark'])"
        ).fetchall()
    assert {right for _, right in rights} == {"INSERT"}
    assert {name for name, _ in rights} == {"request_log", "label", "intake_mark", "label_mark"}
