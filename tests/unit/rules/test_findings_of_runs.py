# SPDX-License-Identifier: Apache-2.0
"""Findings of real records: the nine field logs, and handles opened on H200s."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.analyse.build import build_results
from slowpath.record.imports.choose import import_files
from slowpath.report.run_page import render_html
from slowpath.report.terminal import render_text

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> dict:
    logs = sorted((DATA / "field").glob("*.txt"))
    return build_results(import_files(logs, tmp_path_factory.mktemp("field") / "run"))


def test_the_field_logs_show_pages_and_what_each_costs(field: dict) -> None:
    first = next(f for f in field.findings if f.rule == "SP001")
    assert first.status == "observed"
    assert first.cause is None
    assert first.law.name == "granules"
    cost = {term.per: term.value for term in first.law.coefficients}
    assert cost["4 KiB page"] == pytest.approx(1.7e-6, rel=0.05)
    assert cost["64 KiB page"] == pytest.approx(2.8e-6, rel=0.05)
    assert cost["2 MiB page"] == pytest.approx(5.9e-6, rel=0.1)  # at most: 3 ms for 512 of them
    assert [(b.above, b.up_to) for b in first.law.brackets] == [(4096, 65536), (65536, 2097152)]
    assert first.ratio == pytest.approx(133.6, rel=0.005)


def test_the_field_logs_show_pinned_memory_and_prove_nothing(field: dict) -> None:
    assert {f.rule for f in field.findings} == {"SP001", "SP007"}
    assert {f.status for f in field.findings} == {"observed"}
    pinned = next(f for f in field.findings if f.rule == "SP007")
    assert pinned.ratio == pytest.approx(6.49, rel=0.005)
    assert all(any("proven" in text for text in f.missing) for f in field.findings)


def test_reports_show_them_first(field: dict) -> None:
    text, page = render_text(field), render_html(field)
    assert text.index("SP001 observed") < text.index("Contrasts, b")
    assert "Not proven: run slowpath diagnose" in text
    # The last line ends with the report's path, which is one word however long the folder of the user is.
    assert max(len(line) for line in text.splitlines() if not line.startswith("Report: ")) <= 100
    assert page.index('id="findings"') < page.index('id="contrasts"')
    assert "1.73 µs x pages of 4 KiB" in page
