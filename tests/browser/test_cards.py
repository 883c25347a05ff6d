# SPDX-License-Identifier: Apache-2.0
"""Cards in a real browser: by keyboard, at 400 px, copied, in print; the same in a report and in a diagnosis."""

from __future__ import annotations

from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys
from test_report_page import comes, press, show, unfold

from support import diagnosed

pytestmark = pytest.mark.needs("chromium")
PAGES = ("results", "diagnosis")
CARDS = 3


@pytest.mark.parametrize("name", PAGES)
def test_all_of_a_card_is_reached_by_keyboard_and_the_focus_is_seen(
    browser: Any, pages: dict[str, str], name: str
) -> None:
    show(browser, pages[name], 400)
    browser.execute_script("const h = document.querySelector('article.finding h3'); h.tabIndex = -1; h.focus()")
    wanted = browser.execute_script(
        "return [...document.querySelector('article.finding').querySelectorAll('button, pre, summary')]"
        ".filter((e) => e.checkVisibility({contentVisibilityAuto: true})).map((e) => e.tagName)"
    )
    assert wanted == ["PRE", "BUTTON", "SUMMARY"]
    for tag in wanted:
        press(browser, Keys.TAB)
        active = browser.switch_to.active_element
        assert active.tag_name.upper() == tag
        assert browser.execute_script("return getComputedStyle(arguments[0]).outlineStyle", active) != "none"
    press(browser, Keys.ENTER)
    assert browser.execute_script("return document.querySelector('article.finding details').open")


def test_the_button_copies_the_lines_and_says_so(browser: Any, pages: dict[str, str]) -> None:
    show(browser, pages["results"])
    browser.execute_script("document.querySelector('article.finding button').focus()")
    press(browser, Keys.ENTER)
    comes(browser, lambda: browser.switch_to.active_element.text == "Copied")
    selected = browser.execute_script("return document.querySelector('article.finding pre').textContent")
    assert selected == diagnosed.CODE


def test_each_table_is_copied_with_its_numbers(browser: Any, pages: dict[str, str]) -> None:
    show(browser, pages["results"])
    unfold(browser)
    tables, labels = browser.execute_script(
        "return [document.querySelectorAll('table').length,"
        " [...document.querySelectorAll('.scroll + button')].map((button) => button.textContent)]"
    )
    assert labels == ["Copy table"] * tables
    browser.execute_script("document.querySelector('#numbers .scroll + button').focus()")
    press(browser, Keys.ENTER)
    comes(browser, lambda: browser.switch_to.active_element.text == "Copied")


@pytest.mark.parametrize("name", PAGES)
def test_marks_stand_in_one_row_at_400_px(browser: Any, pages: dict[str, str], name: str) -> None:
    show(browser, pages[name], 400)
    rows = browser.execute_script(
        "const place = (li) => [li.getBoundingClientRect().top, li.scrollWidth - li.clientWidth];"
        "return [...document.querySelectorAll('.legs')].map((list) => [...list.querySelectorAll('li')].map(place))"
    )
    assert len(rows) == CARDS
    for marks in rows:
        assert len(marks) == 3
        assert len({top for top, _ in marks}) == 1
        assert all(over <= 0 for _, over in marks)


@pytest.mark.parametrize("name", PAGES)
def test_print_opens_what_is_folded_and_leaves_out_the_buttons(browser: Any, pages: dict[str, str], name: str) -> None:
    show(browser, pages[name])
    folded = "return document.querySelectorAll('details:not([open])').length"
    before = browser.execute_script(folded)
    browser.execute_cdp_cmd("Page.printToPDF", {})  # sends beforeprint and afterprint
    assert browser.execute_script(folded) == before > CARDS
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = browser.execute_script(
        "dispatchEvent(new Event('beforeprint'));"
        "return [document.querySelectorAll('details:not([open])').length,"
        " [...document.querySelectorAll('.copybox button, nav')].filter((e) => e.checkVisibility()).length]"
    )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert shown == [0, 0]


@pytest.mark.parametrize("name", PAGES)
def test_each_card_shows_one_picture_and_folds_the_others(browser: Any, pages: dict[str, str], name: str) -> None:
    show(browser, pages[name])
    counts = browser.execute_script(
        "return [...document.querySelectorAll('article.finding')].map((card) => ["
        "card.querySelectorAll(':scope > .seen').length,"
        "[...card.querySelectorAll('details figure')].filter((e) => e.checkVisibility()).length])"
    )
    assert counts[:2] == [[1, 0], [1, 0]]
    assert len(counts) == CARDS
