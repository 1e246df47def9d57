"""What commands about evidence share: reading bundles and keys, telling findings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from monitor.evidence.findings import Finding
    from monitor.evidence.signing import VerifyingKey
    from monitor.reports.audit import OutsideHead

MOST_BYTES = 2 << 30
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")

Bundle = Annotated[Path, typer.Argument(help="The bundle, a .zip file.", show_default=False)]
PinnedKey = Annotated[
    str | None,
    typer.Option(
        "--key",
        help="The key that must have signed: its fingerprint, or a file with the public key.",
        show_default=False,
    ),
]


def read_bytes(path: Path) -> bytes:
    """A file's bytes; ConfigurationError when it can't be read."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise _unreadable(path, f"is larger than {MOST_BYTES >> 30} GB")
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, f"can't be read: {error.strerror or error}") from error


def read_fingerprint(wanted: str | None) -> str | None:
    """The fingerprint that `--key` names, directly or by a file with the public key."""
    if wanted is None or _FINGERPRINT.fullmatch(wanted.strip().lower()):
        return wanted.strip().lower() if wanted else None
    return read_public_key(Path(wanted)).fingerprint


def read_public_key(path: Path) -> VerifyingKey:
    """A public key in PEM form; ConfigurationError when the file holds none."""
    from monitor.evidence.signing import UnreadableKey, VerifyingKey

    try:
        return VerifyingKey.from_pem(read_bytes(path))
    except UnreadableKey as error:
        remedy = "name a file that `inferwatch audit key` wrote, or 64 hexadecimal digits"
        raise ConfigurationError("command", [Problem("--key", f"{error}; {remedy}")]) from None


def read_outside_head(path: Path) -> OutsideHead:
    """A head as the place outside received it (its body); ConfigurationError when it is none."""
    import base64

    from monitor.reports.audit import OutsideHead

    try:
        body: Mapping[str, Any] = json.loads(read_bytes(path))
        signature = base64.b64decode(body["signature"], validate=True)
        return OutsideHead(str(body["head"]).encode(), signature, str(body["key"]))
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable(path, f"is no signed head as it was sent outside ({error!r})") from None


def told(findings: Iterable[Finding]) -> list[dict[str, str]]:
    """Findings for `--json`."""
    return [
        {"reason": each.reason.value, "place": each.place, "message": each.message}
        for each in findings
    ]


def _unreadable(path: Path, what: str) -> ConfigurationError:
    return ConfigurationError(str(path), [Problem("file", what)])
