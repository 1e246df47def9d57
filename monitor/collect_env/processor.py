"""The processor. Virtual machines give it generic names, so family, model and flags go with it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import cpuinfo

from monitor.collect_env.collected import Facts


def processor_facts(found: Mapping[str, Any] | None = None) -> Facts:
    """Model and a hash of the flags; `found` is what py-cpuinfo says, asked for when absent."""
    told = cpuinfo.get_cpu_info() if found is None else found
    brand, numbers = told.get("brand_raw"), [told.get(n) for n in ("family", "model", "stepping")]
    known = "/".join(str(number) for number in numbers if number is not None)
    tags: dict[str, str] = {}
    if brand:
        tags["cpu_model"] = f"{brand} ({known})" if known else str(brand)
    flags = told.get("flags") or ()
    if flags:
        tags["cpu_flags_hash"] = flags_hash(flags)
    evidence = {name: told.get(name) for name in ("arch", "count", "l3_cache_size")}
    notes = () if tags else ("the processor is unknown: py-cpuinfo found nothing",)
    return Facts(tags, {"cpu": evidence}, notes)


def flags_hash(flags: Sequence[str]) -> str:
    """The first 16 hexadecimal digits of SHA-256 of the sorted flags, one space between."""
    return hashlib.sha256(" ".join(sorted(flags)).encode()).hexdigest()[:16]
