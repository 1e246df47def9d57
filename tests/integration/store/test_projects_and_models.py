"""Projects, keys, contracts and deployments as the database keeps them."""

from __future__ import annotations

import json
import threading
import time
from datetime import timedelta

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.deployment import Tags
from monitor.errors import (
    ConfigurationError,
    DatabaseNotReady,
    DatabaseUnavailable,
    UnknownSubject,
)
from monitor.store import models, projects
from monitor.store.engine import Role, make_engine, told_without_values, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.models import MAX_NEW_DEPLOYMENTS_A_DAY, ModelContext
from tests.factories import START, apply, current_context, make_contract, rows_of
from tests.integration.store.test_bulk import cut

HOUR = timedelta(hours=1)


def make_key(engine: Engine, project_id: int, **more: object) -> str:
    with transaction(engine, None, Role.OWNER) as connection:
        return projects.create_key(connection, project_id, "k", ["ingest"], by="me", **more)  # type: ignore[arg-type]


def who(engine: Engine, key: str, at: object = START) -> projects.Principal | None:
    with transaction(engine, None, Role.INGEST) as connection:
        return projects.authenticate(connection, key, at)  # type: ignore[arg-type]


def test_a_key_opens_its_project_with_its_scopes(engine: Engine, project_id: int) -> None:
    key = make_key(engine, project_id)
    found = who(engine, key)
    assert found is not None
    assert (found.project_id, found.scopes) == (project_id, frozenset({"ingest"}))


@pytest.mark.parametrize(
    "change",
    [
        lambda key: key + "x",
        lambda key: key[:-1],
        lambda key: key.replace("iw_", "ix_"),
        lambda key: key.upper(),
        lambda _: "",
        lambda _: "iw__",
        lambda _: "iw_' or 1=1 --_x",
        lambda _: "iw_ключ_ключ",
        lambda key: "\0" + key,
    ],
)
def test_another_key_opens_nothing(engine: Engine, project_id: int, change: object) -> None:
    key = make_key(engine, project_id)
    assert who(engine, change(key)) is None  # type: ignore[operator]


def test_a_key_ends_when_it_expires_or_is_revoked(engine: Engine, project_id: int) -> None:
    key = make_key(engine, project_id, expires_at=START + HOUR)
    assert who(engine, key, START + HOUR - timedelta(microseconds=1)) is not None
    assert who(engine, key, START + HOUR) is None
    other = make_key(engine, project_id)
    prefix = other.split("_")[1]
    with transaction(engine, None, Role.OWNER) as connection:
        assert not projects.revoke_key(connection, project_id + 1, prefix, START)
        assert projects.revoke_key(connection, project_id, prefix, START)
        assert not projects.revoke_key(connection, project_id, prefix, START)
    assert who(engine, other) is None


def test_a_secret_is_nowhere_in_the_database(
    engine: Engine, project_id: int, admin_url: str
) -> None:
    secret = make_key(engine, project_id).split("_", 2)[2]
    with psycopg.connect(admin_url) as admin:
        row = admin.execute("select api_key::text from api_key").fetchone()
    assert row is not None
    assert secret not in row[0]
    assert secret.encode().hex() not in row[0]


@pytest.mark.parametrize("scopes", [[], ["ingest", "everything"]])
def test_only_known_scopes_are_given(engine: Engine, project_id: int, scopes: list[str]) -> None:
    with transaction(engine, None, Role.OWNER) as connection:
        with pytest.raises(ConfigurationError, match="known are ingest"):
            projects.create_key(connection, project_id, "k", scopes, by="me")
        assert not projects.has_key(connection, project_id)


def test_a_revoked_key_stops_within_about_a_second(
    store: IntakeStore, engine: Engine, project_id: int
) -> None:
    key = make_key(engine, project_id)
    assert store.authenticate(key, START) is not None
    with transaction(engine, None, Role.OWNER) as connection:
        projects.revoke_key(connection, project_id, key.split("_")[1], START)
    time.sleep(1.1)
    assert store.authenticate(key, START) is None


def test_unknown_subjects_are_told_with_what_there_is(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    with transaction(engine, 1, Role.OWNER) as connection:
        with pytest.raises(UnknownSubject, match=r"no project 'x'; there are: default"):
            projects.project_number(connection, "x")
        with pytest.raises(UnknownSubject, match=r"no model 'x'; there are: credit"):
            models.model_number(connection, 1, "x")
        assert projects.project_number(connection, "default") == 1
        assert models.model_number(connection, 1, "credit") == credit.model_id
    assert store.model_context(1, "x") is None
    assert store.model_context(99, "credit") is None


def test_the_same_contract_again_changes_nothing(engine: Engine, credit: ModelContext) -> None:
    assert apply(engine, 1, credit.contract) == credit
    changed = apply(engine, 1, make_contract(owner="somebody else"))
    assert changed.contract_version == 2
    assert changed.layout == credit.layout
    assert rows_of(engine, 1, "select owner from model") == [("somebody else",)]
    assert rows_of(engine, 1, "select version, applied_by from contract order by 1") == [
        (1, "tests"),
        (2, "tests"),
    ]


def test_a_changed_type_is_a_new_slot_and_old_rows_stay_readable(
    engine: Engine, credit: ModelContext
) -> None:
    columns = credit.contract.model_dump(mode="json")["columns"]
    columns[1] = {"name": "city", "type": "text"}
    newer = apply(engine, 1, make_contract(columns=columns))
    assert newer.layout.slots[: len(credit.layout.slots)] == credit.layout.slots
    assert newer.layout.slot("city").ordinal == len(credit.layout.slots) + 1
    assert newer.layout.slot("age") == credit.layout.slot("age")


def test_a_text_column_from_before_its_descriptors_gets_them_with_the_next_version(
    engine: Engine, credit: ModelContext, admin_url: str
) -> None:
    columns = [*credit.contract.model_dump(mode="json")["columns"], {"name": "n", "type": "text"}]
    wide = apply(engine, 1, make_contract(columns=columns))
    stored = wide.layout.to_json()
    stored["slots"][wide.layout.slot("n").ordinal - 1]["number_width"] = 1
    with psycopg.connect(admin_url) as admin:
        admin.execute("update contract set layout = %s where version = 2", [json.dumps(stored)])
    narrow = current_context(engine, 1)
    assert narrow.layout.slot("n").number_width == 1
    again = apply(engine, 1, make_contract(columns=columns))
    assert again.contract_version == 3
    assert again.layout.slots[:-1] == narrow.layout.slots
    assert again.layout.slot("n").number_width == 6
    assert apply(engine, 1, make_contract(columns=columns)) == again
    with psycopg.connect(admin_url) as admin:
        found = admin.execute("select pg_get_viewdef('project_1.log_credit'::regclass)").fetchone()
    assert found is not None
    assert f"texts[{again.layout.slot('n').text_start + 1}] AS n" in found[0]


def test_the_same_tags_are_one_deployment_for_any_number_of_senders(
    engine: Engine, credit: ModelContext
) -> None:
    found: list[tuple[int, bool]] = []
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait(10)
        with transaction(engine, 1, Role.INGEST) as connection:
            tags = Tags.of({"runtime": "onnx"})
            found.append(
                models.register_deployment(connection, 1, credit.model_id, tags, "new", START)
            )

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({number for number, _ in found}) == 1
    assert sorted(new for _, new in found) == [False, False, False, True]


def test_a_name_belongs_to_one_set_of_tags(engine: Engine, credit: ModelContext) -> None:
    def register(name: str, **tags: str) -> int:
        with transaction(engine, 1, Role.INGEST) as connection:
            known = Tags.of(tags)
            return models.register_deployment(connection, 1, credit.model_id, known, name, START)[0]

    first = register("blue", runtime="a")
    assert register("blue", runtime="a") == first
    with pytest.raises(UnknownSubject, match="'blue' is taken"):
        register("blue", runtime="b")


def test_too_many_new_deployments_share_one(engine: Engine, credit: ModelContext) -> None:
    numbers = []
    with transaction(engine, 1, Role.INGEST) as connection:
        for i in range(MAX_NEW_DEPLOYMENTS_A_DAY + 5):
            tags = Tags.of({"image_digest": f"sha256:{i}"})
            numbers.append(
                models.register_deployment(connection, 1, credit.model_id, tags, None, START)[0]
            )
    distinct = set(numbers)
    assert len(distinct) == MAX_NEW_DEPLOYMENTS_A_DAY  # with the one that was there, and overflow
    overflow = rows_of(engine, 1, "select id, tags from deployment where overflow")
    assert [tuple(row) for row in overflow] == [(numbers[-1], {})]
    # A day later new ones are taken again, and a known one is always itself.
    with transaction(engine, 1, Role.INGEST) as connection:
        tags = Tags.of({"image_digest": "sha256:later"})
        later = START + timedelta(days=1, seconds=1)
        number, new = models.register_deployment(connection, 1, credit.model_id, tags, None, later)
        assert new
        assert number not in distinct
        again = Tags.of({"image_digest": "sha256:0"})
        assert models.register_deployment(connection, 1, credit.model_id, again, None, later) == (
            numbers[0],
            False,
        )


def test_a_pool_whose_connections_were_cut_goes_on(
    engine: Engine, credit: ModelContext, admin_url: str
) -> None:
    assert current_context(engine, 1)
    cut(admin_url)
    assert current_context(engine, 1) == credit


def test_a_connection_cut_in_a_transaction_is_an_outage(
    engine: Engine, credit: ModelContext, admin_url: str
) -> None:
    def read() -> None:
        with transaction(engine, 1, Role.WORKER) as connection:
            connection.execute(sa.text("select 1"))
            cut(admin_url)
            connection.execute(sa.text("select 1"))

    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        read()


def test_errors_of_the_database_are_told_without_values(
    engine: Engine, credit: ModelContext
) -> None:
    insert = sa.text("insert into segment (project_id, model_id, definition) values (1, :m, :d)")
    values = {"m": credit.model_id, "d": '{"name": "ada.lovelace"}'}

    def write() -> None:
        with transaction(engine, 1, Role.WORKER) as connection:
            connection.execute(insert, values)
            connection.execute(insert, values)

    with pytest.raises(sa.exc.IntegrityError) as caught:
        write()
    told = told_without_values(caught.value)
    assert "23505" in told
    assert "uq_segment_project_id_model_id_definition" in told
    assert "lovelace" not in told


@pytest.mark.parametrize("url", ["", "no url", "mysql://a@b/c", "postgresql://a:secret@b:x/c"])
def test_an_address_that_can_not_be_used_is_refused_with_the_remedy(url: str) -> None:
    with pytest.raises(ConfigurationError, match="postgresql://user") as caught:
        make_engine(url)
    assert "secret" not in str(caught.value)


def test_the_owner_of_an_unmigrated_database_is_told(empty_database_url: str) -> None:
    engine = make_engine(empty_database_url)
    with pytest.raises(DatabaseNotReady), transaction(engine, 1, Role.OWNER) as connection:
        connection.execute(sa.text("select 1 from model"))
    engine.dispose()
