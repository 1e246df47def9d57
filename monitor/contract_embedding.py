"""How the collector turns a text into a vector column. Pure values."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, field_validator

from monitor.contract_base import MAX_NAME_LENGTH, Frozen
from monitor.fields import FieldKind, standard_field

RECORD_PARTS = ("inputs", "outputs", "fields", "attributes")
"""The parts of a producer's record that a column can name a place in."""


class Embedding(Frozen):
    """A text of a producer's record, the name of the model that embeds it, and of how many texts.

    `of`: a standard field that is a text (`prompt_text`), or a place (`inputs.question`). `model`:
    `minilm`, or a name that the setting INFERWATCH_TEXT_MODELS gives. `share`: the part of the
    requests whose text is embedded, chosen by their ids; drift of meaning needs few.
    """

    of: str = Field(max_length=MAX_NAME_LENGTH * 2)
    model: str = Field(min_length=1, max_length=60, pattern=r"^[a-z0-9][a-z0-9_-]*$")
    share: float = Field(default=1.0, gt=0, le=1, allow_inf_nan=False)

    @field_validator("of")
    @classmethod
    def _is_a_text(cls, place: str) -> str:
        known = standard_field(place)
        part, _, rest = place.partition(".")
        if (known is None or known.kind is not FieldKind.TEXT) and not (
            part in RECORD_PARTS and rest
        ):
            raise ValueError(
                f"{place!r} is no text of a producer's record;"
                " write prompt_text, output_text, inputs.NAME or outputs.NAME"
            )
        return place


def embedding_changes(
    before: Mapping[str, Embedding | None], after: Mapping[str, Embedding | None]
) -> list[str]:
    """What may not change under a column's name: vectors of two models can't be compared."""
    return [
        f"column {name!r}: its vectors were made of {old.of} by {old.model}; another text or model"
        " is another column: declare it under a new name"
        for name, old in before.items()
        if old is not None
        and (new := after.get(name)) is not None
        and (old.of, old.model) != (new.of, new.model)
    ]
