# SPDX-License-Identifier: Apache-2.0
"""The picture of a diagnosis, and what a leg says once the diagnosis is over."""

from __future__ import annotations

from typing import Any

from slowpath.diagnose.forest import forest
from slowpath.diagnose.said import leg_words
from slowpath.findings.finding import UNTRIED


def finding(number: int, ratio: float | None, proven: bool = False) -> dict[str, Any]:
    removed = {"value": 0.98, "interval": [0.9, 1.05]}
    remedy = {"name": "huge <pages>", "verdict": "proven" if proven else "no effect", "removed_ratio": removed}
    return {
        "id": f"SP008:{number}",
        "rule": "SP008",
        "title": "Messages from small pages & more",
        "where": "host memory",
        "status": "proven" if proven else "observed",
        "ratio": ratio,
        "interval": None if ratio is None else [0.9 * ratio, 1.1 * ratio],
        "remedies": [remedy],
    }


def test_each_finding_with_a_ratio_has_a_row_with_its_interval_and_its_proof() -> None:
    html = forest([finding(1, 2.0, proven=True), finding(2, 10.0), finding(3, None)])
    assert html.count('class="row"') == 2
    assert 'href="#SP008:1"' in html
    assert html.count('class="track"') == 2
    assert "huge &lt;pages&gt;: removes 98%" in html
    assert "small pages &amp; more" in html
    assert "SP008:3" not in html
    assert forest([finding(3, None)]) == ""


def test_a_leg_without_a_trial_says_what_would_give_one() -> None:
    untried = {"text": UNTRIED, "state": "missing"}
    assert "--resume" in leg_words(untried, "budget")
    assert "no remedy that a trial can toggle" in leg_words(untried, "settled")
    assert leg_words({"text": "it helps", "state": "shown"}, "settled") == "it helps"
