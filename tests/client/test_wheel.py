"""The distribution as people get it: built, installed alone into a clean environment, used."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.client.conftest import Place

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from inferwatch_client.client import Client
client = Client(sys.argv[1], sys.argv[2], model=sys.argv[3])
client.log_request({"age": 41})
client.close()
print(client.statistics().accepted, "monitor" in sys.modules)
"""


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by the backend that its pyproject.toml names."""
    folder = tmp_path_factory.mktemp("wheel")
    program = (
        "import os, hatchling.build as build\n"
        f"os.chdir({str(ROOT / 'client')!r})\n"
        f"print(build.build_wheel({str(folder)!r}))\n"
    )
    return folder / run(sys.executable, "-c", program).splitlines()[-1]


def test_the_wheel_holds_the_package_its_types_and_its_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    modules = {path.relative_to(ROOT / "client").as_posix() for path in
               (ROOT / "client" / "inferwatch_client").rglob("*.py")}  # fmt: skip
    assert modules <= set(names)
    assert "inferwatch_client/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    outside = [name for name in names if not name.startswith("inferwatch_client")]
    assert outside == []


def test_it_needs_nothing_beyond_httpx(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    [metadata] = [name for name in archive.namelist() if name.endswith("dist-info/METADATA")]
    lines = archive.read(metadata).decode().splitlines()
    needs = [line for line in lines if line.startswith("Requires-Dist:")]
    assert needs == ["Requires-Dist: httpx>=0.25"]


def test_it_works_installed_alone_in_a_clean_environment(
    wheel: Path, tmp_path: Path, place: Place, collector: str
) -> None:
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"))
    python = str(tmp_path / "venv" / "bin" / "python")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    assert run(python, "-c", PROGRAM, collector, place.key, place.model) == "1 False"
    assert place.stored() == 1
