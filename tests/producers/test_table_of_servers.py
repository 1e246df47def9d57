"""docs/producers.md tells of every server how it is known to be read, and what it names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "producers.md"
SERVERS = {
    *("PyTorch", "ONNX Runtime", "TensorRT and Triton", "TensorFlow Serving", "OpenVINO"),
    *("vLLM", "llama.cpp", "SGLang", "TGI", "TorchServe", "BentoML", "MLServer and Seldon"),
    *("KServe", "SageMaker", "Azure", "Databricks", "Vertex", "OpenAI API", "MLflow"),
}
HOW = {"real server", "real server, weekly", "bytes parsed", "emulated from its source"}
TRAPS = 22


def rows() -> list[list[str]]:
    section = PAGE.read_text(encoding="utf-8").partition("## Servers\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_server_has_its_row() -> None:
    assert {row[0] for row in rows()} == SERVERS
    assert len(rows()) >= len(SERVERS)


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_row_names_a_test_and_bytes_that_exist(row: list[str]) -> None:
    _, what, material, proof, how = row
    assert what
    assert how in HOW
    named = re.findall(r"`([^`]+)`", proof)
    assert named, "a row names its test"
    for test in named:
        path, _, name = test.partition("::")
        assert name in functions(ROOT / path), test
    for path in re.findall(r"`([^`]+)`", material):
        assert (ROOT / path).exists(), path
    weekly = "weekly" in how
    marked = any("@weekly" in (ROOT / each.partition("::")[0]).read_text() for each in named)
    assert marked or not weekly, "a weekly row is proven by a test that runs weekly"


def test_each_of_the_22_traps_has_a_test_of_its_number() -> None:
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for name in functions(path):
            match = re.match(r"test_trap_(\d\d)_\w+", name)
            if match:
                found.add(int(match[1]))
    assert found == set(range(1, TRAPS + 1))
