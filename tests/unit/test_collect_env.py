"""What one look at a machine tells, and that what it can't know stays unknown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from monitor.collect_env.accelerators import accelerator_facts, cuda_version
from monitor.collect_env.collect import put_together
from monitor.collect_env.collected import Facts
from monitor.collect_env.packages import package_facts, runtime_tags
from monitor.collect_env.processor import flags_hash, processor_facts
from monitor.collect_env.surroundings import (
    container_id,
    git_revision,
    resource_attributes,
    surroundings,
)

DIGEST = "sha256:" + "ab" * 32


class NVMLError(Exception):
    """As pynvml has it."""


class NVMLError_LibraryNotFound(NVMLError):
    """No library."""


class NVMLError_NoPermission(NVMLError):
    """Not allowed."""


def refusing(error: Exception) -> Any:
    def init() -> None:
        raise error

    return SimpleNamespace(nvmlInit=init, NVMLError=NVMLError)


def working(**changes: Any) -> Any:
    """Two accelerators as NVML answers; a change replaces one call."""
    calls = {
        "nvmlInit": lambda: None, "nvmlShutdown": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: "550.90.07",
        "nvmlSystemGetCudaDriverVersion_v2": lambda: 12060,
        "nvmlDeviceGetCount": lambda: 2, "nvmlDeviceGetHandleByIndex": lambda place: place,
        "nvmlDeviceGetName": lambda _: b"NVIDIA A100-SXM4-80GB",
        "nvmlDeviceGetUUID": lambda place: f"GPU-{place}",
        "nvmlDeviceGetVbiosVersion": lambda _: "92.00",
        "nvmlDeviceGetCudaComputeCapability": lambda _: (8, 0),
        "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(total=80 << 30),
        "nvmlDeviceGetEnforcedPowerLimit": lambda _: 400_000,
    }  # fmt: skip
    return SimpleNamespace(**{**calls, **changes}, NVMLError=NVMLError)


def test_a_machine_without_nvml_says_that_it_has_no_driver() -> None:
    facts = accelerator_facts(refusing(NVMLError_LibraryNotFound()))
    assert facts.tags["driver_version"] == "none"
    assert facts.tags["accelerator_count"] == "0"
    assert facts.notes == ()


def test_nvml_that_may_not_be_asked_leaves_the_driver_unknown() -> None:
    facts = accelerator_facts(refusing(NVMLError_NoPermission()))
    assert facts.tags == {}
    assert "NVMLError_NoPermission" in facts.notes[0]


def test_accelerators_are_told_with_driver_cuda_number_and_power() -> None:
    facts = accelerator_facts(working())
    assert facts.tags == {
        "driver_version": "550.90.07", "accelerator_runtime_version": "12.6",
        "accelerator": "NVIDIA A100-SXM4-80GB", "accelerator_count": "2", "power_limit": "400 W",
    }  # fmt: skip
    assert facts.evidence["devices"][1]["compute_capability"] == "8.0"
    assert cuda_version(13000) == "13.0"


def test_one_call_that_nvml_refuses_costs_only_its_own_tag() -> None:
    def refuse(_: Any) -> None:
        raise NVMLError_NoPermission

    facts = accelerator_facts(working(nvmlDeviceGetEnforcedPowerLimit=refuse))
    assert "power_limit" not in facts.tags
    assert facts.tags["accelerator_count"] == "2"
    assert "nvmlDeviceGetEnforcedPowerLimit: NVMLError_NoPermission" in facts.notes


def test_processors_of_one_generic_name_are_told_apart() -> None:
    told = {"brand_raw": "Intel(R) Xeon(R) Processor", "family": 6, "model": 143, "stepping": 8,
            "flags": ["avx2", "amx_int8"]}  # fmt: skip
    other = {**told, "model": 85, "flags": ["avx2"]}
    one, two = processor_facts(told).tags, processor_facts(other).tags
    assert one["cpu_model"] == "Intel(R) Xeon(R) Processor (6/143/8)"
    assert one["cpu_model"] != two["cpu_model"]
    assert one["cpu_flags_hash"] != two["cpu_flags_hash"]
    assert flags_hash(["b", "a"]) == flags_hash(["a", "b"])
    assert processor_facts({}).tags == {}


def test_the_processor_of_this_machine_is_told() -> None:
    assert set(processor_facts().tags) <= {"cpu_model", "cpu_flags_hash"}
    assert processor_facts().tags


@pytest.mark.parametrize(
    ("packages", "tags"),
    [
        ({"vllm": "0.32.0", "torch": "2.13.0"}, {"runtime": "vllm", "runtime_version": "0.32.0"}),
        ({"onnxruntime": "1.32.0"}, {"runtime": "onnxruntime", "runtime_version": "1.32.0"}),
        ({"onnxruntime": "1.32.0", "torch": "2.13.0"}, {}),
        ({"vllm": "0.32.0", "sglang": "0.5.23"}, {}),
        ({"numpy": "2.0.0"}, {}),
    ],
)
def test_a_runtime_is_told_only_where_it_is_no_guess(
    packages: dict[str, str], tags: dict[str, str]
) -> None:
    found, notes = runtime_tags(packages)
    assert found == tags
    assert bool(notes) == (not tags)


def test_packages_of_an_interpreter_are_asked_of_itself() -> None:
    facts = package_facts(Path(sys.executable))
    assert "numpy" in facts.evidence["packages"]
    missing = package_facts(Path("/nonexistent/python"))
    assert missing.tags == {}
    assert "could not be asked" in missing.notes[0]


def test_resource_attributes_and_variables_become_tags_and_one_mark(tmp_path: Path) -> None:
    environ = {
        "OTEL_RESOURCE_ATTRIBUTES": "service.instance.id=i-7,ml.precision=int8,cloud.region=eu%2D1,"
        f"container.image.repo_digests=shop/model@{DIGEST}",
        "POD_NAME": "p-1", "AWS_REGION": "us-1", "GIT_COMMIT": "abc",
    }  # fmt: skip
    facts, joins = surroundings(environ, "node-1", folder=tmp_path)
    assert facts.tags == {"precision": "int8", "region": "eu-1", "code_revision": "abc",
                          "image_digest": DIGEST}  # fmt: skip
    assert joins == {"service.instance.id": "i-7"}
    assert facts.evidence["marks"]["k8s.pod.name"] == "p-1"
    assert surroundings({"POD_NAME": "p-1"}, "h", folder=tmp_path)[1] == {"k8s.pod.name": "p-1"}
    assert surroundings({}, "h", folder=tmp_path)[1] == {"host.name": "h"}
    assert resource_attributes("a=1,,b,=c, d = e%20f") == {"a": "1", "d": "e f"}


def test_the_tag_of_an_image_is_no_digest(tmp_path: Path) -> None:
    facts, _ = surroundings({"IMAGE_DIGEST": "shop/model:v3"}, "h", folder=tmp_path)
    assert "image_digest" not in facts.tags
    assert "no sha256 digest" in facts.notes[0]


def test_a_container_is_found_by_its_control_group(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    number = "0123456789abcdef" * 4
    (tmp_path / "proc/self/cgroup").write_text(
        f"0::/kubepods.slice/cri-containerd-{number}.scope\n"
    )
    assert container_id(tmp_path) == number
    assert container_id(tmp_path / "nowhere") is None


def test_the_code_is_told_by_its_commit_and_whether_it_was_changed(tmp_path: Path) -> None:
    assert git_revision(tmp_path) is None

    def git(*arguments: str) -> None:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@t"]
        subprocess.run([*command, *arguments], check=True, capture_output=True)

    (tmp_path / "model.py").write_text("1\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    clean = git_revision(tmp_path)
    assert clean is not None
    assert len(clean) == 40
    (tmp_path / "model.py").write_text("2\n")
    assert git_revision(tmp_path) == f"{clean}-dirty"


def test_what_a_person_says_goes_before_what_is_found() -> None:
    parts = (
        Facts({"accelerator": "none", "cpu_model": "EPYC"}, {}, ("the runtime is unknown: x",)),
    )
    found = put_together(parts, {"host.name": "h"}, {"runtime": "onnx"}, {"pod": "p"})
    assert found.tags == {"accelerator": "none", "cpu_model": "EPYC", "hardware": "EPYC",
                          "runtime": "onnx"}  # fmt: skip
    assert found.joins == {"pod": "p"}
    assert found.notes == ()
    gpu = put_together((Facts({"accelerator": "A100", "accelerator_count": "2"}),), {}, {}, {})
    assert gpu.tags["hardware"] == "2 x A100"
