"""The shape of the code base: arrows between packages, short files, bare package files."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("monitor", "alerts", "dashboards")
LONGEST_FILE, LONGEST_FUNCTION = 400, 60
EXCEPTED_FILES = {"monitor/store/tables.py"}  # the one list of all tables


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_import_contracts_hold() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("folder", [*PACKAGES, "migrations"])
def test_package_files_hold_a_docstring_only(folder: str) -> None:
    for path in sources(folder):
        if path.name == "__init__.py":
            body = ast.parse(path.read_text(encoding="utf-8")).body
            assert len(body) == 1, f"{name_of(path)} holds more than a docstring"
            docstring = body[0]
            assert isinstance(docstring, ast.Expr), name_of(path)
            assert isinstance(docstring.value, ast.Constant), name_of(path)


def test_no_file_is_too_long_to_read() -> None:
    long = {
        name_of(path): lines
        for path in sources(*PACKAGES)
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST_FILE
        and name_of(path) not in EXCEPTED_FILES
    }
    assert long == {}


def test_no_function_is_too_long_to_read() -> None:
    """Signatures don't count: those of commands are lists of options."""
    long = {
        f"{name_of(path)}:{node.name}": length
        for path in sources(*PACKAGES)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.body[0].lineno + 1) > LONGEST_FUNCTION
    }
    assert long == {}


def test_every_module_says_what_it_is_for() -> None:
    bare = [
        name_of(path)
        for path in sources(*PACKAGES)
        if ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) is None
    ]
    assert bare in ([], ["monitor/__main__.py"])


def test_nothing_is_left_for_later() -> None:
    words = ("TO" + "DO", "FIX" + "ME", "X" + "XX")
    found = [
        name_of(path)
        for path in sources(*PACKAGES, "tests", "migrations")
        if any(word in path.read_text(encoding="utf-8") for word in words)
    ]
    assert found == []
