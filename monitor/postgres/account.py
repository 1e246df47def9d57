"""The system user a server runs as: the caller, or an unprivileged one when the caller is root.

Knows users and reachability of paths; knows nothing of databases.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from monitor.errors import EmbeddedPostgresError

PREFERRED_USERS = ("postgres", "nobody")
# The server inherits nothing from the caller: PGDATA or PGOPTIONS would change what it does,
# and other variables may hold secrets.
CLEAN_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True)
class ServerAccount:
    """Who owns the data folder and runs the server. `drops_rights` is true when root calls."""

    name: str
    user: int
    group: int
    drops_rights: bool

    def own(self, path: Path) -> None:
        """Give `path` to this account; nothing to do when the caller is the account."""
        if self.drops_rights:
            os.chown(path, self.user, self.group, follow_symlinks=False)

    def run(
        self, arguments: Sequence[str | Path], *, stdin: IO[bytes] | None, timeout: float
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program to its end as this account, with output captured; raises OSError."""
        return subprocess.run(  # noqa: S603 - our own programs, no shell
            arguments,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            capture_output=True,
            timeout=timeout,
            check=False,
            cwd="/",
            env=CLEAN_ENVIRONMENT,
            user=self.user if self.drops_rights else None,
            group=self.group if self.drops_rights else None,
            extra_groups=[] if self.drops_rights else None,
        )

    def can_enter(self, folder: Path) -> bool:
        """Whether this account can pass through every folder on the way into `folder`."""
        return self._test("-x", folder)

    def can_read(self, path: Path) -> bool:
        return self._test("-r", path)

    def can_run(self, program: Path) -> bool:
        try:
            return self.run([program, "--version"], stdin=None, timeout=60).returncode == 0
        except OSError:
            return False

    def _test(self, operator: str, path: Path) -> bool:
        # Asking the kernel as that user is the only answer that also knows ACLs and mounts.
        if not self.drops_rights:
            return os.access(path, os.X_OK if operator == "-x" else os.R_OK)
        return self.run(["test", operator, path], stdin=None, timeout=60).returncode == 0


def choose_account(data_folder: Path) -> ServerAccount:
    """The account for the server on `data_folder`, which need not exist yet.

    An ordinary caller is the account. Root never runs a server: the owner of an existing data
    folder does, else `postgres`, else `nobody`. Raises EmbeddedPostgresError when an ordinary
    caller does not own the folder or root finds no such user.
    """
    owner = data_folder.stat().st_uid if data_folder.exists() else None
    caller = os.geteuid()
    if caller != 0:
        if owner not in (None, caller):
            raise EmbeddedPostgresError(
                f"{data_folder} belongs to user {_name_of(owner)}, not to {_name_of(caller)}: run "
                "this command as that user or as root, or set INFERWATCH_HOME to another folder."
            )
        return ServerAccount(_name_of(caller), caller, os.getegid(), drops_rights=False)
    if owner:
        return _account(pwd.getpwuid(owner)) if _is_known(owner) else _unnamed(owner, data_folder)
    for name in PREFERRED_USERS:
        try:
            return _account(pwd.getpwnam(name))
        except KeyError:
            continue
    raise EmbeddedPostgresError(
        "PostgreSQL refuses to run as root and this machine has no user named "
        f"{' or '.join(PREFERRED_USERS)}: create one (adduser --system postgres), or run "
        "Inferwatch as an ordinary user, or set DATABASE_URL."
    )


def _account(entry: pwd.struct_passwd) -> ServerAccount:
    return ServerAccount(entry.pw_name, entry.pw_uid, entry.pw_gid, drops_rights=True)


def _unnamed(owner: int, data_folder: Path) -> ServerAccount:
    return ServerAccount(str(owner), owner, data_folder.stat().st_gid, drops_rights=True)


def _is_known(user: int) -> bool:
    return _name_of(user) != str(user)


def _name_of(user: int | None) -> str:
    try:
        return pwd.getpwuid(user).pw_name if user is not None else "nobody at all"
    except KeyError:
        return str(user)
