"""`inferwatch reproduce`: do the stored measurements still give the numbers of a bundle?"""

from __future__ import annotations

from collections.abc import Sequence

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

    A report in the bundle is computed anew from what is stored, and compared value by value too.

    The bundle is verified first. Exit code 1 when it does not hold, or when a value differs.
    """
    from dataclasses import asdict

    from monitor.documents.reproduce import rework_report
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
        parts = unpack_archive(body)
        count, differences = compare_with_store(engine, parts, subject)
        report = rework_report(engine, parts, subject)
    values, reworked = report or (0, ())
    if as_json:
        rows = [asdict(each) for each in differences]
        computed = [asdict(each) for each in reworked]
        print_json({"holds": True, "measurements": count, "differences": rows,
                    "report_values": values, "report_differences": computed})  # fmt: skip
    else:
        _tell(differences)
        _tell(reworked)
        typer.echo(f"{count} measurements of {plain(subject.model)} compared,"
                   f" {len(differences)} differences")  # fmt: skip
        if report is not None:
            typer.echo(f"{values} values of the report computed anew, {len(reworked)} differences")
    if differences or reworked:
        raise typer.Exit(1)


def _tell(differences: Sequence[object]) -> None:
    for difference in differences[:MOST_SHOWN]:
        typer.echo(f"DIFFERS  {plain(difference)}")
    if len(differences) > MOST_SHOWN:
        typer.echo(f"         and {len(differences) - MOST_SHOWN} more")
