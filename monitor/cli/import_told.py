"""What is told of an import: counts, rejected records, what a format gives and what it can't."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from monitor.cli.common import print_table

if TYPE_CHECKING:
    from monitor.collector.file_import import ImportResult
    from monitor.collector.producer_import import ProducerImport
    from monitor.intake.producer_files.find import FoundFiles

SHOWN_REJECTIONS = 10
SHOWN_NOTES = 20
DRY = "a dry run: nothing was stored, duplicates were not looked for"
COUNTS = ("accepted", "duplicate", "conflict", "rejected", "violations")


def tell_own(result: ImportResult, *, dry_run: bool, as_json: bool) -> dict[str, Any]:
    """Counts of files of our own format; the same as JSON."""
    counts = {"sent": result.sent, **{name: getattr(result, name) for name in COUNTS}}
    shown = result.rejections[:SHOWN_REJECTIONS]
    if not as_json:
        if dry_run:
            typer.echo(DRY)
        print_table(list(counts), [[f"{number:,}" for number in counts.values()]])
        if shown:
            typer.echo(f"\nThe first rejected of {result.rejected:,} (places count from 0):")
            headings = ("place", "reason", "request", "message")
            print_table(
                headings, [(r.place, r.reason.value, r.request_id or "", r.message) for r in shown]
            )
    listed = [
        {"place": r.place, "reason": r.reason.value, "message": r.message,
         "request_id": r.request_id}
        for r in shown
    ]  # fmt: skip
    return {**counts, "rejections": listed}


def tell_producer(done: ProducerImport, *, dry_run: bool, as_json: bool) -> dict[str, Any]:
    """One format: what it is, gives and can't give, and what became of its records."""
    form = done.format
    counts = {name: getattr(done, name) for name in ("requests", "labels", *COUNTS, "ignored")}
    if dry_run:
        counts = {name: number for name, number in counts.items()
                  if name not in ("duplicate", "conflict")}  # fmt: skip
    shown = done.rejections[:SHOWN_REJECTIONS]
    notes = [{"text": text, "count": count} for text, count in done.notes.most_common(SHOWN_NOTES)]
    if not as_json:
        _print(done, counts, dry_run)
    return {
        "format": form.name, "producer": form.producer, "files": done.files,
        "gives": list(form.gives), "cannot_give": list(form.lacks), "dry_run": dry_run,
        **counts, "models": dict(done.by_model), "notes": notes, "unreadable": done.unreadable,
        "rejections": [
            {"file": file, "place": r.place, "reason": r.reason.value, "message": r.message,
             "request_id": r.request_id}
            for file, r in shown
        ],
        **({"shown": done.shown} if dry_run else {}),
    }  # fmt: skip


def tell_left(found: FoundFiles, *, as_json: bool) -> None:
    """Files that were left alone, with the reason."""
    if as_json:
        return
    if found.hidden:
        typer.echo(f"\n{found.hidden} files whose names begin with . or _ were left out")
    if found.left:
        typer.echo(f"\n{len(found.left)} files were left alone:")
    for file, why in found.left[:SHOWN_NOTES]:
        typer.echo(f"  {file.name}: {why}")


def _print(done: ProducerImport, counts: dict[str, int], dry_run: bool) -> None:
    form = done.format
    plural = "s" if done.files != 1 else ""
    typer.echo(f"{form.producer} (--format {form.name}), {done.files} file{plural}")
    typer.echo(f"  gives: {'; '.join(form.gives)}")
    typer.echo(f"  can't give: {'; '.join(form.lacks)}")
    if done.by_model:
        models = ", ".join(f"{name} ({n:,})" for name, n in done.by_model.items())
        typer.echo(f"  models: {models}")
    for text, count in done.notes.most_common(SHOWN_NOTES):
        typer.echo(f"  note: {text}" + (f" ({count:,})" if count > 1 else ""))
    for text in done.unreadable:
        typer.echo(f"  unreadable: {text}")
    if dry_run:
        typer.echo(f"  {DRY}")
    print_table(list(counts), [[f"{number:,}" for number in counts.values()]])
    for record in done.shown:
        typer.echo(f"would store: {json.dumps(record, default=str, ensure_ascii=False)}")
    if done.rejections:
        typer.echo(f"\nThe first rejected of {done.rejected:,} (places count from 0):")
        rows = [(file, r.place, r.reason.value, r.request_id or "", r.message)
                for file, r in done.rejections[:SHOWN_REJECTIONS]]  # fmt: skip
        print_table(("file", "place", "reason", "request", "message"), rows)
