"""The browser of the tests: which one, and how it is started."""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the other tests, and most benchmarks, need no Playwright
    from playwright.sync_api import Browser, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MISSING = (
    "no browser: install Chromium (`apt-get install chromium fonts-dejavu-core`, or `playwright install chromium`), "
    "or let ZABCHECK_BROWSER be the path of one"
)


def find(playwright: "Playwright") -> str | None:
    """Return what ZABCHECK_BROWSER names, else an installed browser, else Playwright's own if it was downloaded."""
    named = os.environ.get("ZABCHECK_BROWSER")
    if named:
        return named
    installed = next((path for each in NAMES if (path := shutil.which(each))), None)
    own = playwright.chromium.executable_path
    return installed or (own if Path(own).exists() else None)


def launch(playwright: "Playwright", executable: str) -> "Browser":
    """Start a browser without a window. It asks nothing of the network by itself."""
    return playwright.chromium.launch(executable_path=executable, args=list(ARGUMENTS), timeout=300_000)
