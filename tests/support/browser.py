"""The system's Chromium, driven by Playwright; what a page does wrong in it fails the test."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright, expect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
AXE = Path(__file__).resolve().parents[2] / ".venv" / "node" / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
LONGEST_MS = 60_000
expect.set_options(timeout=LONGEST_MS)


def chromium() -> str:
    """Return the path of the browser; fails, and says what to do, where there is none."""
    for name in (os.environ.get("CHROMIUM", ""), *NAMES):
        found = shutil.which(name) if name else None
        if found is not None:
            return found
    raise AssertionError("no Chromium here; run requirements/install_browser.sh, or say CHROMIUM=/path/to/it")


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    """Have a browser while the block runs."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


@dataclass
class Watched:
    """A browser of one person, and what went wrong in its pages: errors of scripts, and what the policy refused."""

    context: BrowserContext
    problems: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()
    """What a browser writes on its console about answers that a test wants, e.g. `404`."""

    async def page(self) -> Page:
        page = await self.context.new_page()
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        return page

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not any(each in message.text for each in self.expected):
            self.problems.append(f"{message.type}: {message.text}")


@asynccontextmanager
async def person(browser: Browser, **options: object) -> AsyncIterator[Watched]:
    """Have a browser of one's own, without anybody's cookies; nothing may have gone wrong in it."""
    context = await browser.new_context(**options)
    context.set_default_timeout(LONGEST_MS)
    watched = Watched(context)
    try:
        yield watched
        assert not watched.problems, f"went wrong in the browser: {watched.problems}"
    finally:
        await context.close()


async def inaccessible(page: Page, *rules: str) -> list[str]:
    """Return what axe-core finds wrong with a page, by rule and place; by all rules, or by those named."""
    if not await page.evaluate("typeof axe === 'object'"):
        # Put in through the driver, which the policy of the page does not concern.
        await page.evaluate(AXE.read_text(encoding="utf-8") + "; undefined")
    which = {"type": "rule", "values": list(rules)} if rules else {"type": "tag", "values": list(TAGS)}
    found = await page.evaluate(
        "async (which) => (await axe.run(document, {runOnly: which, resultTypes: ['violations']})).violations"
        ".map((each) => [each.id, each.nodes.map((node) => `${node.target} ${node.failureSummary}`).join(' | ')])",
        which,
    )
    return [f"{rule}: {where}" for rule, where in found]
