# SPDX-License-Identifier: Apache-2.0
"""The screening of a library's own choices, by a simulated library: what is measured next, and what follows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from made_results import cell, contrast, environment, estimate, results, step
from msgspec.structs import replace

from slowpath.core.cell_results import MetricResult
from slowpath.core.results import Finding, Results, SkippedRow
from slowpath.diagnose.asked import Asked
from slowpath.diagnose.conclusion import conclude
from slowpath.diagnose.state import EVERYTHING, LibraryFacts, MeasuredStep, Proposal, State
from slowpath.diagnose.steps.alternatives import (
    CELLS,
    CONTROLS,
    LEAST_BUDGET_S,
    changes_start,
    propose,
    screening_of,
)
from slowpath.diagnose.steps.trial import propose_alternative
from slowpath.diagnose.tasks import AlternativesTask, SurveyTask
from slowpath.experiments.registry import ROLES
from slowpath.findings.facts import INSTEAD
from slowpath.mpi.alternatives import all_alternatives
from slowpath.mpi.mpi import QUICK_VARIABLE
from slowpath.slowpaths.evaluate import findings as evaluated
from slowpath.slowpaths.settings.sp070_library_default import SLOW_PATH

ASKED = Asked(rules=frozenset({SLOW_PATH.code}))
LENGTHS = {"8 B": "8", "64 KiB": "65536", "1 MiB": "1048576", "allreduce": "8", "put": "8"}
# Variables that a launch has, and a cell's name -> times as long; None: no such launch works.
Law = Callable[[Mapping[str, str], str], float | None]


def clean(variables: Mapping[str, str], _: str) -> float | None:
    """TCP is slow, without CMA long messages are, and one module can't be left out."""
    if variables.get("OMPI_MCA_part") == "^persist":
        return None
    return 8.0 if "tcp" in variables.get("OMPI_MCA_btl", "self,sm").split(",") else 1.0


def forced_tcp(variables: Mapping[str, str], name: str) -> float | None:
    """A file that nobody reads has btl = tcp,self: where nothing else is set, messages go by TCP."""
    if "OMPI_MCA_btl" not in variables and name != "allreduce":
        return 8.0 if clean(variables, name) is not None else None
    return clean(variables, name)


def without_cma(variables: Mapping[str, str], name: str) -> float | None:
    """A file that nobody reads has smsc = ^cma."""
    base = clean(variables, name)
    slow = name == "1 MiB" and variables.get("OMPI_MCA_smsc") != "cma"
    return None if base is None else base * (1.8 if slow else 1.0)


def state_of(measured: Sequence[MeasuredStep], asked: Asked = ASKED, **more: Any) -> State:
    findings = conclude(measured, ()).findings
    return State(findings, measured, LibraryFacts("openmpi", "5.0.11"), {}, asked=asked, **more)


def measured(proposal: Proposal, law: Law, seed: int, spread: float) -> Results:
    """What its campaign would show."""
    generator = np.random.default_rng(seed)
    rounds = proposal.campaign.rounds
    cells, numbers = [], {}
    for table in proposal.campaign.environments:
        for one in CELLS:
            unset = {"UNSET": table.unset[0]} if table.unset else {}
            ratio = law({**table.variables, **unset}, one.cells.name)
            number = len(cells)
            numbers[table.name, one.cells.name] = number
            made = replace(
                cell(number, {"message_bytes": LENGTHS[one.cells.name]}, (), one.cells.experiment, table.name),
                group=one.cells.name,
            )
            if ratio is None:
                made = replace(made, status="failed", reason="see the list", metrics={})
            else:
                times = 1e-5 * ratio * np.exp(generator.normal(0, spread, rounds))
                phases = {"steady": estimate(times.tolist())}
                metric = MetricResult(unit="s", better="lower", phases=phases, first_slow=None, by_repetition=None)
                made = replace(made, metrics={one.metric: metric})
            cells.append(made)
    metrics = {one.cells.name: one.metric for one in CELLS}
    contrasts = []
    for table in proposal.campaign.contrasts:
        a, b = (numbers[str(side), table.cells] for side in (table.a, table.b))
        values = [cells[n].metrics[metrics[table.cells]].phases["steady"].launch_values for n in (a, b)]
        made_one = contrast(table.name, list(zip(*values, strict=True)), a, b, control=table.control)
        side = None if table.control else "b"
        contrasts.append(replace(made_one, metric=metrics[table.cells], default_side=side))
    environments = [environment(table.name, **table.variables) for table in proposal.campaign.environments]
    skipped = [
        SkippedRow(
            cell=one.cell,
            label=one.label,
            status="failed",
            reason="another sentence: No components",
            launch_reason="No components",
            launches=1,
            log=None,
            output=None,
        )
        for one in cells
        if one.status == "failed"
    ]
    made_results = replace(results(cells, contrasts, environments=environments), skipped=skipped)
    return replace(made_results, findings=evaluated(made_results, ROLES))


def diagnosed(law: Law, seed: int = 1, spread: float = 0.05) -> tuple[Sequence[Finding], list[MeasuredStep]]:
    """Steps until nothing is proposed."""
    steps = [MeasuredStep(step(1, SurveyTask()), results())]
    for number in range(2, 9):
        proposal = next(propose(state_of(steps)), None)
        if proposal is None:
            return conclude(steps, ()).findings, steps
        steps.append(MeasuredStep(step(number, proposal.task), measured(proposal, law, seed + number, spread)))
    raise AssertionError("no end")


def stages(steps: Sequence[MeasuredStep]) -> list[str]:
    return [one.step.task.stage for one in steps if isinstance(one.step.task, AlternativesTask)]


@pytest.mark.parametrize(
    ("law", "remedies"), [(forced_tcp, {"btl self,sm", "pml ob1", "btl ^ofi"}), (without_cma, {"smsc cma"})]
)
def test_a_slow_default_that_nobody_set_is_named(law: Law, remedies: set[str]) -> None:
    findings, steps = diagnosed(law)
    assert stages(steps) == ["alone", "confirm"]
    assert [one.rule for one in findings] == [SLOW_PATH.code]
    assert findings[0].remedies[0].name in remedies
    assert findings[0].status == "explained"
    assert findings[0].kind == "opportunity"
    assert any(line.startswith("with a variable that nothing reads: ") for line in findings[0].legs.explained.evidence)


def test_a_choice_that_slows_short_messages_comes_after_one_that_slows_nothing() -> None:
    """MPIR_CVAR_NOLOCAL=1 hid MPIR_CVAR_CH4_CMA_ENABLE=1: a little faster at 1 MiB, several times slower at 8 B."""

    def law(variables: Mapping[str, str], name: str) -> float | None:
        base = without_cma(variables, name)
        if base is None or variables.get("OMPI_MCA_osc") != "ucx":
            return base
        return {"1 MiB": 0.4, "8 B": 3.0}.get(name, base)

    findings, _ = diagnosed(law)
    assert [one.remedies[0].name for one in findings] == ["smsc cma"]


def test_a_choice_that_slows_others_is_named_alone_where_nothing_else_helps_and_says_so() -> None:
    def law(variables: Mapping[str, str], name: str) -> float | None:
        base = clean(variables, name)
        other = variables.get("OMPI_MCA_osc") == "ucx"
        return {"1 MiB": 0.2, "8 B": 3.0}.get(name, base) if other and base else base

    findings, _ = diagnosed(law)
    assert [one.remedies[0].name for one in findings] == ["osc ucx"]
    assert any(line.startswith("with OMPI_MCA_osc=ucx, 8 B takes ") for line in findings[0].legs.observed.evidence)


def test_what_was_fast_once_by_chance_is_refuted() -> None:
    lucky = {one.cells.name for one in CELLS}

    def law(variables: Mapping[str, str], name: str) -> float | None:
        if variables.get("OMPI_MCA_smsc") == "cma" and name in lucky:
            lucky.remove(name)
            return 0.2
        return clean(variables, name)

    findings, steps = diagnosed(law)
    assert stages(steps) == ["alone", "confirm"]
    assert findings == []


@pytest.mark.needs("minutes")
def test_each_of_20_screenings_names_it() -> None:
    found = [diagnosed(without_cma, 100 * seed)[0] for seed in range(20)]
    assert [[one.remedies[0].name for one in some] for some in found] == [["smsc cma"]] * 20


@pytest.mark.needs("minutes")
@pytest.mark.parametrize("spread", [0.05, 0.15])
def test_a_clean_library_has_no_finding(spread: float) -> None:
    assert [seed for seed in range(10) if diagnosed(clean, 100 * seed, spread)[0]] == []


def test_a_choice_that_slowpath_hides_to_start_quickly_is_a_suspect_and_confirmed_without_that() -> None:
    """A file has btl = tcp,self: only launches without OMPI_MCA_btl=^ofi, which Slowpath sets, go by TCP."""

    def law(variables: Mapping[str, str], name: str) -> float | None:
        base = clean(variables, name)
        return 8.0 if variables.get("UNSET") == "OMPI_MCA_btl" and name == "8 B" and base else base

    _, steps = diagnosed(law)
    tasks = [one.step.task for one in steps if isinstance(one.step.task, AlternativesTask)]
    task = next(one for one in tasks if one.stage == "confirm")
    assert task.as_library_is
    assert f"{INSTEAD}btl ^ofi" in task.environments


def test_its_trial_sets_the_variable_of_the_row() -> None:
    findings, steps = diagnosed(without_cma)
    (proposal,) = propose_alternative(findings[0], state_of(steps))
    names = {one.name: dict(one.variables) for one in proposal.campaign.environments}
    assert {"OMPI_MCA_smsc": "cma"} in names.values()
    assert {} in names.values()
    assert any(one.name == "negative control" for one in proposal.campaign.contrasts)


def test_a_row_that_does_not_work_is_not_called_slower() -> None:
    _, steps = diagnosed(clean)
    screening = screening_of(steps)
    assert dict(screening.failed) == {"part ^persist": "No components"}
    assert "part ^persist" not in screening.slower
    assert screening.outcome is not None
    assert screening.outcome.failed == dict(screening.failed)


def test_the_first_run_has_launches_with_a_variable_that_nothing_reads() -> None:
    proposal = next(propose(state_of([MeasuredStep(step(1, SurveyTask()), results())])))
    names = [one.name for one in proposal.campaign.environments]
    assert names[0] == "default"
    assert sum(name.startswith("control") for name in names) == CONTROLS
    assert sum(name.startswith(INSTEAD) for name in names) > 10


def test_a_diagnosis_of_everything_does_it_with_a_long_budget_alone() -> None:
    steps = [MeasuredStep(step(1, SurveyTask()), results())]
    assert next(propose(state_of(steps, EVERYTHING, budget_s=LEAST_BUDGET_S - 1)), None) is None
    assert next(propose(state_of(steps, EVERYTHING, budget_s=LEAST_BUDGET_S)), None) is not None
    assert next(propose(state_of(steps, Asked(frozenset({"SP001"})), budget_s=math.inf)), None) is None


def test_what_the_library_is_not_built_with_is_left_out_with_the_reason() -> None:
    steps = [MeasuredStep(step(1, SurveyTask()), results())]
    proposal = next(propose(state_of(steps, listed=lambda: frozenset({"osc_sm_priority"}))))
    assert isinstance(proposal.task, AlternativesTask)
    assert "osc_ucx_priority" in proposal.task.left_out["osc ucx"]
    assert f"{INSTEAD}osc sm" in proposal.task.environments


def test_a_row_whose_variable_the_user_has_set_since_is_left_out_of_what_follows() -> None:
    """The report says `export OMPI_MCA_btl=...`; --resume then ended with a KeyError."""
    _, steps = diagnosed(forced_tcp)
    alone = steps[:2]
    before = State((), alone, LibraryFacts("openmpi", "5.0.11"), {}, asked=ASKED)
    after = State((), alone, LibraryFacts("openmpi", "5.0.11"), {"OMPI_MCA_btl": "self,sm"}, asked=ASKED)
    names = [{one.name for one in next(propose(state)).campaign.environments} for state in (before, after)]
    assert any("btl " in name for name in names[0])
    assert not any("btl " in name for name in names[1])


def test_fewer_are_confirmed_where_time_is_left_for_fewer() -> None:
    _, steps = diagnosed(forced_tcp)
    sizes = [len(one.campaign.environments) - 2 for one in propose(state_of(steps[:2]))]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1
    outcome = screening_of(steps[:2]).outcome
    assert outcome is not None
    assert {one.name for one in outcome.suspects} >= {"btl self,sm"}


def test_what_changes_the_start_is_known_by_its_variables() -> None:
    findings, _ = diagnosed(without_cma)
    quick = next(row.name for row in all_alternatives() if QUICK_VARIABLE in row.variables)
    assert not changes_start(findings[0])
    reworded = [replace(one, phrase="another phrase", text="another text") for one in findings[0].remedies]
    assert changes_start(replace(findings[0], about=quick, remedies=reworded))
