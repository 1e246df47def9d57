"""A file of labels and signals through `inferwatch import` into the table of labels."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import Engine

from tests.factories import apply, make_contract, rows_of
from tests.integration.cli.conftest import Run

FILE = """\
request_id,label,value,observed_at,source
r1,,true,2024-05-02T10:00:00Z,clerk
r1,stars,4.5,2024-05-02T10:00:00Z,
r2,preferred,win,2024-05-02T10:00:00Z,
r3,stars,9,2024-05-02T10:00:00Z,
r4,starz,4,2024-05-02T10:00:00Z,
"""


def test_labels_and_signals_of_one_file(
    run: Run, engine: Engine, project_id: int, tmp_path: Path
) -> None:
    signals = [
        {"name": "stars", "kind": "rating", "direction": "lower_is_worse", "scale": [1, 5]},
        {"name": "preferred", "kind": "preference", "direction": "lower_is_worse"},
    ]
    apply(engine, project_id, make_contract(signals=signals))
    path = tmp_path / "told.csv"
    path.write_text(FILE)
    command = ("import", path, "--model", "credit", "--kind", "labels", "--leg", "live")
    done = run(*command)
    assert "value is a number from 1 to 5 for the rating 'stars'" in done.out + done.err
    assert "no label 'starz'; the model's contract declares only the label 'default'" in (
        done.out + done.err
    )
    query = "select label_name, request_id, source, value, text from label order by 1, 2"
    assert [tuple(row) for row in rows_of(engine, 1, query)] == [
        ("default", "r1", "clerk", 1.0, None),
        ("preferred", "r2", "default", None, "win"),
        ("stars", "r1", "default", 4.5, None),
    ]
    again = run(*command)
    assert again.out.splitlines()[1].split() == ["5", "0", "3", "0", "2", "0"]
    assert len(rows_of(engine, 1, query)) == 3
