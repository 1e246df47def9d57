"""Who alone is reached by a receiver: a link to act may only then name its person."""

from __future__ import annotations

import pytest

from alerts.owners import Owner, Person, only_person

ADA = Person("Ada", "ada@example.org", "ada-phone")
GRACE = Person("Grace", None, "grace-phone")
TEAM = Owner("ml", ("Ada", "Grace"), "on-call", (ADA, GRACE))


@pytest.mark.parametrize(
    ("owners", "receiver", "who"),
    [
        ((TEAM,), "ada-phone", "Ada"),
        ((TEAM,), "on-call", None),
        ((TEAM,), "chat", None),
        ((), "ada-phone", None),
        ((TEAM, Owner("other", ("Ada",), "mail", (ADA,))), "ada-phone", "Ada"),
        ((TEAM, Owner("other", ("Eve",), "mail", (Person("Eve", None, "ada-phone"),))),
         "ada-phone", None),
        ((TEAM, Owner("other", ("Eve",), "ada-phone")), "ada-phone", None),
    ],
)  # fmt: skip
def test_only_a_receiver_of_one_person_names_somebody(
    owners: tuple[Owner, ...], receiver: str, who: str | None
) -> None:
    assert only_person(owners, receiver) == who
