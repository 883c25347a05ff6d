# SPDX-License-Identifier: Apache-2.0
"""The verdict that fits a screen: the answer first, then where the time goes, and what saves most."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import fields, replace

from slowpath.core.brief import MOST_LINES
from slowpath.watch.results import Account, FileTime, RankResources, WatchResults
from slowpath.watch.verdict import brief_of, site_lines, verdict_of
from support.watch_results import LATE, REDUCE, a_coverage, a_finding, a_program, a_rank, a_wait, findings, results


def account(name: Any, share: float, mpi_s: float = 10.0, ranks: int = 4) -> Account:
    return Account(name=name, seconds=share * mpi_s, share=share, by_rank=(share * mpi_s,) * ranks)


ACCOUNTS = (
    account("wait at N x N", 0.4),
    account("cost of calls", 0.3),
    account("transfer at the floor", 0.25),
    account("no name", 0.05),
)


def watched(**changes: Any) -> WatchResults:
    given: dict[str, Any] = {"accounts": ACCOUNTS, "findings": (), "waits": (), "not_measured": 0}
    given |= {"coverage": a_coverage(unseen=(), notes=())}
    return results(**(given | changes))


def a_queue(rank: int, waited_s: float) -> RankResources:
    """A rank that stood in the queue for a processor so long, of which nothing else is known."""
    nothing = {field.name: None for field in fields(RankResources) if field.name not in ("rank", "moments")}
    return RankResources(**{**nothing, "rank": rank, "waited_s": waited_s, "moments": ()})


def lines(found: WatchResults) -> list[str]:
    made = brief_of(found, "w", "w/report.html").lines()
    assert len(made) <= MOST_LINES
    assert all(len(line) <= 100 for line in made)
    return made


def test_where_a_program_is_in_mpi_the_answer_says_how_much_of_it_can_be_saved_at_most() -> None:
    answer = " ".join(lines(watched())[:2])
    assert answer.startswith("lmp, 4 ranks, 41.2 s: 2")
    assert "% of the run is MPI, at most" in answer
    assert "can be saved: waiting for the last rank in collectives" in answer


def test_no_program_that_is_in_mpi_is_told_that_nothing_was_found() -> None:
    for changes in ({}, {"accounts": ACCOUNTS[1:3]}, {"accounts": ()}, {"findings": findings()}):
        said = " ".join(lines(watched(**changes)))
        assert "no slow path found" not in said
        assert "nothing was found" not in said


def test_the_time_in_mpi_is_one_line_and_says_what_has_no_name() -> None:
    line = "In MPI: 40 % wait at N x N, 30 % cost of calls, 25 % transfer at the floor, 5 % no name."
    assert line in lines(watched())


def test_changes_come_in_the_order_of_what_they_save_whatever_they_are() -> None:
    """A finding of any slow path is a change, and so is a rank that others wait for."""
    waits = (
        a_wait(kind="collective imbalance", seconds=1.0, share=0.024, site=REDUCE, began="outside MPI"),
        a_wait(seconds=9.0, share=0.2, began="inside MPI"),
        a_wait(seconds=8.0, share=0.2, culprit=None, began=None),
    )
    found = watched(findings=findings(), waits=waits)
    made = lines(found)
    first, second, third = (next(i for i, line in enumerate(made) if line.startswith(f"  {n}. ")) for n in (1, 2, 3))
    assert "Saves 2.00 s [1.60, 2.40] (priced on this machine)" in made[first]
    assert "slowpath prove w --remedy huge-pages" in " ".join(line.strip() for line in made[first:second])
    assert made[second].startswith("  2. Saves at most 1.00 s (mean wait of a rank, ")
    assert "a rank (priced" in " ".join(made[third:])
    assert not any(line.startswith("  4. ") for line in made)


def test_a_wait_that_a_finding_names_at_its_place_is_not_listed_again() -> None:
    wait = a_wait(kind="late target", seconds=1.0, share=0.024, site=REDUCE, began="outside MPI")
    away = a_finding(rule="SP075", sites=(REDUCE,), status="estimated", prove=None, change="call MPI", prices=())
    assert "Saves at most" in " ".join(lines(watched(waits=(wait,))))
    assert "Saves at most" not in " ".join(lines(watched(waits=(wait,), findings=(away,))))


@pytest.mark.parametrize(
    ("queued_s", "said"),
    [
        (None, f"give rank {LATE} less to compute, or a core of its own; they wait in"),
        (0.05, f"give rank {LATE} less to do outside MPI, where it had a core; they wait in"),
        (0.50, f"give rank {LATE} a core of its own (it lacked one for 0.500 s), or less to compute; they wait in"),
    ],
)
def test_a_rank_that_hardly_stood_in_the_queue_does_not_come_late_for_want_of_a_core(
    queued_s: float | None, said: str
) -> None:
    wait = a_wait(kind="collective imbalance", seconds=1.0, share=0.024, site=REDUCE, began="outside MPI")
    found = watched(waits=(wait,), resources=() if queued_s is None else (a_queue(LATE, queued_s),))
    assert said in " ".join(line.strip() for line in lines(found))


@pytest.mark.parametrize(("asleep_s", "is_said"), [(2.0, True), (0.2, False)])
def test_a_rank_that_sleeps_outside_mpi_is_not_said_to_compute(asleep_s: float, is_said: bool) -> None:
    """What it may have slept in MPI does not count."""
    wait = a_wait(kind="collective imbalance", seconds=1.0, share=0.024, site=REDUCE, began="outside MPI")
    time = next(one for one in watched().ranks if one.rank == LATE)
    queued_s = 0.01
    ran_s = time.span_s - time.mpi_s - queued_s - asleep_s
    found = watched(waits=(wait,), resources=(replace(a_queue(LATE, queued_s), ran_s=ran_s),))
    said = " ".join(line.strip() for line in lines(found))
    assert (f"look what rank {LATE} waits for outside MPI: for {asleep_s:.2f} s or more" in said) is is_said
    assert ("less to do outside MPI, where it had a core" in said) is not is_said


def test_an_estimate_is_called_one_and_names_the_place() -> None:
    one = a_finding(status="estimated", prove=None, change="halo.c:12: send them as one message", prices=())
    said = " ".join(line.strip() for line in lines(watched(findings=(one,))))
    assert "(estimated). halo.c:12: send them as one message" in said


def test_what_was_tried_without_effect_is_no_change() -> None:
    made = lines(watched(findings=(a_finding(status="no effect"),)))
    assert not any(line.startswith("  1. ") for line in made)


def test_a_program_that_hardly_calls_mpi_has_hardly_anything_to_gain() -> None:
    parts = dict.fromkeys(("late_sender_s", "late_receiver_s", "imbalance_s", "unexpected_s", "call_s"), 0.0)
    ranks = tuple(a_rank(rank, **parts, transfer_s=0.4, unexplained_s=0.0, mpi_s=0.4) for rank in range(4))
    assert lines(watched(ranks=ranks))[0].endswith("0.97 % of the run is MPI, so no more than that can be saved")


def test_time_that_is_lost_outside_mpi_is_not_held_to_the_time_in_mpi() -> None:
    shared = a_finding(rule="SP061", saved_s=20.0, saved_interval=(10.0, 30.0), prove=None, change="share less")
    found = watched(findings=(shared,), ranks=tuple(a_rank(rank, mpi_s=0.4) for rank in range(4)), waits=())
    assert "no more than that can be saved" not in lines(found)[0]
    assert "at most 73 % can be saved: threads share processors" in " ".join(lines(found)[:2])


def test_what_is_not_decided_is_said_with_what_decides_it() -> None:
    made = lines(watched(not_measured=2, coverage=a_coverage(notes=())))
    said = " ".join(made)
    assert "Not decided: 2 kinds of messages may be slow on this machine; slowpath replay w measures them" in said
    assert "calls that are not seen: MPI_File_open" in said
    assert made[-1] == "Report: w/report.html"


@pytest.mark.parametrize(("in_files", "is_known"), [(0.9, True), (0.1, False)])
def test_time_in_files_is_known_to_be_that_and_hides_what_else_is_not(in_files: float, is_known: bool) -> None:
    ranks = tuple(replace(rank, unexplained_s=rank.mpi_s) for rank in watched().ranks)
    mean_s = sum(rank.mpi_s for rank in ranks) / len(ranks)
    time = FileTime(
        seconds=in_files * mean_s,
        share=0.2,
        calls=4,
        call="MPI_File_write",
        module=None,
        module_reason="",
        text="MPI-IO",
    )
    said = " ".join(lines(watched(ranks=ranks, files=time)))
    assert ("90 % of that is MPI-IO, whose floor is not measured" in said) == is_known
    assert ("the cause and the possible saving are unknown" in said) != is_known


@pytest.mark.parametrize(("cost_s", "is_said"), [(3.3, True), (0.04, False)])
def test_what_the_watch_itself_took_is_said_where_it_is_worth_a_line(cost_s: float, is_said: bool) -> None:
    found = watched(coverage=a_coverage(unseen=(), notes=(), own_cost_s=cost_s))
    words = "the watch itself took an estimated 3.30 s of 41.2 s a rank (8.01 %)"
    assert is_said == ("T" + words[1:] + "." in lines(found))
    assert is_said == (words in verdict_of(found)[-1])
    assert "the watch itself took" in verdict_of(found)[-1]


def test_without_a_rank_nothing_is_said_of_it() -> None:
    found = watched(ranks=(), accounts=(), program=a_program(ranks=0, span_s=None))
    assert lines(found)[0] == "lmp: no rank left a record"


@pytest.mark.parametrize("count", [1, 5])
def test_call_sites_with_most_time_have_calls_bytes_time_and_place(count: int) -> None:
    head, names, *rows = site_lines(results(), count)
    assert head.startswith("Call sites with most time")
    assert names.split()[:4] == ["call", "calls", "mean", "bytes"]
    assert len(rows) == count
    assert rows[0].split()[0].startswith("MPI_")
    assert any(".cpp:" in row for row in rows)
    spent = [float(row.split(" s ")[0].split()[-1]) for row in rows if " s " in row]
    assert spent == sorted(spent, reverse=True)
