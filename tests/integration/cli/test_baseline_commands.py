"""`inferwatch baseline`: from files and from accepted production."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.set_baseline import baseline_from_window
from monitor.profiles.part import merge
from monitor.profiles.sample import sample_from_bytes
from monitor.store.baselines import StoredBaseline, baseline_named, current_binning
from monitor.store.engine import Role, transaction
from monitor.windows import Window
from tests.factories import current_context
from tests.integration.cli.conftest import Run
from tests.integration.cli.factories import hours, reference_table, store_hours

# Midnight in Berlin in summer.
MIDNIGHT = datetime(2026, 5, 31, 22, tzinfo=UTC)


@pytest.fixture
def applied(run: Run, contract_file: Path, reference_file: Path) -> Run:
    assert run("contract", "apply", contract_file, "--baseline", reference_file).code == 0
    return run


def stored(engine: Engine, name: str) -> StoredBaseline:
    with transaction(engine, 1, Role.WORKER) as connection:
        return baseline_named(connection, 1, current_context(engine, 1).model_id, name)


def test_a_second_file_is_counted_on_the_binning_in_use(
    applied: Run, tmp_path: Path, engine: Engine
) -> None:
    shifted = tmp_path / "shifted.parquet"
    pyarrow.parquet.write_table(reference_table(seed=2, shift=20), shifted)

    ended = applied("baseline", "create", "credit", "--name", "reference", "--file", shifted)

    assert ended.code == 0, ended.err
    found = stored(engine, "reference")
    assert (found.version, found.n) == (2, 400)
    listed = json.loads(applied("baseline", "list", "credit", "--json").out)
    assert [(each["name"], each["version"], each["compared"]) for each in listed] == [
        ("reference", 2, True)
    ]


def test_a_new_binning_leaves_older_baselines_uncompared(
    applied: Run, reference_file: Path
) -> None:
    ended = applied(
        "baseline", "create", "credit", "--name", "b", "--file", reference_file, "--new-binning"
    )

    assert ended.code == 0, ended.err
    listed = json.loads(applied("baseline", "list", "credit", "--json").out)
    assert {each["name"]: each["compared"] for each in listed} == {"reference": False, "b": True}


def test_columns_that_a_file_lacks_are_not_counted_as_missing(
    applied: Run, tmp_path: Path, engine: Engine
) -> None:
    path = tmp_path / "part.csv"
    pyarrow.csv.write_csv(reference_table().select(["age", "region"]), path)

    ended = applied(
        "baseline", "create", "credit", "--name", "part", "--file", path, "--new-binning"
    )

    assert "Without values there, so without a yardstick: income, score." in ended.out
    found = stored(engine, "part")
    assert set(found.part.dense) >= {"cells/age", "cells/region"}
    assert not {"cells/income", "cells/score", "violations/score"} & set(found.part.dense)
    with transaction(engine, 1, Role.WORKER) as connection:
        binning = current_binning(connection, 1, current_context(engine, 1).model_id)
    assert binning is not None
    # The contract's range gives the score its cells; 400 uniform scores would give the same width.
    edges = np.array(binning.binning.views["score"].edges)
    assert edges[0] == 0.0
    assert edges[-1] == np.nextafter(1.0, np.inf)
    assert np.diff(edges).max() <= 0.06


def test_production_becomes_a_baseline_without_reading_a_row(applied: Run, engine: Engine) -> None:
    one, two = reference_table(seed=3), reference_table(n=200, seed=4)
    store_hours(engine, 1, one, hours(MIDNIGHT, 2))
    store_hours(engine, 1, two, hours(datetime(2026, 6, 1, 12, tzinfo=UTC), 1))
    store_hours(engine, 1, two, hours(MIDNIGHT, 1), leg="shadow:b")

    ended = applied(
        *("baseline", "create", "credit", "--name", "june"),
        *("--from", "2026-06-01", "--to", "2026-06-02", "--by", "ada"),
    )

    assert ended.code == 0, ended.err
    found = stored(engine, "june")
    assert (found.n, found.kind, found.created_by) == (1_000, "production", "ada")
    assert found.window == Window(MIDNIGHT, datetime(2026, 6, 1, 22, tzinfo=UTC))
    assert found.part.dense["cells/age"].sum() == 1_000
    assert merge([found.part]).to_bytes() == found.part.to_bytes()
    assert found.sample is not None
    assert sample_from_bytes(found.sample).num_rows == 600


def test_a_window_without_profiles_says_where_there_are_some(applied: Run, engine: Engine) -> None:
    arguments = ("baseline", "create", "credit", "--name", "x", "--from", "2026-01-01", "--to")
    nothing = applied(*arguments, "2026-01-02")
    store_hours(engine, 1, reference_table(), hours(MIDNIGHT, 2))
    elsewhere = applied(*arguments, "2026-01-02")

    assert nothing.code == elsewhere.code == 2
    assert "there are none yet" in nothing.err
    assert "they reach from 2026-05-31T22:00Z to 2026-06-01T00:00Z" in elsewhere.err


def test_without_a_binning_production_can_not_be_a_baseline(run: Run, contract_file: Path) -> None:
    run("contract", "apply", contract_file)
    ended = run(
        *("baseline", "create", "credit", "--name", "x"),
        *("--from", "2026-01-01", "--to", "2026-01-02"),
    )

    assert ended.code == 2
    assert "no binning yet" in ended.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "give --file, or --from with --to"),
        (["--from", "2026-01-01"], "give --file, or --from with --to"),
        (["--from", "yesterday", "--to", "2026-01-02"], "neither a day nor a moment"),
        (["--from", "2026-01-01T00:00", "--to", "2026-01-02"], "neither a day nor a moment"),
        (["--from", "2026-01-02", "--to", "2026-01-02"], "later than --from"),
        (["--from", "2026-01-01T00:30Z", "--to", "2026-01-02"], "not a whole hour"),
        (["--file", "nowhere.parquet"], "does not exist"),
        (["--file", "rows.xlsx"], "known are .parquet, .csv"),
    ],
)
def test_what_can_not_be_understood_is_said(applied: Run, options: list[str], words: str) -> None:
    ended = applied("baseline", "create", "credit", "--name", "x", *options)

    assert ended.code == 2
    assert words in ended.err
    assert "Traceback" not in ended.err


def test_rows_that_share_no_column_with_the_contract_are_refused(
    applied: Run, tmp_path: Path
) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    ended = applied("baseline", "create", "credit", "--name", "x", "--file", path)

    assert ended.code == 2
    assert "none of its columns (a, b, …) is declared" in ended.err


def test_a_window_must_hold_whole_hours(applied: Run, engine: Engine) -> None:
    from monitor.errors import ConfigurationError

    half = Window(MIDNIGHT.replace(minute=30), MIDNIGHT.replace(hour=23))
    with pytest.raises(ConfigurationError, match="not a whole hour"):
        baseline_from_window(engine, 1, current_context(engine, 1), half, name="x", by="ada")
