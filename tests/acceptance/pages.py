"""What tests of pages in a real browser share: the server, waiting, looking, and axe-core.

A test module imports the fixtures `browser` and `pictures` and names them in its `__all__`.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from tests.dashboard_seed import PROJECT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium here: apt-get install chromium to run this test"
)
LOOKS = ((1440, "light"), (390, "light"), (390, "dark"), (1440, "dark"))


# Streamlit looks for its server under the page's own address first and is told 404; harmless.
EXPECTED_MISSES = re.compile(r"/(model|column|alert|overview)/_stcore/(health|host-config)$")


@dataclass
class Watched:
    """A page with everything it complained about."""

    page: Page
    problems: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, page: Page, server: str) -> Watched:
        watched = cls(page)
        page.on("pageerror", lambda error: watched.problems.append(str(error)))
        page.on("console", watched._on_console)
        page.on("request", lambda request: watched._on_request(request.url, server))
        return watched

    def _on_console(self, message) -> None:
        if message.type == "error" and not EXPECTED_MISSES.search(message.location.get("url", "")):
            self.problems.append(message.text)

    def _on_request(self, url: str, server: str) -> None:
        host = server.removeprefix("http://")
        if not url.startswith((f"http://{host}", f"ws://{host}", "data:", "blob:")):
            self.problems.append(f"a request left this server: {url}")


@contextmanager
def served(url: str) -> Iterator[str]:
    """The dashboard as its own process; the address it answers at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "monitor", "dashboard", "--port", str(port)]
    with subprocess.Popen(command, env={**os.environ, "DATABASE_URL": url}) as process:
        address = f"http://127.0.0.1:{port}"
        try:
            _wait_for(f"{address}/_stcore/health")
            yield address
        finally:
            process.terminate()
            process.wait(20)


def _wait_for(address: str) -> None:
    for _ in range(200):
        try:
            with urllib.request.urlopen(address, timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"{address} did not answer in 20 seconds")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pictures() -> Path:
    """PAGE_PICTURES keeps the pictures where a person can look at them."""
    folder = os.environ.get("PAGE_PICTURES")
    if folder is None:
        folder = tempfile.mkdtemp(prefix="inferwatch-pages-")
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder)


def visit(page: Page, server: str, path: str, **query: str) -> None:
    """Open an address and wait until the script has run and its charts stand."""
    page.goto(f"{server}/{path}?{urlencode({'project': PROJECT, **query})}")
    page.locator("h1").first.wait_for(timeout=30_000)
    settled(page)


# What the page says of itself; the little mark of a running script comes too late to wait for.
RESTING = (
    "[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state=notRunning]"
)
DRAWING = "[data-testid=stStatusWidget],[data-testid=stSkeleton],[data-stale=true]"


def settled(page: Page) -> None:
    """Wait until nothing runs any more. No wait_for_function: the policy forbids eval."""
    quiet = 0
    for _ in range(400):
        page.wait_for_timeout(100)
        rests = page.locator(RESTING).count() and not page.locator(DRAWING).count()
        quiet = quiet + 1 if rests else 0
        if quiet >= 4:
            return
    pytest.fail("the page did not come to rest in 40 seconds")


def words_missing(page: Page, words: Sequence[str], seconds: float = 20.0) -> list[str]:
    """The words that the page does not show within the time, read again until it does."""
    last = time.monotonic() + seconds
    while True:
        text = page.locator("[data-testid=stMain]").inner_text()
        missing = [word for word in words if word not in text]
        if not missing or time.monotonic() > last:
            return missing
        page.wait_for_timeout(200)


def grown(page: Page, width: int) -> None:
    """Make the window as high as the page, so that everything is drawn and in the picture."""
    before = 0
    page.set_viewport_size({"width": width, "height": 900})
    for _ in range(4):
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        if height == before:
            return
        before = min(int(height) + 40, 9000)
        page.set_viewport_size({"width": width, "height": before})
        settled(page)


def sticks_out(page: Page) -> int:
    """By how many pixels the document or its main part is wider than it may be."""
    return page.evaluate(
        "(() => { const main = document.querySelector('[data-testid=stMain]');"
        " return Math.max(0, document.documentElement.scrollWidth - window.innerWidth,"
        " main.scrollWidth - main.clientWidth) })()"
    )


def background_is_dark(page: Page) -> bool:
    colour = page.evaluate(
        "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    )
    red, green, blue = (int(each) for each in re.findall(r"\d+", colour)[:3])
    return red + green + blue < 200


def clipped(page: Page) -> list[str]:
    """Texts that stick out of the window on the right."""
    return page.evaluate(
        "(() => [...document.querySelectorAll('[data-testid=stMain] p, [data-testid=stMain] h1,"
        " [data-testid=stMain] h2, [data-testid=stMain] h3, [data-testid=stMain] canvas,"
        " [data-testid=stMain] button')].filter(each => { const box = each.getBoundingClientRect();"
        " return box.width > 0 && (box.right > window.innerWidth + 1 || box.left < -1)"
        " && !each.closest('[data-testid=stDataFrame]') })"
        ".map(each => each.innerText || each.tagName))()"
    )


# What axe-core finds in Streamlit's own code and nothing of ours reaches: rule, the part of the
# selector that names the element, and why. Anything else is a violation.
EXCEPTED: tuple[tuple[str, str, str], ...] = ()


def axe_violations(page: Page) -> list[str]:
    """What axe-core finds wrong on the page as it stands, a line an element.

    The script is handed over by the debugger's door, so that the page's policy does not stop it.
    """
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']} ({each['impact']}): {node['target']} {node['html'][:300]}"
        for each in found
        for node in each["nodes"]
        if not _is_excepted(each["id"], str(node["target"]))
    ]


def _is_excepted(rule: str, target: str) -> bool:
    return any(rule == excepted and part in target for excepted, part, _ in EXCEPTED)
