"""`inferwatch sidecar`: adds a key for clients that can't send one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monitor.cli.common import read_text_file
from monitor.errors import ConfigurationError, Problem


def sidecar(
    url: Annotated[str, typer.Option("--url", help="Address of the collector.")],
    key_env: Annotated[
        str | None, typer.Option("--key-env", help="Variable that holds the key.")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option("--key-file", help="File that holds the key.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="For senders that name none, as Azure's client.")
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The Azure client's default.")
    ] = 50011,
) -> None:
    """Take what the Azure data collector's client posts, add the key, hand it to the collector.

    Whoever reaches its port sends with that key: leave it on loopback, beside the model.
    """
    import uvicorn

    from monitor.collector.sidecar import create_sidecar

    key = _key(key_env, key_file)
    uvicorn.run(create_sidecar(url.rstrip("/"), key, model), host=host, port=port, access_log=False)


def _key(key_env: str | None, key_file: Path | None) -> str:
    from monitor.settings import process_environment

    if (key_env is None) == (key_file is None):
        what = "name the variable or the file that holds the key, one of them"
        raise ConfigurationError("command", [Problem("--key-env", what)])
    if key_file is not None:
        found = read_text_file(key_file).strip()
    else:
        found = process_environment().get(key_env or "", "").strip()
    if not found:
        where = str(key_file) if key_file is not None else f"the variable {key_env}"
        raise ConfigurationError("command", [Problem("--key-env", f"{where} holds no key")])
    return found
