"""Pages that wait for a server: a run that has not begun, and a server that is heard no more, and again."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.pages.pages_support import NO_CLOCK, desk, signed_in, start
from tests.server.server_support import Serving, serving
from tests.support.browser import inaccessible
from tests.support.gates import opened, reached
from tests.support.ports import kept_port

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("browser")]

UNHEARD = "Nothing has been heard from the server since "


ASKING = """
const ask = window.fetch;
let unanswered = 0;
const count = (by) => document.documentElement.toggleAttribute("data-asking", (unanswered += by) > 0);
window.fetch = async (...asked) => {
  count(1);
  try {
    const answer = await ask(...asked);
    return new Response(await answer.text(), answer);
  } finally {
    count(-1);
  }
};
"""
"""Lets a page show whether something it has asked its server for is still on its way."""


async def moved(page: Page, times: int = 10) -> str:
    """Let so many seconds pass on a page, and return what its clock says then.

    The seconds are the page's own, and would run ahead of a server on a busy machine: each waits for what it asked for.
    """
    for _ in range(times):
        await page.clock.run_for(1000)
        await expect(page.locator("html:not([data-asking])")).to_be_attached()
    return await page.locator("#part-facts dd").first.inner_text()


async def test_a_run_that_waits_for_its_turn_is_followed_from_its_first_event(tmp_path: Path, browser: Browser):
    async with serving(desk(tmp_path), durable=True, concurrency=1) as server:
        await start(server, "desk", durable=True, gate="ahead")
        await reached("ahead")
        run_id = await start(server, "desk", durable=True, gate="behind")
        async with signed_in(server, browser) as (_, page):
            await page.add_init_script(NO_CLOCK)
            await page.goto(f"/runs/{run_id}")
            pill = page.locator("#part-head .pill")
            await expect(pill).to_have_text("queued")
            opened("ahead")
            opened("ahead-tool")
            await reached("behind")
            await expect(pill).to_have_text("running")
            await expect(page.locator("#part-head .sentence")).to_have_text("In step hold.")
            opened("behind")
            opened("behind-tool")
            await expect(pill).to_have_text("completed")


async def test_a_page_that_hears_nothing_says_so_stands_still_and_goes_on_when_it_hears_again(
    server: Serving, browser: Browser, gate: str
):
    run_id = await start(server, "desk", gate=gate)
    await reached(gate)
    async with signed_in(server, browser) as (watched, page):
        watched.expected = ("ERR_INTERNET_DISCONNECTED",)
        await page.clock.install()
        await page.add_init_script(ASKING)
        await page.goto(f"/runs/{run_id}")
        contact, pause = page.locator("#contact"), page.get_by_role("button", name="Pause")
        await expect(contact).to_have_text("")
        before = await moved(page)
        assert await moved(page, 2) != before
        await expect(contact).to_have_text("")
        await page.get_by_text("Steer…").click()
        await page.get_by_label("What the agent should know").fill("half a thought")

        await watched.context.set_offline(True)
        for _ in range(10):
            await moved(page, 1)
        await expect(contact).to_contain_text(UNHEARD)
        await expect(contact).to_have_attribute("role", "status")
        await expect(page).to_have_title("No contact · desk · running · tuvl")
        await expect(page.locator("#part-head .pill")).to_have_text("running when last heard")
        await expect(pause).to_be_disabled()
        await expect(page.locator("#do-steer")).to_be_disabled()
        await page.get_by_text("Abort…").click()
        await expect(page.locator("#do-abort")).to_be_hidden()
        await expect(page.locator("#do-abort")).to_be_disabled()
        still = await moved(page, 1)
        assert await moved(page) == still
        await page.emulate_media(color_scheme="light")
        assert await inaccessible(page) == []
        await page.emulate_media(color_scheme="dark")
        assert await inaccessible(page, "color-contrast") == []

        await watched.context.set_offline(False)
        await expect(contact).to_have_text("The server is heard again.")
        await expect(pause).to_be_enabled()
        await expect(page.locator("#part-head .pill")).to_have_text("running")
        await expect(page).to_have_title("desk · running · tuvl")
        await expect(page.locator("#steer-text")).to_have_value("half a thought")
        assert await moved(page) != still
        await expect(contact).to_have_text("")
        opened(gate)
        opened(f"{gate}-tool")
        await moved(page, 4)
        await expect(page.locator("#part-head .pill")).to_have_text("completed")
        assert "Took" in await page.locator("#part-facts").inner_text()


async def test_the_list_of_runs_says_that_its_server_is_gone_and_asks_a_new_one(tmp_path: Path, browser: Browser):
    async with serving(desk(tmp_path / "one")) as server, signed_in(server, browser) as (watched, page):
        watched.expected = ("ERR_CONNECTION_REFUSED", "401")
        await page.clock.install()
        await page.goto("/runs")
        server.stop.set()
        await server.task
        with kept_port(int(server.url.rpartition(":")[2])) as port:
            for _ in range(20):
                await page.clock.run_for(1000)
            await expect(page.locator("#contact")).to_contain_text(UNHEARD)
            await expect(page).to_have_title("No contact · Runs · tuvl")
            async with serving(desk(tmp_path / "two"), port=port):
                await page.clock.run_for(10_000)
                # It has a secret of its own, so that one has to sign in again.
                await expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
