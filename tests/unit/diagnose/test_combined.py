# SPDX-License-Identifier: Apache-2.0
"""Proven remedies combined: what is measured and what it shows, on trials and times that were made up."""

from __future__ import annotations

from typing import Any

import made_results
import numpy as np
import pytest
from made_results import environment, results, step
from msgspec.structs import replace

from slowpath.core.campaign import Campaign
from slowpath.core.campaign_file import recorded
from slowpath.core.results import EnvironmentResult, Finding, Results, Snippet
from slowpath.diagnose.combined.compatible import Proven, RemedyChange, added_parameters
from slowpath.diagnose.combined.design import design
from slowpath.diagnose.conclusion import conclude
from slowpath.diagnose.page.files import page
from slowpath.diagnose.page.text import render
from slowpath.diagnose.records import SCHEMA, Diagnosis
from slowpath.diagnose.sides import Condition
from slowpath.diagnose.state import LibraryFacts, MeasuredStep, State
from slowpath.diagnose.steps.combined import COMBINED, judge_combined, outcome_words
from slowpath.diagnose.steps.kind import StepConclusion
from slowpath.diagnose.steps.order import proposals
from slowpath.diagnose.tasks import CombinedTask, SurveyTask, TrialTask
from slowpath.mpi.settings import resolver
from slowpath.plan.campaign import decode
from slowpath.plan.expand import expand
from slowpath.plan.mpis import MpiInUse

Json = dict[str, Any]
MPICH = [MpiInUse("mpich", "mpich 5.0.2", resolver("mpich", "5.0.2"))]
NAMES = {"pages": "huge pages", "pack": "contiguous data", "memory": "pageable host memory"}
CMA = "MPIR_CVAR_CH4_CMA_ENABLE"
PLAIN = environment("default")
NO_CMA = environment("default", unset=[CMA])
CMA_OFF = environment("default", **{CMA: "0"})


class Made:
    """Findings with a proven remedy each, and their trials."""

    def __init__(self, description: Json) -> None:
        self._description = description
        self.findings: list[Finding] = []
        self.measured = [MeasuredStep(step(1, SurveyTask()), results()), MeasuredStep(step(2), results())]

    def add(
        self,
        rule: str,
        axis: str = "environment",
        slow: EnvironmentResult = PLAIN,
        remedied: EnvironmentResult = PLAIN,
        binds: tuple[str, str] = ("core", "core"),
        **changed: tuple[str, str],
    ) -> Made:
        name = NAMES.get(axis, f"remedy of {rule}")
        environments = [slow, replace(remedied, name=f"remedied {rule}")]
        cells = [
            made_results.cell(
                i,
                parameters,
                environment=environments[i if axis == "environment" else 0].name,
                placement=f"bound {binds[i]}",
            )
            for i, parameters in enumerate(self._parameters(changed))
        ]
        effect = made_results.contrast("remedy", a=1, b=0)
        made = results(cells, [effect], environments=environments, binds={f"bound {bind}": bind for bind in binds})
        own = made_results.remedy(name, "proven")
        one = made_results.finding(rule, 1.0, status="proven", remedies=[own], contrasts=[], cells=[])
        task = TrialTask(
            finding=one.id, remedy=name, axis=axis, slow="", remedied="", metric="one_way_s", phase="steady"
        )
        self.measured.append(MeasuredStep(step(len(self.measured) + 1, task), made))
        self.findings.append(one)
        return self

    def _parameters(self, changed: dict[str, tuple[str, str]]) -> list[dict[str, str]]:
        entry = next(one for one in self._description["experiments"] if one["name"] == "p2p")
        plain = {one["name"]: one["default"] for one in entry["parameters"]}
        plain |= {"pattern": "one_way", "message_bytes": "1048576"}
        return [plain | {name: values[i] for name, values in changed.items()} for i in (0, 1)]

    def state(self, environ: frozenset[str] = frozenset({CMA})) -> State:
        return State(self.findings, self.measured, LibraryFacts("mpich", "5.0.2"), dict.fromkeys(environ, "0"))

    def design(self, environ: frozenset[str] = frozenset({CMA})) -> tuple[CombinedTask, Campaign] | None:
        return design(self.state(environ))


@pytest.fixture
def made(description: Json) -> Made:
    return Made(description)


def designed(made: Made) -> tuple[CombinedTask, Campaign]:
    found = made.design()
    assert found is not None
    return found


def pages_and_copy(made: Made) -> Made:
    """Huge pages under the user's environment, and the user's variable unset."""
    return made.add("SP008", "pages", pages=("small", "huge")).add("SP009", remedied=NO_CMA)


def measured(campaign: Campaign, description: Json, factors: dict[str, float]) -> Results:
    """Results in which a cell takes 1 ms times the factors of the axis values that it has, with noise by round."""
    plan = expand(decode(recorded(campaign), "made.toml"), description, MPICH, 1)
    generator = np.random.default_rng(1)
    drift = 1 + 0.1 * np.abs(generator.standard_normal(10))
    times = {}
    for cell in plan.cells:
        has = [cell.environment, cell.placement, *cell.parameters.values()]
        factor = float(np.prod([factors.get(value, 1.0) for value in has]))
        times[cell.cell] = 1e-3 * factor * drift * (1 + 0.005 * generator.standard_normal(10))
    contrasts = []
    for one in plan.contrasts:
        pairs = list(zip(times[one.a.cell].tolist(), times[one.b.cell].tolist(), strict=True))
        contrasts.append(made_results.contrast(one.group, pairs, one.a.cell, one.b.cell))
    return results(contrasts=contrasts)


def test_each_cell_is_measured_as_it_is_with_its_remedy_and_with_all(made: Made, description: Json) -> None:
    task, campaign = designed(pages_and_copy(made))
    assert [(case.rule, case.links) for case in task.cases] == [("SP008", ["environment"])]
    assert [one.rule for one in task.left_out] == ["SP009"]  # huge pages are not for its cell
    assert task.snippet.shell == f"unset {CMA}"
    plan = expand(decode(recorded(campaign), "made.toml"), description, MPICH, 1)
    cells = {cell.cell: cell for cell in plan.cells}
    link = next(one for one in plan.contrasts if one.group == "finding 1: environment")
    sides = [cells[one.cell] for one in (link.a, link.b)]
    assert [cell.parameters["pages"] for cell in sides] == ["huge", "huge"]
    assert [cell.environment for cell in sides] == ["default", "combined"]
    assert plan.environment("combined", "mpich").unset == [CMA]
    alone = next(one for one in plan.contrasts if one.group == "finding 1: alone")
    assert cells[alone.b.cell].parameters["pages"] == "small"
    assert cells[alone.b.cell].environment == "default"
    assert sum(one.group.startswith("side effect") for one in plan.contrasts) == 3


@pytest.mark.parametrize(
    ("factor", "verdict", "recommended"), [(1.0, "keeps", True), (0.5, "keeps", True), (1.3, "loses", False)]
)
def test_a_finding_keeps_what_its_remedy_gave_or_loses_it(
    made: Made, description: Json, factor: float, verdict: str, recommended: bool
) -> None:
    task, campaign = designed(pages_and_copy(made))
    found = judge_combined(task, measured(campaign, description, {"small": 3.0, "combined": factor}), "09-combined")
    one = found.findings[0]
    assert one.verdict == verdict
    assert one.ratio == pytest.approx(factor, rel=0.02)
    assert one.as_it_is_s / one.alone_s == pytest.approx(3.0, rel=0.02)
    assert (found.snippet is not None) == recommended
    assert (found.reason is None) == recommended
    assert len(found.side_effects) == (3 if factor > 1 else 0)


def test_a_binding_and_a_variable_are_two_links_from_alone_to_combined(made: Made, description: Json) -> None:
    made.add("SP008", "pages", pages=("small", "huge"), binds=("none", "none"))
    made.add("SP009", remedied=NO_CMA, binds=("none", "none"))
    made.add("SP011", "placement", binds=("none", "core"))
    task, campaign = designed(made)
    assert [case.links for case in task.cases] == [["environment", "placement"], ["placement"], ["environment"]]
    assert task.snippet.shell == f"unset {CMA}\nmpiexec -bind-to core"
    factors = {"small": 3.0, "combined": 0.8, "bound to core": 0.9}
    results = measured(campaign, description, factors)
    found = judge_combined(task, results, "09-combined")
    assert found.findings[0].ratio == pytest.approx(0.72, rel=0.02)
    assert [one.verdict for one in found.findings] == ["keeps"] * 3
    assert found.side_effects == []


def test_what_a_program_changes_reaches_cells_that_stand_as_its_own_did(made: Made, description: Json) -> None:
    made.add("SP008", "pages", pages=("small", "huge"))
    made.add("SP015", "pack", pack=("none", "mpi_pack"), pages=("small", "small"), datatype=("vector", "vector"))
    made.add("SP007", "memory", memory=("pinned_host", "host"))
    task, campaign = designed(made)
    # Packing is not for contiguous messages, and SP007's cell has default pages.
    links = {case.rule: (case.links, case.others) for case in task.cases}
    assert links == {"SP015": (["pages"], ["huge pages"])}
    assert task.snippet.shell is None
    found = judge_combined(task, measured(campaign, description, {"small": 3.0, "mpi_pack": 1.2}), "09-combined")
    assert [one.verdict for one in found.findings] == ["keeps"]
    assert found.findings[0].ratio == pytest.approx(1 / 3, rel=0.02)
    assert found.side_effects == []


def test_what_reaches_no_measured_cell_is_neither_set_nor_measured(made: Made) -> None:
    made.add("SP008", "pages", pages=("small", "huge"))
    made.add("SP015", "pack", pack=("none", "mpi_pack"), pages=("small", "small"), datatype=("vector", "vector"))
    made.add("SP009", slow=CMA_OFF, remedied=PLAIN)  # set by the survey alone
    found = made.design(frozenset())
    assert found is not None
    task, campaign = found
    assert task.job == []
    assert task.snippet == Snippet()
    assert [group.name for group in campaign.cells] == ["finding 1"]


def test_one_loss_and_there_is_nothing_to_copy_for_all(made: Made, description: Json) -> None:
    made.add("SP008", "pages", pages=("small", "huge")).add("SP007", "memory", memory=("pinned_host", "host"))
    made.add("SP009", remedied=NO_CMA).add("SP010", remedied=NO_CMA)
    task, campaign = designed(made)
    assert task.job == ["remedy of SP009"]  # one and the same for two findings
    plain = measured(campaign, description, {"small": 3.0, "pinned_host": 2.0})
    slower = [
        replace(one, pairs=tuple((a, 1.5 * a) for a, _ in one.pairs)) if one.group == "finding 2: environment" else one
        for one in plain.contrasts
    ]
    found = judge_combined(task, results(contrasts=slower), "09-combined")
    assert [one.verdict for one in found.findings] == ["keeps", "loses"]
    assert found.snippet is None
    assert found.reason == "SP007 would lose; set only the most useful remedies"
    assert outcome_words(found) == "keeps for SP008; loses for SP007"


def test_a_remedy_of_one_experiment_is_not_for_another() -> None:
    under = Condition("default", {}, (), "bound", "core")
    window = {"window": "create"}

    def proven(experiment: str, remedy: str, axis: str, slow: dict[str, str], remedied: dict[str, str]) -> Proven:
        one, other = (made_results.cell(i, of, experiment=experiment) for i, of in enumerate((slow, remedied)))
        return Proven(f"{remedy}:0", "SP018", remedy, axis, "multiply_s", "steady", one, other, under, under)

    of_puts = proven("put", "MPI_Win_allocate", "window", window, {"window": "allocate"})
    cannon = proven("cannon", "bind to cores", "placement", {**window, "n": "64"}, {**window, "n": "64"})
    assert added_parameters(cannon, [of_puts], 4) == {}


def test_one_remedy_or_remedies_that_never_meet_make_no_step(made: Made, description: Json) -> None:
    assert made.design() is None
    assert made.add("SP009", remedied=NO_CMA).design() is None
    assert made.add("SP009", remedied=NO_CMA).design() is None  # one and the same for two findings
    programs = Made(description).add("SP007", "memory", memory=("pinned_host", "host"))
    assert programs.add("SP015", "pages", pages=("small", "huge")).design() is None
    # A state that the survey alone had set is no change for a user's own cells.
    forced = Made(description).add("SP008", "pages", pages=("small", "huge"))
    forced.add("SP009", slow=CMA_OFF, remedied=PLAIN)
    assert forced.design(frozenset()) is None
    assert forced.design(frozenset({CMA})) is not None


def test_what_contradicts_is_left_out_and_says_why(made: Made) -> None:
    made.add("SP008", "pages", pages=("small", "huge"))
    for rule, value in (("SP013", "1"), ("SP016", "2")):
        made.add(rule, remedied=environment("default", X=value))
    task, _ = designed(made)
    assert task.job == ["remedy of SP013"]
    assert task.snippet.shell == "export X=1"
    told = {one.rule: one.why for one in task.left_out}
    assert told["SP016"] == "it sets X to another value than 'remedy of SP013'"
    one, other = RemedyChange("a", {}, ("X",), None), RemedyChange("b", {"X": "1"}, (), None)
    assert one.against(other)
    assert not one.against(RemedyChange("c", {}, ("X",), None))
    assert RemedyChange("d", {}, (), "core").against(RemedyChange("e", {}, (), "socket"))


def test_too_few_or_no_pairs_decide_nothing(made: Made, description: Json) -> None:
    task, campaign = designed(pages_and_copy(made))
    few = [replace(one, pairs=one.pairs[:5]) for one in measured(campaign, description, {"small": 3.0}).contrasts]
    assert judge_combined(task, results(contrasts=few), "09-combined").findings[0].verdict == "undecided"
    crashed = replace(few[0], pairs=(), reason="it crashed")
    none = judge_combined(task, results(contrasts=[crashed]), "09-combined")
    assert none.findings[0].ratio is None
    assert "it crashed" in none.findings[0].text
    assert none.snippet is None
    assert "decided" in (none.reason or "")


def test_it_is_proposed_last_once_for_each_set_of_remedies(made: Made, description: Json) -> None:
    pages_and_copy(made)

    def kinds(of: State) -> list[str]:
        return [one.task.kind for one in proposals(of)]

    assert kinds(made.state()) == ["combined"]
    task, _ = designed(made)
    made.measured.append(MeasuredStep(step(9, task), results()))
    assert kinds(made.state()) == []


def test_text_and_page_tell_it_with_one_piece_to_copy(made: Made, description: Json) -> None:
    task, campaign = designed(pages_and_copy(made))
    outcome = judge_combined(task, measured(campaign, description, {"small": 3.0}), "05-combined")
    assert outcome.folder == "05-combined"
    assert outcome_words(outcome) == "keeps for SP008"
    plain = Diagnosis(schema=SCHEMA, slowpath="0", command=[], started="now", budget_s=1.0, mpi="mpich 5.0.2")
    of_both = replace(plain, combined=outcome)
    text = render(of_both, "here")
    assert "Proven remedies combined" in text
    assert "'huge pages' with 'remedy of SP009': 1.00" in " ".join(text.split())
    assert f"\n    unset {CMA}\n" in text
    assert "huge pages (SP008)" in page(of_both, {})
    assert f">unset {CMA}</pre>" in page(of_both, {})
    assert "combined" not in render(plain, "here")


def test_the_last_step_s_outcome_is_the_diagnosis_own(made: Made, description: Json) -> None:
    task, campaign = designed(pages_and_copy(made))
    survey = MeasuredStep(step(1, SurveyTask()), results())
    last = MeasuredStep(step(2, task), measured(campaign, description, {"small": 3.0}))
    assert conclude([survey], []).combined is None
    found = conclude([survey, last], [])
    assert found.combined is not None
    assert found.combined.folder == "02-combined"
    assert COMBINED.summary(task, StepConclusion(), found) == "keeps for SP008"
