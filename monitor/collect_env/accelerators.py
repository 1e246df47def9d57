"""NVIDIA accelerators by NVML. No NVML means no driver: that is `none`, not unknown."""

from __future__ import annotations

from typing import Any

import pynvml

from monitor.collect_env.collected import Facts

NONE = "none"
NO_DRIVER = ("NVMLError_LibraryNotFound", "NVMLError_DriverNotLoaded")


def accelerator_facts(nvml: Any = pynvml) -> Facts:
    """Driver, CUDA, names, number and power limit of the accelerators.

    An NVML that answers with an error other than "not there" leaves the tags unknown, with a note.
    """
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        kind = type(error).__name__
        if kind in NO_DRIVER:
            tags = {"driver_version": NONE, "accelerator": NONE, "accelerator_count": "0",
                    "accelerator_runtime_version": NONE}  # fmt: skip
            return Facts(tags, {"nvml": kind})
        return Facts({}, {"nvml": kind}, (f"accelerators are unknown: NVML says {kind}",))
    try:
        return _asked(nvml)
    finally:
        nvml.nvmlShutdown()


def _asked(nvml: Any) -> Facts:
    notes: list[str] = []

    def ask(name: str, *arguments: Any) -> Any:
        try:
            value = getattr(nvml, name)(*arguments)
        except nvml.NVMLError as error:
            notes.append(f"{name}: {type(error).__name__}")
            return None
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    driver = ask("nvmlSystemGetDriverVersion")
    cuda = ask("nvmlSystemGetCudaDriverVersion_v2")
    devices = [_device(ask, place) for place in range(ask("nvmlDeviceGetCount") or 0)]
    names = sorted({each["name"] for each in devices if each["name"]})
    limits = sorted({each["power_limit_w"] for each in devices if each["power_limit_w"]})
    tags = {
        "driver_version": driver,
        "accelerator_runtime_version": None if cuda is None else cuda_version(cuda),
        "accelerator": ", ".join(names) or (None if devices else NONE),
        "accelerator_count": str(len(devices)),
        "power_limit": ", ".join(f"{limit:g} W" for limit in limits) or None,
    }
    known = {name: value for name, value in tags.items() if value}
    return Facts(known, {"nvml": "ok", "devices": devices}, tuple(notes))


def _device(ask: Any, place: int) -> dict[str, Any]:
    handle = ask("nvmlDeviceGetHandleByIndex", place)
    if handle is None:
        return {"name": None, "power_limit_w": None}
    limit = ask("nvmlDeviceGetEnforcedPowerLimit", handle)
    memory = ask("nvmlDeviceGetMemoryInfo", handle)
    capability = ask("nvmlDeviceGetCudaComputeCapability", handle)
    return {
        "name": ask("nvmlDeviceGetName", handle),
        "uuid": ask("nvmlDeviceGetUUID", handle),
        "vbios": ask("nvmlDeviceGetVbiosVersion", handle),
        "compute_capability": None if capability is None else ".".join(map(str, capability)),
        "memory_bytes": None if memory is None else int(memory.total),
        "power_limit_w": None if limit is None else limit / 1000,
    }


def cuda_version(number: int) -> str:
    """NVML's number of the CUDA driver as text: 12060 is 12.6."""
    return f"{number // 1000}.{number % 1000 // 10}"
