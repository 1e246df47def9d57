"""Each finding of the doctor, on a good installation and on a broken one."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor import doctor
from monitor.doctor import Finding, examine
from monitor.evidence.signing import SigningKey
from monitor.installation_key import FILE_NAME, signing_key
from monitor.jobs.audit_heads import sign_head
from monitor.jobs.keep_house import beat
from monitor.settings import Settings
from monitor.store import partitions
from monitor.store.engine import Role, transaction
from monitor.store.hand_over import apply_alert_rules
from monitor.store.job_windows import claim, fail
from tests.database import temporary_home
from tests.factories import START, apply, make_contract
from tests.integration.jobs.test_alerting import RULES

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return Settings.from_environment(
        {"DATABASE_URL": database_url, "INFERWATCH_HOME": str(tmp_path / "not" / "made")}
    )


@pytest.fixture
def healthy(engine: Engine, project_id: int) -> None:
    """What `inferwatch up` leaves behind, with a model and rules."""
    now = datetime.now(UTC)
    partitions.prepare_ahead(engine, now)
    apply(engine, project_id, make_contract())
    apply_alert_rules(engine, project_id, RULES, name="alerts.yaml", by="tests", now=now)
    beat(engine, "worker-1", "worker", now, now)


def found(settings: Settings) -> dict[str, Finding]:
    return {finding.what: finding for finding in examine(settings)}


def bad(settings: Settings) -> set[str]:
    findings = examine(settings)
    for finding in findings:
        assert finding.text
        if finding.what != "database":
            assert finding.ok or finding.remedy, finding
    return {finding.what for finding in findings if not finding.ok}


@pytest.mark.usefixtures("healthy")
def test_a_healthy_installation_has_only_good_findings(settings: Settings) -> None:
    findings = found(settings)
    assert all(finding.ok for finding in findings.values()), findings
    assert set(findings) == {
        *("python", "disk", "database", "clock", "schema", "partitions"),
        *("projects", "worker", "jobs", "signing key", "audit head"),
    }
    assert findings["projects"].text == "default: 1 models, 1 alert rules"
    assert findings["partitions"].text == "15 days ready from today on"


def test_a_fresh_database_lacks_projects_partitions_and_a_worker(settings: Settings) -> None:
    assert bad(settings) == {"projects", "partitions", "worker"}
    assert found(settings)["worker"].text == "never seen"


def test_a_database_that_was_never_migrated(empty_database_url: str, settings: Settings) -> None:
    findings = found(replace(settings, database_url=empty_database_url))
    assert not findings["database"].ok
    assert "inferwatch migrate" in findings["database"].text
    assert "schema" not in findings


def test_a_database_that_does_not_answer(settings: Settings) -> None:
    away = replace(settings, database_url="postgresql://a:secret@127.0.0.1:9/x")
    findings = found(away)
    assert not findings["database"].ok
    assert "secret" not in findings["database"].text


@pytest.mark.usefixtures("healthy")
def test_a_silent_worker(engine: Engine, settings: Settings) -> None:
    with transaction(engine, None, Role.WORKER) as connection:
        connection.execute(
            sa.text("update heartbeat set beat_at = :at"),
            {"at": datetime.now(UTC) - timedelta(minutes=3)},
        )
    assert bad(settings) == {"worker"}
    assert found(settings)["worker"].text.startswith("silent since ")


@pytest.mark.usefixtures("healthy")
def test_failed_windows(engine: Engine, settings: Settings) -> None:
    with transaction(engine, 1, Role.WORKER) as connection:
        fail(connection, claim(connection, 1, 1, "profile", [START], "w"), "no luck")
    assert bad(settings) == {"jobs"}
    assert found(settings)["jobs"].text == "1 windows failed"


@pytest.mark.usefixtures("healthy")
def test_no_partitions_ahead(engine: Engine, settings: Settings) -> None:
    partitions.drop_request_days(engine, datetime.now(UTC).date() + timedelta(days=13))
    assert bad(settings) == {"partitions"}


@pytest.mark.usefixtures("healthy")
def test_too_old_a_server_and_a_clock_that_is_wrong(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "OLDEST_SERVER", 990_000)
    assert bad(settings) == {"database"}
    monkeypatch.undo()
    off = doctor._clock(datetime.now(UTC) - timedelta(seconds=30))
    assert not off.ok
    assert off.text.startswith("30.")
    assert off.remedy


@pytest.mark.usefixtures("healthy")
def test_a_full_disk(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: Usage(1 << 40, 1 << 40, 1 << 20))
    assert bad(settings) == {"disk"}


def test_an_embedded_database_that_is_not_running_or_has_no_binaries(settings: Settings) -> None:
    with temporary_home() as home:
        bare = replace(settings, database_url=None, home=home)
        findings = found(bare)
        assert not findings["embedded database"].ok
        assert "inferwatch up" in findings["embedded database"].remedy
        assert "database" not in findings
        nothing = found(replace(bare, postgres_bin=home / "no" / "binaries"))
        assert not nothing["embedded database"].ok


def sign(engine: Engine, project_id: int, settings: Settings) -> SigningKey:
    """The newest head, signed with the installation's key."""
    key = signing_key(settings)
    assert sign_head(engine, project_id, key, datetime.now(UTC)) is not None
    return key


@pytest.mark.usefixtures("healthy")
def test_the_key_that_signed_is_good_and_named(
    engine: Engine, project_id: int, settings: Settings
) -> None:
    assert found(settings)["signing key"].text.startswith("none yet")
    assert not (settings.home / FILE_NAME).exists(), "looking makes no key"
    key = sign(engine, project_id, settings)
    assert found(settings)["signing key"].text == f"fingerprint {key.public.fingerprint}"
    assert "default: signed 20" in found(settings)["audit head"].text
    assert bad(settings) == set()


@pytest.mark.usefixtures("healthy")
def test_a_key_that_is_gone_open_to_others_or_another(
    engine: Engine, project_id: int, settings: Settings
) -> None:
    sign(engine, project_id, settings)
    path = settings.home / FILE_NAME
    path.chmod(0o640)
    assert "others can read it (mode 0640)" in found(settings)["signing key"].text
    assert bad(settings) == {"signing key"}
    path.unlink()
    assert "is missing" in found(settings)["signing key"].text
    assert bad(settings) == {"signing key"}
    signing_key(settings)
    assert "did not sign the newest audit head of default" in found(settings)["signing key"].text
    assert bad(settings) == {"signing key"}


@pytest.mark.usefixtures("healthy")
def test_entries_that_nobody_signs(engine: Engine, project_id: int, settings: Settings) -> None:
    assert found(settings)["audit head"].ok, "the entries are young"
    late = datetime.now(UTC) + timedelta(days=2, minutes=5)
    finding = doctor._audit_heads(engine, late)
    assert (finding.ok, "never signed, unsigned entries since" in finding.text) == (False, True)
    assert "inferwatch worker" in finding.remedy
    sign(engine, project_id, settings)
    assert doctor._audit_heads(engine, late).ok, "what does not grow needs no new head"
