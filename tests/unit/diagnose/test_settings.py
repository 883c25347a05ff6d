# SPDX-License-Identifier: Apache-2.0
"""Which of the user's settings is slow: search, step and listing."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from made_results import cell, contrast, environment, finding, results, step
from msgspec.structs import replace

from slowpath.core.campaign import campaign_toml
from slowpath.core.results import Finding, LibraryVariable, Results
from slowpath.diagnose.own_settings import (
    OWN_WITNESSED,
    Outcome,
    Responsible,
    Set,
    ToTry,
    lines,
    remedies_of,
    rounds_for,
    search,
    share,
    suspected,
)
from slowpath.diagnose.state import LibraryFacts, MeasuredStep, Proposal, State
from slowpath.diagnose.steps.order import conclude
from slowpath.diagnose.steps.settings import MOST_STEPS
from slowpath.diagnose.steps.settings import propose_settings as propose
from slowpath.diagnose.steps.trial import propose_named
from slowpath.diagnose.tasks import SettingsTask, StateTask, WitnessTask
from slowpath.findings.facts import WITHOUT_USER
from slowpath.mpi.own_settings import NO_FILES, OwnSetting, own_settings

Oracle = Callable[[Set], Outcome]


def searched(count: int, oracle: Oracle, most: int = 12) -> tuple[Responsible | ToTry, list[int]]:
    """The answer, and how many sets each campaign took away."""
    seen: dict[Set, Outcome] = {}
    campaigns: list[int] = []
    for _ in range(most):
        answer = search(count, seen)
        if isinstance(answer, Responsible) or answer.again:
            return answer, campaigns
        assert not set(answer.sets) & set(seen)
        campaigns.append(len(answer.sets))
        seen |= {removed: oracle(removed) for removed in answer.sets}
    raise AssertionError(f"no answer after {campaigns}")


def all_of(*responsible: int) -> Oracle:
    """Slow as long as any of them is there."""
    return lambda gone: "gone" if set(responsible) <= gone else "stays"


def any_of(*responsible: int) -> Oracle:
    """Slow only while all of them are there."""
    return lambda gone: "gone" if set(responsible) & gone else "stays"


@pytest.mark.parametrize(
    ("count", "campaigns"), [(2, [2]), (4, [4]), (6, [6]), (12, [6, 2]), (36, [6, 6]), (64, [6, 6, 2])]
)
def test_one_responsible_setting_is_found_in_few_campaigns(count: int, campaigns: list[int]) -> None:
    for number in range(count):
        answer, made = searched(count, all_of(number))
        assert answer == Responsible(((number,),))
        assert made <= campaigns


@pytest.mark.parametrize("count", [2, 5, 7, 13, 20])
def test_two_that_are_slow_together_are_both_named(count: int) -> None:
    """Either may go."""
    for first, other in combinations(range(count), 2):
        answer, campaigns = searched(count, any_of(first, other))
        assert isinstance(answer, Responsible)
        assert sorted(answer.sets) == [(first,), (other,)]
        assert len(campaigns) <= 5
        assert sum(campaigns) <= 26


def test_what_fails_without_is_never_named() -> None:
    """Setting 5 is needed to start, as long as 6 is there."""

    def oracle(gone: Set) -> Outcome:
        return "failed" if 5 in gone and 6 not in gone else all_of(2)(gone)

    for count in (7, 13):
        assert searched(count, oracle)[0] == Responsible(((2,),))


def test_an_outcome_that_noise_hides_is_asked_for_again() -> None:
    answer, _ = searched(4, lambda gone: "unclear" if 2 in gone else "stays")
    assert answer == ToTry((frozenset({2}),), again=True)


def pairs(generator: np.random.Generator, ratio: float, rounds: int, noise: float) -> np.ndarray:
    """Without a set and as it is: the slowdown that the set makes, seconds."""
    spread = 1 + noise * np.abs(generator.standard_normal((rounds, 2)))
    return np.array([1e-5, 1e-5 * ratio]) * spread


@pytest.mark.parametrize(("ratio", "noise"), [(1.15, 0.04), (1.5, 0.04), (3.0, 0.04), (5.0, 0.25), (10.0, 0.5)])
def test_with_noise_a_named_setting_is_the_right_one(ratio: float, noise: float) -> None:
    """Never another one; at most one run in ten stays open."""
    generator = np.random.default_rng(7)
    rounds, still_open = rounds_for(ratio), 0

    def oracle(gone: Set) -> Outcome:
        every = pairs(generator, ratio, max(rounds, 4), noise)
        seen = share(pairs(generator, ratio if 11 in gone else 1.0, rounds, noise), every)
        return seen.outcome if seen else "unclear"

    for _ in range(100):
        answer, _ = searched(13, oracle)
        if isinstance(answer, ToTry):
            still_open += 1
        else:
            assert answer == Responsible(((11,),))
    assert still_open <= 10 if ratio > 1.2 else 100


def test_a_share_needs_a_slowdown() -> None:
    flat = np.full((5, 2), 1e-5)
    assert share(flat, flat) is None
    slow = np.tile([1e-5, 2e-5], (5, 1))
    assert share(slow[:1], slow) is None
    seen: Iterable[Outcome] = [made_share.outcome for made in (slow, flat) if (made_share := share(made, slow))]
    assert list(seen) == ["gone", "stays"]
    half = np.tile([1e-5, 2**0.5 * 1e-5], (5, 1))
    some = share(half, slow)
    assert some is not None
    assert (some.outcome, round(some.value, 2)) == ("partly", 0.5)


SIZES = ("8", "1024", "4194304")
FILE = "/home/me/.openmpi/mca-params.conf"
Slow = Callable[[set[str], str], float]  # names that are there, length of the message -> times as long


def settings(count: int, file_lines: int = 0) -> list[OwnSetting]:
    """Variables A00, A01, ..., the last ones as lines of a file."""
    names = [f"OMPI_MCA_a{number:02d}" for number in range(count)]
    split = count - file_lines
    return [
        OwnSetting(name, "1", *((FILE, number - split + 1) if number >= split else ()))
        for number, name in enumerate(names)
    ]


def surveyed(own: Sequence[OwnSetting], slow: Slow) -> MeasuredStep:
    """A survey with a finding about the user's settings over three lengths."""
    there = {setting.name for setting in own}
    cells, contrasts = [], []
    for number, length in enumerate(SIZES):
        parameters = {"message_bytes": length, "pattern": "ping_pong"}
        factor = slow(there, length)
        cells.append(cell(2 * number, parameters, [1e-6] * 5, environment=WITHOUT_USER))
        cells.append(cell(2 * number + 1, parameters, [1e-6 * factor] * 5))
        own_contrast = contrast(
            f"own {length}", [(1e-6, 1e-6 * factor)] * 5, a=2 * number, b=2 * number + 1, axis="environment"
        )
        contrasts.append(replace(own_contrast, ratio=factor, interval=(factor * 0.99, factor * 1.01)))
    seen = finding(
        "SP035", contrasts=[contrast.id for contrast in contrasts], cells=[1], affects_default=True, cause=None
    )
    seen = suspected(replace(seen, text="With your settings, messages take 2x.", remedies=[]), own)
    return MeasuredStep(step(1, StateTask(settings=list(own))), under(results(cells, contrasts, [seen]), "openmpi"))


def under(made: Results, library: str) -> Results:
    """The same of another library."""
    return replace(made, run=replace(made.run, mpi=replace(made.run.mpi, mpi=library, name=library)))


def measured(proposal: Proposal, own: Sequence[OwnSetting], slow: Slow, noise: float = 0.01) -> Results:
    """What its campaign would show, by the variables and the files that its environments leave."""
    campaign: dict[str, Any] = tomllib.loads(campaign_toml(proposal.campaign))
    generator = np.random.default_rng(3)
    every = {setting.name for setting in own}
    there: dict[str, set[str]] = {}
    for table in campaign["environment"]:
        given = table.get("variables", {})
        lines = {item.name for item in own if item.file} if not NO_FILES.items() <= given.items() else set[str]()
        there[table["name"]] = (
            {item.name for item in own if not item.file} - set(table.get("unset", [])) | lines | (every & given.keys())
        )
    lengths = {table["name"]: table["parameters"]["message_bytes"] for table in campaign["cells"]}
    made, rounds = [], campaign["campaign"]["rounds"]
    for contrast_ in campaign.get("contrast", ()):
        length = lengths[contrast_["cells"]]
        sides = [slow(there[contrast_[side]], length) for side in ("a", "b")]
        pairs = 1e-6 * np.array(sides) * (1 + noise * np.abs(generator.standard_normal((rounds, 2))))
        made.append(contrast(contrast_["name"], [(float(a), float(b)) for a, b in pairs]))
    cells = [
        replace(cell(0, {}, [1e-6 * slow(there[name], lengths[group])] * rounds, environment=name), group=group)
        for name, group in product(there, lengths)
    ]
    return results(cells, made)


def diagnosed(own: Sequence[OwnSetting], slow: Slow, noise: float = 0.01) -> tuple[list[Finding], list[MeasuredStep]]:
    """Steps until nothing is proposed."""
    steps = [surveyed(own, slow)]
    for number in range(2, MOST_STEPS + 3):
        findings = conclude(steps).findings
        state = State(findings, steps, LibraryFacts("openmpi", "5.0.11"), {setting.name: "1" for setting in own})
        proposal = next(propose(state), None)
        if proposal is None:
            return list(findings), steps
        assert isinstance(proposal.task, SettingsTask)
        steps.append(MeasuredStep(step(number, proposal.task), measured(proposal, own, slow, noise)))
    raise AssertionError("no end")


@pytest.mark.parametrize(("count", "ratio"), [(2, 2.0), (6, 2.0), (13, 2.0), (30, 2.0), (2, 5.0), (13, 5.0)])
def test_the_one_that_no_table_knows_is_named_in_few_campaigns(count: int, ratio: float) -> None:
    own = settings(count)
    bad = own[count - 2].name
    findings, steps = diagnosed(own, lambda there, _: ratio if bad in there else 1.0)
    assert len(steps) <= (3 if ratio < 4 else 4)  # the first step's pairs are equal, and decide nothing
    states = {cell.environment for cell in steps[1].results.cells}
    assert ({"default", WITHOUT_USER} <= states, rounds_for(ratio)) == ((True, 4) if ratio < 4 else (False, 3))
    assert [finding.cause for finding in findings] == [f"{bad}=1 makes messages slower."]
    assert findings[0].text.startswith(
        f"With {bad}=1, 8 B messages are {ratio:.2f}x [{ratio:.2f}, {ratio:.2f}] slower than without: "
    )
    assert findings[0].status == "explained"
    assert [remedy.name for remedy in findings[0].remedies] == [f"unset {bad}"]
    assert findings[0].remedies[0].snippet.shell == f"unset {bad}"
    (remedy,) = remedies_of(findings[0], own)
    assert (remedy.unset, dict(remedy.variables)) == ((bad,), {})


def test_two_together_and_two_that_each_do_it() -> None:
    own = settings(10)
    first, other = own[2].name, own[7].name
    findings, _ = diagnosed(own, lambda there, _: 2.0 if {first, other} <= there else 1.0)
    assert findings[0].cause == f"{first}=1 and {other}=1 make messages slower together; unset either."
    assert [remedy.name for remedy in findings[0].remedies] == [f"unset {first}", f"unset {other}"]
    findings, _ = diagnosed(own, lambda there, _: 2.0 if {first, other} & there else 1.0)
    assert findings[0].cause == f"{first}=1 and {other}=1 make messages slower; unset both."
    assert [remedy.name for remedy in findings[0].remedies] == [f"unset {first} and {other}"]


def test_the_only_setting_is_named_by_launches_of_its_own_and_tried() -> None:
    own = settings(1)
    findings, steps = diagnosed(own, lambda there, _: 1.5 if there else 1.0)
    assert [finding.cause for finding in conclude(steps[:1]).findings] == [None]
    assert "(OMPI_MCA_a00)" in conclude(steps[:1]).findings[0].text
    assert len(steps) == 2
    assert findings[0].cause == "OMPI_MCA_a00=1 makes messages slower."
    only, *_, shown = findings[0].legs.explained.evidence
    assert only == "OMPI_MCA_a00=1: only setting"
    assert shown.startswith("with your settings 1.5")
    state = State(findings, steps, LibraryFacts("openmpi", "5.0.11"), {"OMPI_MCA_a00": "1"})
    trial = next(propose_named(findings[0], state))
    assert 'unset = ["OMPI_MCA_a00"]' in campaign_toml(trial.campaign)


ENVIRON = {"MPIR_CVAR_ASYNC_PROGRES": "1", "MPIR_CVAR_ASYNC_PROGRESS": "1", "UCX_TLZ": "3", "HYDRA_LAUNCHER": "ssh"}


def measured_of_settings_listing(survey: Results, environ: dict[str, str]) -> list[MeasuredStep]:
    return [MeasuredStep(step(1, StateTask(settings=list(own_settings(environ)))), survey)]


def witnessed(environment_name: str, value: int) -> MeasuredStep:
    seen = results([cell(0, {"message_bytes": "8"}, [1e-6] * 3)])
    rows = [LibraryVariable(name="MPIR_CVAR_ASYNC_PROGRESS", value=value, type="int", description="")]
    run = replace(
        seen.run, mpi=replace(seen.run.mpi, control_variables=rows), environments=[environment(environment_name)]
    )
    return MeasuredStep(step(2, WitnessTask()), replace(seen, run=run))


def test_what_ucx_and_mpi_t_do_not_know(survey: Results) -> None:
    run = replace(survey.run, mpi=replace(survey.run.mpi, unused_variables={"UCX_TLZ": "UCX_TLS"}))
    steps = [*measured_of_settings_listing(replace(survey, run=run), ENVIRON), witnessed(OWN_WITNESSED, 1)]
    assert lines(steps, "mpich") == [
        "MPIR_CVAR_ASYNC_PROGRES=1: ignored: MPICH has no such variable; nearest: MPIR_CVAR_ASYNC_PROGRESS",
        "UCX_TLZ=3: ignored: nothing in UCX reads it here; nearest: UCX_TLS",
        "kept for launches: HYDRA_LAUNCHER",
        "taken away together: 3",
    ]


def test_settings_that_help_are_said_to(survey: Results) -> None:
    own, without = survey.cells[0], replace(survey.cells[1], environment=WITHOUT_USER)
    helping = replace(
        contrast("c", a=without.cell, b=own.cell, axis="environment"),
        ratio=0.5,
        interval=(0.45, 0.55),
        verdict="faster",
    )
    said = lines(
        measured_of_settings_listing(replace(survey, cells=[own, without], contrasts=[helping]), {"UCX_TLS": "sm"}),
        "mpich",
    )
    assert said[0] == "your settings help: without them, calls are 2.00x slower on 48 KiB messages"
    slow = replace(helping, ratio=2.0, interval=(1.9, 2.1), verdict="slower")
    said = lines(
        measured_of_settings_listing(replace(survey, cells=[own, without], contrasts=[slow]), {"UCX_TLS": "sm"}),
        "mpich",
    )
    assert said == ["taken away together: 1"]
