"""The pages as people have them: in a real browser, over the event stream, with a keyboard, and without JavaScript."""

import asyncio

import pytest
from playwright.async_api import Browser, Page, expect

from tests.pages.pages_support import MEAN, NO_CLOCK, signed_in, start
from tests.server.server_support import Serving
from tests.support.browser import inaccessible, person
from tests.support.gates import opened, reached

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("browser")]

WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 360, "height": 720}


CUT_OFF = """[...document.querySelectorAll('table')].map(it => it.getBoundingClientRect().right
    - it.parentElement.getBoundingClientRect().right).filter(much => much > 1)"""
"""How much of each table is beyond its frame, where any is."""


def pill(page: Page):
    return page.locator("#part-head .pill")


async def waiting(server: Serving, run_id: str) -> None:
    """Wait until a run waits for a person."""
    client = await server.client(id="bot")
    async with asyncio.timeout(20):
        while (await client.get(f"/api/runs/{run_id}")).json()["status"] != "suspended":
            await asyncio.sleep(0.02)


async def test_a_wrong_token_is_told_and_a_right_one_shows_the_runs_until_one_signs_out(
    server: Serving, browser: Browser
):
    async with person(browser, base_url=server.url) as watched:
        page = await watched.page()
        await page.goto("/waiting")
        await page.get_by_label("Token").fill("tuvl_wrong")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text("opens nothing here")
        await page.get_by_label("Token").fill(await server.token(id="ada"))
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
        await expect(page.get_by_text("Signed in as ada")).to_be_attached()
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        await page.goto("/runs")
        await expect(page).to_have_url(f"{server.url}/login?next=/runs")


async def test_a_run_moves_on_its_page_as_its_events_come(server: Serving, browser: Browser, gate: str):
    run_id = await start(server, "desk", gate=gate)
    await reached(gate)
    async with signed_in(server, browser) as (_, page):
        await page.add_init_script(NO_CLOCK)
        await page.goto("/runs")
        await page.get_by_role("link", name="desk").first.click()
        await page.wait_for_url(f"**/runs/{run_id}")
        await expect(page.locator('#card-2[data-state="running"]')).to_be_visible()
        await expect(page.locator("#step-2")).to_contain_text("running")
        await page.evaluate("window.same = true")

        opened(gate)
        await reached(f"{gate}-tool")
        await expect(page.locator('#card-2[data-state="done"]')).to_be_attached()
        await expect(page.locator('#card-3[data-state="running"]')).to_be_visible()
        await expect(page.locator('.chip[data-state="running"]')).to_contain_text("weigh")
        await expect(page.locator("#part-head .sentence")).to_have_text("In step triage, turn 1, runs weigh.")
        await expect(page.locator("#announcer")).to_have_text("Step triage is running.")
        tokens = page.locator("#agent-3-tokens")
        await expect(tokens).to_have_js_property("value", 300)
        await expect(page.get_by_role("meter", name="Tool calls")).to_have_js_property("value", 1)

        opened(f"{gate}-tool")
        await expect(pill(page)).to_have_text("completed")
        await expect(tokens).to_have_js_property("value", 900)
        await expect(page.locator("#part-bounds")).to_contain_text("nearly used up")
        await expect(page.locator("#announcer")).to_have_text("The run completed on default.")
        await expect(page.locator("#part-controls button")).to_have_count(0)
        await expect(page).to_have_title("desk · completed · tuvl")
        assert await page.evaluate("window.same"), "the page was loaded anew"


async def test_a_run_is_paused_resumed_steered_and_aborted_from_its_page(server: Serving, browser: Browser, gate: str):
    run_id = await start(server, "desk", gate=gate)
    await reached(gate)
    async with signed_in(server, browser) as (_, page):
        await page.goto(f"/runs/{run_id}")
        await page.get_by_role("button", name="Pause").click()
        await expect(page.get_by_text("The run is paused: it begins nothing more")).to_be_visible()
        await expect(page).to_have_url(f"{server.url}/runs/{run_id}")
        await expect(pill(page)).to_have_text("paused")
        await page.get_by_role("button", name="Resume").click()
        await expect(pill(page)).to_have_text("running")

        await page.get_by_text("Steer…").click()
        await page.get_by_label("What the agent should know").fill(f"Be kind. {MEAN}")
        await page.get_by_role("button", name="Steer", exact=True).click()
        await expect(page.get_by_text("The run was told.")).to_be_visible()
        opened(gate)
        await reached(f"{gate}-tool")
        await expect(page.locator(".log")).to_contain_text("steered by a person (ada)")
        await page.get_by_role("link", name="Transcript").click()
        steered = page.get_by_role("listitem").filter(has_text="Steered by operator ada")
        await expect(steered).to_contain_text(f"Be kind. {MEAN}")

        await page.goto(f"/runs/{run_id}")
        await page.get_by_text("Abort…").click()
        await page.get_by_label("Why").fill("wrong customer")
        await page.get_by_role("button", name="Abort the run").click()
        await expect(pill(page)).to_have_text("aborted")
        await expect(page.locator("#part-head")).to_contain_text("aborted by ada: wrong customer")


async def test_of_two_who_approve_at_once_one_is_told_who_was_first(server: Serving, browser: Browser):
    run_id = await start(server, "refunds", durable=True)
    await waiting(server, run_id)
    async with (
        signed_in(server, browser, id="ada") as (ada, first),
        signed_in(server, browser, id="bob") as (bob, second),
    ):
        ada.expected = bob.expected = ("409",)
        for page in (first, second):
            await page.goto("/runs")
            await page.get_by_role("link", name="Waits for me").click()
            await page.locator(f'[id="wait-{run_id}"]').click()
            await expect(page.get_by_role("heading", level=1)).to_have_text("Approve a call of refund?")
            await expect(page.get_by_label("Arguments").last).to_contain_text(f'"why": "broken {MEAN}"')
        await asyncio.gather(
            *(page.get_by_role("button", name="Approve").click(no_wait_after=True) for page in (first, second))
        )
        for page in (first, second):
            await expect(page.get_by_role("heading", level=1)).not_to_have_text("Approve a call of refund?")
        titles = {
            await page.get_by_role("heading", level=1).inner_text(): (name, page)
            for name, page in (("ada", first), ("bob", second))
        }
        assert titles.keys() == {"Your answer counts", "Somebody was faster"}
        winner, _ = titles["Your answer counts"]
        _, late = titles["Somebody was faster"]
        await expect(late.locator("main")).to_contain_text(winner)
        await expect(late.locator("main")).to_contain_text("What you said was not used.")
        await late.get_by_role("link", name="The run", exact=True).click()
        await expect(pill(late)).to_have_text("completed")


async def test_a_question_keeps_what_was_filled_in_until_the_answer_fits(server: Serving, browser: Browser):
    run_id = await start(server, "contracts", durable=True, customer=MEAN)
    await waiting(server, run_id)
    async with signed_in(server, browser) as (watched, page):
        watched.expected = ("422",)
        await page.goto(f"/runs/{run_id}")
        await expect(pill(page)).to_have_text("waits for a person")
        await page.get_by_role("link", name="See what is asked").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text(f"Sign the contract of {MEAN}?")
        await expect(page.get_by_label("customer").last).to_have_text(MEAN)
        await page.get_by_label("sign").check()
        await page.get_by_label("Amount").fill("a lot")
        await page.get_by_role("button", name="Answer").click()
        await expect(page.get_by_role("alert")).to_have_text("Amount: this has to be a whole number, e.g. 12.")
        await expect(page.get_by_label("sign")).to_be_checked()
        await expect(page.get_by_label("Amount")).to_have_value("a lot")
        await page.get_by_label("Amount").fill("12")
        await page.get_by_role("button", name="Answer").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Your answer counts")
        await page.get_by_role("link", name="The run", exact=True).click()
        await expect(pill(page)).to_have_text("completed")
        await expect(page.get_by_label("Output")).to_contain_text('"amount": 12')


async def test_everything_is_reached_with_the_keyboard_alone(server: Serving, browser: Browser, gate: str):
    run_id = await start(server, "desk", gate=gate)
    await reached(gate)
    async with signed_in(server, browser) as (_, page):
        await page.goto("/runs")
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()
        for name in ("Status", "Workflow", "Only mine"):
            await page.keyboard.press("Tab")
            await expect(page.get_by_label(name, exact=True)).to_be_focused()
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("button", name="Show")).to_be_focused()
        await page.keyboard.press("Tab")
        await expect(page.locator(f'[id="run-{run_id}"]')).to_be_focused()
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"**/runs/{run_id}")

        steer = page.locator("#steer-box summary")
        await page.locator("#do-pause").focus()
        await page.keyboard.press("Tab")
        await expect(steer).to_be_focused()
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        await expect(page.locator("#steer-text")).to_be_focused()
        await page.keyboard.type("half a thought")
        opened(gate)
        await reached(f"{gate}-tool")
        await expect(page.locator("#part-head .sentence")).to_contain_text("triage")
        await expect(page.locator("#steer-text")).to_be_focused()
        await expect(page.locator("#steer-text")).to_have_value("half a thought")
        await page.keyboard.press("Escape")
        await expect(steer).to_be_focused()
        await expect(page.locator("#steer-text")).to_be_hidden()
        opened(f"{gate}-tool")


async def test_without_javascript_a_reload_and_forms_do(server: Serving, browser: Browser, gate: str):
    run_id = await start(server, "desk", gate=gate)
    await reached(gate)
    async with signed_in(server, browser, java_script_enabled=False) as (_, page):
        await page.goto(f"/runs/{run_id}")
        await expect(page.locator('#card-2[data-state="running"]')).to_be_visible()
        await page.get_by_role("button", name="Pause").click()
        await expect(pill(page)).to_have_text("paused")
        await page.get_by_role("button", name="Resume").click()
        await expect(pill(page)).to_have_text("running")
        opened(gate)
        opened(f"{gate}-tool")
        client = await server.client(id="bot")
        async with client.stream("GET", f"/api/runs/{run_id}/events") as stream:
            await stream.aread()
        await page.reload()
        await expect(pill(page)).to_have_text("completed")


async def test_no_page_is_closed_to_anybody(server: Serving, browser: Browser, gate: str):
    """In light and in dark, on a wide screen and on a narrow one, and for who cannot see it."""
    run_id = await start(server, "desk", gate=gate)
    asked = await start(server, "contracts", durable=True, customer=MEAN)
    await waiting(server, asked)
    opened(gate)
    await reached(f"{gate}-tool")
    async with signed_in(server, browser) as (watched, page):
        watched.expected = ("404",)
        page.on("dialog", lambda dialog: watched.problems.append(dialog.message))
        found = {}
        for path in (
            "/runs",
            f"/runs/{run_id}",
            f"/runs/{run_id}/transcript",
            "/waiting",
            f"/waiting/{asked}",
            f"/runs/{asked}",
            "/runs/no",
        ):
            await page.emulate_media(color_scheme="light")
            await page.set_viewport_size(WIDE)
            await page.goto(path)
            assert await page.locator("img").count() == 0, f"text became markup on {path}"
            found[path] = await inaccessible(page)
            await page.emulate_media(color_scheme="dark")
            found[f"{path}, dark"] = await inaccessible(page, "color-contrast")
            await page.set_viewport_size(NARROW)
            found[f"{path}, narrow"] = await inaccessible(page, "target-size")
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} is too wide"
            assert await page.evaluate(CUT_OFF) == [], f"tables of {path} are cut off"
        assert {where: what for where, what in found.items() if what} == {}
    opened(f"{gate}-tool")
