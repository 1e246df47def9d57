"""PyTorch: version tags of a module, and hooks that log each of its calls."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from inferwatch_client.client import Client
from inferwatch_client.inference import STANDARD_TIMES, Inference, TimeColumns

Columns = Callable[[tuple[Any, ...], Any], Mapping[str, Any]]


def module_tags(module: Any) -> dict[str, str]:
    """runtime, runtime_version, runtime_backend, precision, threads, accelerator and model_digest.

    precision is that of the weights, `float32+tf32` where matrix products may round to TF32. The
    digest is of the weights alone: not of the code of the module.
    """
    import torch

    weights = module.state_dict()
    tensors = [each for each in weights.values() if isinstance(each, torch.Tensor)]
    devices = sorted({each.device.type for each in tensors})
    tags = {
        "runtime": "pytorch",
        "runtime_version": str(torch.__version__),
        "model_digest": weights_digest(weights),
        "threads": str(torch.get_num_threads()),
        "accelerator": "none",
    }
    if devices:
        tags["runtime_backend"] = "+".join(devices)
    kinds = sorted({_kind(each) for each in tensors if each.is_floating_point()})
    if kinds:
        tags["precision"] = "+".join(kinds)
    if "cuda" in devices:
        tags.update(_cuda_tags(torch, tags.get("precision", "")))
    return tags


def _cuda_tags(torch: Any, precision: str) -> dict[str, str]:
    devices = [torch.cuda.get_device_name(each) for each in range(torch.cuda.device_count())]
    tags = {"accelerator": "+".join(sorted(set(devices))), "accelerator_count": str(len(devices))}
    if torch.version.cuda:
        tags["accelerator_runtime_version"] = f"cuda {torch.version.cuda}"
    if torch.backends.cuda.matmul.allow_tf32 and "float32" in precision:
        tags["precision"] = f"{precision}+tf32"
    return tags


def weights_digest(weights: Mapping[str, Any]) -> str:
    """`sha256:…` of a state_dict: names, kinds, shapes and the bytes of all tensors, by name."""
    import torch

    digest = hashlib.sha256()
    for name in sorted(weights):
        value = weights[name]
        if not isinstance(value, torch.Tensor):
            digest.update(f"{name} {value!r}\n".encode())
            continue
        digest.update(f"{name} {_kind(value)} {tuple(value.shape)}\n".encode())
        plain = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        digest.update(plain.numpy().tobytes())
    return f"sha256:{digest.hexdigest()}"


def watch_module(
    client: Client,
    module: Any,
    columns: Columns,
    *,
    times: TimeColumns = STANDARD_TIMES,
    tags: Mapping[str, str] | None = None,
    model: str | None = None,
    leg: str | None = None,
) -> Callable[[], None]:
    """Log each call of the module as one request; returns a function that ends this.

    `columns(inputs, output)` gives what to log. It runs in the caller's thread: reading a tensor of
    a GPU there waits for the GPU. On a GPU a call returns before the work is done, so no latency is
    logged then.
    """
    on_cpu = all(each.device.type == "cpu" for each in module.state_dict().values())
    measured = times if on_cpu else TimeColumns(latency=None, first_token_time=None)
    place = {"tags": {**module_tags(module), **(tags or {})}, "model": model, "leg": leg}
    hooks = _Hooks(client, columns, measured, place)
    handles = (
        module.register_forward_pre_hook(hooks.before),
        module.register_forward_hook(hooks.after, always_call=True),
    )

    def end() -> None:
        for handle in handles:
            handle.remove()

    return end


class _Hooks:
    """What the module calls before and after; calls inside one another are kept in order."""

    def __init__(
        self, client: Client, columns: Columns, times: TimeColumns, place: dict[str, Any]
    ) -> None:
        import threading

        self._client = client
        self._columns = columns
        self._times = times
        self._place = place
        self._local = threading.local()

    def before(self, _module: Any, _inputs: Any) -> None:
        begun = Inference(self._client, times=self._times, **self._place)
        self._open().append(begun)

    def after(self, _module: Any, inputs: Any, output: Any) -> None:
        """PyTorch calls this after an error too, with no output, and only then passes it on."""
        if not self._open():
            return
        inference = self._open().pop()
        if output is None:
            inference.end_as("failed", "the call raised an error")
        else:
            try:
                inference.add(self._columns(inputs, output))
            except Exception as error:  # noqa: BLE001 - a mistake in `columns` is not the model's
                inference.drop("columns_failed", type(error).__name__)
        inference.finish()

    def _open(self) -> list[Inference]:
        if not hasattr(self._local, "open"):
            self._local.open = []
        found: list[Inference] = self._local.open
        return found


def _kind(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")
