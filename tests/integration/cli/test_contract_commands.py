"""`inferwatch contract`: draft, check, apply, show, and the view that applying makes."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.contract_file import read_contract
from monitor.store.baselines import current_baselines, current_binning
from monitor.store.engine import Role, transaction
from monitor.store.tables import contract
from tests.factories import current_context
from tests.integration.cli.conftest import Run
from tests.integration.cli.factories import CONTRACT, reference_table


def test_a_draft_of_reference_rows_passes_the_check(
    run: Run, tmp_path: Path, reference_file: Path
) -> None:
    draft = tmp_path / "draft.yaml"

    made = run("contract", "infer", reference_file, "--model", "credit", "-o", draft)
    checked = run("contract", "check", draft, "--json")

    assert (made.code, checked.code) == (0, 0)
    assert json.loads(checked.out)["problems"] == []
    found = read_contract(draft.read_text(), "draft")
    assert {c.name: (c.type.value, c.role.value, c.nullable) for c in found.columns} == {
        "age": ("integer", "feature", False),
        "region": ("category", "feature", True),
        "income": ("number", "feature", False),
        "score": ("number", "score", False),
        "defaulted": ("boolean", "feature", False),
    }
    assert "request_id: left out" in draft.read_text()


def test_a_draft_never_replaces_a_file(run: Run, tmp_path: Path, reference_file: Path) -> None:
    target = tmp_path / "mine.yaml"
    target.write_text("mine")

    ended = run("contract", "infer", reference_file, "-o", target)

    assert ended.code == 2
    assert "exists already" in ended.err
    assert target.read_text() == "mine"


def test_mistakes_are_printed_with_lines_and_end_with_one(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(CONTRACT.replace("binary", "binery").replace("18, 99", "99, 18"))

    plain, as_json = run("contract", "check", path), run("contract", "check", path, "--json")

    assert plain.code == as_json.code == 1
    assert "line 4, task:" in plain.err
    assert "line 7, columns[0] (age).range:" in plain.err
    assert [each["line"] for each in json.loads(as_json.out)["problems"]] == [4, 7]


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_can_not_be_read_ends_with_two(
    run: Run, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "x.yaml"
    if content is not None:
        path.write_bytes(content)

    ended = run("contract", "check", path)

    assert ended.code == 2
    assert str(path) in ended.err
    assert "Traceback" not in ended.err


def test_applying_twice_keeps_the_version_and_a_change_makes_the_next(
    run: Run, contract_file: Path, engine: Engine
) -> None:
    first = run("contract", "apply", contract_file, "--by", "ada")
    again = run("contract", "apply", contract_file, "--by", "bob")
    contract_file.write_text(CONTRACT.replace("income, type: number", "income, type: category"))
    changed = run("contract", "apply", contract_file, "--by", "bob")

    assert [each.code for each in (first, again, changed)] == [0, 0, 0]
    assert "version 1" in first.out
    assert "version 1" in again.out
    assert "version 2" in changed.out
    with transaction(engine, 1, Role.OWNER) as connection:
        rows = connection.execute(sa.select(contract).order_by(contract.c.version)).all()
    assert [(row.version, row.applied_by) for row in rows] == [(1, "ada"), (2, "bob")]
    layout = current_context(engine, 1).layout
    assert layout.slot("income").ordinal == 5
    assert layout.slots[2].name == "income"
    assert layout.slots[2].type.value == "number"


def test_a_contract_with_mistakes_is_not_applied(
    run: Run, contract_file: Path, engine: Engine
) -> None:
    contract_file.write_text(CONTRACT + "retention: {requests: 3d}\n")

    ended = run("contract", "apply", contract_file)

    assert ended.code == 2
    assert "retention.requests" in ended.err
    with transaction(engine, 1, Role.OWNER) as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(contract)) == 0


ODD = ("Größe %s", 'say "hi"', "select", "a;drop table model--", "x:y", "{}", " lead", "日本")


def test_the_view_has_the_columns_own_names_however_odd(
    run: Run, tmp_path: Path, engine: Engine
) -> None:
    path = tmp_path / "odd.yaml"
    columns = "".join(f"  - {{name: {json.dumps(name)}, type: number}}\n" for name in ODD)
    path.write_text(f"model: odd.model-1\nowner: o\npurpose: p\ntask: binary\ncolumns:\n{columns}")

    ended = run("contract", "apply", path)

    assert ended.code == 0, ended.err
    assert "project_1.log_odd_model_1" in ended.out
    with transaction(engine, 1, Role.DASHBOARD) as connection:
        result = connection.execute(sa.text("select * from project_1.log_odd_model_1"))
        assert tuple(result.keys())[-len(ODD) :] == ODD
        assert result.all() == []


def test_apply_with_a_baseline_makes_the_binning_and_tells_what_breaks_the_contract(
    run: Run, contract_file: Path, reference_file: Path, engine: Engine
) -> None:
    ended = run("contract", "apply", contract_file, "--baseline", reference_file)

    assert ended.code == 0, ended.err
    assert "Baseline 'reference' version 1: 400 rows of reference.parquet." in ended.out
    assert "age: 1 rows break the contract (out of range)" in ended.out
    assert "income: 1 rows break the contract (not a number)" in ended.out
    with transaction(engine, 1, Role.WORKER) as connection:
        context = current_context(engine, 1)
        binning = current_binning(connection, 1, context.model_id)
        (baseline,) = current_baselines(connection, 1, context.model_id)
    assert binning is not None
    assert set(binning.binning.views) == {"age", "region", "income", "score"}
    assert baseline.binning_id == binning.id
    assert baseline.part.dense["cells/age"].sum() == 400


def test_the_baseline_that_a_contract_names_is_made_once(
    run: Run, contract_file: Path, reference_file: Path, engine: Engine
) -> None:
    contract_file.write_text(f"{CONTRACT}baseline: {{file: {reference_file.name}}}\n")

    first, again = run("contract", "apply", contract_file), run("contract", "apply", contract_file)

    assert "Baseline 'reference' version 1" in first.out
    assert again.code == 0
    assert "Baseline" not in again.out


def test_show_prints_a_contract_that_reads_back(run: Run, contract_file: Path) -> None:
    run("contract", "apply", contract_file)

    shown, missing = run("contract", "show", "credit"), run("contract", "show", "nope")

    assert read_contract(shown.out, "shown") == read_contract(CONTRACT, "mine")
    assert missing.code == 2
    assert missing.err == "no model 'nope'; there are: credit\n"


def test_models_are_listed(run: Run, contract_file: Path) -> None:
    run("contract", "apply", contract_file)
    (found,) = json.loads(run("models", "--json").out)

    assert found["model"] == "credit"
    assert found["columns"] == 4
    assert "credit" in run("models").out


def test_csv_with_a_name_twice_is_refused_by_name(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text("age,income,age\n1,2,3\n")

    ended = run("contract", "infer", path)

    assert ended.code == 2
    assert "columns more than once: 'age'" in ended.err


def test_csv_and_parquet_of_the_same_rows_give_the_same_draft(run: Run, tmp_path: Path) -> None:
    table = reference_table().drop_columns(["income"])
    pyarrow.csv.write_csv(table, tmp_path / "rows.csv")
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")

    drafts = [
        run("contract", "infer", tmp_path / f"rows.{kind}").out for kind in ("csv", "parquet")
    ]

    assert drafts[0] == drafts[1]
    assert "model: rows" in drafts[0]
