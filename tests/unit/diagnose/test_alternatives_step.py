# SPDX-License-Identifier: Apache-2.0
"""The screening of a library's own choices, by a simulated library: what is measured next, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from made_results import cell, environment, estimate, results, step
from msgspec.structs import replace

from slowpath.core.cell_results import MetricResult
from slowpath.core.results import Finding, Results, SkippedRow
from slowpath.diagnose.state import Asked, LibraryFacts, MeasuredStep, Proposal, State
from slowpath.diagnose.steps.alternatives import CELLS, propose
from slowpath.diagnose.steps.order import conclude
from slowpath.diagnose.steps.trial import propose_named
from slowpath.diagnose.tasks import SurveyTask
from slowpath.slowpaths.sp070_library_default import SLOW_PATH

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
    findings = conclude(measured).findings
    return State(findings, measured, LibraryFacts("openmpi", "5.0.11"), {}, asked=asked, **more)


def measured(proposal: Proposal, law: Law, seed: int, spread: float) -> Results:
    """What its campaign would show."""
    generator = np.random.default_rng(seed)
    rounds = proposal.campaign.rounds
    cells, numbers = [], {}
    for table in proposal.campaign.environments:
        for cell_, metric_name, _ in CELLS:
            unset = {"UNSET": table.unset[0]} if table.unset else {}
            ratio = law({**table.variables, **unset}, cell_.name)
            number = len(cells)
            numbers[table.name, cell_.name] = number
            made = replace(
                cell(number, {"message_bytes": LENGTHS[cell_.name]}, (), cell_.experiment, table.name), group=cell_.name
            )
            if ratio is None:
                made = replace(made, status="failed", reason="see the list", metrics={})
            else:
                times = 1e-5 * ratio * np.exp(generator.normal(0, spread, rounds))
                phases = {"steady": estimate(times.tolist())}
                metric = MetricResult(unit="s", better="lower", phases=phases, by_repetition=None)
                made = replace(made, metrics={metric_name: metric})
            cells.append(made)
    environments = [environment(table.name, **table.variables) for table in proposal.campaign.environments]
    skipped = [
        SkippedRow(
            cell=cell.cell,
            label=cell.label,
            status="failed",
            reason="another sentence: No components",
            launch_reason="No components",
            launches=1,
            log=None,
            output=None,
        )
        for cell in cells
        if cell.status == "failed"
    ]
    return replace(results(cells, environments=environments), skipped=skipped)


def diagnosed(law: Law, seed: int = 1, spread: float = 0.05) -> tuple[Sequence[Finding], list[MeasuredStep]]:
    """What one screening shows."""
    steps = [MeasuredStep(step(1, SurveyTask()), results())]
    proposal = next(propose(state_of(steps)))
    steps.append(MeasuredStep(step(2, proposal.task), measured(proposal, law, seed, spread)))
    assert list(propose(state_of(steps))) == [], "once"
    return conclude(steps).findings, steps


@pytest.mark.parametrize(
    ("law", "remedies"), [(forced_tcp, {"set OMPI_MCA_btl", "set OMPI_MCA_pml"}), (without_cma, {"set OMPI_MCA_smsc"})]
)
def test_a_slow_default_that_nobody_set_is_named(law: Law, remedies: set[str]) -> None:
    findings, _ = diagnosed(law)
    assert {finding.rule for finding in findings} == {SLOW_PATH.code}
    assert findings[0].remedies[0].name in remedies
    assert (findings[0].status, findings[0].kind) == ("observed", "opportunity")
    variables = [finding.remedies[0].name for finding in findings]
    assert len(set(variables)) == len(variables), "one for each variable"


@pytest.mark.needs("minutes")
@pytest.mark.parametrize("spread", [0.05, 0.15])
def test_a_clean_library_has_no_finding(spread: float) -> None:
    assert sum(bool(diagnosed(clean, 100 * seed, spread)[0]) for seed in range(20)) <= 1


@pytest.mark.needs("minutes")
def test_each_of_20_screenings_names_it() -> None:
    screenings = [diagnosed(without_cma, 100 * seed)[0] for seed in range(20)]
    assert [some[0].remedies[0].name for some in screenings] == ["set OMPI_MCA_smsc"] * 20


def test_its_trial_sets_the_variable_of_the_row() -> None:
    findings, steps = diagnosed(without_cma)
    (proposal,) = propose_named(findings[0], state_of(steps))
    names = {environment.name: dict(environment.variables) for environment in proposal.campaign.environments}
    assert {"OMPI_MCA_smsc": "cma"} in names.values()
    assert {} in names.values()
    assert any(contrast.name == "negative control" for contrast in proposal.campaign.contrasts)
