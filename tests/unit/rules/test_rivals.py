# SPDX-License-Identifier: Apache-2.0
"""A cause is claimed against its rivals: each is refuted, stands, or is true, and the finding says so."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace
from planted_results import KIB, MIB, Planted
from plants import HALF, ONE_WAY, PLANTS, transfer_s

from slowpath.core.results import Finding, Rival
from slowpath.experiments.registry import ROLES
from slowpath.findings.difference import Place
from slowpath.findings.facts import Facts
from slowpath.findings.observation import Observation, OfRival, Support, no_witness
from slowpath.findings.page import text_page
from slowpath.findings.rivals.judged import contest
from slowpath.findings.rivals.judges import _gone_words
from slowpath.findings.rivals.rival import Judged, State
from slowpath.findings.slow_path import SlowPath
from slowpath.report.view_findings import rival_lines
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.registry import SLOW_PATHS
from slowpath.stats.removed_share import Removed

LIVE = (1, 2, 4, 8, 16, 32, 64)
PLAIN = {"pattern": "one_way", "synchronise": "outside", "touch": "write", "memory": "host", "cache": "as_is"}
PLAIN |= {"posted": "together", "pack": "none"}


def only(run: Planted, experiment: Planted | None = None) -> Finding:
    found = findings(run.results(), ROLES, experiments=[experiment.results()] if experiment else [])
    assert len(found) == 1, [one.rule for one in found]
    return found[0]


def rival(one: Finding, name: str) -> Rival:
    return next(rival for rival in one.rivals if rival.name == name)


def side(kernel_s: float, user_s: float, waits_s: float, asleep_s: float = 0.0) -> dict[str, Any]:
    """One side's witness.  kernel_s: besides what is spent in calls that wait, all of which is system time."""

    def call(time_s: float | None) -> dict[str, Any]:
        return {"calls_per_op": 1.0, "bytes_per_op": None, "failed_per_op": 0.0, "time_s_per_op": time_s}

    return {
        "minor_faults_per_op": 0.0,
        "major_faults_per_op": 0.0,
        "operations": 40,
        "involuntary_switches": 0,
        "system_time_s_per_op": kernel_s + waits_s,
        "user_time_s_per_op": user_s,
        "calls": {"sched_yield": call(waits_s), "sleep": call(asleep_s), "mmap": call(None)},
    }


# --- cold cache against mapping

HEAD_S = {2 * MIB: 3e-6, 4 * MIB: 6e-6, 8 * MIB: 12e-6, 16 * MIB: 24e-6, 32 * MIB: 48e-6, 64 * MIB: 96e-6}


def fresh(run: Planted, share_gone: dict[str, float]) -> None:
    """First messages of 256 KiB that cost more from longer buffers.  share_gone: of that, by the parameter cache."""
    for cache, gone in share_gone.items():
        for length, more_s in HEAD_S.items():
            times = {"first": 2.3e-5 + more_s * (1 - gone), "steady": 1.9e-5}
            run.cell({ONE_WAY: times}, **{**PLAIN, "cache": cache}, message_bytes=256 * KIB, buffer_bytes=length)


def test_what_a_warm_head_takes_away_is_no_slow_path() -> None:
    run = Planted(1)
    fresh(run, {"as_is": 0.0})
    one = only(run)
    assert (one.rule, one.law.name) == ("SP002", "allocation")
    assert rival(one, "cold cache").state == "standing"
    fresh(run, {"warm": 0.97})
    assert [f.rule for f in findings(run.results(), ROLES) if f.rule in ("SP001", "SP002", "SP006")] == []


@pytest.mark.parametrize(("gone", "state", "said"), [(0.0, "refuted", "of it is gone"), (0.5, "standing", "a part")])
def test_what_stays_with_a_warm_head_is_not_of_the_cache(gone: float, state: str, said: str) -> None:
    run, experiment = Planted(1), Planted(2)
    fresh(run, {"as_is": 0.0})
    fresh(experiment, {"as_is": 0.0, "warm": gone})
    one = only(run, experiment)
    assert one.rule == "SP002"
    assert rival(one, "cold cache").state == state
    assert said in rival(one, "cold cache").text


# --- waiting against working, one side against the other


def full_cache(witnesses: dict[str, dict[str, Any]] | None = None, cold_s: float | None = None, late_s: float = 0.0):
    """A cache of 16 buffers whose miss costs 60 us.

    witnesses: of both sides of the slow cell.  cold_s, late_s: of a miss with flushed bytes, and with a late receiver.
    Returns: the run, and the experiments that were made for it.
    """
    idle = {"send": side(0, 0, 0), "receive": side(0, 0, 0)}
    run, experiment = Planted(1), Planted(2)
    for live in LIVE:
        slow = live > 16
        also = {"witness": {"steady": (witnesses if slow else idle)}} if witnesses else {}
        times = {
            ONE_WAY: {"steady": 8e-6 + (6e-5 if slow else 0)},
            "receive_s": {"steady": 8e-6 + (6e-5 if slow else 0)},
        }
        more = {"message_bytes": 64 * KIB, "live_buffers": live}
        run.cell(times, **PLAIN, **more, also=also)
        if cold_s is not None:
            experiment.cell(times, **PLAIN, **more)
            cold = {name: {"steady": 1.2e-5 + (cold_s if slow else 0)} for name in times}
            experiment.cell(cold, **{**PLAIN, "cache": "cold"}, **more)
            late = {"receive_s": {"steady": 9e-6 + (late_s if slow else 0)}}
            experiment.cell(late, **{**PLAIN, "posted": "after"}, **more)
    return run, experiment if cold_s is not None else None


def test_the_system_time_of_a_side_that_yields_is_no_witness() -> None:
    """A miss makes the sender spin 60 us in user space: the receiver yields meanwhile, in system time."""
    one = only(*full_cache({"send": side(0, 6e-5, 0), "receive": side(1e-6, 1.2e-5, 4.6e-5)}, cold_s=6e-5))
    assert (one.rule, one.status) == ("SP003", "explained")
    assert (one.claim.time, one.claim.side, one.claim.by) == ("user", "sender", "buffers")
    assert any("the sender works in user space" in line for line in one.legs.explained.evidence)
    assert not any("kernel" in line for line in one.legs.explained.evidence)


def test_times_that_a_kernel_samples_at_ticks_explain_nothing() -> None:
    """They are null, since a process's whole life is shared out among its stretches (record.events.ProcessorTime)."""
    sampled = {"system_time_s_per_op": None, "user_time_s_per_op": None}
    both = {role: {**side(0, 6e-5, 0), **sampled} for role in ("send", "receive")}
    one = only(*full_cache(both, cold_s=6e-5))
    assert (one.rule, one.status) == ("SP003", "observed")
    assert "samples processor times at timer ticks" in one.legs.explained.text


def test_the_kernel_s_work_is_what_waits_do_not_take() -> None:
    one = only(*full_cache({"send": side(0, 1e-5, 5e-5), "receive": side(5.5e-5, 5e-6, 2e-6)}, cold_s=6e-5))
    assert (one.claim.time, one.claim.side, one.status) == ("kernel", "receiver", "explained")


def test_a_side_that_sleeps_is_said_to_sleep() -> None:
    one = only(*full_cache({"send": side(0, 0, 0, asleep_s=5.8e-5), "receive": side(0, 4e-5, 2e-5)}, cold_s=6e-5))
    assert (one.claim.time, one.claim.side) == ("waiting", "sender")


def test_more_than_the_whole_excess_is_a_contradiction_and_no_witness() -> None:
    one = only(*full_cache({"send": side(0, 0, 0), "receive": side(8e-5, 0, 0)}, cold_s=6e-5))
    assert one.status == "observed"
    assert "kernel" not in one.legs.explained.text


BOTH_SPIN = {"send": side(0, 6e-5, 0), "receive": side(0, 6e-5, 0)}


def test_where_both_sides_spin_a_late_receiver_tells_them_apart() -> None:
    one = only(*full_cache(BOTH_SPIN, cold_s=6e-5, late_s=2e-6))
    assert (one.status, one.claim.time, one.claim.side) == ("explained", "user", "sender")
    assert "the sender does it before" in rival(one, "the other side").text or one.claim.side == "sender"
    other = only(*full_cache(BOTH_SPIN, cold_s=6e-5, late_s=6e-5))
    assert other.claim.side == "receiver"


def test_where_nothing_tells_the_sides_apart_it_says_either() -> None:
    one = only(*full_cache(BOTH_SPIN))
    assert (one.status, one.cause) == ("observed", None)
    assert one.legs.explained.text.startswith("either: ")
    assert {r.name for r in one.rivals if r.state == "standing"} == {"processor caches", "the other side"}


def test_with_all_bytes_cold_the_processor_s_caches_are_told_from_a_cache_of_handles() -> None:
    works = {"send": side(0, 6e-5, 0), "receive": side(1e-6, 1.2e-5, 4.6e-5)}
    assert rival(only(*full_cache(works, cold_s=6e-5)), "processor caches").state == "refuted"
    run, experiment = full_cache(works, cold_s=1e-6)
    assert findings(run.results(), ROLES, experiments=[experiment.results()]) == [], "what caches cost is no slow path"


# --- a late receive against a slow one


@pytest.mark.parametrize(("in_time_s", "state"), [(0.0, "refuted"), (1.0, "true"), (0.5, "standing")])
def test_a_receive_that_is_slow_whenever_it_is_called_is_not_late(in_time_s: float, state: str) -> None:
    """in_time_s: share of what the late one takes more that one in time takes as well."""
    run, experiment = Planted(1), Planted(2)
    for length in (8, 64 * KIB, 256 * KIB, MIB, 4 * MIB):
        more_s = 0.8e-10 * length
        for posted, time_s in (("before", 5e-6), ("after", more_s), ("together", in_time_s * more_s)):
            cell = {"receive_s": {"steady": transfer_s(length) + time_s}}
            (experiment if posted == "together" else run).cell(
                cell, **{**PLAIN, "posted": posted}, message_bytes=length
            )
            if posted != "together":
                experiment.cell(cell, **{**PLAIN, "posted": posted}, message_bytes=length)
    one = only(run, experiment)
    assert one.rule == "SP020"
    assert rival(one, "slow receive").state == state
    assert ("whether its message is early or not" in one.title) == (state == "true")
    assert bool(one.remedies) == (state != "true"), "to post receives early does not help where early costs nothing"
    if state == "true":
        assert one.hypotheses == [rival(one, "slow receive").cause] or one.cause == rival(one, "slow receive").cause


# --- single copy against small pages


@pytest.mark.parametrize(("on_huge", "state"), [(2.5, "refuted"), (1.02, "true")])
def test_single_copy_is_held_against_small_pages_on_huge_ones(on_huge: float, state: str) -> None:
    run, experiment = Planted(1), Planted(2)
    other = run.environment("no single copy", "single_copy_off", X="0")
    experiment.environment("no single copy", "single_copy_off", X="0")
    for length in (MIB, 4 * MIB, 16 * MIB):
        cells = []
        for environment, off in (("default", 0), (other, length)):
            moved = {"calls_per_op": 1.0, "bytes_per_op": length - off, "failed_per_op": 0.0}
            seen = side(0, 0, 0) | {"calls": {"process_vm_readv": moved}}
            also = {"witness": {"steady": {"send": None, "receive": seen}}}
            what = {**PLAIN, "pages": "small", "message_bytes": length, "environment": environment}
            what |= {"overalloc_bytes": 0}
            plain = {ONE_WAY: {"steady": transfer_s(length) * (2.5 if off else 1.0)}}
            huge = {ONE_WAY: {"steady": transfer_s(length) * (on_huge if off else 1.0)}}
            cells.append(run.cell(plain, **what, also=also))
            experiment.cell(plain, **what)
            experiment.cell(huge, **{**what, "pages": "huge", "overalloc_bytes": 2 * MIB})
        run.contrast("environment", ONE_WAY, (cells[0], "default"), (cells[1], other), usual="a")
    one = only(run, experiment)
    assert one.rule == "SP009"
    assert rival(one, "small pages").state == state
    assert one.status == "explained"
    assert ("from these pages" in one.cause) == (state == "true")
    assert (one.title == "A single copy is slow from small pages") == (state == "true")
    assert ([remedy.name for remedy in one.remedies] == ["huge pages"]) == (state == "true")


# --- the table of rivals


@pytest.mark.parametrize(
    "rule", [rule for rule in SLOW_PATHS if rule.witnesses is not no_witness], ids=lambda rule: rule.code
)
def test_every_cause_that_can_be_explained_has_rivals_and_its_page_lists_them(rule: SlowPath) -> None:
    kinds = rule.rivals
    assert kinds
    page = " ".join(text_page(rule).split())
    assert all(kind.name in page for kind in kinds)
    assert len({kind.name for kind in kinds}) == len(kinds)


@pytest.mark.parametrize("code", list(PLANTS))
def test_without_any_experiment_nothing_is_claimed_over_a_rival_that_stands(code: str) -> None:
    run = Planted(1)
    PLANTS[code](run, True)
    for one in findings(run.results(), ROLES):
        if one.status == "explained":
            assert all(rival.state == "refuted" for rival in one.rivals), code
        for each in one.rivals:
            assert each.text
            assert each.cause


def test_a_report_lists_what_became_of_each_rival() -> None:
    one = only(*full_cache(BOTH_SPIN, cold_s=6e-5, late_s=2e-6))
    rivals = [replace(each, state="true") if each.name == "processor caches" else each for each in one.rivals]
    lines = rival_lines(rivals)
    assert lines[0].startswith("rival true: processor caches: with all bytes flushed")
    assert any(line.startswith("rival refuted: waiting: ") for line in lines)
    assert len(lines) == len(one.rivals)


@pytest.mark.parametrize("rule", SLOW_PATHS, ids=lambda rule: rule.code)
def test_a_rival_that_is_true_ends_the_rule_s_finding(rule: SlowPath) -> None:
    """It disappears where caches take the time, else the finding is the rival's; who spends the time is no other."""
    for kind in rule.rivals:
        assert kind.ends or kind.keeps or kind.title_of_finding not in ("", rule.title), kind.name
        assert kind.ends == (kind.claim.time == "cold cache")
        assert {one.name for one in kind.remedies} <= {one.name for one in rule.remedies}


def test_more_than_the_excess_is_not_more_than_all_of_it() -> None:
    one = only(*full_cache(BOTH_SPIN, cold_s=6e-5, late_s=2e-6))
    flushed = rival(one, "processor caches").text
    assert "% of it is gone" in flushed
    found = Removed(1.13, (1.05, 1.2), 1e-4, -1.3e-5)
    assert _gone_words(found, "flushed") == (
        "flushed, the excess of 100 us disappears: 100 % of it is gone, and the slow side is now 13.0 us faster "
        "than the other"
    )


# --- a protocol switch against lengths that are multiples


def lengths(more_s: Callable[[int], float], beside: bool) -> tuple[Planted, Planted]:
    """Ping-pongs of two lengths in each octave.  more_s: what a length costs besides.  Returns: survey, experiment."""
    run, experiment = Planted(1), Planted(2)
    survey = sorted({*(2**power for power in range(3, 23)), *(3 * 2**power for power in range(2, 20))})
    for into, offsets in ((run, (0,)), (experiment, (0, -24, 24) if beside else ())):
        for length in (one + off for one in survey for off in offsets if one + off > 0):
            time_s = {HALF: {"steady": 5e-7 + transfer_s(length) + more_s(length)}}
            into.cell(time_s, pattern="ping_pong", message_bytes=length)
    return run, experiment


def of_switch(run: Planted, experiment: Planted) -> Finding:
    return next(
        one for one in findings(run.results(), ROLES, experiments=[experiment.results()]) if one.rule == "SP013"
    )


def by_multiples(length: int) -> float:
    return 2e-6 + 0.5e-9 * length if length % 4096 == 0 else 0.0


@pytest.mark.parametrize("rising", [True, False])
def test_lengths_that_are_multiples_of_a_page_are_no_protocol_switch(rising: bool) -> None:
    one = of_switch(*lengths(by_multiples, beside=True))
    assert rival(one, "multiples").state == "true"
    assert one.title == "Lengths that are multiples of a power of two are slow"
    assert one.remedies == []
    protocol = of_switch(*lengths(lambda n: 2e-5 if (n > 16 * KIB) == rising else 0.0, beside=True))
    assert rival(protocol, "multiples").state == "refuted"
    assert protocol.title.startswith("A protocol switch")


def test_until_lengths_beside_were_measured_the_rival_stands() -> None:
    one = of_switch(*lengths(by_multiples, beside=False))
    assert rival(one, "multiples").state == "standing"
    assert one.status == "observed"


# --- hypotheses of a rule


def test_a_hypothesis_belongs_to_a_rival_of_its_rule() -> None:
    of_rivals = [(path, one) for path in SLOW_PATHS for one in path.hypotheses if isinstance(one, OfRival)]
    assert of_rivals
    for path, one in of_rivals:
        assert one.rival in {rival.name for rival in path.rivals}, (path.code, one.text)


@pytest.mark.parametrize(("state", "left"), [("refuted", ("the rest",)), ("standing", ("in other words", "the rest"))])
def test_a_refuted_rival_takes_its_hypothesis_with_it_whatever_its_words(state: State, left: tuple[str, ...]) -> None:
    path = next(path for path in SLOW_PATHS if path.rivals)
    judged = dataclasses.replace(path.rivals[0], name="it", judge=lambda *_: Judged(state, "an experiment"))
    path = dataclasses.replace(path, rivals=(judged,), hypotheses=(OfRival("it", "in other words"), "the rest"))
    sides = {"cells": (1, 2), "slow_cells": (1,), "fast_cells": (2,)}
    seen = Observation("a", Place("here"), "t", "one_way_s", "steady", 2.0, None, 1.0, None, **sides)
    found = contest(path, cast(Facts, None), seen, Support("missing", "no witness"))
    assert found.hypotheses == left
