"""Versions of packages that serve models, in this interpreter or in the one that serves."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from monitor.collect_env.collected import Facts

SERVERS = {"vllm": "vllm", "sglang": "sglang", "nvidia-pytriton": "triton", "mlserver": "mlserver",
           "bentoml": "bentoml", "kserve": "kserve", "torchserve": "torchserve",
           "litserve": "litserve", "text-generation-server": "tgi"}  # fmt: skip
LIBRARIES = {"onnxruntime": "onnxruntime", "onnxruntime-gpu": "onnxruntime", "torch": "torch",
             "tensorflow": "tensorflow", "openvino": "openvino", "tensorrt": "tensorrt",
             "llama-cpp-python": "llama.cpp", "xgboost": "xgboost", "lightgbm": "lightgbm",
             "scikit-learn": "scikit-learn"}  # fmt: skip
BESIDE = ("transformers", "tokenizers", "numpy", "cuda-python", "triton", "flash-attn", "mlflow",
          "inferwatch-client")  # fmt: skip
SECONDS = 60
_ASK = """
import json, platform, sys
from importlib.metadata import distributions
wanted = set(sys.argv[1:])
found = {}
for each in distributions():
    name = (each.metadata["Name"] or "").lower().replace("_", "-")
    if name in wanted:
        found.setdefault(name, each.version)
print(json.dumps({"python": platform.python_version(), "packages": found}))
"""


def package_facts(python: Path | None = None) -> Facts:
    """The runtime where exactly one server (or, without one, one library) is installed.

    `python`: the interpreter that serves; default this one. Several are no guess: a note says so.
    """
    interpreter = str(python or sys.executable)
    command = [interpreter, "-c", _ASK, *SERVERS, *LIBRARIES, *BESIDE]
    try:
        done = subprocess.run(  # noqa: S603 - an interpreter that the person names
            command, capture_output=True, timeout=SECONDS, check=True
        )
        told = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        note = f"packages are unknown: {interpreter} could not be asked ({type(error).__name__})"
        return Facts(notes=(note,))
    packages = told["packages"]
    tags, notes = runtime_tags(packages)
    system = {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
    }
    return Facts(tags, {**told, "os": {**system, **_distribution()}}, notes)


def runtime_tags(packages: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """`runtime` and `runtime_version` out of installed packages, and a note when it is unclear."""
    for group in (SERVERS, LIBRARIES):
        found = {group[name]: version for name, version in packages.items() if name in group}
        if len(found) == 1:
            ((runtime, version),) = found.items()
            return {"runtime": runtime, "runtime_version": version}, ()
        if found:
            several = ", ".join(sorted(found))
            return {}, (f"the runtime is unknown: {several} are all installed; set it with --tag",)
    return {}, ("the runtime is unknown: no package that serves is installed; set it with --tag",)


def _distribution() -> dict[str, str]:
    try:
        told = platform.freedesktop_os_release()
    except OSError:
        return {}
    return {name.lower(): told[name] for name in ("ID", "VERSION_ID") if name in told}
