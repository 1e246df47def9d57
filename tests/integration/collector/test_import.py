"""`inferwatch import` on the real database, in this process."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy.engine import Engine
from typer.testing import CliRunner

from monitor.cli.main import build_app
from monitor.store import models
from monitor.store.engine import Role, transaction
from tests.unit.intake.factories import contract_of, lines, record


@pytest.fixture
def imported(
    database_url: str, engine: Engine, project_id: int, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Runs the command; its exit code and the JSON it printed."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    with transaction(engine, project_id, Role.OWNER) as connection:
        models.apply_contract(connection, project_id, contract_of(), source="test", by="test")

    def run(*arguments: str) -> tuple[int, Any]:
        result = CliRunner().invoke(
            build_app(), ["import", *arguments, "--model", "credit", "--json"]
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, json.loads(result.stdout) if result.stdout else None

    return run


def good(number: int, **changes: Any) -> dict[str, Any]:
    return record(number, deployment=..., event_time="2013-09-01T10:00:00Z", **changes)


def test_a_file_twice(imported: Any, tmp_path: Path, engine: Engine, project_id: int) -> None:
    path = tmp_path / "requests.parquet"
    pq.write_table(pa.Table.from_pylist([good(n) for n in range(6_000)]), path)
    code, told = imported(str(path), "--tag", "model_version=3", "--leg", "replay:1")
    assert (code, told["sent"], told["accepted"]) == (0, 6_000, 6_000)
    code, told = imported(str(path), "--tag", "model_version=3", "--leg", "replay:1")
    assert (code, told["accepted"], told["duplicate"]) == (0, 0, 6_000)
    with transaction(engine, project_id, Role.OWNER) as connection:
        rows = connection.exec_driver_sql(
            "select r.leg, d.tags, count(*) from request_log r join deployment d"
            " on d.id = r.deployment_id group by 1, 2"
        ).all()
    assert rows == [("replay:1", {"model_version": "3"}, 6_000)]


def test_what_is_rejected_is_told_and_the_exit_code_is_1(
    imported: Any, tmp_path: Path, engine: Engine, project_id: int
) -> None:
    path = tmp_path / "requests.ndjson"
    records = [good(n) for n in range(5_000)]
    path.write_bytes(lines([*records, "bad", good(7_000, age="x")]))
    code, told = imported(str(path))
    assert (code, told["accepted"], told["rejected"], told["violations"]) == (1, 5_001, 1, 1)
    assert told["rejections"][0]["place"] == 5_000
    with transaction(engine, project_id, Role.OWNER) as connection:
        senders = connection.exec_driver_sql("select sent_with, producer from rejection").all()
    assert senders == [(None, "file requests.ndjson")]


def test_labels_of_a_csv_file(imported: Any, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("request_id,value,observed_at\nr-1,true,2013-09-02T00:00:00Z\nr-2,0,\n")
    code, told = imported(str(path), "--kind", "labels")
    assert (code, told["accepted"], told["rejected"]) == (1, 1, 1)
    assert told["rejections"][0]["reason"] == "missing_time"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--leg", "shadow"], "--leg"),
        (["--tag", "colour"], "NAME=TEXT"),
        (["--tag", "colour=red"], "colour"),
        (["--deployment", "99"], "no deployment 99"),
        (["--deployment", "1", "--tag", "runtime=a"], "not both"),
        (["--project", "other"], "no project 'other'"),
    ],
)
def test_options_that_can_not_be_used(
    imported: Any, tmp_path: Path, arguments: list[str], message: str
) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(lines([good(0)]))
    with pytest.raises(Exception, match=message):
        imported(str(path), *arguments)
