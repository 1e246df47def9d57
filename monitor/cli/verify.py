"""`inferwatch verify`: is a bundle what was signed? Needs no database and no network."""

from __future__ import annotations

import typer

from monitor.cli.common import AsJson, plain, print_json
from monitor.cli.evidence_files import Bundle, PinnedKey, read_bytes, read_fingerprint, told


def verify(bundle: Bundle, key: PinnedKey = None, as_json: AsJson = False) -> None:
    """Verify a bundle of evidence offline.

    Tells altered, missing and added parts, a cut tail of the audit chain, altered entries, another
    key and an altered manifest apart. Exit code 1 when something is wrong.
    """
    from monitor.evidence.verify import verify_bundle

    pinned = read_fingerprint(key)
    found = verify_bundle(read_bytes(bundle), pinned)
    if as_json:
        print_json(
            {
                "holds": found.holds,
                "key": found.key,
                "key_is_pinned": found.key_is_pinned,
                "about": found.manifest.about if found.manifest else None,
                "product": found.manifest.product if found.manifest else None,
                "parts": len(found.manifest.parts) if found.manifest else None,
                "entries": found.entries,
                "findings": told(found.findings),
            }
        )
    else:
        for finding in found.findings:
            typer.echo(f"BAD  {plain(finding)}")
        if found.holds and found.manifest is not None:
            parts = len(found.manifest.parts)
            typer.echo(f"ok   {parts} parts, {found.entries} audit entries, all as signed")
        if found.key is not None:
            typer.echo(f"     signed with the key {found.key}")
        if found.holds and pinned is None:
            typer.echo(
                "     That key came with the bundle: anybody can bring one. Compare it with the key"
                " you know, or name that with --key."
            )
    if not found.holds:
        raise typer.Exit(1)
