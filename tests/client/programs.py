"""Serving programs that tests start as processes of their own: `python -m tests.client.programs`.

Arguments: what to do, the collector's address, the key, the model, the seconds it may take to end,
and perhaps a spool folder.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from inferwatch_client.client import Client

PREFORK_WORKERS = 3


def serve_and_end(client: Client) -> None:
    """Log and fall off the end."""
    log(client, 50)


def serve_and_be_killed(client: Client) -> None:
    """Log, wait until it is on disk, and die without a word."""
    log(client, 50)
    spool = client.options.spool
    assert spool is not None
    while not any(spool.glob("*/*.body")) or len(client._pipeline.waiting):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


def prefork(client: Client) -> None:
    """Log in the parent, fork workers as gunicorn does, log in all of them."""
    log(client, 10)
    children = []
    for _ in range(PREFORK_WORKERS):
        child = os.fork()
        if child == 0:
            log(client, 20)
            sys.exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    log(client, 10)


def with_multiprocessing(client: Client) -> None:
    """Workers of multiprocessing end without atexit."""
    context: Any = multiprocessing.get_context("fork")
    workers = [context.Process(target=log, args=(client, 20)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def fail(client: Client) -> None:
    """An unhandled error ends the program."""
    log(client, 5)
    raise RuntimeError("the program's own")


def log(client: Client, count: int) -> None:
    """So many requests."""
    for number in range(count):
        client.log_request({"age": number % 90})


PROGRAMS = {
    each.__name__: each
    for each in (serve_and_end, serve_and_be_killed, prefork, with_multiprocessing, fail)
}


if __name__ == "__main__":
    name, url, key, model, exit_seconds, *rest = sys.argv[1:]
    made = Client(
        url,
        key,
        model=model,
        interval=0.2,
        exit_seconds=float(exit_seconds),
        spool=Path(rest[0]) if rest else None,
    )
    PROGRAMS[name](made)
