# SPDX-License-Identifier: Apache-2.0
"""A real browser with the reports of tests/support. Its tests need chromium."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from selenium import webdriver

from slowpath.diagnose.page import page
from slowpath.report.run_page import render_html
from slowpath.watch.report.page import render_watch_html
from support import checkup, diagnosed, report_studies, watch_results

OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
Start = Callable[..., Any]


@pytest.fixture(scope="package")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts a browser with a fresh profile; `preferences` are Chromium's own. Gone before ranks are started."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert browser is not None
    assert driver is not None
    started = []

    def go(**preferences: Any) -> Any:
        options = webdriver.ChromeOptions()
        options.binary_location = browser
        for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
            options.add_argument(option)
        options.add_experimental_option("prefs", preferences)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = webdriver.chrome.service.Service(driver)
        started.append(webdriver.Chrome(options=options, service=service))
        return started[-1]

    yield go
    for running in started:
        running.quit()


@pytest.fixture(scope="package")
def browser(start: Start) -> Any:
    """One browser for all tests that need no preferences."""
    return start()


@pytest.fixture(scope="package")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """file: addresses of a check-up, of an imported run, of both studies, of a diagnosis and of a watch."""
    documents = {
        "results": diagnosed.results(),
        "without findings": checkup.results(),
        "imported": checkup.imported(),
        "puts": report_studies.put_results(),
        "cannon": report_studies.cannon_results(),
    }
    folder, uris = tmp_path_factory.mktemp("reports"), {}
    for name, document in documents.items():
        path = folder / f"{name}.html"
        path.write_text(render_html(document), encoding="utf-8")
        uris[name] = path.as_uri()
    path = folder / "diagnosis.html"
    path.write_text(page(*diagnosed.diagnosis()), encoding="utf-8")
    watched = folder / "watch.html"
    watched.write_text(
        render_watch_html(watch_results.results(96), "w", [("proof-1", watch_results.a_proof())]), encoding="utf-8"
    )
    return {**uris, "diagnosis": path.as_uri(), "watch": watched.as_uri()}
