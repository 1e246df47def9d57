"""Evidence on the command line: the key, the chain, bundles that verify and reproduce."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import Engine

from monitor.evidence.archive import pack_archive, unpack_archive
from monitor.evidence.bundle import CHAIN
from monitor.evidence.verify import verify_bundle
from monitor.installation_key import FILE_NAME, signing_key
from monitor.jobs.audit_heads import head_body, sign_head
from monitor.jobs.run import Runner
from monitor.reports.bundle import MEASUREMENTS, BundleSubject, build_bundle
from monitor.settings import Settings
from monitor.store import audit
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.windows import Window
from tests.factories import (
    START,
    TestClock,
    apply,
    current_context,
    deployment,
    make_contract,
    request,
    send,
)
from tests.integration.cli.conftest import Run

HOUR = timedelta(hours=1)
DAY = START.date()
ONE_OF_A_DAY = (
    "id = (select min(id) from measurement where state = 'measured' and check_name = 'serving'"
    " and window_end - window_start = interval '1 day')"
)
SPAN = ("--from", str(DAY), "--to", str(DAY + timedelta(days=2)))


@pytest.fixture
def measured(
    engine: Engine, project_id: int, store: IntakeStore, runner: Runner, clock: TestClock
) -> None:
    """A day of requests of one model, measured."""
    context = apply(engine, project_id, make_contract(baseline={"first_rows": 100}))
    deployment(engine, context, model_version="1")
    context = current_context(engine, project_id)
    rows = [request(str(i), START + HOUR, score=0.9 if i % 2 else 0.1) for i in range(120)]
    send(store, context, rows)
    clock.now = START + timedelta(days=2)
    runner.catch_up()


@pytest.fixture
def bundle(run: Run, measured: None, tmp_path: Path) -> Path:
    ended = run("audit", "export", "credit", *SPAN, "-o", "evidence.zip")
    assert ended.code == 0, ended.err
    return tmp_path / "evidence.zip"


def change_as_superuser(admin_url: str, *statements: str) -> None:
    """What no role of the product may do: triggers off, then rows altered."""
    with psycopg.connect(admin_url) as admin:
        admin.execute("set session_replication_role = replica")
        for statement in statements:
            admin.execute(statement)


def test_the_key_is_made_once_readable_by_its_owner_alone(run: Run, tmp_path: Path) -> None:
    first = json.loads(run("audit", "key", "--json").out)
    assert json.loads(run("audit", "key", "--json").out) == first
    path = tmp_path / "home" / FILE_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == [FILE_NAME]
    path.chmod(0o644)
    refused = run("audit", "key")
    assert refused.code == 2
    assert f"chmod 600 {path}" in refused.err


def test_a_key_from_the_settings_is_used_and_never_shown(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from monitor.evidence.signing import SigningKey

    made = SigningKey.generate()
    (tmp_path / "key").write_bytes(made.private_pem)
    monkeypatch.setenv("INFERWATCH_SIGNING_KEY_FILE", str(tmp_path / "key"))
    ended = run("audit", "key", "-o", "public.pem")
    assert ended.out.startswith(made.public.fingerprint)
    assert (tmp_path / "public.pem").read_bytes() == made.public.pem
    assert not (tmp_path / "home" / FILE_NAME).exists()
    assert "PRIVATE" not in repr(Settings.from_environment())
    (tmp_path / "key").write_text("no key")
    refused = run("audit", "key")
    assert refused.code == 2
    assert "openssl genpkey" in refused.err


def test_a_bundle_verifies_offline_and_reproduces(
    run: Run, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprint = run("audit", "key").out.splitlines()[0]
    again = run("reproduce", bundle, "--json")
    assert again.code == 0, again.out + again.err
    counted = json.loads(again.out)
    assert counted["differences"] == []
    assert counted["measurements"] == unpack_archive(bundle.read_bytes())[MEASUREMENTS].count(b"\n")
    assert counted["measurements"] > 20
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:9/nothing")
    ended = run("verify", bundle, "--key", fingerprint, "--json")
    assert ended.code == 0, ended.out
    found = json.loads(ended.out)
    assert (found["holds"], found["key_is_pinned"], found["key"]) == (True, True, fingerprint)
    assert found["about"]["model"] == "credit"
    assert len(found["about"]["configuration"]["contract"]["sha256"]) == 64
    assert found["entries"] >= 2
    assert "Compare it with the key" in run("verify", bundle).out


def test_verify_tells_what_is_wrong_and_ends_with_1(run: Run, bundle: Path) -> None:
    fingerprint = run("audit", "key").out.splitlines()[0]
    body = bundle.read_bytes()
    parts = unpack_archive(body)
    cut = b"\n".join(parts[CHAIN].splitlines()[:-1]) + b"\n"
    for changed, reason in (
        ({**parts, CHAIN: cut}, "cut_tail"),
        ({**parts, MEASUREMENTS: parts[MEASUREMENTS] + b"{}\n"}, "altered_part"),
        ({name: part for name, part in parts.items() if name != MEASUREMENTS}, "missing_part"),
        ({**parts, "more.txt": b""}, "added_part"),
    ):
        bundle.write_bytes(pack_archive(changed))
        ended = run("verify", bundle, "--key", fingerprint)
        assert ended.code == 1
        assert f"BAD  {reason}" in ended.out
        assert run("reproduce", bundle).code == 1
    bundle.write_bytes(body)
    other = run("verify", bundle, "--key", "0" * 64)
    assert other.code == 1
    assert "wrong_key" in other.out


def test_what_can_not_be_read_ends_with_2(run: Run, tmp_path: Path) -> None:
    missing = run("verify", "nothing.zip")
    assert missing.code == 2
    assert "nothing.zip" in missing.err
    (tmp_path / "some.zip").write_bytes(b"PK")
    assert run("verify", "some.zip", "--key", "no-such-file").code == 2
    assert run("verify", "some.zip").code == 1


def test_a_changed_measurement_is_told_value_by_value(
    run: Run, bundle: Path, admin_url: str
) -> None:
    change_as_superuser(
        admin_url,
        "update measurement set value = value + 1 where id ="
        " (select min(id) from measurement where state = 'measured')",
        "delete from measurement where id = (select max(id) from measurement)",
    )
    ended = run("reproduce", bundle, "--json")
    assert ended.code == 1
    found = json.loads(ended.out)["differences"]
    assert [(each["field"], each["bundled"], each["stored"]) for each in found[1:]] == [
        ("row", "present", "absent")
    ]
    assert found[0]["field"] == "value"
    assert found[0]["stored"] == found[0]["bundled"] + 1


@pytest.fixture
def reported(run: Run, measured: None, tmp_path: Path) -> Path:
    ended = run("report", "credit", *SPAN, "--format", "zip", "-o", "report.zip")
    assert ended.code == 0, ended.err
    return tmp_path / "report.zip"


def test_a_report_is_computed_anew_and_comes_out_the_same(run: Run, reported: Path) -> None:
    ended = run("reproduce", reported, "--json")
    told = json.loads(ended.out)
    assert (ended.code, told["differences"], told["report_differences"]) == (0, [], [])
    assert told["report_values"] > 100


@pytest.mark.parametrize(
    "statement",
    [
        f"update measurement set value = value + 7 where {ONE_OF_A_DAY}",
        f"delete from measurement where {ONE_OF_A_DAY}",
    ],
)
def test_what_a_report_computes_from_altered_or_missing_rows_is_named(
    run: Run, reported: Path, admin_url: str, statement: str
) -> None:
    change_as_superuser(admin_url, statement)
    ended = run("reproduce", reported, "--json")
    assert ended.code == 1
    found = json.loads(ended.out)["report_differences"]
    assert found
    assert all(each["place"] and each["was"] != each["now"] for each in found)
    assert any("serving" in each["place"].lower() for each in found)


def test_later_revisions_change_neither_bundle_nor_reproduction(
    engine: Engine, project_id: int, measured: None, run: Run, tmp_path: Path, admin_url: str
) -> None:
    signer = signing_key(Settings.from_environment())
    subject = BundleSubject(
        project_id, "credit", Window(START, START + 48 * HOUR), datetime.now(UTC)
    )
    first = build_bundle({"report.json": b"{}"}, engine=engine, subject=subject, signer=signer)
    with psycopg.connect(admin_url) as admin:
        admin.execute(
            "create temp table later as select * from measurement;"
            "alter table later drop column id;"
            "update later set known_at = now() + interval '1 day', value = value * 2;"
            "insert into measurement overriding user value select 0, * from later"
        )
    with transaction(engine, project_id, Role.WORKER) as connection:
        audit.append(connection, project_id, "ana", "looked", "credit")
    again = build_bundle({"report.json": b"{}"}, engine=engine, subject=subject, signer=signer)
    assert again == first
    assert verify_bundle(first).holds
    (tmp_path / "one.zip").write_bytes(first)
    assert run("reproduce", tmp_path / "one.zip").code == 0
    with pytest.raises(ValueError, match="bundle's own"):
        build_bundle({MEASUREMENTS: b""}, engine=engine, subject=subject, signer=signer)


def test_the_chain_is_listed_and_verified(
    run: Run, engine: Engine, project_id: int, measured: None
) -> None:
    listed = json.loads(run("audit", "list", "--json", "--subject", "credit").out)
    assert {row["deed"] for row in listed} >= {"contract_applied", "baseline_set"}
    assert "contract_applied" in run("audit", "list").out
    sign_head(engine, project_id, signing_key(Settings.from_environment()), START)
    whole = json.loads(run("audit", "verify", "--json").out)
    assert whole["findings"] == []
    assert (whole["entries"] >= 2, whole["heads"]) == (True, 1)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("delete from audit_entry where seq = (select max(seq) from audit_entry)", "cut_tail"),
        ("delete from audit_entry where seq = 2", "missing_entry"),
        (
            "update audit_entry set body = replace(body, 'ana', 'eva') where seq = 2",
            "altered_entry",
        ),
        ("update audit_head set signature = decode(repeat('00', 64), 'hex')", "altered_head"),
    ],
)
def test_what_a_superuser_changes_is_told(
    run: Run, engine: Engine, project_id: int, admin_url: str, statement: str, reason: str
) -> None:
    with transaction(engine, project_id, Role.WORKER) as connection:
        for turn in range(4):
            audit.append(connection, project_id, "ana", "did", str(turn))
    run("audit", "key")
    sign_head(engine, project_id, signing_key(Settings.from_environment()), START)
    change_as_superuser(admin_url, statement)
    ended = run("audit", "verify", "--json")
    assert ended.code == 1
    assert reason in {each["reason"] for each in json.loads(ended.out)["findings"]}


def test_only_a_head_kept_outside_shows_that_all_was_written_anew(
    run: Run, engine: Engine, project_id: int, admin_url: str, tmp_path: Path
) -> None:
    with transaction(engine, project_id, Role.WORKER) as connection:
        audit.append(connection, project_id, "ana", "did", "harm")
    run("audit", "key")
    signer = signing_key(Settings.from_environment())
    head = sign_head(engine, project_id, signer, START)
    assert head is not None
    (tmp_path / "head.json").write_text(json.dumps(head_body(head, signer)))
    change_as_superuser(admin_url, "delete from audit_entry", "delete from audit_head")
    with transaction(engine, project_id, Role.WORKER) as connection:
        audit.append(connection, project_id, "ana", "did", "good")
    assert run("audit", "verify").code == 0
    ended = run("audit", "verify", "--head", "head.json")
    assert ended.code == 1
    assert "altered_entry" in ended.out


def test_a_head_by_an_unknown_key_is_told_until_the_key_is_named(
    run: Run, engine: Engine, project_id: int, tmp_path: Path
) -> None:
    from monitor.evidence.signing import SigningKey

    former = SigningKey.generate()
    with transaction(engine, project_id, Role.WORKER) as connection:
        audit.append(connection, project_id, "ana", "did", "x")
    sign_head(engine, project_id, former, START)
    assert "wrong_key" in run("audit", "verify").out
    (tmp_path / "former.pem").write_bytes(former.public.pem)
    assert run("audit", "verify", "--key", "former.pem").code == 0


def worker_once(database_url: str, home: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DATABASE_URL": database_url, "INFERWATCH_HOME": home}
    command = [sys.executable, "-m", "monitor", "worker", "--once"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_worker_signs_the_head_of_the_day_and_works_without_a_place_for_a_key(
    engine: Engine, project_id: int, database_url: str, tmp_path: Path, run: Run
) -> None:
    with transaction(engine, project_id, Role.WORKER) as connection:
        audit.append(connection, project_id, "ana", "did", "x")
    without = worker_once(database_url, "/dev/null/home")
    assert without.returncode == 0, without.stderr
    assert "audit heads are not signed" in without.stderr
    assert json.loads(run("audit", "verify", "--json").out)["heads"] == 0
    done = worker_once(database_url, str(tmp_path / "home"))
    assert done.returncode == 0, done.stderr
    found = json.loads(run("audit", "verify", "--json").out)
    assert (found["heads"], found["findings"]) == (1, [])
