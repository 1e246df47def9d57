"""A newcomer follows the documents: every ```console block is run, in order, in one shell.

The README's part "Watch a model of your own" first, then the other documents on what it has left
behind. `inferwatch up` is real, on ports of its own and a database in a folder of its own.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.documents import DOCUMENTS, ROOT, Step, blocks, prints_as_said, steps

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(300)]

START = "inferwatch up"
ORDER = (
    *("README.md", "contract.md", "labels.md", "http-api.md", "measurements.md", "alarms.md"),
    *("groups.md", "alerts.md", "channels.md", "reports.md", "evidence.md", "retention.md"),
    "operating.md",
)
"""The documents that hold console blocks, each building on those before."""
REFERENCE_ROWS = 400
READY_SECONDS, STEP_SECONDS = 90, 60


@dataclass(frozen=True)
class Done:
    """A command that was run: what it printed (errors included) and its exit code."""

    step: Step
    printed: str
    code: int


@dataclass(frozen=True)
class Installation:
    """A running `inferwatch up`, what it said, and everything that was run on it."""

    collector: str
    dashboard: str
    started: str
    done: tuple[Done, ...]

    def answers_of(self, part: str) -> list[str]:
        """What the commands that hold this text printed, in order."""
        return [each.printed for each in self.done if part in each.step.command]


def console_steps(name: str) -> list[Step]:
    """All commands of a document's console blocks."""
    document = next(path for path in DOCUMENTS if path.name == name)
    return [step for block in blocks(document) if block.kind == "console" for step in steps(block)]


def write_material(folder: Path) -> None:
    """What a reader brings: rows the model has seen, and alert rules (those of the documents)."""
    rng = random.Random(20260301)
    lines = ["age,income,region,score,predicted_default"]
    for _ in range(REFERENCE_ROWS):
        score = rng.betavariate(2, 6)
        income = rng.lognormvariate(10.5, 0.4)
        where = rng.choice(["north", "south", "west"])
        late = str(score > 0.4).lower()
        lines.append(f"{rng.randint(18, 80)},{income:.2f},{where},{score:.4f},{late}")
    (folder / "reference.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (example,) = (b for b in blocks(ROOT / "docs" / "alerts.md") if b.kind == "yaml")
    (folder / "alerts.yaml").write_text(example.text + "\n", encoding="utf-8")


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at now."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def status_of(address: str) -> int:
    """The HTTP status of a GET; 0 when nobody answers."""
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def wait_for(address: str, process: subprocess.Popen[str], log: Path) -> None:
    """Until the address answers 200; fails with the log when the program ended or took too long."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if status_of(address) == 200:
            return
        time.sleep(0.2)
    pytest.fail(f"{address} did not answer 200:\n{log.read_text(encoding='utf-8')[-4000:]}")


@dataclass
class Shell:
    """One bash that keeps its variables from command to command, as a reader's terminal does."""

    process: subprocess.Popen[str]
    ports: dict[str, str]

    @classmethod
    def open(cls, folder: Path, environment: dict[str, str], ports: dict[str, str]) -> Shell:
        process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"], cwd=folder, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return cls(process, ports)

    def run(self, step: Step) -> Done:
        """Run one command to its end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        end = f"end-of-command-{random.randrange(10**12)}"
        self.process.stdin.write(f"{self._here(step.command)}\ncode=$?; echo; echo {end} $code\n")
        self.process.stdin.flush()
        printed = ""
        for line in self.process.stdout:
            if line.startswith(end):
                return Done(step, self.as_told(printed.removesuffix("\n")), int(line.split()[1]))
            printed += line
        raise AssertionError(f"{step.place}: the shell ended: {printed}")

    def _here(self, text: str) -> str:
        for told, real in self.ports.items():
            text = text.replace(told, real)
        return text

    def as_told(self, text: str) -> str:
        """The text with the addresses that the documents name."""
        for told, real in self.ports.items():
            text = text.replace(real, told)
        return text

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that the database's account can reach, so that the data lies in it and goes too."""
    with tempfile.TemporaryDirectory(prefix="inferwatch-quickstart-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def installation(folder: Path) -> Iterator[Installation]:
    """Everything the documents say, done once."""
    write_material(folder)
    collector_port, dashboard_port = free_ports(2)
    environment = {
        **{name: value for name, value in os.environ.items() if name != "DATABASE_URL"},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "INFERWATCH_HOME": str(folder / "home"),
        "INFERWATCH_COLLECTOR_PORT": str(collector_port),
        "INFERWATCH_DASHBOARD_PORT": str(dashboard_port),
    }
    collector, dashboard = (f"127.0.0.1:{port}" for port in (collector_port, dashboard_port))
    ports = {"127.0.0.1:8700": collector, "127.0.0.1:8501": dashboard}
    log, said = folder / "up.log", folder / "up.out"
    with (
        log.open("w", encoding="utf-8") as errors,
        said.open("w", encoding="utf-8") as output,
        subprocess.Popen(
            START.split(), cwd=folder, env=environment, text=True, stdout=output, stderr=errors
        ) as up,
    ):
        shell = Shell.open(folder, environment, ports)
        try:
            wait_for(f"http://{collector}/readyz", up, log)
            wait_for(f"http://{dashboard}/healthz", up, log)
            wait_for_worker(environment, folder)
            wanted = [step for name in ORDER for step in console_steps(name)]
            done = [shell.run(step) for step in wanted if step.command != START]
            started = shell.as_told(said.read_text(encoding="utf-8"))
            yield Installation(collector, dashboard, started, tuple(done))
        finally:
            shell.close()
            up.send_signal(signal.SIGTERM)
            up.wait(60)
    assert up.returncode == 0, log.read_text(encoding="utf-8")[-4000:]


def wait_for_worker(environment: dict[str, str], folder: Path) -> None:
    """Until the worker has said that it lives: `doctor` asks for that."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        command = ["inferwatch", "doctor", "--json"]
        found = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        findings = json.loads(found.stdout or "[]")
        if any(each["what"] == "worker" and each["ok"] for each in findings):
            return
        time.sleep(0.5)
    pytest.fail("the worker never gave a heartbeat")


def test_every_command_ends_well_and_prints_what_the_document_shows(
    installation: Installation,
) -> None:
    wrong = [
        f"{done.step.place}: {done.step.command}\n  exit code {done.code}, printed:\n{done.printed}"
        for done in installation.done
        if done.code != 0 or (done.step.printed and not prints(done))
    ]
    assert not wrong, "\n".join(wrong)


def prints(done: Done) -> bool:
    return prints_as_said(done.step.printed, done.printed)


def test_requests_and_labels_are_accepted(installation: Installation) -> None:
    answers = [json.loads(each) for each in installation.answers_of("/v1/requests")]
    assert [each["accepted"] for each in answers] == [1]
    assert answers[0]["violations"] == 0
    labels = [json.loads(each) for each in installation.answers_of("/v1/labels")]
    assert [each["accepted"] for each in labels] == [1, 1]


def test_the_request_stands_in_the_readable_view(installation: Installation) -> None:
    (counted,) = installation.answers_of("db psql")
    assert re.search(r"^\s+1$", counted, re.MULTILINE)


def test_a_restored_backup_holds_the_model(installation: Installation) -> None:
    restored = installation.answers_of("inferwatch models")[-1]
    assert re.search(r"^credit\s+credit-team\s", restored, re.MULTILINE)


def test_the_reference_is_a_baseline(installation: Installation) -> None:
    (applied,) = installation.answers_of("--baseline reference.csv")
    assert f"{REFERENCE_ROWS:,} rows of reference.csv" in applied


def test_collector_and_dashboard_answer(installation: Installation) -> None:
    assert status_of(f"http://{installation.collector}/docs") == 200
    assert status_of(f"http://{installation.dashboard}/healthz") == 200


def test_nobody_sees_the_dashboard_before_the_first_link_is_used(
    installation: Installation,
) -> None:
    page = f"http://{installation.dashboard}/model?model=credit"
    assert status_of(page) == 401
    found = re.search(r"^Sign in    (http\S+/link/\S+)$", installation.started, re.MULTILINE)
    assert found is not None
    link = found[1].replace("127.0.0.1:8501", installation.dashboard)
    with httpx.Client(follow_redirects=True, headers={"Accept": "text/html"}) as browser:
        mark = re.search(r'name="mark" value="([^"]+)"', browser.get(link).text)
        assert mark is not None
        entered = browser.post(link, data={"login": "admin", "password": "", "mark": mark[1]})
        assert entered.url.path == "/"
        assert browser.get(page).status_code == 200
        assert browser.get(link).status_code == 410


def test_the_start_prints_what_the_readme_shows(installation: Installation) -> None:
    (step,) = [each for each in console_steps("README.md") if each.command == START]
    assert prints_as_said(step.printed, installation.started)
    assert re.search(r"^API key    iw_", installation.started, re.MULTILINE)


def test_every_document_with_console_blocks_is_run() -> None:
    with_commands = {path.name for path in DOCUMENTS if console_steps(path.name)}
    assert with_commands == set(ORDER)
