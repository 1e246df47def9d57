"""Who lives how long: parents, children, leftovers of crashes, two starters at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from monitor.postgres import launch
from monitor.postgres.binaries import PostgresBinaries
from monitor.postgres.locks import server_lock_is_held
from monitor.postgres.postmaster import PID_FILE, find_postmaster, is_alive
from monitor.postgres.server import EmbeddedServer
from monitor.postgres.status import ServerCondition
from tests.database import temporary_home
from tests.postgres.support import (
    DURABLE_OPTIONS,
    TEST_OPTIONS,
    another_process,
    ask,
    count_rows,
    installations,
    label_of,
    told_by,
    wait_until,
    write_rows,
)

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_server_ends_with_its_parent_and_keeps_what_was_committed(
    home: Path, server: EmbeddedServer, number: signal.Signals
) -> None:
    with another_process(home, "child") as parent:
        told = told_by(parent)
        assert told["parent"] == parent.pid == server.status().parent
        write_rows(str(told["url"]), 300)
        client = psycopg.connect(str(told["url"]))
        client.execute("SELECT 1")  # inside a transaction: a slow shutdown would wait for it
        parent.send_signal(number)
        assert wait_until(lambda: not is_alive(int(str(told["pid"]))))
        client.close()
    assert wait_until(lambda: not server_lock_is_held(server.folders.server_lock))
    assert server.status().condition is ServerCondition.STOPPED
    assert count_rows(server.start(child_of_this_process=True).url) == 300


def test_a_child_server_ends_when_its_parent_simply_returns(
    home: Path, server: EmbeddedServer
) -> None:
    with another_process(home, "child", "return") as parent:
        told_by(parent)
        assert parent.wait(30) == 0
    assert wait_until(lambda: not server_lock_is_held(server.folders.server_lock))


def test_a_detached_server_outlives_its_starter(home: Path, server: EmbeddedServer) -> None:
    with another_process(home, "detached") as starter:
        told = told_by(starter)
        starter.kill()
        starter.wait()
    time.sleep(0.3)
    assert ask(str(told["url"]), "SELECT 1") == 1
    found = server.start(child_of_this_process=True)
    assert (found.pid, found.started_here, found.parent) == (told["pid"], False, None)
    assert server.stop()
    assert not is_alive(found.pid)


def test_a_child_server_outlives_the_thread_that_started_it(server: EmbeddedServer) -> None:
    thread = threading.Thread(target=server.start, args=(True,))
    thread.start()
    thread.join()
    time.sleep(0.5)
    assert ask(server.url, "SELECT 1") == 1


def test_an_interrupt_from_the_terminal_does_not_reach_the_server(server: EmbeddedServer) -> None:
    pid = server.start(child_of_this_process=True).pid
    assert os.getsid(pid) != os.getsid(0)
    assert os.getpgid(pid) != os.getpgid(0)


def test_a_child_whose_parent_is_already_gone_does_not_start() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", launch.__file__, "-1", "0", "1", "-1", "/bin/echo", "started"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "started" not in done.stdout
    assert "parent process ended" in done.stderr


@pytest.mark.parametrize("binaries", installations(), ids=label_of)
@pytest.mark.parametrize("child", [True, False])
def test_a_killed_server_starts_again_with_all_rows(
    home: Path, binaries: PostgresBinaries, child: bool
) -> None:
    server = EmbeddedServer(home, binaries, options=DURABLE_OPTIONS)
    first = server.start(child_of_this_process=child)
    for total in (200, 400):
        write_rows(server.url, 200)
        os.kill(first.pid, signal.SIGKILL)
        assert wait_until(lambda pid=first.pid: not is_alive(pid))
        assert (server.folders.data / PID_FILE).exists()
        assert not server.status().is_running
        first = server.start(child_of_this_process=child)
        assert count_rows(first.url) == total


def test_an_immediate_stop_keeps_committed_rows(server: EmbeddedServer) -> None:
    write_rows(server.start(child_of_this_process=False).url, 100)
    assert server.stop(immediate=True)
    assert count_rows(server.start(child_of_this_process=False).url) == 100


def _leave_pid_file(server: EmbeddedServer, pid: int) -> None:
    """What a killed container leaves behind: the whole file of a server, with a reused id."""
    text = f"{pid}\n{server.folders.data}\n1700000000\n{5432}\n\n127.0.0.1\n  1  2\nready   \n"
    (server.folders.data / PID_FILE).write_text(text)


def test_a_pid_file_that_names_a_stranger_is_not_believed(server: EmbeddedServer) -> None:
    write_rows(server.start(child_of_this_process=True).url, 10)
    server.stop()
    with subprocess.Popen(["sleep", "600"]) as stranger:
        try:
            _leave_pid_file(server, stranger.pid)
            assert server.status().condition is ServerCondition.STOPPED
            assert not server.stop()
            running = server.start(child_of_this_process=True)
            assert running.pid != stranger.pid
            assert count_rows(running.url) == 10
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_a_pid_file_that_names_a_zombie_is_not_believed(server: EmbeddedServer) -> None:
    server.start(child_of_this_process=True)
    server.stop()
    with subprocess.Popen(["true"]) as zombie:
        assert wait_until(lambda: not is_alive(zombie.pid))
        os.kill(zombie.pid, 0)  # it is still there, which is all that a naive check sees
        _leave_pid_file(server, zombie.pid)
        assert server.start(child_of_this_process=True).pid != zombie.pid


@pytest.mark.parametrize("text", ["", "no number\n", "99999999\n", "-1\n", "1\n"])
def test_a_damaged_pid_file_does_not_stop_a_start(server: EmbeddedServer, text: str) -> None:
    server.start(child_of_this_process=True)
    server.stop()
    (server.folders.data / PID_FILE).write_text(text)
    assert ask(server.start(child_of_this_process=True).url, "SELECT 1") == 1


def test_a_pid_file_that_names_another_server_leaves_that_one_alone(
    server: EmbeddedServer,
) -> None:
    server.start(child_of_this_process=True)
    server.stop()
    with temporary_home() as second_home:
        second = EmbeddedServer(second_home, options=TEST_OPTIONS)
        other = second.start(child_of_this_process=True)
        _leave_pid_file(server, other.pid)
        assert not server.stop()
        assert server.start(child_of_this_process=True).pid != other.pid
        assert server.stop()
        assert ask(other.url, "SELECT 1") == 1
        second.stop()


def test_no_second_server_while_a_process_of_the_first_still_lives(server: EmbeddedServer) -> None:
    first = server.start(child_of_this_process=True)
    write_rows(first.url, 20)
    connection = psycopg.connect(first.url)
    backend = connection.info.backend_pid
    os.kill(backend, signal.SIGSTOP)
    os.kill(first.pid, signal.SIGKILL)
    try:
        assert wait_until(lambda: not is_alive(first.pid))
        assert server_lock_is_held(server.folders.server_lock)
        with ThreadPoolExecutor(1) as pool:
            starting = pool.submit(server.start, False)
            time.sleep(1)
            assert not starting.done()
            assert find_postmaster(server.folders.data) is None
            os.kill(backend, signal.SIGCONT)
            assert count_rows(starting.result(timeout=30).url) == 20
    finally:
        if is_alive(backend):
            os.kill(backend, signal.SIGCONT)
        connection.close()


def test_two_starters_at_once_get_one_server(home: Path, server: EmbeddedServer) -> None:
    with another_process(home, "detached") as one, another_process(home, "detached") as two:
        told = [told_by(one), told_by(two)]
    assert told[0]["pid"] == told[1]["pid"]
    assert told[0]["url"] == told[1]["url"]
    assert sorted(bool(each["started_here"]) for each in told) == [False, True]
    assert ask(str(told[0]["url"]), "SELECT 1") == 1
    postmasters = [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if _runs_on(path, server.folders.data)
    ]
    assert postmasters == [str(told[0]["pid"])]


def _runs_on(command_line: Path, data: Path) -> bool:
    try:
        return str(data).encode() in command_line.read_bytes().split(b"\0")
    except OSError:
        return False
