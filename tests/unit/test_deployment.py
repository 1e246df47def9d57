"""Version tags: unknown is never equal to unknown, and the same tags are one deployment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.deployment import (
    MAX_TAG_LENGTH,
    PLACEHOLDERS,
    TAG_GROUPS,
    TAG_NAMES,
    Tags,
    differing_groups,
)

VALUES = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=20)
TAGS = st.dictionaries(st.sampled_from(sorted(TAG_NAMES)), VALUES)


@given(TAGS, st.randoms())
def test_the_order_in_which_tags_are_given_is_of_no_account(tags: dict, rng: object) -> None:
    names = list(tags)
    rng.shuffle(names)  # type: ignore[attr-defined]
    again = Tags.of({name: tags[name] for name in names})
    assert again == Tags.of(tags)
    assert again.digest() == Tags.of(tags).digest()


@given(TAGS, TAGS)
def test_different_tags_have_different_digests(one: dict, other: dict) -> None:
    left, right = Tags.of(one), Tags.of(other)
    assert (left.digest() == right.digest()) == (left.as_dict() == right.as_dict())


@pytest.mark.parametrize("placeholder", sorted(PLACEHOLDERS))
def test_placeholders_mean_unknown(placeholder: str) -> None:
    tags = Tags.of({"model_version": f" {placeholder.upper()} ", "runtime": "onnx"})
    assert tags.as_dict() == {"runtime": "onnx"}


def test_none_is_a_statement_and_null_is_not() -> None:
    assert Tags.of({"adapter": "none"}).as_dict() == {"adapter": "none"}
    assert Tags.of({"adapter": None}).as_dict() == {}
    assert Tags.of({}).summary() == "no tags known"


def test_every_mistake_is_told_at_once() -> None:
    with pytest.raises(ValueError, match="unknown tag") as caught:
        Tags.of({"modelversion": "1", "runtime": 3, "precision": "a\x00b", "region": "x" * 501})
    text = str(caught.value)
    for name in ("modelversion", "runtime", "precision", "region"):
        assert repr(name) in text
    assert Tags.of({"region": "x" * MAX_TAG_LENGTH}).as_dict()["region"]


def test_groups_hold_each_tag_once() -> None:
    names = [name for group in TAG_GROUPS.values() for name in group]
    assert len(names) == len(set(names)) == len(TAG_NAMES)


def test_what_differs_is_told_by_group() -> None:
    old = Tags.of({"model_version": "1", "runtime": "onnx", "runtime_version": "1.17"})
    new = Tags.of({"model_version": "1", "runtime": "onnx", "runtime_version": "1.18",
                   "precision": "int8"})  # fmt: skip
    assert differing_groups(old, new) == {
        "runtime": ("runtime_version",),
        "precision": ("precision",),
    }
    assert differing_groups(old, old) == {}


@given(TAGS, TAGS)
def test_differing_is_symmetric(one: dict, other: dict) -> None:
    left, right = Tags.of(one), Tags.of(other)
    assert differing_groups(left, right) == differing_groups(right, left)
