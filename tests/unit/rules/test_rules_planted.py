# SPDX-License-Identifier: Apache-2.0
"""Every rule names what was planted, and nothing where nothing was."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from planted_results import KIB, MIB, Planted, placement
from plants import COSTS, HALF, PLANTS, device_allocation, environments, windows

from slowpath.analyse.build import run_facts, wrong_place
from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.findings.conclude import conclude
from slowpath.findings.slow_path import nothing
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.registry import PROGRAM_SLOW_PATHS, SLOW_PATHS
from slowpath.slowpaths.sp078_deviations import SLOW_PATH as DEVIATIONS

# A pattern is planted in a program's calls (tests/unit/watch/test_watch_patterns.py), what lies outside of healthy runs
# in a panel (tests/unit/analyse/test_deviations.py).
CODES = [
    rule.code for rule in SLOW_PATHS if rule not in (*PROGRAM_SLOW_PATHS, DEVIATIONS) and rule.observe is not nothing
]
SEEDS = (1, 2, 3)
COUNTED = ("rounds", "involuntary_switches")  # no time was taken


def named_by(code: str, slow: bool, seed: int) -> list[Finding]:
    run = Planted(seed)
    assert code in PLANTS, f"plant {code} in tests/unit/rules/plants.py"
    PLANTS[code](run, slow)
    return findings(run.results(), ROLES)


@pytest.mark.parametrize("code", CODES)
def test_what_is_planted_is_named(code: str) -> None:
    for seed in SEEDS:
        named = named_by(code, True, seed)
        assert [finding.rule for finding in named] == [code], seed
        if named[0].metric not in COUNTED:
            assert named[0].interval[0] > 1.03
            assert named[0].excess_s > 0


@pytest.mark.parametrize("code", CODES)
def test_a_clean_twin_gives_nothing(code: str) -> None:
    for seed in SEEDS:
        assert named_by(code, False, seed) == [], seed


LAWS = {
    "SP001": ("granules", "4 KiB page", COSTS[2][1]),
}


@pytest.mark.parametrize("code", LAWS)
def test_the_cost_is_right_within_a_tenth(code: str) -> None:
    name, per, planted = LAWS[code]
    law = named_by(code, True, 1)[0].law
    assert law.name == name
    terms = [coefficient for coefficient in law.coefficients if coefficient.per == per]
    term = terms[-1]  # a step comes behind the constant
    assert term.value == pytest.approx(planted, rel=0.1)
    assert term.interval is not None


def test_limits_lie_where_they_were_planted() -> None:
    bracket = named_by("SP013", True, 1)[0].law.brackets[0]
    assert bracket.above <= 16 * KIB < bracket.up_to
    low, high = named_by("SP001", True, 1)[0].law.brackets
    assert low.above < 64 * KIB <= low.up_to
    assert high.above <= MIB < high.up_to


def test_gpu_memory_that_costs_by_its_length_is_named_with_the_cost_of_a_byte() -> None:
    run = Planted(1)
    device_allocation(run, True)
    (only,) = findings(run.results(), ROLES)
    assert (only.rule, only.law.name) == ("SP001", "allocation")
    assert only.law.coefficients[-1].value == pytest.approx(1e-12, rel=0.1)


@pytest.mark.parametrize(("slow", "about"), [(True, "network path"), (False, "path inside the node")])
def test_the_network_s_path_in_a_node_is_named_whichever_way_is_slower(slow: bool, about: str) -> None:
    run = Planted(1)
    environments("network path", "network_path", {"MPIR_CVAR_NO_LOCAL": "1"}, 2.5 if slow else 0.4)(run, True)
    (only,) = findings(run.results(), ROLES)
    assert (only.rule, only.about, only.affects_default) == ("SP009", about, not slow)


def test_load_is_named_as_load_and_only_where_ranks_lose_their_processors() -> None:
    run = Planted(1)
    PLANTS["SP048"](run, True)
    (only,) = findings(run.results(), ROLES)
    assert (only.ratio, only.status, only.affects_default) == (None, "explained", True)
    assert "Other processes keep 1.0 of 2 cores busy (stress (process 4711) 1.0)" in only.text
    run.cells[0]["witness"]["steady"]["receive"]["involuntary_switches"] = 2
    assert findings(run.results(), ROLES) == []


def test_wrong_bytes_are_the_first_that_is_said() -> None:
    run = Planted(1)
    run.cell({HALF: {"steady": 5e-6}}, message_bytes=8)
    made = run.results()
    results = replace(made, run=replace(made.run, campaign="checkup"), cells=[replace(made.cells[0], wrong_bytes=64)])
    answer = conclude(results.contrasts, [], run_facts(results)).verdict.answer
    assert answer.startswith("Messages arrived with wrong bytes in 1 cell: message_bytes=8, default. No other fault")


def test_ranks_that_share_the_only_processor_are_all_there_is_to_say() -> None:
    run = Planted(1)
    windows(run, True)
    run.placements = [placement("bound", "0", "0")]
    run.cell({HALF: {"steady": 5e-6}}, message_bytes=8)
    results = run.results()
    assert findings(results, ROLES) == []
    (fault,) = wrong_place(results.run)
    assert "rank 1 on 0 of n1" in fault.text
    run.placements = [placement("bound", "0", "1")]
    assert {finding.rule for finding in findings(run.results(), ROLES)} == {"SP019"}
