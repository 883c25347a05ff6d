# SPDX-License-Identifier: Apache-2.0
"""Scoring what is said of a plant, and the runs that make the scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import made_results
import msgspec
import pytest

from slowpath.core.cell_results import CellResult, MetricResult
from slowpath.core.errors import EnvironmentFailure, RecordError, UsageError
from slowpath.core.results import Claim, Finding, LawForecast, LawPoint, LawResult, LimitBracket
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.describe import UnbuiltEngine
from slowpath.run.libraries import Library
from slowpath.stats.modes import wilson
from slowpath.studies.plants import harness
from slowpath.studies.plants.baseline import Baseline, false_alarms
from slowpath.studies.plants.classes import CLASSES, PAIRED
from slowpath.studies.plants.folder import Drawn, read
from slowpath.studies.plants.grammar import Clause, PlantCondition
from slowpath.studies.plants.harness import each, run
from slowpath.studies.plants.measure import Ground
from slowpath.studies.plants.pens import Pen, cores, shares
from slowpath.studies.plants.plant import Plant, PlantedDiagnosis, PlantedState
from slowpath.studies.plants.score import Score, score
from slowpath.studies.plants.table import Forecasts, Scored, counts, forecasts_of, line, table
from slowpath.studies.plants.trials import PlantCounts, PlantTrial, draw

US = 1e-6
LENGTHS = (1024, 4096, 16384, 65536)
OVER_8K = Plant("threshold", (Clause(20 * US, conditions=(PlantCondition("bytes", ">", 8192),)),))
KERNEL = Plant("threshold", (Clause(20 * US, conditions=(PlantCondition("bytes", ">", 8192),), room="kernel"),))
ONE_WAY = {"pattern": "one_way", "buffer_bytes": "message", "overalloc_bytes": "0", "live_buffers": "1"}


def usual_s(length: int) -> float:
    """Of a message without a plant."""
    return 1 * US + length * 0.2e-9


def cells(plant: Plant | None = None) -> list[CellResult]:
    """One-way messages of LENGTHS, with what the plant adds."""
    found = []
    for number, length in enumerate(LENGTHS):
        paid_s = 20 * US if plant and length > 8192 else 0.0
        cell = made_results.cell(number, {**ONE_WAY, "message_bytes": str(length)})
        times = made_results.estimate([usual_s(length) + paid_s] * 3)
        metric = MetricResult(unit="s", better="lower", phases={"steady": times}, first_slow=None, by_repetition=None)
        found.append(msgspec.structs.replace(cell, metrics={"one_way_s": metric}))
    return found


def measured(*findings: Finding, plant: Plant | None = OVER_8K) -> PlantedDiagnosis:
    return PlantedDiagnosis(findings, msgspec.structs.replace(made_results.results(), cells=cells(plant)))


CLEAN = Baseline([measured(plant=None)])


def law(excess_s: float, above: float = 4096, up_to: float = 16384) -> LawResult:
    """A step behind a length, as a finding names it."""
    points = tuple(
        LawPoint(
            place={"message_bytes": float(length)},
            value_s=usual_s(length),
            interval=(usual_s(length), usual_s(length)),
            fitted_s=usual_s(length) + (excess_s if length > above else 0.0),
        )
        for length in LENGTHS
    )
    bracket = LimitBracket(covariate="message_bytes", above=above, up_to=up_to)
    return msgspec.structs.replace(
        made_results.law(), name="segments", brackets=[bracket], drawn=points, predicted="held"
    )


def claim(time: Any = None, side: Any = None, by: str | None = "message") -> Claim:
    return Claim(time=time, side=side, by=by)


def finding(rule: str = "SP013", excess_s: float = 20 * US, said: Claim | None = None, **more: Any) -> Finding:
    """Slow at 16 KiB against 4 KiB. said: by its explanation, where there is one."""
    made = made_results.finding(rule, excess_s, about="host", where="host", text="slow", ratio=3.0, **more)
    made = msgspec.structs.replace(
        made, metric="one_way_s", phase="steady", slow_cells=[2], fast_cells=[1], cells=[0, 1, 2, 3]
    )
    if said is None:
        return msgspec.structs.replace(made, status="observed", cause=None)
    return msgspec.structs.replace(made, status="explained", cause="The library changes its protocol.", claim=said)


def predicted(outcome: Any) -> LawResult:
    """A law that is off, and what came of its forecasts."""
    return msgspec.structs.replace(law(40 * US), predicted=outcome)


def until_its_fifth_use() -> Finding:
    """Slow and fast are uses of one cell."""
    bracket = LimitBracket(covariate="repetition", above=4, up_to=5)
    made = finding("SP004", law=msgspec.structs.replace(made_results.law(), name=None, brackets=[bracket]))
    return msgspec.structs.replace(made, fast_cells=made.slow_cells)


GATE = Plant("gate", (Clause(20 * US, conditions=(PlantCondition("use", "<", 5),)),))


def far_above_floor() -> Finding:
    """It stands against no other cell, and names nothing on which the time depends."""
    return msgspec.structs.replace(finding("SP025"), fast_cells=[], run="02-single")


def puts_far_above_floor() -> Finding:
    return msgspec.structs.replace(far_above_floor(), rule="SP072", metric="time_per_put_s")


PUTS = Plant("put", (Clause(20 * US, call="put"),))
KERNEL_OF_SENDER = claim("kernel", "sender")


@pytest.mark.parametrize(
    ("findings", "plant", "verdict", "why"),
    [
        ([], OVER_8K, "missed", "no finding"),
        ([finding(law=law(20 * US), said=claim("path"))], OVER_8K, "right", "found"),
        ([finding(law=law(20 * US))], OVER_8K, "honest", "not explained"),
        ([finding()], OVER_8K, "honest", "no law"),
        ([finding(law=law(25 * US))], OVER_8K, "wrong", "SP013: law 'segments' is off by"),
        ([finding(law=law(20 * US, 4096, 8000))], OVER_8K, "wrong", "SP013: limit in (4096, 8000]"),
        ([finding(law=law(20 * US), said=KERNEL_OF_SENDER)], KERNEL, "right", "found"),
        ([finding(law=law(20 * US), said=KERNEL_OF_SENDER)], OVER_8K, "wrong", "said to go to kernel, it goes to user"),
        ([finding(law=law(20 * US), said=claim("kernel", "receiver"))], KERNEL, "wrong", "the side"),
        ([finding("SP015", law=law(20 * US), said=claim())], OVER_8K, "wrong", "explained by block, planted by bytes"),
        ([finding(law=law(20 * US), said=claim("copy"))], OVER_8K, "wrong", "said to go to copy, it goes to user"),
        ([finding(law=law(20 * US), said=claim(by="uses"))], OVER_8K, "wrong", "said to follow use, planted by bytes"),
        ([finding(law=law(20 * US), said=claim(by="nothing"))], OVER_8K, "right", "found"),
        ([finding(law=predicted("failed"))], OVER_8K, "honest", "has not predicted: failed"),
        ([finding(law=predicted("undecided"))], OVER_8K, "honest", "has not predicted: undecided"),
        ([until_its_fifth_use()], GATE, "honest", "no law is named"),
        ([far_above_floor()], OVER_8K, "honest", "no law"),
        ([far_above_floor()], PUTS, "wrong", "not planted: SP025"),
        ([puts_far_above_floor()], PUTS, "honest", "no law"),
        ([puts_far_above_floor()], OVER_8K, "wrong", "not planted: SP072"),
        ([], Plant("alltoall", (Clause(20 * US, call="alltoall"),)), "missed", "no finding"),
        ([finding(excess_s=50 * US)], OVER_8K, "wrong", "not planted: SP013"),
        ([finding(law=law(20 * US)), finding("SP017", 1e-3)], OVER_8K, "wrong", "not planted: SP017"),
    ],
)
def test_four_things_are_scored(findings: list[Finding], plant: Plant, verdict: str, why: str) -> None:
    found = score(plant, measured(*findings), CLEAN)
    assert (found.verdict, why in found.why) == (verdict, True), found


@pytest.mark.parametrize(
    ("kind", "status", "above", "place"),
    [
        ("fault", "proven", None, "first lines"),
        ("fault", "observed", None, "undecided"),
        ("opportunity", "proven", None, "first lines"),
        ("opportunity", "observed", None, "undecided"),
        ("property", "observed", True, "undecided"),
        ("property", "observed", None, "page"),
    ],
)
def test_where_a_user_reads_of_the_plant(kind: Any, status: Any, above: bool | None, place: str) -> None:
    of_plant = msgspec.structs.replace(finding(), kind=kind, status=status, above_range=above, needs_cause=True)
    found = score(OVER_8K, measured(of_plant), CLEAN)
    assert (found.place, found.beside, found.false) == (place, (), ())
    nothing = score(OVER_8K, measured(), CLEAN)
    assert nothing.place == "nowhere"


@pytest.mark.parametrize(("kind", "verdict"), [("fault", "wrong"), ("property", "honest")])
def test_only_what_the_verdicts_lines_name_wrongly_is_wrong(kind: Any, verdict: str) -> None:
    """What costs what is one table of the page; a clean run may lack a row of it, and seven of twenty plants scored as
    wrong had nothing but such a row."""
    other = msgspec.structs.replace(finding("SP017", 1e-3), kind=kind)
    found = score(OVER_8K, measured(finding(), other), CLEAN)
    assert (found.verdict, len(found.beside), len(found.false)) == (verdict, 1, int(kind == "fault"))


def test_of_a_pair_both_have_to_be_found() -> None:
    both = Plant("threshold+blocks", (*OVER_8K.clauses, Clause(1e-3, conditions=(PlantCondition("bytes", "<", 2000),))))
    assert score(both, measured(finding(law=law(20 * US))), CLEAN).verdict == "wrong"  # at 1 KiB the law is off
    assert score(both, measured(finding()), CLEAN).verdict == "missed"
    short = msgspec.structs.replace(finding("SP099", 1e-3), slow_cells=[0], fast_cells=[1])
    assert score(both, measured(finding(), short), CLEAN).verdict == "honest"


def test_what_costs_too_little_is_not_asked_for() -> None:
    little = Plant("threshold", (Clause(0.1 * US, conditions=(PlantCondition("bytes", ">", 8192),)),))
    assert score(little, measured(), CLEAN).verdict == "below"


def test_the_baseline_has_to_hold_with_a_plant_too() -> None:
    listed = finding(said=KERNEL_OF_SENDER)
    baseline = Baseline([measured(listed, plant=None)])
    undermined = score(OVER_8K, measured(listed), baseline)
    assert (undermined.verdict, undermined.why[:21]) == ("wrong", "SP013, of the baselin")
    assert score(KERNEL, measured(listed), baseline).verdict == "missed"
    assert baseline.texts == ["in 1 of 1: SP013 host: slow"]


def test_a_state_is_found_by_what_it_is_about() -> None:
    state = Plant("single_copy_off", (), PlantedState("setting", "single_copy_off"))
    found = score(state, measured(finding("SP009")), CLEAN)
    assert (found.verdict, found.found) == ("honest", True)
    assert score(state, measured(), CLEAN).verdict == "missed"


def test_what_the_machine_has_anyway_is_no_alarm() -> None:
    baseline = Baseline([measured(finding("SP008")), measured()])
    assert false_alarms(measured(finding("SP008", excess_s=1.0)), baseline) == ()
    assert len(false_alarms(measured(finding("SP008", environment="other")), baseline)) == 1


def test_all_follows_from_the_seed() -> None:
    asked = PlantCounts(2 * len(CLASSES), 6, 2, 0.0)
    one, same, other = (draw(CLASSES, asked, seed) for seed in (7, 7, 8))
    assert one == same
    assert one != other
    assert [t.purpose for t in one].count("clean") == 6
    assert [t.purpose for t in one[:2]] == ["baseline"] * 2
    kinds = [t.plant.kind for t in one if t.plant]
    assert {kinds.count(c.name) for c in CLASSES} == {2}
    assert len({t.name for t in one}) == len(one)
    paired = draw(CLASSES, PlantCounts(20, 0, 1, 0.2), 7)
    assert sum("+" in t.plant.kind for t in paired if t.plant) == 4


def test_the_table_counts_plants_and_clean_runs() -> None:
    trials = draw(PAIRED[:1], PlantCounts(3, 1, 1), 3)
    good = Score("honest", "no law is named", True, "open", "open", "right", "page", (), ())
    bad = replace(good, verdict="wrong", law="wrong")
    verdicts = iter([good, good, bad])
    scored = [Scored(t, 1.0, next(verdicts) if t.plant else None, () if t.plant else ("SP001: x",)) for t in trials]
    found = counts(scored)
    assert (found["planted"], found["honest"], found["wrong"], found["clean_with_false_alarms"]) == (3, 2, 1, 1)
    shown = table(scored)
    assert "law right where one is claimed: 0 of 1" in shown
    assert "without a wrong word: 2 of 3  67 %" in shown
    assert "in the verdict: page: 3 of 3" in shown
    assert "SP001: x" in "".join(line(one) for one in scored)
    assert "%" not in table([]).splitlines()[1]  # nothing was tried


def test_forecasts_are_counted_where_they_were_measured_later() -> None:
    def one(kind: Any, seen_s: float | None) -> LawForecast:
        return LawForecast(
            place={},
            kind=kind,
            predicted_s=1.0,
            interval=(0.9, 1.1),
            joint_ratio=0.1,
            noise_ratio=0.01,
            span_s=1.0,
            seen_s=seen_s,
            text="t",
        )

    all_kinds = (one("later", 1.05), one("later", 1.2), one("later", None), one("held out", 1.0))
    made = msgspec.structs.replace(law(20 * US), forecasts=all_kinds)
    assert forecasts_of([finding(law=made), finding()]) == Forecasts(1, 2)


def test_shares_against_published_values() -> None:
    # Newcombe 1998, doi 10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E, table I, method 3.
    for hits, trials, low, high in ((81, 263, 0.2553, 0.3662), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)):
        found = wilson(hits, trials)
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


def test_each_job_has_two_cores_with_all_their_threads(tmp_path: Path) -> None:
    for cpu in range(8):
        (tmp_path / f"cpu{cpu}/topology").mkdir(parents=True)
        (tmp_path / f"cpu{cpu}/topology/thread_siblings_list").write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    found = cores(range(8), tmp_path)
    assert found == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert shares(2, found) == [[0, 4, 1, 5], [2, 6, 3, 7]]
    with pytest.raises(EnvironmentFailure, match="needs 6 cores, but there are 4; use --jobs 2"):
        shares(3, found)


def ground(folder: Path) -> Ground:
    mpi = Mpi("mpich", "5.0.2", "option", folder, folder / "mpiexec", None, "hydra", False, "hydra", "")
    library = Library("mpich", mpi.identity, mpi, UnbuiltEngine(folder / "engine"))
    return Ground(library, folder / "library.so", ["diagnose"])


def test_a_folder_of_other_plants_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trials have the same names, and would be scored against plants that they never had."""
    monkeypatch.setattr(Ground, "measured", lambda self, plant, folder, pen: measured())
    here, out = ground(tmp_path), tmp_path / "out"
    drawn = Drawn(3, here.library.identity, here.shown)
    trials = draw(PAIRED[:1], PlantCounts(1, 1, 1), 3)
    assert len(run(here, trials, out, drawn, lambda one: None)) == 3
    assert len(run(here, trials, out, drawn, lambda one: None)) == 3
    with pytest.raises(UsageError, match="another seed"):
        run(here, draw(PAIRED[:1], PlantCounts(1, 1, 1), 4), out, replace(drawn, seed=4), lambda one: None)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "001-clean").write_text("kept")
    with pytest.raises(UsageError, match="name a new folder"):
        run(here, trials, tmp_path / "mine", drawn, lambda one: None)
    assert (tmp_path / "mine" / "001-clean").read_text() == "kept"


def test_an_old_folder_is_scored_again_by_what_was_planted_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ground, "measured", lambda self, plant, folder, pen: measured())
    here, out = ground(tmp_path), tmp_path / "out"
    trials = draw(PAIRED, PlantCounts(6, 1, 1, 0.5), 3)
    run(here, trials, out, Drawn(3, here.library.identity, here.shown), lambda one: None)
    assert read(out)[1] == trials
    seen: list[str] = []
    folders: Mapping[str, PlantedDiagnosis] = {trial.name: measured() for trial in trials[:-1]}
    monkeypatch.setattr(harness, "concluded", lambda folder: folders.get(folder.name))
    scored = harness.scored_again(out, lambda one: seen.append(one.trial.name))
    assert seen == [trial.name for trial in trials]
    assert [one.failure is not None for one in scored] == [False] * (len(trials) - 1) + [True]
    with pytest.raises(RecordError, match="no plants that can be scored again"):
        harness.scored_again(tmp_path, lambda one: None)


def test_jobs_measure_side_by_side_each_in_its_own_pen(tmp_path: Path) -> None:
    """A pen holds one diagnosis at a time, the baseline comes before all others, and the score is the same."""
    trials = draw(PAIRED, PlantCounts(6, 2, 2), 3)
    drawn = Drawn(3, "mpich", ["diagnose"])
    pens = [Pen(tmp_path / "one"), Pen(tmp_path / "two")]
    both, busy, order = Barrier(2), Counter[Path | None](), list[str]()

    def measure(trial: PlantTrial, folder: Path, pen: Pen) -> PlantedDiagnosis:
        busy[pen.group] += 1
        order.append(trial.purpose)
        both.wait(timeout=60)  # two at a time, or never
        assert busy[pen.group] == 1
        busy[pen.group] -= 1
        return measured()

    def alone(trial: PlantTrial, folder: Path, pen: Pen) -> PlantedDiagnosis:
        return measured()

    (tmp_path / "out").mkdir()
    told: list[Scored] = []
    scored = each(measure, trials, tmp_path / "out", drawn, told.append, pens)
    assert order[:2] == ["baseline"] * 2
    assert sorted(one.trial.name for one in scored) == sorted(trial.name for trial in trials)
    assert told == scored
    in_turn = each(alone, trials, tmp_path / "out", drawn, told.append, [Pen()])
    assert counts(in_turn) == counts(scored)
    assert pens[0].around(["a", "b c"])[-2:] == ["a", "b c"]
    assert Pen().around(["a"]) == ["a"]
