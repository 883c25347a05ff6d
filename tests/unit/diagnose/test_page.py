# SPDX-License-Identifier: Apache-2.0
"""The picture of a diagnosis, and what a leg says once the diagnosis is over."""

from __future__ import annotations

from made_results import finding, leg, remedy

from slowpath.core.results import Finding
from slowpath.diagnose.page.forest import forest
from slowpath.diagnose.page.words import leg_words
from slowpath.findings.finding import UNTRIED


def seen(number: int, ratio: float | None, proven: bool = False) -> Finding:
    tried = remedy("huge <pages>", "proven" if proven else "no effect", (0.98, 0.9, 1.05))
    return finding(
        "SP008",
        number=number,
        title="Messages from small pages & more",
        status="proven" if proven else "observed",
        ratio=ratio,
        interval=None if ratio is None else (0.9 * ratio, 1.1 * ratio),
        remedies=[tried],
    )


def test_each_finding_with_a_ratio_has_a_row_with_its_interval_and_its_proof() -> None:
    html = forest([seen(1, 2.0, proven=True), seen(2, 10.0), seen(3, None)])
    assert html.count('class="row"') == 2
    assert 'href="#SP008:00000001"' in html
    assert html.count('class="track"') == 2
    assert "huge &lt;pages&gt;: removes 98%" in html
    assert "small pages &amp; more" in html
    assert "SP008:00000003" not in html
    assert forest([seen(3, None)]) == ""


def test_a_leg_without_a_trial_says_what_would_give_one() -> None:
    untried = leg(text=UNTRIED)
    assert "--resume" in leg_words(untried, "budget")
    assert "no remedy that a trial can toggle" in leg_words(untried, "settled")
    assert leg_words(leg("shown", "it helps"), "settled") == "it helps"
