# SPDX-License-Identifier: Apache-2.0
"""Every rule names what was planted, and nothing where nothing was."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace
from planted_results import KIB, MIB, Planted, placement
from plants import COSTS, HALF, PLANTS, environments, repeat_gate, windows

from slowpath.core.results import Finding, SkippedRow
from slowpath.experiments.registry import ROLES
from slowpath.findings.conclude import group_of
from slowpath.findings.facts import WITHOUT_USER
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.registry import PROGRAM_SLOW_PATHS, SLOW_PATHS

# A pattern is planted in a program's calls: tests/unit/watch/test_watch_patterns.py.
CODES = [rule.code for rule in SLOW_PATHS if rule not in PROGRAM_SLOW_PATHS]
SEEDS = (1, 2, 3)
COUNTED = ("rounds", "involuntary_switches")  # no time was taken


def found(code: str, slow: bool, seed: int) -> list[Finding]:
    run = Planted(seed)
    PLANTS[code](run, slow)
    return findings(run.results(), ROLES)


@pytest.mark.parametrize("code", CODES)
def test_what_is_planted_is_named(code: str) -> None:
    for seed in SEEDS:
        named = found(code, True, seed)
        assert [one.rule for one in named] == [code], seed
        if named[0].metric not in COUNTED:
            assert named[0].interval[0] > 1.03
            assert named[0].excess_s > 0


@pytest.mark.parametrize("code", CODES)
def test_a_clean_twin_gives_nothing(code: str) -> None:
    for seed in SEEDS:
        assert found(code, False, seed) == [], seed


LAWS = {
    "SP001": ("granules", "4 KiB page", COSTS[2][1]),
    "SP002": ("allocation", "byte of the allocation", 1e-12),
    "SP003": ("live buffers", None, 3e-5),
    "SP004": ("repetition", None, 3e-5),
    "SP005": ("constant", None, 3.2e-4),
    "SP006": ("bytes", "byte", 2e-9),
    "SP008": ("pages", "page of the host", 4e-7),
    "SP015": ("blocks", "block", 5e-8),
    "SP021": ("queue", "entry in front", 2e-8),
    "SP023": ("allocation", "byte of the allocation", 1e-12),
    "SP043": ("each", "one more", 2e-5),
    "SP044": ("bytes", "byte of the window", 1.2e-6 / 4096),
}


@pytest.mark.parametrize("code", LAWS)
def test_the_cost_is_right_within_a_tenth(code: str) -> None:
    name, per, planted = LAWS[code]
    law = found(code, True, 1)[0].law
    assert law.name == name
    terms = [one for one in law.coefficients if one.per == per]
    term = terms[-1]  # a step comes behind the constant
    assert term.value == pytest.approx(planted, rel=0.1)
    assert term.interval is not None


@pytest.mark.parametrize("entry_s", [0.0, 3e-8])
def test_a_poll_past_a_long_queue_is_named_as_a_poll(entry_s: float) -> None:
    run = Planted(1)
    for entries in (0, 16, 64, 256, 1024):
        times = {"poll_s": {"steady": 1e-7 + entries * entry_s}}
        run.cell(times, pattern="polling", message_bytes=8, posted="after", queue=entries)
    named = [one for one in findings(run.results(), ROLES) if one.rule == "SP021"]
    assert [one.text.split(" with ")[0] for one in named] == (["A poll that finds nothing"] if entry_s else [])


def test_limits_lie_where_they_were_planted() -> None:
    assert [(b.above, b.up_to) for b in found("SP003", True, 1)[0].law.brackets] == [(16, 32)]
    assert [(b.above, b.up_to) for b in found("SP004", True, 1)[0].law.brackets] == [(4, 5)]
    bracket = found("SP013", True, 1)[0].law.brackets[0]
    assert bracket.above <= 16 * KIB < bracket.up_to
    low, high = found("SP001", True, 1)[0].law.brackets
    assert low.above < 64 * KIB <= low.up_to
    assert high.above <= MIB < high.up_to


def test_load_is_named_as_load_and_only_where_ranks_lose_their_processors() -> None:
    run = Planted(1)
    PLANTS["SP048"](run, True)
    (only,) = findings(run.results(), ROLES)
    assert (only.ratio, only.status, only.affects_default) == (None, "explained", True)
    assert "Other processes keep 1.0 of 2 cores busy (stress (process 4711) 1.0)" in only.text
    assert "not a slow path of MPI" in only.text
    run.cells[0]["witness"]["steady"]["receive"]["involuntary_switches"] = 2
    assert findings(run.results(), ROLES) == []


@pytest.mark.parametrize(("slow_cells", "rules"), [(1, []), (2, ["SP047"])])
def test_ranks_with_cores_of_their_own_are_slower_by_a_mask_where_two_cells_agree(
    slow_cells: int, rules: list[str]
) -> None:
    """One alone is a moment in which others ran."""
    run = Planted(1)
    run.placements = [
        placement("started", "0", "1") | {"bind": "inherited"},
        placement("everywhere", "2", "3") | {"bind": "widened"},
    ]
    for number, length in enumerate((8, 2**20)):
        took_s = 1e-6 + length * 1e-10
        a = run.cell({HALF: {"steady": took_s}}, message_bytes=length, also={"placement": "everywhere"})
        times = 3.0 if number < slow_cells else 1.0
        b = run.cell({HALF: {"steady": times * took_s}}, message_bytes=length, also={"placement": "started"})
        run.contrast("placement", HALF, (a, "everywhere"), (b, "started"))
    assert [one.rule for one in findings(run.results(), ROLES)] == rules


def test_a_lottery_that_triples_the_time_is_a_fault_before_its_cause_is_known() -> None:
    run = Planted(1)
    PLANTS["SP029"](run, True)
    (one,) = findings(run.results(), ROLES)
    assert one.interval is not None
    assert one.interval[0] > 3.0
    assert group_of(one) == "fault"


def test_ranks_that_share_a_core_where_they_are_started_are_named_whatever_the_noise() -> None:
    run = Planted(1, noise=4.0)
    PLANTS["SP047"](run, True)
    run.contrasts[0] |= {"verdict": "undecided", "interval": [0.3, 70000.0]}
    (only,) = findings(run.results(), ROLES)
    assert (only.rule, only.ratio, only.status, only.affects_default) == ("SP047", None, "explained", True)
    assert "share one core where you start them (rank 0 on 0, rank 1 on 0)" in only.text
    run.placements[1]["observed"] = run.placements[0]["observed"]
    assert findings(run.results(), ROLES) == []


def test_launches_that_had_to_be_ended_are_at_least_that_slow() -> None:
    """Where no launch of the user's own state came to its end there is no ratio, and a bound is what is known."""
    run = Planted(1)
    without = run.environment(WITHOUT_USER)
    a = run.cell({HALF: {"steady": 1e-6}}, message_bytes=8, environment=without)
    b = run.cell({}, message_bytes=8)
    run.cells[b]["metrics"] = run.cells[a]["metrics"]
    run.contrast("environment", HALF, (a, without), (b, "default"))
    run.contrasts[0] |= {"launches": 0, "ratio": None, "interval": None, "verdict": None}
    run.cells[b]["metrics"] = {}
    row = {"cell": b, "label": "b", "status": "hung", "reason": "it took long", "log": None, "output": None}
    for launches, campaign, named in ((3, "state", 1), (2, "state", 0), (3, "survey", 0)):
        made = run.results()
        skipped = [msgspec.convert(row | {"launches": launches}, SkippedRow)]
        made = replace(made, skipped=skipped, run=replace(made.run, campaign=campaign))
        found = findings(made, ROLES)
        assert len(found) == named, (launches, campaign)
        if found:
            assert (found[0].rule, found[0].ratio, found[0].affects_default) == ("SP035", None, True)
            assert "take at least 8x as long as those without any of your settings: 3 launches were" in found[0].text
            words = found[0].settings_words
            assert words is not None
            assert (words.title in found[0].title, words.text in found[0].text) == (True, True)


def test_ranks_that_share_the_only_processor_are_all_there_is_to_say() -> None:
    run = Planted(1)
    windows(run, True)
    run.placements = [placement("bound", "0", "0")]
    run.cell({HALF: {"steady": 5e-6}}, message_bytes=8)
    (only,) = findings(run.results(), ROLES)
    assert (only.rule, only.ratio, only.excess_s, only.status) == ("SP011", None, None, "explained")
    schema = json.loads((Path(__file__).parents[3] / "schema" / "results.schema.json").read_text())
    jsonschema.validate(msgspec.to_builtins(only), {"$defs": schema["$defs"], "$ref": "#/$defs/Finding"})
    assert "rank 1 on 0 of n1" in only.text
    assert len(only.merged) >= 1
    run.placements = [placement("bound", "0", "1")]
    assert {one.rule for one in findings(run.results(), ROLES)} == {"SP019"}


def test_that_early_receives_take_longer_is_no_slow_path() -> None:
    """Late ones are timed in other calls; what these differ by at the shortest message is taken off."""
    (one,) = found("SP020", True, 1)
    assert one.ratio == pytest.approx(1.8, rel=0.1)
    assert one.contrasts == []
    assert [remedy.verdict for remedy in one.remedies] == ["not tried"]
    assert "different calls" in one.remedies[0].reason
    assert "the calls themselves take 5." in one.legs.observed.evidence[0]


def test_remedies_and_cause_of_a_window_are_those_of_its_axis() -> None:
    run = Planted(1)
    put = {"design": "mpi", "window": "allocate", "window_info": "default", "message_bytes": 8, "puts": 1000}
    cells = [
        run.cell({"time_per_put_s": {"steady": time_s}}, experiment="put", synchronise=way, **put)
        for way, time_s in (("flush_all", 2e-8), ("lock", 4e-8), ("fence", 6e-8))
    ]
    for number, way in ((1, "lock"), (2, "fence")):
        run.contrast("synchronise", "time_per_put_s", (cells[0], "flush_all"), (cells[number], way))
    seen = {one.about: one for one in findings(run.results(), ROLES)}
    lock, fence = seen["synchronise lock"], seen["synchronise fence"]
    assert [one.name for one in lock.remedies] == [one.name for one in fence.remedies] == ["lock all once"]
    assert lock.axis == "synchronise"
    assert lock.hypotheses == ["each burst takes and releases a lock"]
    assert fence.hypotheses == ["each burst ends in a barrier of all ranks"]


def test_a_gate_that_one_cell_of_many_shows_is_noise() -> None:
    run = Planted(1)
    repeat_gate(run, True)
    assert [one.rule for one in findings(run.results(), ROLES)] == ["SP004"]
    for _ in range(6):
        repeat_gate(run, False)
    assert findings(run.results(), ROLES) == []


def test_what_nobody_chose_is_told_only_when_it_costs_a_quarter() -> None:
    for times, rules in ((1.15, []), (1.6, ["SP016"])):
        run = Planted(1)
        environments("threads", None, {"SLOWPATH_THREAD_LEVEL": "multiple"}, times)(run, True)
        assert [one.rule for one in findings(run.results(), ROLES)] == rules
