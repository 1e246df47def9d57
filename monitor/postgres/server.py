"""The embedded Postgres server: start, stop and look after one server in one home folder.

Two ways to live: as a child that ends with the process that started it, or detached until it is
stopped. Whoever asks second gets the server that already runs. Linux only. Must not know what is
stored in the database.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from monitor.errors import EmbeddedPostgresError
from monitor.postgres.account import ServerAccount, choose_account
from monitor.postgres.binaries import PostgresBinaries, find_postgres_bin
from monitor.postgres.folders import (
    Folders,
    ServerPlace,
    ServerState,
    read_or_make_password,
    read_state,
    settle,
    write_state,
)
from monitor.postgres.initialise import (
    SUPERUSER,
    ServerOptions,
    initialise,
    read_major_version,
    require_same_version,
    write_settings,
)
from monitor.postgres.locks import exclusive, server_lock_is_held, take_server_lock
from monitor.postgres.postmaster import (
    Postmaster,
    find_postmaster,
    is_alive,
    remove_leftovers,
)
from monitor.postgres.process import (
    Launch,
    StartedProcess,
    free_port,
    log_tail,
    rotate_log,
    start_child,
    start_detached,
)
from monitor.postgres.programs import runnable_by
from monitor.postgres.readiness import (
    APPLICATION_DATABASE,
    APPLICATION_ROLE,
    ServerEndedError,
    answers,
    provision,
    wait_until_ready,
)
from monitor.postgres.status import RunningServer, ServerCondition, ServerStatus

HOST = "127.0.0.1"
START_TIMEOUT_SECONDS = 600.0
STOP_TIMEOUT_SECONDS = 60.0
_ORPHANS_TIMEOUT_SECONDS = 30.0
_PORT_ATTEMPTS = 5


class EmbeddedServer:
    """One server in `home/postgres/`. `binaries` are looked for on first use when not given."""

    def __init__(
        self,
        home: Path,
        binaries: PostgresBinaries | None = None,
        *,
        options: ServerOptions | None = None,
        start_timeout: float = START_TIMEOUT_SECONDS,
    ) -> None:
        self.folders = Folders(home.expanduser().absolute())
        self._binaries = binaries
        self._options = options or ServerOptions()
        self._start_timeout = start_timeout
        self._process: StartedProcess | None = None

    @property
    def url(self) -> str:
        """Where the application connects, with its password; the server need not run."""
        password = self._password(self.folders.application_password)
        return f"postgresql://{APPLICATION_ROLE}:{password}@{HOST}:{self._port()}/{APPLICATION_DATABASE}"

    def admin_url(self, database: str = "postgres") -> str:
        """Where the supervisor's superuser connects: for set-up and tests, not the product."""
        password = self._password(self.folders.superuser_password)
        return f"postgresql://{SUPERUSER}:{password}@{HOST}:{self._port()}/{database}"

    def start(self, child_of_this_process: bool) -> RunningServer:
        """Return a running server, starting one if need be (making its data on first use).

        A child ends with this process, even on kill -9; otherwise the server stays until `stop`.
        A server that already runs is used as it is. Raises EmbeddedPostgresError.
        """
        if sys.platform != "linux":
            raise EmbeddedPostgresError(
                f"the embedded database runs on Linux only, not on {sys.platform}: set "
                "DATABASE_URL to a running PostgreSQL."
            )
        with _explained(self.folders.home):
            self.folders.create()
            with exclusive(self.folders.start_lock, self._start_timeout):
                return self._running() or self._start_new(child_of_this_process)

    def stop(self, *, immediate: bool = False, timeout: float = STOP_TIMEOUT_SECONDS) -> bool:
        """Stop the server, whoever started it; False if none ran.

        Clients are cut off and everything committed is on disk. `immediate` skips the final
        checkpoint; the next start then recovers from the log. Raises EmbeddedPostgresError when
        the server still runs after `timeout` seconds.
        """
        with _explained(self.folders.home):
            if not self.folders.own.is_dir():
                return False
            with exclusive(self.folders.start_lock, timeout):
                postmaster = find_postmaster(self.folders.data)
                if postmaster is None:
                    return False
                os.kill(postmaster.pid, signal.SIGQUIT if immediate else signal.SIGINT)
                self._wait_for_end(postmaster.pid, timeout)
                return True

    def status(self) -> ServerStatus:
        """Look without touching anything."""
        with _explained(self.folders.home):
            postmaster = find_postmaster(self.folders.data)
            state = read_state(self.folders.state)
            return ServerStatus(
                condition=self._condition(postmaster),
                pid=postmaster.pid if postmaster else None,
                port=(postmaster.port if postmaster else None) or state.port,
                major_version=read_major_version(self.folders.data),
                parent=state.parent if postmaster else None,
                data_folder=self.folders.data.resolve(),
                log_file=self.folders.log,
            )

    def _condition(self, postmaster: Postmaster | None) -> ServerCondition:
        if postmaster is None:
            made = read_major_version(self.folders.data) is not None
            return ServerCondition.STOPPED if made else ServerCondition.NOT_SET_UP
        if postmaster.port is not None and answers(self.url):
            return ServerCondition.RUNNING
        return ServerCondition.NOT_ANSWERING

    def _running(self) -> RunningServer | None:
        """The server that already runs, once it answers; None if there is none or it ends."""
        postmaster = find_postmaster(self.folders.data)
        if postmaster is None:
            return None
        try:
            self._wait_until_ready(lambda: is_alive(postmaster.pid), log_offset=0)
        except ServerEndedError:
            # It was on its way out, for instance because its parent has just died.
            return None
        return self._described(started_here=False, notice=None)

    def _start_new(self, child: bool) -> RunningServer:
        account = choose_account(self.folders.data)
        place = settle(self.folders, account)
        binaries = runnable_by(account, self._binaries or find_postgres_bin(), place.folder)
        lock = take_server_lock(self.folders.server_lock, _ORPHANS_TIMEOUT_SECONDS)
        if lock is None:
            raise EmbeddedPostgresError(
                f"processes of an earlier server on {place.data} still live although the server "
                "itself is gone, or it runs in another container. Look with `ps -ef | grep "
                "'postgres: inferwatch'`, end them, then start again."
            )
        try:
            self._make_ready_to_launch(place, account, binaries)
            command = (str(binaries.postgres), "-D", str(place.data))
            launch = Launch(command, account, self.folders.log, lock)
            self._launch_on_a_free_port(launch, place, child)
        finally:
            # The server holds its own copy of the lock; this one must not outlive the start.
            os.close(lock)
        return self._described(started_here=True, notice=place.notice)

    def _make_ready_to_launch(
        self, place: ServerPlace, account: ServerAccount, binaries: PostgresBinaries
    ) -> None:
        password = read_or_make_password(self.folders.superuser_password)
        read_or_make_password(self.folders.application_password)
        if not place.data.exists():
            initialise(place.data, binaries, account, password, self._options.durable)
        require_same_version(place.data, binaries)
        remove_leftovers(place.data, place.socket)
        if place.socket is not None:
            place.socket.mkdir(mode=0o700, exist_ok=True)
            account.own(place.socket)

    def _launch_on_a_free_port(self, launch: Launch, place: ServerPlace, child: bool) -> None:
        preferred = read_state(self.folders.state).port
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            port = free_port(preferred if attempt == 1 else None)
            write_settings(place.data, launch.account, self._options, port, place.socket)
            state = ServerState(port=port, parent=os.getpid() if child else None)
            write_state(self.folders.state, state)
            offset = rotate_log(self.folders.log)
            self._process = start_child(launch) if child else start_detached(launch)
            try:
                self._wait_until_ready(self._process.is_alive, offset)
            except ServerEndedError as error:
                # Somebody may take the port between our look and the server's start.
                if "could not bind" in str(error) and attempt < _PORT_ATTEMPTS:
                    continue
                raise
            provision(self.admin_url(), self._password(self.folders.application_password))
            return

    def _wait_until_ready(self, alive: Callable[[], bool], log_offset: int) -> None:
        wait_until_ready(
            self.admin_url(),
            self.folders.data,
            is_alive=alive,
            tail=lambda: log_tail(self.folders.log, log_offset),
            timeout=self._start_timeout,
        )

    def _wait_for_end(self, pid: int, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while is_alive(pid) or server_lock_is_held(self.folders.server_lock):
            if time.monotonic() >= deadline:
                raise EmbeddedPostgresError(
                    f"the server (process {pid}) still runs {timeout:.0f} s after it was asked to "
                    f"stop; see {self.folders.log}. `inferwatch db stop --immediate` does not wait "
                    "for its last checkpoint; the next start then recovers from the log."
                )
            time.sleep(0.02)
        if self._process is not None:
            self._process.wait(timeout)
            self._process = None

    def _described(self, *, started_here: bool, notice: str | None) -> RunningServer:
        postmaster = find_postmaster(self.folders.data)
        if postmaster is None:
            raise EmbeddedPostgresError(
                f"the server ended right after it had started; see {self.folders.log}"
            )
        return RunningServer(
            url=self.url,
            admin_url=self.admin_url(),
            pid=postmaster.pid,
            port=self._port(),
            started_here=started_here,
            parent=read_state(self.folders.state).parent,
            notice=notice,
        )

    def _port(self) -> int:
        postmaster = find_postmaster(self.folders.data)
        port = postmaster.port if postmaster else None
        port = port or read_state(self.folders.state).port
        if port is None:
            raise EmbeddedPostgresError(
                f"no database has been set up in {self.folders.home}: run `inferwatch db start`."
            )
        return port

    def _password(self, path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            raise EmbeddedPostgresError(
                f"{path} is missing: run `inferwatch db start` to set the database up, or put the "
                "file back if it was removed."
            ) from None


@contextmanager
def embedded_database(
    home: Path, binaries: PostgresBinaries | None = None, *, options: ServerOptions | None = None
) -> Iterator[str]:
    """The URL of a database that lives as long as the block, and never longer than this process.

    A server that somebody else started is used and left running.
    """
    server = EmbeddedServer(home, binaries, options=options)
    running = server.start(child_of_this_process=True)
    try:
        yield running.url
    finally:
        if running.started_here:
            server.stop()


@contextmanager
def _explained(home: Path) -> Iterator[None]:
    """Turn the system's refusals into an error that names the folder."""
    try:
        yield
    except PermissionError as error:
        raise EmbeddedPostgresError(
            f"this user may not do that with the database in {home}: {error}. Run the command as "
            "the user who set it up, or set INFERWATCH_HOME to a folder of your own."
        ) from error
    except OSError as error:
        raise EmbeddedPostgresError(f"can't use the database in {home}: {error}") from error
