# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: drawn, readable at both widths and in both schemes, by keyboard, without scripts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from watchdog import WATCHDOG_S

pytestmark = pytest.mark.needs("chromium")
NAMES = ("results", "imported", "puts", "cannon", "diagnosis", "watch")
DRAWN = ("results", "puts", "cannon", "diagnosis", "watch")
WIDTHS = (400, 1600)
SCHEMES = ("light", "dark")

# Every text that is shown: its colour against the nearest background that is not see-through (WCAG 2.2, 1.4.3).
CONTRAST = """
const channel = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const behind = (e) => { for (; e; e = e.parentElement) {
  const c = parse(getComputedStyle(e).backgroundColor); if (c.length && (c.length < 4 || c[3] > 0)) return c; }
  return [255, 255, 255]; };
const poor = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let seen = 0;
while (walker.nextNode()) {
  const node = walker.currentNode, e = node.parentElement;
  if (!node.data.trim() || e.closest("script, style, title, desc, noscript, option")) continue;
  if (!e.getClientRects().length) continue;
  const style = getComputedStyle(e);
  const ink = light(parse(e.closest("svg") ? style.fill : style.color)), paper = light(behind(e));
  const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  seen += 1;
  if (ratio < 4.5) poor.push([node.data.trim().slice(0, 40), ratio.toFixed(2)]);
}
return [seen, poor];
"""


def show(browser: Any, address: str, width: int = 1600, scheme: str = "light") -> None:
    """Open a page at a width of CSS pixels, in a colour scheme."""
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(address)


def unfold(browser: Any) -> None:
    """Open everything that is folded."""
    browser.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; })")


def press(browser: Any, *keys: str) -> None:
    """Keys to whatever has the focus."""
    for key in keys:
        browser.switch_to.active_element.send_keys(key)


def comes(browser: Any, true: Callable[[], object]) -> None:
    """Wait until the page has done it."""
    WebDriverWait(browser, WATCHDOG_S, poll_frequency=0.05).until(lambda _: true())


@pytest.mark.parametrize("name", NAMES)
def test_opens_offline_without_errors(browser: Any, pages: dict[str, str], name: str) -> None:
    show(browser, pages[name])
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
    assert pages[name] in asked


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_chart_is_drawn(browser: Any, pages: dict[str, str], name: str, width: int) -> None:
    show(browser, pages[name], width)
    unfold(browser)
    sizes = browser.execute_script(
        """return [...document.querySelectorAll("main svg[role=img]")].map((s) => {
             const box = s.getBBox();
             return [s.clientWidth, s.clientHeight, box.width, box.height, s.childElementCount]; })"""
    )
    assert len(sizes) > 5
    assert all(min(size) > 0 for size in sizes), [size for size in sizes if min(size) <= 0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_page_never_scrolls_sideways(browser: Any, pages: dict[str, str], name: str, width: int) -> None:
    show(browser, pages[name], width)
    for _ in range(2):
        inner = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert inner[0] <= inner[1] == width
        unfold(browser)
    over = "return [...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).length"
    assert browser.execute_script(over) == 0 or width > min(WIDTHS)


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("width", WIDTHS)
def test_words_in_charts_are_readable_and_inside(browser: Any, pages: dict[str, str], name: str, width: int) -> None:
    show(browser, pages[name], width)
    unfold(browser)
    words = browser.execute_script(
        """return [...document.querySelectorAll("main svg text")].filter((t) => t.getClientRects().length).map((t) => {
             const box = t.getBoundingClientRect();
             const m = t.getScreenCTM(), scale = Math.hypot(m.a, m.b);
             return [t.textContent, parseFloat(getComputedStyle(t).fontSize) * scale, box.left, box.right]; })"""
    )
    assert len(words) > 5
    for text, pixels, left, right in words:
        assert pixels >= 11, text
        assert left >= 0, text
        assert right <= width, text


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("width", WIDTHS)
def test_labels_of_an_axis_do_not_overlap(browser: Any, pages: dict[str, str], name: str, width: int) -> None:
    show(browser, pages[name], width)
    unfold(browser)
    overlaps = browser.execute_script(
        """const found = [];
           for (const svg of document.querySelectorAll("main svg[role=img]")) {
             const texts = [...svg.querySelectorAll("text")].filter((t) => t.getClientRects().length);
             const boxes = texts.map((t) => t.getBoundingClientRect());
             boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b, j) => {
               if (a.left < b.right - 1 && b.left < a.right - 1 && a.top + 3 < b.bottom - 3 && b.top + 3 < a.bottom - 3)
                 found.push(texts[i].textContent + " / " + texts[i + 1 + j].textContent); }));
           }
           return found;"""
    )
    assert overlaps == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", NAMES)
def test_text_has_contrast(browser: Any, pages: dict[str, str], name: str, scheme: str) -> None:
    show(browser, pages[name], 1600, scheme)
    unfold(browser)
    seen, poor = browser.execute_script(CONTRAST)
    assert seen > 100
    assert poor == []


def test_dark_is_dark(browser: Any, pages: dict[str, str]) -> None:
    colours = []
    for scheme in SCHEMES:
        show(browser, pages["results"], 1600, scheme)
        colours.append(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert colours[0] == "rgb(255, 255, 255)"
    assert colours[1] != colours[0]


def test_evidence_opens_its_contrast(browser: Any, pages: dict[str, str]) -> None:
    show(browser, pages["without findings"])
    link = browser.find_element(By.LINK_TEXT, "Evidence")
    target = str(link.get_attribute("href")).rpartition("#")[2]
    browser.execute_script("document.getElementById(arguments[0]).open = false", target)
    link.send_keys(Keys.ENTER)
    comes(browser, lambda: browser.execute_script("return document.getElementById(arguments[0]).open", target))


def test_skip_link_is_the_first_stop(browser: Any, pages: dict[str, str]) -> None:
    show(browser, pages["results"])
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    active = browser.switch_to.active_element
    assert active.text == "Skip to the verdict"
    active.send_keys(Keys.ENTER)
    assert browser.switch_to.active_element.get_attribute("id") == "main"


def test_readable_without_scripts(start: Callable[..., Any], pages: dict[str, str]) -> None:
    plain = start(**{"profile.managed_default_content_settings.javascript": 2})
    plain.get(pages["results"])
    text = plain.find_element(By.TAG_NAME, "body").text
    assert "Messages of 16 MiB take 2.5 times as long" in text
    assert "slower" in text
    for section in plain.find_elements(By.CSS_SELECTOR, "section > details:not([open]) > summary"):
        section.send_keys(Keys.ENTER)
    folded = plain.find_element(By.CSS_SELECTOR, "details.opens:not([open]) > summary")
    folded.send_keys(Keys.ENTER)
    assert plain.find_element(By.CSS_SELECTOR, "details.opens[open] .opened").is_displayed()
