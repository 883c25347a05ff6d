# SPDX-License-Identifier: Apache-2.0
"""What a diagnosis says on top, and what a leg says once the diagnosis is over."""

from __future__ import annotations

from made_results import METRIC, cell, contrast, finding, leg, remedy, results, step

from slowpath.core.results import Verdict
from slowpath.diagnose.page.text import render
from slowpath.diagnose.page.trials import trials_of
from slowpath.diagnose.page.view import headline, numbers
from slowpath.diagnose.page.words import leg_words
from slowpath.diagnose.records import Diagnosis
from slowpath.diagnose.tasks import TrialTask
from slowpath.findings.finding import UNTRIED


def test_a_leg_without_a_trial_says_what_would_give_one() -> None:
    untried = leg(text=UNTRIED)
    assert "--resume" in leg_words(untried, "budget")
    assert "no remedy that a trial can toggle" in leg_words(untried, "settled")
    assert leg_words(leg("shown", "it helps"), "settled") == "it helps"


VERDICT = Verdict(
    headline="Use huge pages: 3.2x [3.1, 3.4].",
    lines=[],
    state="slow",
    place="n1, mpich 5.0.2, 2026-01-31",
    count="1 slow path (SP008), 1 proven; 8 questions answered",
    slow_paths=1,
    off_default=0,
    questions=8,
    undecided=0,
)


def test_a_diagnosis_has_the_headline_and_the_counts_of_a_run() -> None:
    made = Diagnosis(
        schema=2, slowpath="0", command=[], started="2026-01-31", budget_s=60.0, mpi="mpich 5.0.2", verdict=VERDICT
    )
    assert render(made, "folder").splitlines()[:3] == [VERDICT.headline, VERDICT.place, VERDICT.count]
    assert headline(made) == VERDICT.headline
    assert numbers(made)[0] == ("1", "slow path")


def test_trials_show_the_fast_side_with_the_remedy_where_it_changes_that() -> None:
    cells = [cell(number, {}, [time_s] * 8) for number, time_s in enumerate((45e-9, 26e-9, 36e-9, 19e-9))]
    pairs = [contrast("remedy", [(26e-9, 45e-9)] * 8, 1, 0), contrast("fast side", [(19e-9, 36e-9)] * 8, 3, 2)]
    one = finding("SP019", remedies=[remedy("key", "both sides")])
    task = TrialTask(
        finding=one.id, remedy="key", axis="window_info", slow="default", remedied="latency", metric=METRIC,
        phase="steady", fast_side="toggled",
    )  # fmt: skip
    (trial,) = trials_of(one, [step(1, task)], {step(1, task).folder: results(cells=cells, contrasts=pairs)})
    assert [row.label for row in trial.sides] == [
        "as it is",
        "with the remedy",
        "the fast side",
        "the fast side with it",
    ]
