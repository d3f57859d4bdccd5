"""Whole sessions in Chromium against the real server: by mouse, by keyboard alone, in two tabs, by two people, through
a power cut. No page may complain on its console or ask another machine for anything (`chromium.profile` watches)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gallery.browser.chromium import ABSENT, after, answers, newcomer, opened, order, profile, until
from tests.gallery.browser.serving import Server

pytestmark = pytest.mark.skipif(ABSENT is not None, reason=str(ABSENT))


def test_by_mouse(browser: Any, server: Server) -> None:
    with profile(browser, server.address) as (context, _):
        page = newcomer(context, server.address)
        page.click(".card >> nth=1 >> text=This one")
        after(page, 1)

        page.click(".modes label:has-text('Order')")
        dealt = order(page)
        handle, goal = page.locator(".card .grab").nth(2).bounding_box(), page.locator(".card").first.bounding_box()
        page.mouse.move(handle["x"] + 20, handle["y"] + 10)
        page.mouse.down()
        page.mouse.move(goal["x"] + 120, goal["y"] + 220, steps=8)
        page.mouse.up()
        assert order(page) == [dealt[2], dealt[0], dealt[1], dealt[3]]
        page.click("#send")
        after(page, 2)

        page.click(".modes label:has-text('Stars')")
        for place, stars in enumerate([4, 1]):
            page.locator(".card").nth(place).locator(".stars label").nth(stars - 1).click()
        page.click("#send")
        after(page, 3)

        page.click(".modes label:has-text('Slider')")
        page.locator(".card .rating input").first.fill("0.8")
        page.click("#send")
        after(page, 4)

        page.click(".modes label:has-text('Duel')")
        assert len(order(page)) == 2
        page.click(".card >> nth=0 >> text=This one")
        after(page, 5)
        page.click("text=Both alike")
        after(page, 6)
        for button, count in (("#undo", 5), ("#redo", 6), ("#none", 7), ("#skip", 8)):
            page.click(button)
            after(page, count)

        page.click(".modes label:has-text('Best')")
        page.dblclick(".card .view >> nth=1")  # the picture answers too, and a double click once
        after(page, 9)
        page.wait_for_timeout(700)
        assert answers(page) == 9
        page.locator(".card .tool[aria-label*=favourite]").first.click()
        page.wait_for_selector("#favourites li", state="attached")
        page.click("#favourites-fold summary")
        page.click("text=Start from it")
        until(
            page, "document.querySelector('.card .tool[aria-label*=favourite]').getAttribute('aria-pressed') === 'true'"
        )

        page.click("#session-fold summary")
        with page.expect_download() as download:
            page.click("text=The best as JSON")
        best = json.loads(Path(download.value.path()).read_text())
        assert set(best["params"]) > {"ring_strength", "rise"}


def test_parameters_by_mouse_and_keys(browser: Any, server: Server) -> None:
    with profile(browser, server.address) as (context, _):
        page = newcomer(context, server.address)
        page.keyboard.press("1")
        after(page, 1)
        row = page.locator("[data-name=spread]")
        # The bands follow the answer: there is a path, and it is told in words.
        until(
            page, "document.querySelector('[data-name=spread] svg').getAttribute('aria-label').includes('highest near')"
        )
        assert row.locator("path.band").get_attribute("d").count(",") > 10

        least = row.locator("input").first
        least.focus()
        for _ in range(4):
            page.keyboard.press("PageUp")
        until(page, "!document.querySelector('[data-name=spread] .outside.left').hidden")
        for _ in range(100):  # the slider shows it before the server has heard of it
            state = _state(page)
            low = next(p["low"] for p in state["space"] if p["name"] == "spread")
            if low > 0:
                break
            page.wait_for_timeout(100)
        assert low > 0
        assert all(card["params"]["spread"] >= low for card in state["round"]["cards"])

        page.click("[data-name=rise] >> text=Fix")
        until(page, "document.querySelector('[data-name=rise]').dataset.fixed === 'true'")
        state = _state(page)
        assert len({card["params"]["rise"] for card in state["round"]["cards"]}) == 1
        page.click("[data-name=rise] >> text=Fixed")
        until(page, "document.querySelector('[data-name=rise]').dataset.fixed === 'false'")
        page.click("[data-name=spread] >> text=All")
        until(page, "document.querySelector('[data-name=spread] .outside.left').hidden")

        page.click("#map-fold summary")
        until(page, "document.querySelector('#map canvas').getAttribute('aria-label').includes('highest near')")
        page.select_option("#map select >> nth=0", "noise_gain")
        until(page, "document.querySelector('#map canvas').getAttribute('aria-label').includes('Noise gain')")


def test_by_keyboard_alone(browser: Any, server: Server) -> None:
    with profile(browser, server.address) as (context, _):
        page = newcomer(context, server.address)
        press = page.keyboard.press
        press("?")
        assert page.locator("#help").is_visible()
        press("Escape")
        assert not page.locator("#help").is_visible()

        press("2")
        after(page, 1)
        label = "document.activeElement.getAttribute('aria-label')"
        press("ArrowRight")  # from wherever the focus is while the new round appears
        first = int(page.evaluate(label).removeprefix("This one: card "))
        press("ArrowRight")
        assert page.evaluate(label) == f"This one: card {first + 1}"
        press("Enter")
        after(page, 2)
        # The focus stays where one works: the same place in the next round.
        assert page.evaluate(label) == f"This one: card {first + 1}"
        for key, count in (("t", 3), ("n", 4), ("s", 5), ("u", 4), ("r", 5)):
            press(key)
            after(page, count)

        press("o")  # order
        press("3")
        press("1")
        assert order(page) == ["3", "1", "2", "4"]
        press("]")
        assert order(page) == ["3", "2", "1", "4"]
        press("[")
        press("Enter")
        after(page, 6)
        press("o")  # duel
        press("1")
        after(page, 7)
        press("o")  # stars: a digit rates and goes on
        press("ArrowRight")
        press("5")
        press("2")
        assert page.locator(".stars [data-lit=true]").count() == 7
        press("Enter")
        after(page, 8)
        press("o")  # slider
        press("7")
        assert "70 %" in page.locator(".rating output").all_inner_texts()
        press("Enter")
        after(page, 9)
        press("o")
        press("ArrowRight")
        press("f")
        page.wait_for_selector("#favourites li", state="attached")
        press("p")
        page.wait_for_selector(".card[data-pinned=true]")
        press("z")
        assert page.locator("#large").is_visible()
        press("Escape")
        press("m")
        page.wait_for_selector("#near:not([hidden])")


def test_shortcuts_can_be_switched_off(browser: Any, server: Server) -> None:
    with profile(browser, server.address) as (context, _):
        page = newcomer(context, server.address)
        page.keyboard.press("?")
        page.uncheck("#shortcuts")
        page.keyboard.press("Escape")
        page.keyboard.press("n")
        page.reload()
        page.wait_for_selector(".card")
        page.keyboard.press("n")
        page.wait_for_timeout(300)
        assert answers(page) == 0


def test_reload_and_a_second_tab(browser: Any, server: Server) -> None:
    with profile(browser, server.address) as (context, _):
        first = newcomer(context, server.address)
        first.keyboard.press("1")
        after(first, 1)
        shown = _ids(first)
        first.reload()
        first.wait_for_selector(".card")
        assert _ids(first) == shown

        second = opened(context, first.url)
        assert _ids(second) == shown
        second.keyboard.press("2")
        after(second, 2)
        after(first, 2)  # the first hears of it by itself
        assert _ids(first) == _ids(second) != shown


def test_a_late_answer_is_not_lost(browser: Any, server: Server) -> None:
    with profile(browser, server.address) as (here, _), profile(browser, server.address) as (there, _):
        first = newcomer(here, server.address)
        second = opened(there, first.url)
        first.keyboard.press("1")
        after(first, 1)
        # Another browser cannot know, and answers the round that it still shows.
        assert answers(second) == 0
        second.keyboard.press("3")
        after(second, 2)


def test_two_people(browser: Any, server: Server) -> None:
    with profile(browser, server.address) as (here, _), profile(browser, server.address) as (there, _):
        ada = newcomer(here, server.address)
        second = opened(there, server.address)
        ada.keyboard.press("1")
        after(ada, 1)
        second.select_option("#person", "+")
        second.fill("#newcomer-name", "Bo <b>")
        second.keyboard.press("Enter")
        until(second, "document.querySelector('#person option:checked').textContent === 'Bo <b>'")
        assert answers(second) == 0
        second.keyboard.press("2")
        after(second, 1)
        second.keyboard.press("2")
        after(second, 2)
        second.reload()
        second.wait_for_selector(".card")
        assert answers(second) == 2  # the browser knows who it is
        ada.reload()
        ada.wait_for_selector(".card")
        assert answers(ada) == 1
        assert "Bo <b>" in ada.locator("#person option").all_inner_texts()

        # A permalink opens somebody's session in any browser.
        link = f"{server.address}/s/{_state(second)['session']}"
        ada.goto(link)
        ada.wait_for_selector(".card")
        assert answers(ada) == 2


def test_a_power_cut(browser: Any, server: Server) -> None:
    with profile(browser, server.address) as (context, watched):
        page = newcomer(context, server.address)
        for count in (1, 2):
            page.keyboard.press(str(count))
            after(page, count)
        page.keyboard.press("f")
        page.wait_for_selector("#favourites li", state="attached")
        shown = _ids(page)
        watched.away = True
        server.kill()
        page.keyboard.press("3")  # nobody hears it
        page.wait_for_selector("#trouble:not([hidden])")
        server.start()
        after(page, 3)  # it was sent again
        page.wait_for_selector("#trouble", state="hidden")
        watched.away = False
        page.keyboard.press("u")
        after(page, 2)
        assert _ids(page) == shown
        assert page.locator("#favourites li").count() == 1


def test_the_hidden_target(browser: Any, server: Server) -> None:
    with profile(browser, server.address) as (context, _):
        page = newcomer(context, server.address)
        page.click("text=Hide a target")
        assert page.inner_text("#target-text").startswith("Round 1.")
        page.keyboard.press("1")
        after(page, 1)
        until(page, "/^(Round 2|Found in)/.test(document.getElementById('target-text').textContent)")
        page.reload()
        page.wait_for_selector("#target-view canvas")
        assert page.inner_text("#target-text")[:7] in ("Round 2", "Found i")
        page.click("text=End the game")
        assert page.locator("#target-view canvas").count() == 0


def _state(page: Any) -> dict[str, Any]:
    return page.evaluate(
        "fetch('/api/state', {headers: {'X-Session': document.body.dataset.session}}).then(r => r.json())"
    )


def _ids(page: Any) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('.card')].map(card => card.dataset.id)")
