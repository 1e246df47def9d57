"""Settings: one reader, defaults, files for secrets, every mistake at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monitor.errors import ConfigurationError
from monitor.settings import Settings, process_environment
from monitor.store.open import required_url

ROOT = Path(__file__).resolve().parents[2]


def test_defaults_need_no_variable() -> None:
    settings = Settings.from_environment({})
    assert settings.database_url is None
    assert settings.collector_port == 8700
    assert settings.dashboard_port == 8501
    assert settings.public_url == "http://127.0.0.1:8501"
    assert settings.api_url == "http://127.0.0.1:8700"
    assert settings.home == Path.home() / ".inferwatch"


def test_values_are_taken_from_the_environment() -> None:
    settings = Settings.from_environment(
        {
            "DATABASE_URL": " postgresql://a@b/c ",
            "INFERWATCH_HOME": "/somewhere",
            "INFERWATCH_HOST": "0.0.0.0",
            "INFERWATCH_COLLECTOR_PORT": "1234",
            "INFERWATCH_PG_BIN": "/usr/lib/postgresql/15/bin",
            "INFERWATCH_BODY_TIMEOUT_SECONDS": "30",
        }
    )
    assert settings.database_url == "postgresql://a@b/c"
    assert settings.home == Path("/somewhere")
    assert settings.public_url == "http://0.0.0.0:8501"
    assert settings.api_url == "http://0.0.0.0:1234"
    assert settings.collector_port == 1234
    assert settings.postgres_bin == Path("/usr/lib/postgresql/15/bin")
    assert settings.body_timeout_seconds == 30.0


def test_a_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("postgresql://a:b@c/d\n")
    settings = Settings.from_environment({"DATABASE_URL_FILE": str(file)})
    assert settings.database_url == "postgresql://a:b@c/d"


def test_text_models_are_names_of_functions() -> None:
    told = {"INFERWATCH_TEXT_MODELS": "mine=our.models:embed, other=a.b.c:d"}
    settings = Settings.from_environment(told)
    assert settings.text_models == {"mine": "our.models:embed", "other": "a.b.c:d"}
    with pytest.raises(ConfigurationError, match=r"'os\.system' is not NAME=package\.module:fun"):
        Settings.from_environment({"INFERWATCH_TEXT_MODELS": "os.system"})


def test_an_empty_value_is_no_value() -> None:
    settings = Settings.from_environment({"DATABASE_URL": "  ", "INFERWATCH_HOST": ""})
    assert settings.database_url is None
    assert settings.host == "127.0.0.1"


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings.from_environment(
            {
                "DATABASE_URL": "x",
                "DATABASE_URL_FILE": "y",
                "INFERWATCH_PG_BIN_FILE": str(tmp_path / "none"),
                "INFERWATCH_COLLECTOR_PORT": "70000",
                "INFERWATCH_INTAKE_THREADS": "two",
                "INFERWATCH_MAX_RECORDS": "-1",
                "INFERWATCH_MAX_BODY_BYTES": "9" * 5000,
                "INFERWATCH_DASHBOARD_PORT": "٣",
            }
        )
    places = {problem.place for problem in caught.value.problems}
    assert places == {
        *("DATABASE_URL", "DATABASE_URL_FILE", "INFERWATCH_PG_BIN_FILE"),
        *("INFERWATCH_COLLECTOR_PORT", "INFERWATCH_INTAKE_THREADS", "INFERWATCH_MAX_RECORDS"),
        *("INFERWATCH_MAX_BODY_BYTES", "INFERWATCH_DASHBOARD_PORT"),
    }
    assert "whole number from 0 to 65535" in str(caught.value)
    assert len(str(caught.value)) < 3000


def test_a_file_that_is_no_text_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="DATABASE_URL_FILE"):
        Settings.from_environment({"DATABASE_URL_FILE": str(file)})


def test_a_part_that_needs_the_database_says_how_to_get_one() -> None:
    with pytest.raises(ConfigurationError, match=r"DATABASE_URL.*inferwatch up"):
        required_url(Settings.from_environment({}))


def test_the_environment_is_read_in_one_place_only() -> None:
    """Commands may hand it on to child processes; setting a variable is no reading."""
    reading = re.compile(r"os\.getenv|os\.environ(?!\[[^]]+\] = )")
    readers = [
        path.relative_to(ROOT).as_posix()
        for folder in ("monitor", "alerts", "dashboards", "migrations")
        for path in (ROOT / folder).rglob("*.py")
        if "cli" not in path.parts and reading.search(path.read_text(encoding="utf-8"))
    ]
    assert readers == ["monitor/settings.py"]


def test_the_copy_of_the_environment_is_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "1")
    copy = process_environment()
    copy["HOOK"] = "2"
    assert process_environment()["HOOK"] == "1"


PROVIDER = {
    "INFERWATCH_OIDC_ISSUER": "https://login.example.org/",
    "INFERWATCH_OIDC_CLIENT_ID": "watch",
    "INFERWATCH_OIDC_CLIENT_SECRET": "secret",
}


def test_a_provider_has_all_three_settings_or_none() -> None:
    assert Settings.from_environment({}).provider is None
    found = Settings.from_environment(PROVIDER).provider
    assert found is not None
    assert found.issuer == "https://login.example.org"
    for name in PROVIDER:
        some = {each: value for each, value in PROVIDER.items() if each != name}
        with pytest.raises(ConfigurationError, match=f"{name}: is missing"):
            Settings.from_environment(some)


@pytest.mark.parametrize("issuer", ["http://login.example.org", "login.example.org", "https://["])
def test_a_provider_is_reached_by_https(issuer: str) -> None:
    with pytest.raises(ConfigurationError, match=r"INFERWATCH_OIDC_ISSUER.*not an https"):
        Settings.from_environment({**PROVIDER, "INFERWATCH_OIDC_ISSUER": issuer})


def test_sign_in_is_on_and_may_be_off_on_loopback_only() -> None:
    assert Settings.from_environment({}).dashboard_auth
    off = {"INFERWATCH_DASHBOARD_AUTH": "off"}
    assert not Settings.from_environment(off).dashboard_auth
    with pytest.raises(ConfigurationError, match="INFERWATCH_DASHBOARD_AUTH: off is for loopback"):
        Settings.from_environment({**off, "INFERWATCH_HOST": "0.0.0.0"})
    with pytest.raises(ConfigurationError, match="neither on nor off"):
        Settings.from_environment({"INFERWATCH_DASHBOARD_AUTH": "no"})
