"""`inferwatch reproduce`: do the stored measurements still give the numbers of a bundle?"""

from __future__ import annotations

import typer

from monitor.cli.common import AsJson, KnownProject, find_project, open_database, plain, print_json
from monitor.cli.evidence_files import Bundle, PinnedKey, read_bytes, read_fingerprint, told

MOST_SHOWN = 50


def reproduce(
    bundle: Bundle,
    key: PinnedKey = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Rebuild a bundle's numbers from stored measurements and compare them value by value.

    The bundle is verified first. Exit code 1 when it does not hold, or when a value differs.
    """
    from dataclasses import asdict

    from monitor.evidence.archive import unpack_archive
    from monitor.evidence.verify import verify_bundle
    from monitor.reports.reproduce import compare_with_store, subject_of

    body = read_bytes(bundle)
    verified = verify_bundle(body, read_fingerprint(key))
    if not verified.holds or verified.manifest is None:
        if as_json:
            print_json({"holds": False, "findings": told(verified.findings)})
        for finding in () if as_json else verified.findings:
            typer.echo(f"BAD  {plain(finding)}")
        raise typer.Exit(1)
    with open_database() as engine:
        subject = subject_of(verified.manifest, find_project(engine, project))
        count, differences = compare_with_store(engine, unpack_archive(body), subject)
    if as_json:
        rows = [asdict(each) for each in differences]
        print_json({"holds": True, "measurements": count, "differences": rows})
    else:
        for difference in differences[:MOST_SHOWN]:
            typer.echo(f"DIFFERS  {plain(difference)}")
        if len(differences) > MOST_SHOWN:
            typer.echo(f"         and {len(differences) - MOST_SHOWN} more")
        typer.echo(f"{count} measurements of {plain(subject.model)} compared,"
                   f" {len(differences)} differences")  # fmt: skip
    if differences:
        raise typer.Exit(1)
