# SPDX-License-Identifier: Apache-2.0
"""What lies outside of healthy runs is measured again, with lengths between, before it is called a fault."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from made_results import cell, results, step

from slowpath.analyse.deviations import shared
from slowpath.analyse.reference import HealthyRuns, defaults_of, joined
from slowpath.analyse.references import reduced
from slowpath.core.cell_results import CellResult, SampleNumbers
from slowpath.core.results import Results
from slowpath.diagnose.state import LibraryFacts, MeasuredStep, State
from slowpath.diagnose.steps.deviations import MOST_STEPS, of_panel, outside, propose_outside
from slowpath.diagnose.tasks import OutsideTask, SurveyTask

LENGTHS = [8 << n for n in range(18)]
Extra = Callable[[Mapping[str, str]], float]


def none(_: Mapping[str, str]) -> float:
    return 0.0


def above_10000(parameters: Mapping[str, str]) -> float:
    length = int(parameters["message_bytes"])
    return 2e-9 * length if length > 10000 else 0.0


def somewhat_above_10000(parameters: Mapping[str, str]) -> float:
    return above_10000(parameters) / 8


def panel(
    ping_pong: Mapping[str, str], extra_s: Extra, seed: int, lengths: list[int] = LENGTHS, launches: int = 5
) -> Results:
    draw = np.random.default_rng(seed)
    cells = []
    for number, length in enumerate(lengths):
        parameters = {**ping_pong, "message_bytes": str(length)}
        value_s = 1e-6 + 0.2e-9 * length + extra_s(parameters)
        cells.append(cell(number, parameters, value_s * draw.normal(1, 0.01, launches)))
    return results(cells)


def healthy(ping_pong: Mapping[str, str]) -> HealthyRuns:
    return joined([reduced(panel(ping_pong, none, seed), "shipped", f"run {seed}") for seed in range(4)])


def surveyed(made: Results) -> list[MeasuredStep]:
    return [MeasuredStep(step(1, SurveyTask()), made)]


def again(made: Results) -> MeasuredStep:
    return MeasuredStep(step(2, OutsideTask()), made)


def proposed(measured: list[MeasuredStep], known: HealthyRuns) -> list[Mapping[str, object]]:
    """Parameters of the cells that are measured next; []: none are."""
    state = State([], measured, LibraryFacts("mpich", "5.0.2"), {}, healthy=known)
    return [cell.parameters for proposal in [*propose_outside(state)][:1] for cell in proposal.campaign.cells]


@pytest.mark.parametrize("launches", [2, 5])
def test_a_cost_is_a_suspicion_until_it_was_measured_again(ping_pong: dict[str, str], launches: int) -> None:
    known, measured = healthy(ping_pong), surveyed(panel(ping_pong, somewhat_above_10000, 10))
    (suspected,) = outside(measured, known)
    assert suspected.needs_cause
    (sure,) = outside([*measured, again(panel(ping_pong, somewhat_above_10000, 11, launches=launches))], known)
    assert not sure.needs_cause
    assert "longer for each byte" in sure.text


@pytest.mark.parametrize(
    ("phase", "above", "is_sure"), [("steady", 4, True), ("first", 4, False), ("steady", 1, False)]
)
def test_against_other_kinds_of_machine_many_cells_are_a_fault_but_no_first_uses(
    ping_pong: dict[str, str], phase: str, above: int, is_sure: bool
) -> None:
    here = healthy(ping_pong)
    others = msgspec.structs.replace(here, runs=[msgspec.structs.replace(run, machine="other") for run in here.runs])
    made = panel(ping_pong, lambda p: 2e-9 * int(p["message_bytes"]) * (int(p["message_bytes"]) > 10000 / above), 10)
    renamed = [replace(time, item=replace(time.item, phase=phase)) for time in of_panel(surveyed(made), others)]
    (group,) = shared(renamed)
    assert "longer for each byte than in healthy runs of other machines" in group.text
    assert group.may_be_machine is not is_sure
    assert not group.is_noise
    assert (shared([time for time in renamed if time not in group.slow[1:]]) == []) is (phase == "first")


@pytest.mark.parametrize("extra_s", [above_10000, lambda _: 9e-3])
def test_what_is_slow_by_far_or_in_many_cells_is_a_fault_at_once(ping_pong: dict[str, str], extra_s: Extra) -> None:
    known, two = healthy(ping_pong), surveyed(panel(ping_pong, extra_s, 10, launches=2))
    assert [sure.needs_cause for sure in outside(surveyed(panel(ping_pong, extra_s, 10)), known)] == [False]
    assert outside(two, known) == []
    (sure,) = outside([*two, again(panel(ping_pong, extra_s, 11, launches=2))], known)
    assert not sure.needs_cause


@pytest.mark.parametrize("launches", [2, 5])
def test_a_disturbance_is_a_suspicion_until_it_is_measured_again(ping_pong: dict[str, str], launches: int) -> None:
    known, measured = healthy(ping_pong), surveyed(panel(ping_pong, somewhat_above_10000, 10))
    (suspected,) = outside([*measured, again(panel(ping_pong, none, 13, lengths=[8, 64]))], known)
    assert suspected.needs_cause
    assert outside([*measured, again(panel(ping_pong, none, 12, launches=launches))], known) == []


def test_a_single_time_of_the_panel_is_a_suspicion_however_slow(ping_pong: dict[str, str]) -> None:
    first, second = (panel(ping_pong, lambda p: 50e-6 * (p["message_bytes"] == "64"), seed) for seed in (14, 15))
    (lone,) = outside([*surveyed(first), again(second)], healthy(ping_pong))
    assert lone.needs_cause


def test_lengths_between_bracket_the_limit_and_have_references_of_their_own(ping_pong: dict[str, str]) -> None:
    known, measured = healthy(ping_pong), surveyed(panel(ping_pong, above_10000, 10))
    lengths = sorted({int(str(table.get("message_bytes", 8))) for table in proposed(measured, known)})
    assert proposed(surveyed(panel(ping_pong, none, 20)), known) == []
    between = [length for length in lengths if 8192 < length < 16384]
    assert len(between) == 5
    assert LENGTHS[-1] + 8 in lengths  # a multiple of no page

    narrowed = [*measured, again(panel(ping_pong, above_10000, 14, lengths=lengths))]
    assert len(of_panel(narrowed, known)) == len(LENGTHS) + len(between) + 1
    (finding,) = outside(narrowed, known)
    first = min(length for length in between if length > 10000)
    assert any(str(first) in words for words in (finding.text.replace(",", ""), finding.about))


def test_a_cost_by_the_byte_has_no_limit_where_lengths_are_far_apart(ping_pong: dict[str, str]) -> None:
    known, few = healthy(ping_pong), [64, 16384]
    measured = surveyed(panel(ping_pong, lambda p: 1e-9 * int(p["message_bytes"]), 17, lengths=few))
    lengths = sorted({int(str(table.get("message_bytes", 8))) for table in proposed(measured, known)})
    between = panel(ping_pong, lambda p: 1e-9 * int(p["message_bytes"]), 18, lengths=lengths)
    (finding,) = outside([*measured, again(between)], known)
    assert re.match(r"MPI_Recv or MPI_Send takes [\d.]+ ns \[.*\] longer for each byte", finding.text)


@pytest.mark.parametrize("granule_bytes", [1024, 4096, 16384])
def test_lengths_that_are_odd_multiples_tell_granules_from_a_limit(
    ping_pong: dict[str, str], granule_bytes: int
) -> None:
    def whole_pages(parameters: Mapping[str, str]) -> float:
        return 40e-6 if int(parameters["message_bytes"]) % granule_bytes == 0 else 0.0

    known, measured = healthy(ping_pong), surveyed(panel(ping_pong, whole_pages, 15))
    lengths = sorted({int(str(table.get("message_bytes", 8))) for table in proposed(measured, known)})
    (finding,) = outside([*measured, again(panel(ping_pong, whole_pages, 16, lengths=lengths))], known)
    assert f"whose length is a multiple of {granule_bytes // 1024} KiB" in finding.text


def test_a_mean_over_stalls_that_do_not_come_again_was_a_disturbance(ping_pong: dict[str, str]) -> None:
    def of(run: Results, period: int | None) -> Results:
        numbers = SampleNumbers(mean_ratio=11.0 if period else 1.0, far_share=0.125 if period else 0.0, period=period)
        return msgspec.structs.replace(run, cells=[*(with_numbers(c, numbers) for c in run.cells[:4]), *run.cells[4:]])

    known, stalls = healthy(ping_pong), of(panel(ping_pong, none, 17), 8)
    (suspected,) = outside(surveyed(stalls), known)
    assert suspected.text.startswith("One in 8 operations of ")
    assert suspected.needs_cause
    (sure,) = outside([*surveyed(stalls), again(stalls)], known)
    assert not sure.needs_cause
    assert outside([*surveyed(stalls), again(of(stalls, None))], known) == []


def with_numbers(cell: CellResult, numbers: SampleNumbers) -> CellResult:
    ((name, metric),) = cell.metrics.items()
    phases = {
        phase: msgspec.structs.replace(estimate, numbers=numbers, samples=40 * estimate.launches)
        for phase, estimate in metric.phases.items()
    }
    return msgspec.structs.replace(cell, metrics={name: msgspec.structs.replace(metric, phases=phases)})


CALLS = ["comm_dup", "comm_rank", "type_size", "info_create"]
EACH = [{"call": call} for call in CALLS]


def calls(extra_s: Extra, seed: int, of: Sequence[Mapping[str, str]], stalling: str = "") -> Results:
    """Cells of single calls. stalling: each 8th call of this one takes 40 us longer; after a call it is out of step."""
    draw = np.random.default_rng(seed)
    cells = []
    for number, stated in enumerate(of):
        parameters = {**defaults_of("first_use"), "pattern": "call", "message_bytes": "64", "uses": "24", **stated}
        made = cell(number, parameters, (1e-6 + extra_s(parameters)) * draw.normal(1, 0.01, 5), "first_use")
        ratio = 6.0 if parameters["call"] == stalling else 1.0
        is_regular = ratio > 1 and parameters["after_call"] == "off"
        numbers = SampleNumbers(mean_ratio=ratio, far_share=0.125, period=8 if is_regular else None)
        (metric,) = with_numbers(made, numbers).metrics.values()
        name = "call_s" if parameters["idle_s"] == "0" else "call_idle_s"
        cells.append(msgspec.structs.replace(made, metrics={name: metric}))
    return results(cells)


def healthy_calls(of: Sequence[Mapping[str, str]]) -> HealthyRuns:
    return joined([reduced(calls(none, seed, of), "shipped", f"run {seed}") for seed in range(4)])


@pytest.mark.parametrize(("cost_s", "is_sure"), [(9e-6, True), (1e-6, False)])
def test_a_call_that_one_cell_measures_is_a_fault_where_it_is_slow_by_far_again(cost_s: float, is_sure: bool) -> None:
    first, second = (calls(lambda p: cost_s * (p["call"] == "type_size"), seed, EACH) for seed in (32, 33))
    (lone,) = outside([*surveyed(first), again(second)], healthy_calls(EACH))
    assert lone.needs_cause is not is_sure


def test_a_call_that_stalls_is_measured_in_a_longer_series(ping_pong: dict[str, str]) -> None:
    known, measured = healthy_calls(EACH), surveyed(calls(none, 30, EACH, "type_size"))
    assert max(int(str(table["uses"])) for table in proposed(measured, known) if table["call"] == "type_size") == 200

    longer = {**EACH[2], "uses": "200"}
    each = [*EACH, longer, *({**stated, "after_call": "on"} for stated in (EACH[2], longer))]
    (stalls,) = outside([*measured, again(calls(none, 31, each, "type_size"))], known)
    assert stalls.text.startswith("One in 8 operations of MPI_Type_size takes 40.1 us [39.5 us, 40.4 us] longer")


def test_stalls_cost_what_they_add_to_the_usual_call_and_are_told_apart_from_it(ping_pong: dict[str, str]) -> None:
    known, stalling = healthy_calls(EACH), calls(lambda p: 2e-6 * (p["call"] == "type_size"), 32, EACH, "type_size")
    (stalls,) = outside(surveyed(stalling), known)
    assert re.match(r"One in 8 operations of MPI_Type_size takes 1[12]\d us \[", stalls.text)
    cells = [with_numbers(c, SampleNumbers(mean_ratio=1.2, far_share=0.125, period=8)) for c in stalling.cells]
    (every,) = outside(surveyed(msgspec.structs.replace(stalling, cells=cells)), known)
    assert re.match(r"MPI_Type_size takes (1\.9|2\.0)\d us \[", every.text)


def test_a_cell_with_one_parameter_as_by_default_tells_whose_the_cost_is(ping_pong: dict[str, str]) -> None:
    of = [*EACH, {"call": "recv", "source": "any"}]
    known, measured = healthy_calls(of), surveyed(calls(lambda p: 9e-6 if p["call"] == "recv" else 0.0, 40, of))
    tables = proposed(measured, known)
    of_recv = [table for table in tables if table["call"] == "recv"]
    assert {("named", None), ("any", "on")} <= {(table.get("source"), table.get("after_call")) for table in of_recv}

    both = [*of, {"call": "recv"}, {**of[-1], "after_call": "on"}]
    busy = calls(lambda p: 9e-6 if p["call"] == "recv" else 0.0, 41, both)
    (always,) = outside([*measured, again(busy)], known)
    assert always.text.startswith("MPI_Recv takes ")
    from_any = calls(lambda p: 9e-6 if p["source"] == "any" else 0.0, 42, both)
    (wildcard,) = outside([*measured, again(from_any)], known)
    assert wildcard.text.startswith("MPI_Recv from any source takes ")
    after = calls(lambda p: 9e-6 if (p["call"], p["after_call"]) == ("recv", "off") else 0.0, 44, both)
    (pause,) = outside([*measured, again(after)], known)
    assert pause.text.startswith("MPI_Recv after a pause of at least 20 us without MPI takes ")
    by_name = calls(lambda p: 9e-6 if (p["call"], p["source"]) == ("recv", "named") else 0.0, 43, both)
    (named,) = outside([*surveyed(by_name), again(by_name)], healthy_calls(both))
    assert named.text.startswith("MPI_Recv from a named source takes ")


def test_a_cost_after_a_pause_shows_after_more_pauses_and_longer_ones(ping_pong: dict[str, str]) -> None:
    of = [{"call": call, "idle_s": "0.0021"} for call in CALLS]
    known, measured = healthy_calls(of), surveyed(calls(lambda p: 9e-6 if p["call"] == "type_size" else 0.0, 50, of))
    pauses = {(table["idle_s"], table.get("pauses")) for table in proposed(measured, known)}
    assert pauses == {("0.0021", None), ("0.0021", 6), (0.0042, 6)}

    longer = [of[2], {**of[2], "pauses": "6"}, {**of[2], "idle_s": "0.0042", "pauses": "6"}]
    (sure,) = outside([*measured, again(calls(lambda p: 9e-6, 51, longer))], known)
    said = r"MPI_Type_size after a pause without MPI takes 8.98 us .* in all 2 such cells"
    assert re.match(said, sure.text)  # with more pauses it is the same cell
    assert not sure.needs_cause


@pytest.mark.parametrize(("sign", "limit_bytes", "words"), [(1, 64, "at least"), (-1, 256, "at most")])
def test_a_call_of_one_length_is_measured_far_from_it(sign: int, limit_bytes: int, words: str) -> None:
    def extra_s(parameters: Mapping[str, str]) -> float:
        is_slow = sign * int(parameters["message_bytes"]) >= sign * limit_bytes
        return 9e-6 * (parameters["call"] == "type_size" and is_slow)

    of = [*EACH, {"call": "comm_rank", "message_bytes": "4096"}]
    known, measured = healthy_calls(of), surveyed(calls(extra_s, 60, of))
    for _ in range(MOST_STEPS):
        lengths = [{"call": "type_size", "message_bytes": str(t["message_bytes"])} for t in proposed(measured, known)]
        measured.append(again(calls(extra_s, 61, lengths)))
    (limit,) = outside(measured, known)
    slow, other = (int(end) for end in re.findall(rf"^MPI_Type_size of {words} (\d+) B \(not (\d+) B\)", limit.text)[0])
    assert sign * (slow - limit_bytes) >= 0 > sign * (other - limit_bytes)
    assert 0.4 < slow / other < 2.5


def test_a_call_without_a_message_is_measured_at_no_other_length() -> None:
    of = [{"call": call, "message_bytes": defaults_of("first_use")["message_bytes"]} for call in CALLS]
    measured = surveyed(calls(lambda p: 9e-6 if p["call"] == "type_size" else 0.0, 70, of))
    assert not any("message_bytes" in table for table in proposed(measured, healthy_calls(of)))


def test_another_call_is_not_held_against_the_reference_of_one_that_is_slow(ping_pong: dict[str, str]) -> None:
    known, measured = healthy_calls(EACH), surveyed(calls(lambda p: 9e-6 if p["call"] == "recv" else 0.0, 45, EACH))
    busy = surveyed(calls(lambda p: 9e-6 if p["call"] == "type_size" else 0.0, 46, EACH))
    other = calls(lambda p: 9e-6, 47, [{**EACH[2]}, {"call": "comm_split", "pauses": "1"}])
    assert outside(measured, known) == []
    (only,) = outside([*busy, again(other)], known)
    assert only.text.startswith("MPI_Type_size takes ")


def test_a_length_that_was_measured_too_rarely_is_no_end_of_a_limit(ping_pong: dict[str, str]) -> None:
    known, made = healthy(ping_pong), panel(ping_pong, above_10000, 50)
    rare = {**ping_pong, "message_bytes": "8192"}
    cells = [cell(table.cell, rare, [30e-6]) if table.parameters == rare else table for table in made.cells]
    measured = surveyed(msgspec.structs.replace(made, cells=cells))
    tables = proposed(measured, known)
    between = [n for table in tables if 4096 < (n := int(str(table.get("message_bytes", 8)))) < 16384]
    assert min(between) < 6000 < 12000 < max(between)
