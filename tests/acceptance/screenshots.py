"""Makes the pictures of every page in `docs/images`, from an installation that holds the demo.

`make demo`, then `inferwatch db start` and `make pictures`, with the same INFERWATCH_HOME.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.progress import track

from dashboards.registry import PAGES
from monitor.cli.common import settings_with_database
from tests.acceptance.pages import CHROMIUM, grown, settled
from tests.signed_in import Served, served, signed_in

FOLDER = Path(__file__).parents[2] / "docs" / "images"
WIDTH, MOST_HEIGHT = 1440, 2400
COLOURS = 128  # charts and text lose nothing that is seen, and a picture is a third as large
MORE = {"model-drift": ("model", {"section": "drift"})}
PHONE = "overview-390-dark"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pictures; the exit code is 2 when there is no browser."""
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.screenshots")
    parser.add_argument("--only", nargs="*", choices=names(), help="only these")
    parser.add_argument("--to", type=Path, default=FOLDER, help="default docs/images")
    chosen = parser.parse_args(arguments)
    if CHROMIUM is None:
        parser.error("there is no Chromium here: apt-get install chromium")
    chosen.to.mkdir(parents=True, exist_ok=True)
    url = settings_with_database().database_url
    assert url is not None
    with served(url) as server:
        _make_all(server, chosen.only or names(), chosen.to)
    return 0


def names() -> list[str]:
    """Of all pictures: one a page of the menu, and some more."""
    return [*(page.url_path for page in PAGES), *MORE, PHONE]


def _make_all(server: Served, wanted: Sequence[str], folder: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = signed_in(
            browser, server, viewport={"width": WIDTH, "height": 900}, timezone_id="Europe/Berlin"
        )
        page = context.new_page()
        first = _first_addresses(page, server)
        for name in track(wanted, "Pictures", console=Console(stderr=True)):
            _make(page, server, first, name, folder / f"{name}.png")
        browser.close()


def _first_addresses(page: Page, server: Served) -> dict[str, str]:
    """Where the overview's first alert and the first column of the model's heat map lead."""
    _open(page, f"{server}/overview")
    found = [str(each.get_attribute("href")) for each in page.locator("main a, section a").all()]
    alerts = [each for each in found if re.search(r"alert\?.*alert=\d+", each)]
    return {"alert": alerts[0]} if alerts else {}


def _make(page: Page, server: Served, first: dict[str, str], name: str, to: Path) -> None:
    path, query = MORE.get(name, (name, {}))
    width = WIDTH
    if name == PHONE:
        path, width = "overview", 390
    page.emulate_media(color_scheme="dark" if name == PHONE else "light")
    address = first.get(path, path)
    mark = "&" if "?" in address else "?"
    more = "".join(f"{key}={value}&" for key, value in query.items())
    _open(page, f"{server}/{address.rsplit('/', 1)[-1]}{mark}{more}")
    grown(page, width)
    height = min(page.viewport_size["height"], MOST_HEIGHT) if page.viewport_size else MOST_HEIGHT
    drawn = page.screenshot(clip={"x": 0, "y": 0, "width": width, "height": height})
    picture = Image.open(io.BytesIO(drawn)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(to, optimize=True)
    page.set_viewport_size({"width": WIDTH, "height": 900})


def _open(page: Page, address: str) -> None:
    page.goto(address)
    page.locator("h1").first.wait_for(timeout=60_000)
    settled(page)


if __name__ == "__main__":
    sys.exit(main())
