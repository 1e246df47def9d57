"""The recorded schemas of what channels send, in tests/data/formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

FORMATS = Path(__file__).parents[2] / "data" / "formats"


def assert_format(name: str, found: Any) -> None:
    """Fail with every place at which what was sent differs from the schema of this name."""
    schema = json.loads((FORMATS / f"{name}.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    mistakes = [
        f"{each.json_path}: {each.message}"
        for each in Draft202012Validator(schema).iter_errors(found)
    ]
    assert not mistakes, "\n".join(mistakes)
