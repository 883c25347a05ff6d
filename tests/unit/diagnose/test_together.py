# SPDX-License-Identifier: Apache-2.0
"""Proven remedies together: what is measured and what it says, on trials and times that were made up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from slowpath.diagnose import together
from slowpath.diagnose.campaign_text import Campaign
from slowpath.diagnose.combine import Change, Proven, added_parameters
from slowpath.diagnose.html import page
from slowpath.diagnose.known import Known, Library
from slowpath.diagnose.propose import proposals
from slowpath.diagnose.records import SCHEMA, Diagnosis, Step
from slowpath.diagnose.sides import Condition
from slowpath.diagnose.text import render
from slowpath.diagnose.together_judge import judge_together, outcome_of, words
from slowpath.mpi.settings import resolver
from slowpath.plan.campaign import decode
from slowpath.plan.expand import expand
from slowpath.plan.mpis import MpiInUse
from slowpath.stats.contrast import paired
from slowpath.stats.verdict import judge

Json = dict[str, Any]
MPICH = [MpiInUse("mpich", "mpich 5.0.2", resolver("mpich", "5.0.2"))]
NAMES = {"pages": "huge pages", "pack": "contiguous data", "memory": "pageable host memory"}
CMA = "MPIR_CVAR_CH4_CMA_ENABLE"
PLAIN: Json = {"variables": {}, "unset": []}
NO_CMA: Json = {"variables": {}, "unset": [CMA]}


class Made:
    """Findings with a proven remedy each, their trial steps and the trials' results."""

    def __init__(self, description: Json) -> None:
        self._description = description
        self.findings: list[Json] = []
        self.steps: list[Step] = [Step(0, "witness", "02-witness", "", 0.0)]
        self.results: dict[str, Json] = {}

    def add(
        self,
        rule: str,
        axis: str = "environment",
        slow: Json = PLAIN,
        remedied: Json = PLAIN,
        binds: tuple[str, str] = ("core", "core"),
        **changed: tuple[str, str],
    ) -> Made:
        name = NAMES.get(axis, f"remedy of {rule}")
        parameters = self._parameters(changed)
        folder = f"{len(self.steps) + 2:02d}-trial"
        environments = [{"name": text, **of} for text, of in (("default", slow), (f"remedied {rule}", remedied))]
        placements = [{"name": f"bound {bind}", "bind": bind} for bind in dict.fromkeys(binds)]
        cells = [
            {"cell": i, "experiment": "p2p", "group": "remedy", "mpi": "mpich", "parameters": parameters[i],
             "environment": environments[i if axis == "environment" else 0]["name"],
             "placement": f"bound {binds[i]}"} for i in (0, 1)
        ]  # fmt: skip
        run = {"environments": [{**one, "mpi": None} for one in environments], "placements": placements}
        effect = {"group": "remedy", "a": {"cell": 1}, "b": {"cell": 0}}
        self.results[folder] = {"run": run, "cells": cells, "contrasts": [effect]}
        about = {"finding": f"{rule}:0", "remedy": name, "axis": axis, "metric": "one_way_s", "phase": "steady"}
        self.steps.append(Step(len(self.steps) + 2, "trial", folder, "", 1.0, about))
        legs = {"explained": {"state": "shown"}}
        self.findings.append({
            "id": f"{rule}:0", "rule": rule, "remedies": [{"name": name, "verdict": "proven", "text": ""}],
            "status": "proven", "law": None, "usual": True, "excess_s": 1.0, "legs": legs, "contrasts": [],
            "cells": [], "metric": "one_way_s", "phase": "steady",
        })  # fmt: skip
        return self

    def _parameters(self, changed: dict[str, tuple[str, str]]) -> list[Json]:
        entry = next(one for one in self._description["experiments"] if one["name"] == "p2p")
        plain = {one["name"]: one["default"] for one in entry["parameters"]}
        plain |= {"pattern": "one_way", "message_bytes": "1048576"}
        return [plain | {name: values[i] for name, values in changed.items()} for i in (0, 1)]

    def design(self, environ: frozenset[str] = frozenset({CMA})) -> tuple[Json, Campaign] | None:
        return together.design(self.findings, self.steps, self.results, environ, 2, "mpich")


@pytest.fixture
def made(description: Json) -> Made:
    return Made(description)


def designed(made: Made) -> tuple[Json, Campaign]:
    found = made.design()
    assert found is not None
    return found


def pages_and_copy(made: Made) -> Made:
    """Huge pages under the user's environment, and the user's variable unset."""
    return made.add("SP008", "pages", pages=("small", "huge")).add("SP009", remedied=NO_CMA)


def measured(about: Json, campaign: Campaign, description: Json, factors: dict[str, float]) -> Json:
    """Results in which a cell takes 1 ms times the factors of the axis values that it has, with noise by round."""
    plan = expand(decode(campaign.text.encode(), "made.toml"), description, MPICH, 1)
    generator = np.random.default_rng(1)
    drift = 1 + 0.1 * np.abs(generator.standard_normal(10))
    times = {}
    for cell in plan.cells:
        has = [cell.environment, cell.placement, *cell.parameters.values()]
        factor = float(np.prod([factors.get(value, 1.0) for value in has]))
        times[cell.cell] = 1e-3 * factor * drift * (1 + 0.005 * generator.standard_normal(10))
    contrasts = []
    for one in plan.contrasts:
        a, b = times[one.a.cell], times[one.b.cell]
        found = paired(a, b, 0.03)
        contrasts.append({
            "group": one.group, "a": {"cell": one.a.cell}, "b": {"cell": one.b.cell}, "where": "", "reason": "",
            "ratio": found.ratio, "verdict": judge(found, found.p).word, "minimum_effect": 0.03,
            "pairs": [list(pair) for pair in zip(a.tolist(), b.tolist(), strict=True)],
        })  # fmt: skip
    return {"contrasts": contrasts, "run": {}}


def test_each_cell_is_measured_as_it_is_with_its_remedy_and_with_all(made: Made, description: Json) -> None:
    about, campaign = designed(pages_and_copy(made))
    assert [(case["rule"], case["links"]) for case in about["cases"]] == [("SP008", ["environment"])]
    assert [one["rule"] for one in about["listed"]] == ["SP009"]  # huge pages are not for its cell
    assert about["snippet"]["shell"] == f"unset {CMA}"
    plan = expand(decode(campaign.text.encode(), "made.toml"), description, MPICH, 1)
    cells = {cell.cell: cell for cell in plan.cells}
    link = next(one for one in plan.contrasts if one.group == "finding 1: environment")
    sides = [cells[one.cell] for one in (link.a, link.b)]
    assert [cell.parameters["pages"] for cell in sides] == ["huge", "huge"]
    assert [cell.environment for cell in sides] == ["default", "together"]
    assert plan.environment("together", "mpich").unset == [CMA]
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
    about, campaign = designed(pages_and_copy(made))
    found = judge_together(about, measured(about, campaign, description, {"small": 3.0, "together": factor}))
    one = found["findings"][0]
    assert one["verdict"] == verdict
    assert one["ratio"] == pytest.approx(factor, rel=0.02)
    assert one["as_it_is_s"] / one["alone_s"] == pytest.approx(3.0, rel=0.02)
    assert (found["snippet"] is not None) == recommended
    assert (found["reason"] is None) == recommended
    assert len(found["side_effects"]) == (3 if factor > 1 else 0)


def test_a_binding_and_a_variable_are_two_links_from_alone_to_together(made: Made, description: Json) -> None:
    made.add("SP008", "pages", pages=("small", "huge"), binds=("none", "none"))
    made.add("SP009", remedied=NO_CMA, binds=("none", "none"))
    made.add("SP011", "placement", binds=("none", "core"))
    about, campaign = designed(made)
    assert [case["links"] for case in about["cases"]] == [["environment", "placement"], ["placement"], ["environment"]]
    assert about["snippet"]["shell"] == f"unset {CMA}\nmpiexec -bind-to core"
    factors = {"small": 3.0, "together": 0.8, "bound to core": 0.9}
    results = measured(about, campaign, description, factors)
    found = judge_together(about, results)
    assert found["findings"][0]["ratio"] == pytest.approx(0.72, rel=0.02)
    assert [one["verdict"] for one in found["findings"]] == ["keeps"] * 3
    assert found["side_effects"] == []


def test_what_a_program_changes_reaches_cells_that_stand_as_its_own_did(made: Made, description: Json) -> None:
    made.add("SP008", "pages", pages=("small", "huge"))
    made.add("SP015", "pack", pack=("none", "mpi_pack"), pages=("small", "small"), datatype=("vector", "vector"))
    made.add("SP007", "memory", memory=("pinned_host", "host"))
    about, campaign = designed(made)
    # Packing is not for contiguous messages, and SP007's cell has default pages.
    links = {case["rule"]: (case["links"], case["others"]) for case in about["cases"]}
    assert links == {"SP015": (["pages"], ["huge pages"])}
    assert about["snippet"]["shell"] is None
    found = judge_together(about, measured(about, campaign, description, {"small": 3.0, "mpi_pack": 1.2}))
    assert [one["verdict"] for one in found["findings"]] == ["keeps"]
    assert found["findings"][0]["ratio"] == pytest.approx(1 / 3, rel=0.02)
    assert found["side_effects"] == []


def test_what_reaches_no_measured_cell_is_neither_set_nor_measured(made: Made) -> None:
    made.add("SP008", "pages", pages=("small", "huge"))
    made.add("SP015", "pack", pack=("none", "mpi_pack"), pages=("small", "small"), datatype=("vector", "vector"))
    made.add("SP009", slow={"variables": {CMA: "0"}, "unset": []}, remedied=PLAIN)  # set by the survey alone
    found = made.design(frozenset())
    assert found is not None
    about, campaign = found
    assert about["job"] == []
    assert about["snippet"] == {"shell": None, "modulefile": None}
    assert [group.name for group in campaign.groups] == ["finding 1"]


def test_one_loss_and_there_is_nothing_to_copy_for_all(made: Made, description: Json) -> None:
    made.add("SP008", "pages", pages=("small", "huge")).add("SP007", "memory", memory=("pinned_host", "host"))
    made.add("SP009", remedied=NO_CMA).add("SP010", remedied=NO_CMA)
    about, campaign = designed(made)
    assert about["job"] == ["remedy of SP009"]  # one and the same for two findings
    results = measured(about, campaign, description, {"small": 3.0, "pinned_host": 2.0})
    for contrast in results["contrasts"]:
        if contrast["group"] == "finding 2: environment":
            contrast["pairs"] = [[a, 1.5 * a] for a, _ in contrast["pairs"]]
    found = judge_together(about, results)
    assert [one["verdict"] for one in found["findings"]] == ["keeps", "loses"]
    assert found["snippet"] is None
    assert found["reason"] == "SP007 would lose; set what helps most, and not all of them"
    assert words(found) == "keeps for SP008; loses for SP007"


def test_a_remedy_of_one_experiment_is_not_for_another() -> None:
    under = Condition("default", {}, (), "bound", "core")
    window = {"window": "create"}

    def proven(experiment: str, remedy: str, axis: str, slow: Json, remedied: Json) -> Proven:
        one, other = ({"experiment": experiment, "parameters": of} for of in (slow, remedied))
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
    forced.add("SP009", slow={"variables": {CMA: "0"}, "unset": []}, remedied=PLAIN)
    assert forced.design(frozenset()) is None
    assert forced.design(frozenset({CMA})) is not None


def test_what_contradicts_is_left_out_and_says_why(made: Made) -> None:
    made.add("SP008", "pages", pages=("small", "huge"))
    for rule, value in (("SP013", "1"), ("SP016", "2")):
        made.add(rule, remedied={"variables": {"X": value}, "unset": []})
    about, _ = designed(made)
    assert about["job"] == ["remedy of SP013"]
    assert about["snippet"]["shell"] == "export X=1"
    told = {one["rule"]: one["why"] for one in about["listed"]}
    assert told["SP016"] == "it sets X otherwise than 'remedy of SP013'"
    one, other = Change("a", {}, ("X",), None), Change("b", {"X": "1"}, (), None)
    assert one.against(other)
    assert not one.against(Change("c", {}, ("X",), None))
    assert Change("d", {}, (), "core").against(Change("e", {}, (), "socket"))


def test_too_few_or_no_pairs_decide_nothing(made: Made, description: Json) -> None:
    about, campaign = designed(pages_and_copy(made))
    results = measured(about, campaign, description, {"small": 3.0})
    few = [{**one, "pairs": one["pairs"][:5]} for one in results["contrasts"]]
    assert judge_together(about, {"contrasts": few})["findings"][0]["verdict"] == "undecided"
    none = judge_together(about, {"contrasts": [{**few[0], "pairs": [], "reason": "it crashed"}]})
    assert none["findings"][0]["ratio"] is None
    assert "it crashed" in none["findings"][0]["text"]
    assert none["snippet"] is None
    assert "decided" in none["reason"]


def test_it_is_proposed_last_once_for_each_set_of_remedies(made: Made, description: Json) -> None:
    pages_and_copy(made)
    nothing = {"run": {"environments": [], "placements": []}, "cells": [], "contrasts": []}

    def kinds(steps: list[Step]) -> list[str]:
        library = Library("mpich", "5.0.2", None)
        known = Known(made.findings, steps, nothing, library, {CMA: "0"}, 2, {}, made.results)
        return [one.kind for one in proposals(known)]

    assert kinds(made.steps) == ["together"]
    about, _ = designed(made)
    assert kinds([*made.steps, Step(9, "together", "09-together", "", 1.0, about)]) == []


def test_text_and_page_tell_it_with_one_piece_to_copy(made: Made, description: Json) -> None:
    about, campaign = designed(pages_and_copy(made))
    step = Step(5, "together", "05-together", "", 1.0, about)
    outcome = outcome_of([(step, measured(about, campaign, description, {"small": 3.0}))])
    assert outcome is not None
    assert outcome["folder"] == "05-together"
    assert words(outcome) == "keeps for SP008"
    made_of = Diagnosis(SCHEMA, "0", [], "now", 1.0, "mpich 5.0.2", together=outcome)
    text = render(made_of, "here")
    assert "Proven remedies together" in text
    assert "'huge pages' with 'remedy of SP009': 1.00" in " ".join(text.split())
    assert f"\n    unset {CMA}\n" in text
    assert "SP008 keeps:" in page(made_of)
    assert f"<pre>unset {CMA}</pre>" in page(made_of)
    assert "together" not in render(Diagnosis(SCHEMA, "0", [], "now", 1.0, "mpich 5.0.2"), "here")


def test_without_such_a_step_there_is_no_outcome(contrast_of: Callable[..., Json]) -> None:
    assert outcome_of([(Step(1, "survey", "01-survey", "", 1.0), {"contrasts": []})]) is None
