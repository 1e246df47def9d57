"""Where an embedded server keeps its things, and how private files are written.

`home/postgres/` holds passwords, locks, log and state and belongs to the caller. The data folder
beside them belongs to the account the server runs as. When that account can't reach `home`
(root's own home is closed to others), data, socket and copied programs go to a folder that it can
reach, and `home/postgres/data` is a link to it: folders of others are never opened up.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

from monitor.errors import EmbeddedPostgresError
from monitor.postgres.account import ServerAccount

FALLBACK_ROOT = Path("/var/lib/inferwatch")
_OPEN_FOR_PASSING = 0o711
_SOCKET_PATH_LIMIT = 107


@dataclass(frozen=True)
class Folders:
    """Paths of one embedded server; nothing here needs to exist."""

    home: Path

    @property
    def own(self) -> Path:
        return self.home / "postgres"

    @property
    def data(self) -> Path:
        return self.own / "data"

    @property
    def superuser_password(self) -> Path:
        return self.own / "superuser.password"

    @property
    def application_password(self) -> Path:
        return self.own / "application.password"

    @property
    def log(self) -> Path:
        return self.own / "postgres.log"

    @property
    def state(self) -> Path:
        return self.own / "server.json"

    @property
    def start_lock(self) -> Path:
        return self.own / "start.lock"

    @property
    def server_lock(self) -> Path:
        return self.own / "server.lock"

    def create(self) -> None:
        """Make `home` and `home/postgres` if missing, with the narrowest mode that works."""
        mode = _OPEN_FOR_PASSING if os.geteuid() == 0 else 0o700
        for folder in (self.home, self.own):
            if not folder.is_dir():
                folder.mkdir(parents=True, exist_ok=True)
                folder.chmod(mode)


@dataclass(frozen=True)
class ServerState:
    """What is remembered between starts: the port, and whose child the server is, if anybody's."""

    port: int | None = None
    parent: int | None = None


def read_state(path: Path) -> ServerState:
    """The remembered state; an empty one when the file is missing or damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return ServerState(port=found["port"], parent=found["parent"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return ServerState()


def write_state(path: Path, state: ServerState) -> None:
    write_private(path, json.dumps({"port": state.port, "parent": state.parent}) + "\n")


def write_private(path: Path, text: str) -> None:
    """Replace `path` by `text`, whole or not at all, mode 0600, owned like its folder."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            if os.geteuid() == 0:
                folder = path.parent.stat()
                os.fchown(file.fileno(), folder.st_uid, folder.st_gid)
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_or_make_password(path: Path) -> str:
    """The password kept in `path`; a fresh random one is stored there first if it is missing."""
    try:
        found = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        found = ""
    if found:
        return found
    password = secrets.token_urlsafe(32)
    write_private(path, password + "\n")
    return password


@dataclass(frozen=True)
class ServerPlace:
    """The folder that data, socket and copied programs lie in, reachable by the account."""

    folder: Path
    notice: str | None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def socket(self) -> Path | None:
        """The socket folder; None where the path would not fit into a socket address."""
        folder = self.folder / "socket"
        longest = os.fsencode(folder / ".s.PGSQL.65535")
        fits = len(longest) <= _SOCKET_PATH_LIMIT and str(folder).isprintable()
        return folder if fits else None


def settle(folders: Folders, account: ServerAccount) -> ServerPlace:
    """The place of the server's data: where it already is, else in home, else the fallback."""
    link = folders.data
    if link.is_symlink() and not link.readlink().parent.is_dir():
        link.unlink()
    if link.is_symlink() or link.exists():
        return _existing_place(link, account)
    if account.can_enter(folders.own):
        return ServerPlace(folders.own.resolve(), None)
    folder = _make_fallback_folder(account)
    link.symlink_to(folder / "data")
    return ServerPlace(folder, _notice(folders, account, folder))


def _existing_place(data: Path, account: ServerAccount) -> ServerPlace:
    folder = (data.readlink() if data.is_symlink() else data).parent.resolve()
    if account.can_enter(folder):
        return ServerPlace(folder, None)
    raise EmbeddedPostgresError(
        f"user {account.name}, who runs the database, can't reach {folder}: some folder on the way "
        f"is closed to it. Check with `namei -l {folder}`, then allow passing through (chmod o+x) "
        "or move the installation and set INFERWATCH_HOME."
    )


def _make_fallback_folder(account: ServerAccount) -> Path:
    name = f"postgres-{secrets.token_hex(6)}"
    for make in (_make_lasting_folder, _make_temporary_folder):
        try:
            folder = make(name)
        except OSError:
            continue
        folder.chmod(_OPEN_FOR_PASSING)
        if account.can_enter(folder):
            return folder.resolve()
        folder.rmdir()
    raise EmbeddedPostgresError(
        f"user {account.name}, who runs the database, can reach neither the home folder nor "
        f"{FALLBACK_ROOT} nor {tempfile.gettempdir()}: set INFERWATCH_HOME to a folder that this "
        "user can pass through, or set DATABASE_URL to a running server."
    )


def _make_lasting_folder(name: str) -> Path:
    if not FALLBACK_ROOT.is_dir():
        FALLBACK_ROOT.mkdir()
        FALLBACK_ROOT.chmod(_OPEN_FOR_PASSING)
    folder = FALLBACK_ROOT / name
    folder.mkdir()
    return folder


def _make_temporary_folder(name: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"inferwatch-{name}-"))


def _notice(folders: Folders, account: ServerAccount, folder: Path) -> str:
    lost = (
        " That is a temporary folder, which the system may clear: set INFERWATCH_HOME to a lasting "
        f"folder that {account.name} can reach before you store anything you want to keep."
    )
    if folder.is_relative_to(FALLBACK_ROOT):
        lost = ""
    return (
        f"User {account.name}, who runs the database, can't reach {folders.own}; its data lies in "
        f"{folder} instead.{lost}"
    )
