# SPDX-License-Identifier: Apache-2.0
"""Drawing plants and scoring what is said of them."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import made_results
import pytest
from msgspec.structs import replace

from slowpath.core.errors import UsageError
from slowpath.core.results import Finding, LawCoefficient, LawResult, LimitBracket
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.planned import UnbuiltEngine
from slowpath.run.libraries import Library
from slowpath.stats.modes import wilson
from slowpath.studies.plants.classes import CLASSES
from slowpath.studies.plants.harness import run
from slowpath.studies.plants.measure import Ground
from slowpath.studies.plants.plant import Measured, Truth
from slowpath.studies.plants.score import Baseline, false_alarms, score
from slowpath.studies.plants.table import Scored, counts, line, table
from slowpath.studies.plants.trials import draw

NOTHING = Baseline([])


def measured(*findings: Finding) -> Measured:
    return Measured(findings, made_results.results())


def finding(rule: str, excess_s: float = 1e-4, **more: Any) -> Finding:
    return made_results.finding(rule, excess_s, about="host", where="host", text="slow", ratio=3.0, **more)


def law(per: str | None, value: float, *brackets: tuple[str, float, float]) -> LawResult:
    limits = [LimitBracket(covariate=c, above=a, up_to=u) for c, a, u in brackets]
    return replace(made_results.law(), name=None, coefficients=[term("term", per, value)], brackets=limits)


def term(name: str, per: str | None, value: float) -> LawCoefficient:
    return LawCoefficient(name=name, per=per, unit="s", value=value, interval=None, interval_kind="none")


PAGES = Truth("SP001", ("4 KiB page", 2e-7))


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        ([], "abstained"),
        ([finding("SP001", law=law("4 KiB page", 2.1e-7))], "right"),
        ([finding("SP001", law=law("4 KiB page", 2.3e-7))], "wrong"),
        ([finding("SP001", law=law("64 KiB page", 2e-7))], "abstained"),
        ([finding("SP001")], "abstained"),
        ([finding("SP002", law=law("byte of the allocation", 2e-7))], "wrong"),
    ],
)
def test_a_rule_is_right_with_its_coefficient_alone(findings: list[Finding], verdict: str) -> None:
    assert score(PAGES, measured(*findings), NOTHING).verdict == verdict


@pytest.mark.parametrize(("above", "up_to", "verdict"), [(8, 12, "right"), (7, 8, "wrong"), (12, 16, "wrong")])
def test_a_limit_lies_in_the_bracket_or_not(above: float, up_to: float, verdict: str) -> None:
    truth = Truth("SP003", limit=("live_buffers", 8))
    found = [finding("SP003", law=law(None, 1e-4, ("live_buffers", above, up_to)))]
    assert score(truth, measured(*found), NOTHING).verdict == verdict


def test_a_finding_without_a_law_is_an_abstention() -> None:
    truth = Truth("SP005", (None, 1e-4))
    assert score(truth, measured(finding("SP005", excess_s=1e-4)), NOTHING).verdict == "abstained"


def test_of_two_constants_the_one_that_the_law_adds_counts() -> None:
    terms = [term("constant", None, 1e-4), term("miss", None, 3e-4)]
    steps = replace(law(None, 0.0), coefficients=terms)
    found = [finding("SP003", law=steps)]
    assert score(Truth("SP003", (None, 3e-4)), measured(*found), NOTHING).verdict == "right"
    assert score(Truth("SP003", (None, 1e-4)), measured(*found), NOTHING).verdict == "wrong"


def test_what_the_machine_has_anyway_is_no_alarm_and_names_no_plant_until_it_grows() -> None:
    baseline = Baseline([measured(finding("SP008")), measured()])
    assert false_alarms(measured(finding("SP008", excess_s=1.9e-4)), baseline) == ()
    assert false_alarms(measured(finding("SP008", excess_s=2.1e-4)), baseline) == ()
    for grown, verdict in ((1.9e-4, "abstained"), (2.1e-4, "wrong")):
        seen = measured(finding("SP008", excess_s=grown, law=law(None, 1.0)))
        assert score(Truth("SP008", (None, 1e-4)), seen, baseline).verdict == verdict
    assert len(false_alarms(measured(finding("SP008", environment="other")), baseline)) == 1
    assert baseline.texts == ["in 1 of 2: SP008 host: slow"]
    assert score(PAGES, measured(finding("SP008")), baseline).verdict == "abstained"


def test_what_is_true_of_the_plant_too_is_not_beside_it() -> None:
    truth = Truth("SP001", ("4 KiB page", 2e-7), also=("SP012",))
    right = finding("SP001", law=law("4 KiB page", 2e-7))
    assert score(truth, measured(right, finding("SP012")), NOTHING).beside == ()
    beside = score(truth, measured(right, finding("SP013")), NOTHING)
    assert beside.verdict == "right"
    assert len(beside.beside) == 1


def test_all_follows_from_the_seed() -> None:
    one, same, other = (draw(CLASSES, 24, 6, 2, seed) for seed in (7, 7, 8))
    assert one == same
    assert one != other
    assert [t.purpose for t in one].count("clean") == 6
    assert [t.purpose for t in one[:2]] == ["baseline"] * 2
    kinds = [t.plant.kind for t in one if t.plant]
    assert {kinds.count(c.name) for c in CLASSES} == {2}
    assert len({t.name for t in one}) == len(one)


def test_every_class_draws_what_the_library_can_read() -> None:
    words = {"use", "others", "bytes", "call", "cost_s", "per", "cpu"}
    for one in CLASSES:
        plant = one.draw(random.Random(1))
        assert plant.kind == one.name
        assert (plant.law is None) == (plant.setting is not None)
        if plant.law:
            assert {re.split("[<>=]", word)[0] for word in plant.law.split()} <= words


def test_the_table_counts_plants_and_clean_runs() -> None:
    trials = draw(CLASSES[:1], 2, 1, 1, 3)
    plants = [t for t in trials if t.plant]
    right = score(plants[0].plant.truth, measured(), NOTHING) if plants[0].plant else None
    scored = [Scored(t, 1.0, right if t.plant else None, () if t.plant else ("SP001: x",)) for t in trials]
    found = counts(scored)
    assert (found["planted"], found["abstained"], found["clean"], found["clean_with_false_alarms"]) == (2, 2, 1, 1)
    assert "pages" in table(scored)
    assert "SP001: x" in "".join(line(one) for one in scored)


def test_shares_against_published_values() -> None:
    # Newcombe 1998, doi 10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E, table I, method 3.
    for hits, trials, low, high in ((81, 263, 0.2553, 0.3662), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)):
        found = wilson(hits, trials)
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)
    assert "%" not in table([]).splitlines()[1]  # nothing was tried


def ground(folder: Path) -> Ground:
    mpi = Mpi("mpich", "5.0.2", "option", folder, folder / "mpiexec", None, "hydra", False, "hydra", "")
    library = Library("mpich", mpi.identity, mpi, UnbuiltEngine(folder / "engine"))
    return Ground(library, folder / "library.so", ["diagnose"])


def test_a_folder_of_other_plants_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trials have the same names, and would be scored against plants that they never had."""
    monkeypatch.setattr(Ground, "measured", lambda self, plant, folder: measured())
    here, out = ground(tmp_path), tmp_path / "out"
    trials = draw(CLASSES[:1], 1, 1, 1, 3)
    assert len(run(here, trials, out, 3, lambda one: None)) == 3
    assert len(run(here, trials, out, 3, lambda one: None)) == 3
    with pytest.raises(UsageError, match="another seed"):
        run(here, draw(CLASSES[:1], 1, 1, 1, 4), out, 4, lambda one: None)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "001-clean").write_text("kept")
    with pytest.raises(UsageError, match="name a new folder"):
        run(here, trials, tmp_path / "mine", 3, lambda one: None)
    assert (tmp_path / "mine" / "001-clean").read_text() == "kept"
