"""Which factors differ, and which of them a set of deployments tells apart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monitor.checks.comparison.factors import Context, contrast
from monitor.deployment import TAG_GROUPS, Tags


def tags(**known: str) -> Tags:
    return Tags.of(known)


V1_OLD = tags(model_version="1", hardware="old")
V1_NEW = tags(model_version="1", hardware="new")
V2_OLD = tags(model_version="2", hardware="old")
V2_NEW = tags(model_version="2", hardware="new")


def test_the_document_tells_which_tag_belongs_to_which_factor() -> None:
    text = (Path(__file__).parents[4] / "docs" / "compare.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| (\w+) \| (`.+`) \|$", text, re.MULTILINE))
    assert {factor: tuple(re.findall(r"`(\w+)`", names)) for factor, names in told.items()} == dict(
        TAG_GROUPS
    )


def test_two_differing_groups_are_confounded() -> None:
    found = contrast({1: V1_OLD}, {2: V2_NEW})
    assert found.confounded
    assert found.factors == ("model", "hardware")


def test_several_tags_of_one_group_are_one_factor() -> None:
    one = tags(runtime="onnx", runtime_version="1", model_version="7")
    other = tags(runtime="onnx", runtime_version="2", batching="8", model_version="7")
    found = contrast({1: one}, {2: other})
    assert [factor.factor for factor in found.identified] == ["runtime"]
    assert [d.name for d in found.differing] == ["runtime_version", "batching"]
    assert found.differing[1].went is None


def test_runtime_and_precision_are_two_factors() -> None:
    blue = tags(runtime_version="1.6.0", precision="float64")
    green = tags(runtime_version="1.7.0", precision="float64")
    amber = tags(runtime_version="1.7.0", precision="float16")
    assert contrast({1: blue}, {3: amber}).confounded
    assert [f.factor for f in contrast({1: blue}, {2: green}).identified] == ["runtime"]
    assert [f.factor for f in contrast({2: green}, {3: amber}).identified] == ["precision"]


def test_one_factor_pairs_are_found_among_many_deployments() -> None:
    found = contrast({1: V1_OLD, 2: V1_NEW}, {3: V2_NEW})
    (factor,) = found.identified
    assert factor.factor == "model"
    assert factor.contexts == (Context((2,), (3,)),)
    assert (factor.a, factor.b) == ((2,), (3,))


def test_pairs_in_different_contexts_stay_apart() -> None:
    found = contrast({1: V1_OLD, 2: V1_NEW}, {3: V2_NEW, 4: V2_OLD})
    (model,) = (one for one in found.identified if one.factor == "model")
    assert model.contexts == (Context((1,), (4,)), Context((2,), (3,)))


def test_both_factors_are_told_apart_when_each_has_its_pair() -> None:
    found = contrast({1: V1_OLD}, {2: V2_OLD, 3: V1_NEW})
    assert [(one.factor, one.a, one.b) for one in found.identified] == [
        ("model", (1,), (2,)),
        ("hardware", (1,), (3,)),
    ]


def test_pairs_that_share_a_deployment_are_one_context() -> None:
    a = {1: tags(model_version="1"), 2: tags(model_version="2")}
    b = {3: tags(model_version="3"), 4: tags(model_version="4")}
    (factor,) = contrast(a, b).identified
    assert factor.contexts == (Context((1, 2), (3, 4)),)


def test_a_tag_known_on_one_side_only_is_a_difference() -> None:
    found = contrast({1: V1_OLD}, {2: tags(model_version="2")})
    assert found.confounded
    assert [(d.name, d.went, d.came) for d in found.differing] == [
        ("model_version", "1", "2"),
        ("hardware", "old", None),
    ]


def test_two_unknowns_of_a_recorded_tag_are_never_equal() -> None:
    # the hardware of 2 and 3 is unknown, though others record theirs: they may differ in it too
    a = {1: V1_OLD, 2: tags(model_version="1")}
    found = contrast(a, {3: tags(model_version="2")})
    assert found.confounded


def test_what_nobody_records_is_told() -> None:
    found = contrast({1: tags(model_version="1")}, {2: tags(model_version="2")})
    assert not found.confounded
    assert "hardware" in found.unrecorded
    assert "model" not in found.unrecorded


@pytest.mark.parametrize("b", [{}, {1: V1_OLD}])
def test_sides_that_are_no_sides(b: dict[int, Tags]) -> None:
    with pytest.raises(AssertionError, match="both sides"):
        contrast({1: V1_OLD}, b)
