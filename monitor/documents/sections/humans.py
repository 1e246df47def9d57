"""What people said and did: feedback, reviews, overrides."""

from __future__ import annotations

from monitor.documents.material import Material
from monitor.documents.numbers import DAY, digest_table, measurements_of
from monitor.documents.parts import Column, Drafting, Kind, Row, Section, Voice
from monitor.reports.reviews import read_reviews

REVIEWS = (
    Column("review", "Review"), Column("drawn_by", "Drawn by"),
    Column("drawn_at", "Drawn", Kind.MOMENT), Column("population", "Population", Kind.WHOLE),
    Column("drawn", "Drawn requests", Kind.WHOLE), Column("given", "Ratings given", Kind.WHOLE),
    Column("signal", "Signal"), Column("value", "Estimate", Kind.NUMBER),
    Column("low", "Low", Kind.NUMBER), Column("high", "High", Kind.NUMBER),
    Column("n", "n", Kind.WHOLE),
)  # fmt: skip
ACTIONS = (Column("column", "Column"), Column("role", "Role"), Column("type", "Type"))


def section(material: Material) -> Section:
    """Signals by day, reviews of the period, and which human actions are logged at all."""
    draft = Drafting("humans", "Human input and overrides")
    logged = [
        (each["name"], each["role"].replace("_", " "), each["type"])
        for each in material.contract.body.get("columns", ())
        if each.get("role") in ("human_action", "user_impact")
    ]
    if not logged:
        draft.say(
            "No column records what people did with an answer: acceptance, override and appeal"
            " were not measured.", Voice.MISSING,
        )  # fmt: skip
    draft.table("logged", "Columns that record human action or impact", ACTIONS, logged, "None.")
    signals = measurements_of(material, ("signal",), DAY)
    draft.tables.append(digest_table(material, "signals", "Signals of people by day", signals,
                                     "No signal was measured."))  # fmt: skip
    reviews = read_reviews(material.connection, material.project_id, material.model_id,
                           material.known_by)  # fmt: skip
    rows: list[Row] = []
    for one in sorted(reviews, key=lambda each: (each.drawn_at, each.name)):
        if not (one.window.start < material.period.end and one.window.end > material.period.start):
            continue
        facts = (one.name, one.drawn_by, one.drawn_at, one.population, one.drawn, one.given)
        if not one.signals:
            rows.append((*facts, None, None, None, None, None))
        for each in one.signals:
            told = each.estimate
            rows.append((*facts, each.name, told.value, told.low, told.high, told.n))
    draft.table("reviews", "Reviews by people", REVIEWS, rows, "No review was drawn.")
    return draft.done()
