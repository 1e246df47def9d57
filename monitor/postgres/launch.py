"""Become the server process: give up rights, tie the own life to the parent's, then exec.

Run as a script of its own (`python -I -S launch.py ...`) and importing nothing of Inferwatch:
code between fork and exec in a program with threads may deadlock, a fresh interpreter can't.

Arguments: user id or -1; group id; parent process id, or 0 to outlive the parent; with 0, the
descriptor to write the detached process's id to; then the program and its arguments.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_OWN_ARGUMENTS = 4


def main(arguments: list[str]) -> None:
    user, group, parent, report = (int(text) for text in arguments[:_OWN_ARGUMENTS])
    command = arguments[_OWN_ARGUMENTS:]
    libc = ctypes.CDLL(None, use_errno=True)
    if parent == 0:
        _detach(report)
    # An own session: Ctrl-C in the terminal must reach the program first, not its database.
    os.setsid()
    os.umask(0o077)
    os.chdir("/")
    if user != -1:
        os.setgroups([])
        os.setgid(group)
        os.setuid(user)
    if parent != 0:
        _die_with(libc, parent)
    os.execv(command[0], command)  # noqa: S606 - the command comes from our own process module


def _detach(report: int) -> None:
    child = os.fork()
    if child != 0:
        os.write(report, str(child).encode())
        os._exit(0)
    os.close(report)


def _die_with(libc: ctypes.CDLL, parent: int) -> None:
    # After setuid, which clears this setting. SIGINT is PostgreSQL's fast, clean shutdown.
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # The parent may have died before the setting took hold; then nobody would ever tell.
    if os.getppid() != parent:
        sys.exit("the parent process ended before the database started")


if __name__ == "__main__":
    main(sys.argv[1:])
