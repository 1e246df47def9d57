"""A report by the command line in another place: another person, folder, zone, locale, no fonts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.evidence.signing import SigningKey
from tests.dashboard_seed import MODEL
from tests.seeded_database import SeededDatabase, database, seeded_template

__all__ = ["database", "seeded_template"]

pytestmark = pytest.mark.postgres
ROOT = Path(__file__).parents[3]
FONTS = Path("/usr/share/fonts")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
# The interpreter may lie in a folder of root's alone: reading it is all that is kept of root.
STILL_READS = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
WITHOUT_FONTS = (
    *("unshare", "--mount", "sh", "-c", f'mount -t tmpfs none {FONTS} && exec "$@"', "sh"),
    *NOBODY, *STILL_READS,
)  # fmt: skip
FORMS = {"report.pdf", "report.html", "report.json"}
KEY = SigningKey.generate().private_pem.decode()


@pytest.fixture(scope="module")
def asked(database: SeededDatabase) -> list[str]:
    """The question, as it was known when all rows had been written."""
    first, last = (f"{database.now - timedelta(days=ago):%Y-%m-%d}" for ago in (6, 1))
    known = f"{database.now + timedelta(minutes=10):%Y-%m-%dT%H:%M:%SZ}"
    return [MODEL, "--project", "flights", "--from", first, "--to", last, "--as-of", known]


def written(
    url: str, asked: Sequence[str], folder: Path, before: Sequence[str] = (), **settings: str
) -> bytes:
    """The signed bundle of all forms, as a process of its own writes it into this folder."""
    environment = {
        "PATH": os.environ["PATH"], "DATABASE_URL": url, "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1", "INFERWATCH_SIGNING_KEY": KEY, "HOME": str(folder),
        "INFERWATCH_HOME": str(folder), **settings,
    }  # fmt: skip
    command = [*before, sys.executable, "-m", "monitor", "report", *asked, "--format", "zip"]
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    (made,) = folder.glob("*.zip")
    return made.read_bytes()


@pytest.fixture(scope="module")
def here(
    database: SeededDatabase, asked: list[str], tmp_path_factory: pytest.TempPathFactory
) -> bytes:
    return written(database.url, asked, tmp_path_factory.mktemp("here"), TZ="UTC")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder with an odd name that everybody may enter and write to."""
    folder = Path("/var/tmp") / f"Reports of {os.getpid()} – été"
    folder.mkdir()
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def test_it_holds_every_form(here: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(here)
    names = {Path(each).name for each in zipfile.ZipFile(tmp_path / "a.zip").namelist()}
    assert names >= FORMS
    assert {each for each in names if each.endswith(".csv")}


def test_folder_zone_locale_and_hash_seed_change_no_byte(
    database: SeededDatabase, asked: list[str], here: bytes, elsewhere: Path
) -> None:
    settings = {"TZ": "Pacific/Auckland", "LC_ALL": "C", "LANG": "tr_TR.UTF-8",
                "PYTHONHASHSEED": "7", "PYTHONUTF8": "0"}  # fmt: skip
    assert written(database.url, asked, elsewhere, **settings) == here


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_another_person_without_fonts_gets_the_same_bytes(
    database: SeededDatabase, asked: list[str], here: bytes, elsewhere: Path
) -> None:
    tried = subprocess.run([*WITHOUT_FONTS, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no mounts of its own on this machine: {tried.stderr.strip()}")
    assert not subprocess.run(
        [*WITHOUT_FONTS, "ls", str(FONTS)], capture_output=True, text=True, check=True
    ).stdout
    again = written(database.url, asked, elsewhere, WITHOUT_FONTS, TZ="Asia/Kathmandu")
    assert next(elsewhere.glob("*.zip")).stat().st_uid == 65534
    assert again == here
