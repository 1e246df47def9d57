"""Every server whose metrics are understood. A new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from monitor.intake.server_metrics.base import Server
from monitor.intake.server_metrics.servers.genai import GENAI
from monitor.intake.server_metrics.servers.llama_cpp import LLAMA_CPP
from monitor.intake.server_metrics.servers.openvino import OPENVINO
from monitor.intake.server_metrics.servers.process import PROCESS
from monitor.intake.server_metrics.servers.sglang import SGLANG
from monitor.intake.server_metrics.servers.tensorflow_serving import TENSORFLOW_SERVING
from monitor.intake.server_metrics.servers.tgi import TGI
from monitor.intake.server_metrics.servers.torchserve import TORCHSERVE
from monitor.intake.server_metrics.servers.triton import TRITON
from monitor.intake.server_metrics.servers.vllm import VLLM

SERVERS: tuple[Server, ...] = (
    VLLM, TRITON, LLAMA_CPP, SGLANG, TGI, TENSORFLOW_SERVING, TORCHSERVE, OPENVINO, GENAI, PROCESS,
)  # fmt: skip

BY_NAME: Mapping[str, Server] = {name: server for server in SERVERS for name in server.taken}


def is_known_metric(name: str) -> bool:
    """Whether a family of this name becomes a reading."""
    return name in BY_NAME


def servers_of(names: Iterable[str]) -> tuple[str, ...]:
    """Which servers told these families, the process itself left out."""
    found = {BY_NAME[name].name for name in names if name in BY_NAME} - {PROCESS.name}
    return tuple(server.name for server in SERVERS if server.name in found)
