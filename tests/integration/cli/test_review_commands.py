"""`inferwatch review`: from drawing to what ratings say, with what people get wrong on the way."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.keep_house import forget_review_items
from monitor.records import RequestOutcome, ViolationReason
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import (
    apply,
    contract_body,
    current_context,
    deployment,
    make_contract,
    request,
    rows_of,
    send,
)
from tests.integration.cli.conftest import Run

NOON = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=3)
SIGNALS = [
    {"name": "stars", "kind": "rating", "direction": "lower_is_worse", "scale": [1, 5]},
    {"name": "polite", "kind": "rubric", "direction": "lower_is_worse"},
]
COLUMNS = [
    {"name": "age", "type": "number", "nullable": True},
    {"name": "city", "type": "category", "nullable": True},
    {"name": "iban", "type": "category", "nullable": True, "sensitivity": "personal"},
    {"name": "score", "type": "number", "role": "score", "range": [0, 1]},
    {"name": "ms", "type": "number", "role": "timing", "unit": "ms", "nullable": True},
]
CITIES = ("Bonn", "=HYPERLINK(1)", "@x", None)
WINDOW = f"{NOON:%Y-%m-%d}/{NOON + timedelta(days=1):%Y-%m-%d}"


@pytest.fixture
def credit(engine: Engine, project_id: int, store: IntakeStore) -> ModelContext:
    """600 answered requests of one day, 30 that failed, 40 of another day."""
    context = apply(engine, project_id, make_contract(signals=SIGNALS, columns=COLUMNS))
    deployment(engine, context, model_version="1")
    context = current_context(engine, project_id)
    rows = [
        request(
            f"-r{k}", NOON + timedelta(minutes=2 * k), age=-3.5 if k % 7 else 20 + k % 50,
            city=CITIES[0] if k % 10 < 7 else CITIES[1 + k % 3], iban=f"DE{k}",
            score=(k % 100) / 100,
            violations=(("age", ViolationReason.OUT_OF_RANGE),) if k % 20 == 0 else (),
        )
        for k in range(600)
    ]  # fmt: skip
    failed = [
        request(f"failed{k}", NOON + timedelta(minutes=k), outcome=RequestOutcome.FAILED)
        for k in range(30)
    ]
    later = [request(f"later{k}", NOON + timedelta(days=1, minutes=k)) for k in range(40)]
    send(store, context, [*rows, *failed, *later])
    return context


def draw(run: Run, *more: object, name: str = "week", size: int = 200, seed: int = 7) -> Any:
    return run(
        *("review", "draw", "credit", "--window", WINDOW, "--size", size, "--name", name),
        *("--raters", "ada,ben", "--seed", seed, *more),
    )


def read(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def fill(path: Path, rate: Any, *, separator: str = ",") -> list[list[str]]:
    """Fill in a task file: `rate(item, request)` gives the last two cells."""
    header, *lines = read(path)
    filled = [[*line[:-2], *rate(int(line[0]), line[1])] for line in lines]
    write(path, [header, *filled], separator=separator)
    return filled


def write(path: Path, lines: list[list[str]], *, separator: str = ",") -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=separator).writerows(lines)


def test_from_the_draw_to_what_the_ratings_say(
    run: Run, credit: ModelContext, engine: Engine, tmp_path: Path
) -> None:
    done = draw(run)
    assert done.code == 0, done.err
    assert "200 of 600 answered requests, 40 of them for two raters" in done.out
    assert "inferwatch review import week week-ada.csv --rater ada" in done.out
    header, *lines = read(tmp_path / "week-ada.csv")
    assert header == [
        *("item", "request_id", "event_time", "age", "city", "iban"),
        *("stars [a number from 1 to 5]", "polite [true, false, 1 or 0]"),
    ]
    assert len(lines) == len(read(tmp_path / "week-ben.csv")) - 1 == 120
    assert {line[5] for line in lines} == {"(hidden)"}
    assert {line[4] for line in lines} <= {"Bonn", "'=HYPERLINK(1)", "'@x", ""}
    assert {line[1][:3] for line in lines} == {"'-r"}
    assert "-3.5" in {line[3] for line in lines}
    assert [line[-2:] for line in lines] == [["", ""]] * 120
    rng = np.random.default_rng(1)
    stars = {k: str(rng.integers(2, 6)) for k in range(1, 201)}
    fill(tmp_path / "week-ada.csv", lambda item, _: (stars[item], "true" if item % 4 else "false"))
    fill(tmp_path / "week-ben.csv",
         lambda item, _: (stars[item].replace(".", ","), "Yes" if item % 5 else "no"),
         separator=";")  # fmt: skip
    done = run("review", "import", "week", "week-ada.csv", "--rater", "ada")
    assert (done.code, done.out.splitlines()[0]) == (
        0, "240 new, 0 changed, 0 known before, 0 not filled in.",
    )  # fmt: skip
    assert run("review", "import", "week", "week-ben.csv", "--rater", "ben").code == 0
    shown = run("review", "show", "week").out
    assert "600 answered requests on the leg live" in shown
    assert "ada: 240 of 240 ratings" in shown
    told = json.loads(run("review", "show", "week", "--json").out)
    rating, rubric = told["signals"]
    assert rating["estimate"]["value"] == pytest.approx(np.mean([int(v) for v in stars.values()]))
    assert rating["agreement"]["agreement"]["value"] == 1.0
    assert rating["disagreements"] == 0
    assert rubric["disagreements"] == len(rubric["disagreed"]) > 0
    assert rubric["agreement"]["kappa"]["low"] < rubric["agreement"]["kappa"]["value"] < 1
    assert rubric["estimate"]["low"] < rubric["estimate"]["value"] < rubric["estimate"]["high"]
    again = run("review", "import", "week", "week-ada.csv", "--rater", "ada")
    assert again.out.startswith("0 new, 0 changed, 240 known before")
    labels = rows_of(engine, 1, "select distinct label_name, source from label order by 1, 2")
    assert [tuple(row) for row in labels] == [
        *(("polite", "ada"), ("polite", "ben"), ("stars", "ada"), ("stars", "ben")),
    ]
    listed = run("review", "list").out
    assert "480 of 480" in listed


def test_the_same_seed_draws_the_same_and_files_are_never_written_over(
    run: Run, credit: ModelContext, tmp_path: Path
) -> None:
    first = draw(run, "--json")
    assert first.code == 0, first.err
    refused = draw(run)
    assert refused.code == 2
    assert "week-ada.csv: is there already and may be filled in" in refused.err
    assert "week-ben.csv" in refused.err
    before = {name: (tmp_path / name).read_bytes() for name in ("week-ada.csv", "week-ben.csv")}
    (tmp_path / "other").mkdir()
    again = draw(run, "--output", "other")
    assert "was drawn before" in again.out
    for name, body in before.items():
        assert (tmp_path / "other" / name).read_bytes() == body
    items = json.loads(first.out)["items"]
    twin = json.loads(draw(run, "--json", name="twin").out)["items"]
    assert [one["request_id"] for one in twin] == [one["request_id"] for one in items]
    other = json.loads(draw(run, "--json", name="third", seed=8).out)["items"]
    assert {one["request_id"] for one in other} != {one["request_id"] for one in items}
    (tmp_path / "third").mkdir()
    differs = draw(run, "--output", "third", size=100)
    assert differs.code == 2
    assert "another review (size differ)" in differs.err


def test_strata_are_drawn_in_proportion_and_weighed(
    run: Run, credit: ModelContext, tmp_path: Path
) -> None:
    done = draw(run, "--by", "city", "--raters", "ada", "--json", size=100)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    strata = told["plan"]["strata"]
    assert sum(strata.values()) == told["population"] == 600
    assert set(strata) == {"city=Bonn", "city==HYPERLINK(1)", "city=@x", "city=(missing)"}
    for name, population in strata.items():
        mine = [one for one in told["items"] if one["stratum"] == name]
        assert {one["probability"] for one in mine} == {len(mine) / population}
        assert abs(len(mine) - population / 6) <= 1
    assert all(one["raters"] == ["ada"] for one in told["items"])


@pytest.mark.parametrize("importance", ["violations", "score-near-threshold"])
def test_what_matters_is_drawn_more_often_and_weighed_less(
    run: Run, credit: ModelContext, tmp_path: Path, importance: str
) -> None:
    done = draw(run, "--importance", importance, "--raters", "ada", "--json", size=150)
    assert done.code == 0, done.err
    items = json.loads(done.out)["items"]
    assert 110 <= len(items) <= 190
    assert sum(1 / one["probability"] for one in items) == pytest.approx(600, rel=0.35)
    assert len({round(one["probability"], 9) for one in items}) > 1
    fill(tmp_path / "week-ada.csv", lambda item, _: ("3", "1"))
    assert run("review", "import", "week", "week-ada.csv", "--rater", "ada").code == 0
    rating, _ = json.loads(run("review", "show", "week", "--json").out)["signals"]
    assert rating["estimate"]["value"] == pytest.approx(3)
    assert rating["estimate"]["detail"]["interval"] == "Poisson sample"


def test_every_mistake_in_a_file_is_told_at_once_and_nothing_is_stored(
    run: Run, credit: ModelContext, engine: Engine, tmp_path: Path
) -> None:
    draw(run, "--double", 0)
    path = tmp_path / "week-ada.csv"
    header, *lines = read(path)
    theirs = read(tmp_path / "week-ben.csv")[1][0]
    lines[0][-2:] = ["6", "maybe"]
    lines[1][0] = "9999"
    lines[2][0] = theirs
    lines[3][0] = lines[4][0]
    lines[3][1] = lines[4][1]
    lines[5][1] = lines[6][1]
    lines[7][0] = "x"
    write(path, [header, *lines])
    done = run("review", "import", "week", "week-ada.csv", "--rater", "ada")
    assert done.code == 2
    assert "7 problems" in done.err
    for told in (
        "line 2, stars: '6' is not a number from 1 to 5",
        "line 2, polite: 'maybe' is not true, false, 1 or 0",
        "line 3, item: item 9999 is not of this review",
        f"line 4, item: item {theirs} is not ada's but of ben",
        "line 6, item: item " + lines[4][0] + " stands on line 5 already",
        "line 7, item: item " + lines[5][0] + " is the request",
        "line 9, item: 'x' is no item number",
    ):
        assert told in done.err, done.err
    assert rows_of(engine, 1, "select * from label") == []
    write(path, [[*header[:-1], "rude"], *lines])
    done = run("review", "import", "week", "week-ada.csv", "--rater", "ada")
    assert "the column 'polite [true, false, 1 or 0]' is missing" in done.err
    assert (
        "no rater of 'week'; there are: ada, ben"
        in run("review", "import", "week", "week-ada.csv", "--rater", "eve").err
    )
    assert "no review 'weak'; there are: week" in run("review", "show", "weak").err
    path.write_text(",".join(f'"{cell}"' for cell in header) + "\n1," + "x" * 200_000)
    assert "can't be read as CSV" in run("review", "import", "week", path, "--rater", "ada").err
    path.write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text" in run("review", "import", "week", path, "--rater", "ada").err


def test_half_a_file_now_and_a_correction_later(
    run: Run, credit: ModelContext, tmp_path: Path
) -> None:
    draw(run, "--raters", "ada")
    path = tmp_path / "week-ada.csv"
    fill(path, lambda item, _: ("4", "") if item <= 60 else ("", ""))
    done = run("review", "import", "week", path, "--rater", "ada")
    assert done.out.startswith("60 new, 0 changed, 0 known before, 340 not filled in")
    between = datetime.now(UTC).isoformat()
    fill(path, lambda item, _: ("2" if item == 1 else "4", "1") if item <= 60 else ("", ""))
    done = run("review", "import", "week", path, "--rater", "ada")
    assert done.out.startswith("60 new, 1 changed, 59 known before, 280 not filled in")
    now = json.loads(run("review", "show", "week", "--json").out)["signals"]
    then = json.loads(run("review", "show", "week", "--json", "--as-of", between).out)["signals"]
    assert now[0]["estimate"]["value"] == pytest.approx(4 - 2 / 60)
    assert then[0]["estimate"]["value"] == 4.0
    assert then[1]["estimate"]["reason"] == "0 rated items, 50 needed"
    assert (
        "is not told: 0 items rated by two people, 30 needed" in run("review", "show", "week").out
    )


REFUSED: list[tuple[tuple[object, ...], str]] = [
    (("--size", 0), "--size: from 1 to 20,000, not 0"),
    (("--double", 2), "--double: a share from 0 to 1, not 2"),
    (("--raters", "ada", "--double", 0.5), "--double: needs two raters"),
    (("--raters", "../x,default"), "letters, digits and . _ @ - only"),
    (("--raters", "ada,ada"), "a rater is named twice"),
    (("--by", "nothing"), "no column 'nothing'"),
    (("--by", "age"), "'age' is a number"),
    (("--by", "iban"), "'iban' is personal"),
    (("--by", "city", "--importance", "violations"), "goes without --by"),
    (("--importance", "luck"), "'luck' is none of random, score-near-threshold, violations"),
    (("--signal", "default"), "'default' is none of stars, polite"),
    (("--leg", "dead"), "live, batch, shadow:NAME or replay:RUN"),
    (("--leg", "batch"), "no answered request on the leg batch"),
    (("--by", "city", "--size", 3), "3 can't hold two requests of each of 4 strata"),
    (("--name", "a b"), "letters, digits"),
]


def test_a_wish_that_can_not_be_is_refused_with_a_remedy(run: Run, credit: ModelContext) -> None:
    for more, told in REFUSED:
        done = draw(run, *more)
        assert done.code == 2, more
        assert told in done.err
    assert "No review yet" in run("review", "list").out
    nowhere = draw(run, "--output", "nowhere")
    assert "--output: no folder nowhere" in nowhere.err
    assert "No review yet" in run("review", "list").out


def test_a_contract_without_such_signals_says_so(run: Run, engine: Engine, project_id: int) -> None:
    apply(engine, project_id, make_contract())
    assert "declares no signal that people give" in draw(run).err


def test_output_is_shown_only_when_asked_for(
    run: Run, credit: ModelContext, tmp_path: Path
) -> None:
    draw(run, "--show-output", "--signal", "stars", size=20)
    header, first, *_ = read(tmp_path / "week-ada.csv")
    assert header[-2:] == ["score", "stars [a number from 1 to 5]"]
    assert 0 <= float(first[-2]) <= 1


def test_two_models_may_have_a_review_of_one_name(
    run: Run, credit: ModelContext, engine: Engine, project_id: int, store: IntakeStore
) -> None:
    draw(run, size=20)
    body = contract_body(model="other", signals=SIGNALS, columns=COLUMNS)
    other = apply(engine, project_id, type(credit.contract).model_validate(body))
    deployment(engine, other, model_version="1")
    other = current_context(engine, project_id, "other")
    send(store, other, [request(f"o{k}", NOON, deployment=2) for k in range(30)])
    done = run("review", "draw", "other", "--window", WINDOW, "--size", 9, "--name", "week",
               "--raters", "cy", "--seed", 1)  # fmt: skip
    assert done.code == 0, done.err
    assert "models credit, other have a review 'week'" in run("review", "show", "week").err
    assert "Review week of other" in run("review", "show", "week", "--model", "other").out
    assert len(json.loads(run("review", "list", "--json").out)) == 2


def test_items_go_with_the_raw_requests_and_results_stay(
    run: Run, credit: ModelContext, engine: Engine, tmp_path: Path
) -> None:
    draw(run, "--raters", "ada")
    fill(tmp_path / "week-ada.csv", lambda item, _: ("4", "1"))
    run("review", "import", "week", "week-ada.csv", "--rater", "ada")
    with transaction(engine, 1, Role.WORKER) as connection:
        assert forget_review_items(connection, credit, datetime.now(UTC)) == 0
        assert forget_review_items(connection, credit, NOON + timedelta(days=190)) == 200
    done = run("review", "import", "week", "week-ada.csv", "--rater", "ada")
    assert "its requests have expired" in done.err
    told = json.loads(run("review", "show", "week", "--json").out)
    assert told["signals"][0]["estimate"]["value"] == 4.0
