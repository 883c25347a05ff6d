# SPDX-License-Identifier: Apache-2.0
"""The verdict that fits a screen: the answer first, then where the time goes, and what saves most."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace

from slowpath.cli.main import exit_code
from slowpath.core.files import data_folder
from slowpath.core.results import MOST_LINES
from slowpath.watch.accounts import start_seconds
from slowpath.watch.analysis import watched
from slowpath.watch.attributed import attributed
from slowpath.watch.live import live_lines
from slowpath.watch.messages import collective_uses, program_use
from slowpath.watch.prices import Prices
from slowpath.watch.proof import write_proof
from slowpath.watch.record.job import read_job
from slowpath.watch.record.layout import NONE_16, Doing, EventKind, RecordState
from slowpath.watch.report.page import render_watch_html
from slowpath.watch.report.write import FILES, rebuild
from slowpath.watch.results import (
    Account,
    CallCount,
    CollectiveClass,
    Standstill,
    WatchResults,
    read_watch_results,
)
from slowpath.watch.standstill import LEAST_QUIET_S, standstill
from slowpath.watch.verdict import full_lines, screen_lines, verdict_of
from support.watch_record import REALTIME_NS, Job, Rank
from support.watch_results import (
    SPAN_S,
    a_class,
    a_coverage,
    a_finding,
    a_program,
    a_proof,
    a_rank,
    findings,
    results,
)
from support.watched_program import described


def account(name: Any, share: float, mpi_s: float = 10.0, ranks: int = 4) -> Account:
    return Account(name=name, seconds=share * mpi_s, share=share, by_rank=(share * mpi_s,) * ranks)


ACCOUNTS = (
    account("wait at N x N", 0.4),
    account("call overhead", 0.3),
    account("moving bytes", 0.25),
    account("unattributed", 0.05),
    account("computing", 1.0, 31.2),
)


def a_watch(**changes: Any) -> WatchResults:
    given: dict[str, Any] = {"accounts": ACCOUNTS, "findings": (), "not_measured": 0}
    given |= {"coverage": a_coverage(unseen=(), notes=())}
    return results(**(given | changes))


def lines(results: WatchResults) -> list[str]:
    made = screen_lines(verdict_of(results, "w"), "w/report.html")
    assert len(made) <= MOST_LINES
    assert all(len(line) <= 100 for line in made)
    return made


def test_the_first_line_says_how_much_is_mpi_and_what_takes_most_of_it() -> None:
    assert lines(a_watch())[0] == ("lmp, 4 ranks, 41.2 s: 27 % in MPI; largest part: waiting, 4.00 s a rank")


def test_one_line_adds_up_to_the_whole_time_of_a_rank() -> None:
    line = (
        "Of 41 s a rank: 31 computing, 4 waiting (wait at N x N), 3 call overhead, 2.5 moving bytes, 0.5 unattributed."
    )
    assert line in " ".join(lines(a_watch()))
    short = a_watch(ranks=tuple(a_rank(rank, span_s=0.04, mpi_s=0.01) for rank in range(4)))
    short = replace(short, accounts=(account("late sender", 1.0, 0.01), account("computing", 1.0, 0.03)))
    assert "Of 40 ms a rank: 30 computing, 10 waiting (late sender), 0 unattributed." in lines(short)
    small = (account("files", 0.001, 41.2), account("asleep", 0.0049, 41.2), *ACCOUNTS)
    assert "0.24 in smaller parts, 0.5 unattributed." in " ".join(lines(a_watch(accounts=small)))


NEVER = ("at most", "no more than", "no slow path", "could be saved", "not priced")


@pytest.mark.parametrize("share", [0.001, 0.2, 0.9])
@pytest.mark.parametrize("with_findings", [False, True])
def test_nothing_is_called_a_bound_that_is_none(share: float, with_findings: bool) -> None:
    ranks = tuple(a_rank(rank, mpi_s=share * 41.2, span_s=41.2) for rank in range(4))
    accounts = (account("late sender", share, 41.2),)
    made = a_watch(ranks=ranks, accounts=accounts, findings=findings() if with_findings else ())
    said = " ".join(verdict_of(made))
    assert [words for words in NEVER if words in said] == []
    page = render_watch_html(replace(made, verdict=verdict_of(made)))
    assert [words for words in NEVER[2:] if words in page.lower()] == [], "the page says the same"


def test_the_largest_part_is_named_where_no_change_saves_half_as_much() -> None:
    small = (a_finding(saved_s=1.0, saved_interval=(0.8, 1.2)),)
    accounts = (account("slow transfer", 0.9), account("late sender", 0.1))
    answer = " ".join(lines(a_watch(accounts=accounts))[:2])
    assert "largest part: messages slower than between two processes alone, 9.00 s a rank" in answer
    assert "largest part: " in " ".join(lines(a_watch(accounts=accounts, findings=small))[:2])
    classes, load = (a_class(count=8000, bytes=64000, time_s=9.0),), replace(small[0], saved_s=30.0, rule="SP060")
    said = " ".join(lines(a_watch(findings=small, classes=classes)))
    assert said.index("Most time in MPI") < said.index(" 1. Saves 1.00 s"), "it is more"
    assert re.search(r"Most time in MPI: MPI_Sendrecv of 8 B in .*, 2,000 times a rank, 9.00 s, 4.50 ms each\.", said)
    for finding, words in ((load, True), (replace(load, rule="SP079"), False)):
        assert ("Most time in MPI" in " ".join(verdict_of(a_watch(findings=(finding,), classes=classes)))) is words
    waits, brief = (account("late sender", 0.3, 41.2),), (replace(classes[0], time_s=1.0),)
    assert any("Most time in MPI" in line for line in verdict_of(a_watch(accounts=waits, classes=brief)))
    few = (account("late sender", 0.1), account("slow transfer", 0.09))
    answer = " ".join(lines(a_watch(accounts=few, findings=small))[:2])
    assert f"largest cause: {small[0].name} (saves 1.00 s)" in answer


def test_changes_come_in_the_order_of_what_they_save_whatever_they_are() -> None:
    results = a_watch(findings=tuple(reversed(findings())))
    made = lines(results)
    first, second = (next(i for i, line in enumerate(made) if line.startswith(f"  {n}. ")) for n in (1, 2))
    assert "Saves 2.00 s [1.60, 2.40] (priced on this machine)" in made[first]
    assert "slowpath prove w --remedy huge-pages" in " ".join(line.strip() for line in made[first:second])
    assert "a rank (priced" in " ".join(made[second:])
    assert len([line for line in lines(a_watch(findings=findings() * 3)) if line.startswith("  4. ")]) == 0
    same = (
        a_finding(id="a", saved_s=3.0, prove=None, change="x.c:3: do"),
        a_finding(id="b", prove=None, change="x.c:3: do"),
    )
    assert [line[:16] for line in lines(a_watch(findings=same)) if "x.c:3" in line] == ["  1. Saves 3.00 s"[:16]]
    more = (replace(same[0], rule="SP079"), replace(same[1], rule="SP079", change="x.c:3: do less"))
    assert sum("x.c:3" in line for line in lines(a_watch(findings=more))) == 1, "calls of one place are saved once"


@pytest.mark.parametrize(
    ("rule", "own_s", "is_first"), [("SP079", 5.0, True), ("SP079", 1.0, False), ("SP081", 5.0, False)]
)
def test_too_many_calls_are_said_before_load(rule: str, own_s: float, is_first: bool) -> None:
    load = a_finding(id="load", rule="SP060", saved_s=30.0, prove=None, change="run later")
    own = a_finding(id="own", rule=rule, saved_s=own_s, prove=None, change="x.c:3: send one message")
    said = " ".join(lines(a_watch(findings=(load, own))))
    assert (said.index("x.c:3") < said.index("run later")) is is_first


@pytest.mark.parametrize(("saved_s", "is_less"), [(2.2, True), (4.0, False), (None, False)])
def test_savings_that_overlap_are_no_sum(saved_s: float | None, is_less: bool) -> None:
    two = (a_finding(saved_s=2.0), a_finding(id="SP081:b", saved_s=2.0))
    assert ("These savings overlap: they do not add up." in lines(a_watch(findings=two, saved_s=saved_s))) == is_less


INIT = CallCount(name="MPI_Init", family="management", calls=4, time_s=0.5 * SPAN_S, bytes=0)


def test_a_long_start_is_named_and_where_time_outside_mpi_passes() -> None:
    started = results(calls=(INIT,))
    outside = "81 % of the time passes outside MPI: in f (x.c:3)"
    started = replace(started, start_s=start_seconds(started), outside=outside)
    assert any(line.startswith("MPI_Init takes 20.6 s a rank before the run") for line in verdict_of(started))
    assert f"{outside}." in verdict_of(started)[2:]  # behind the change
    little = tuple(replace(rank, mpi_s=0.1 * rank.span_s) for rank in started.ranks)
    assert verdict_of(replace(started, ranks=little, saved_s=0.1))[1] == f"{outside}."


LATE_S = 0.005


@pytest.fixture
def watch(tmp_path: Path) -> Path:
    """Two ranks and 40 messages, each of which rank 1 waits 5 ms for."""
    job = Job(ranks=2)
    a, b = job.ranks
    for number in range(40):
        at = 0.02 + 0.01 * number
        a.send(1, tag=7, start_s=at, end_s=at + 0.001, message_bytes=65_536)
        b.receive(0, tag=7, start_s=at - LATE_S, end_s=at + 0.0012, message_bytes=65_536)
    job.write(tmp_path / "ranks")
    return described(tmp_path, command=("mpiexec", "./app"), wall_s=0.5)


def test_report_writes_everything_anew(watch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["report", str(watch)]) == 0
    printed = capsys.readouterr().out
    assert printed == (watch / "report.txt").read_text()
    assert all((watch / name).is_file() for name in FILES)
    read = read_watch_results(watch)
    schema = json.loads((data_folder("schema") / "watch-results.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads((watch / "results.json").read_text(encoding="utf-8")), schema)
    assert printed.splitlines() == [
        *screen_lines(read.verdict, f"{watch}/report.html"),
        *full_lines(read),
    ]
    (waited,) = [account.by_rank for account in read.accounts if account.name == "late sender"]
    assert waited == pytest.approx((0.0, 40 * LATE_S), rel=0.01)
    assert read.classes[0].count in (40, 80)


def test_a_proof_stands_on_the_page_and_a_damaged_one_does_not(watch: Path) -> None:
    for number in (1, 2):
        (watch / f"proof-{number}").mkdir()
        write_proof(watch / f"proof-{number}", a_proof())
    (watch / "proof-2" / "proof.json").write_text("{")
    rebuild(watch)
    page = (watch / "report.html").read_text(encoding="utf-8")
    assert page.count('id="proof-proof-1"') == 1
    assert "proof-proof-2" not in page


def test_watch_prints_what_fits_a_screen_unless_it_is_asked_for_more(
    watch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["watch", "--from", str(watch)]) == 0
    brief = capsys.readouterr().err.splitlines()
    assert len(brief) <= MOST_LINES
    assert "% in MPI; largest cause: rank 0" in brief[0]
    assert any("give rank 0 less" in line for line in brief)
    assert exit_code(["watch", "--full", "--from", str(watch)]) == 0
    full = capsys.readouterr().err.splitlines()
    assert full == [*brief, *full_lines(read_watch_results(watch))]


def test_a_watch_measures_messages_that_take_a_fifth_of_the_run(
    watch: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def refused(folder: Path, *_: Any) -> str:
        asked.append(folder)
        return "no core for each rank"

    monkeypatch.setattr("slowpath.watch.replay.measured_briefly", refused)
    assert exit_code(["watch", "--from", str(watch)]) == 0
    assert asked == []
    monkeypatch.setattr("slowpath.watch.prices.WORTH", 0.0)
    assert exit_code(["watch", "--no-measure", "--from", str(watch)]) == 0
    assert asked == []
    capsys.readouterr()
    assert exit_code(["watch", "--from", str(watch)]) == 0
    assert asked == [watch]
    assert capsys.readouterr().err.splitlines()[-1] == "not measured: no core for each rank"
    monkeypatch.setattr("slowpath.watch.replay.measured_briefly", lambda *_: Prices((), ()))
    assert exit_code(["watch", "--from", str(watch)]) == 0
    assert capsys.readouterr().err.splitlines()[-1].startswith("Nothing measured")


def test_messages_are_spent_by_class_without_the_waiting() -> None:
    watched = results()
    use = program_use(watched)
    assert (use.name, use.ranks, use.groups) == ("lmp", 4, {})
    transfers = [alike.transfer_s for alike in watched.classes if alike.transfer_s and alike.call == "MPI_Sendrecv"]
    spent = [part.seconds for part in use.spent if part.experiment == "p2p" and part.low_bytes >= 2**20]
    assert transfers
    assert set(transfers) <= set(spent)
    assert use.mpi_s < use.span_s


def a_kind(collective: str, length: int, work_s: float, ranks: int = 4, call: str | None = None) -> CollectiveClass:
    return CollectiveClass(
        id=0,
        collective=collective,
        call=call or f"MPI_{collective.capitalize()}",
        bytes=length,
        ranks=ranks,
        count=100,
        work_s=work_s,
        sites=(0,),
    )


def test_what_a_tuning_is_for_has_most_time_first_and_one_use_a_size_class() -> None:
    kinds = (
        a_kind("bcast", 65540, 3e-3),
        a_kind("bcast", 66000, 1e-3, call="MPI_Bcast_c"),
        a_kind("allreduce", 8, 2e-3, ranks=2),
        a_kind("alltoallv", 1024, 9e-3),
        a_kind("barrier", 0, 5e-3),
        a_kind("reduce", 6, 1e-4),
    )
    uses, others = collective_uses(results(program=a_program(), collectives=kinds), "mpich")
    assert [(use.collective, use.ranks, use.bytes, use.calls) for use in uses] == [
        ("barrier", 4, 0, 100),
        ("bcast", 4, 65536, 200),
        ("allreduce", 2, 8, 100),
        ("reduce", 4, 4, 100),
    ]
    assert [use.seconds for use in uses] == pytest.approx([0.5, 0.4, 0.1, 0.01])
    assert others == {"MPI_Alltoallv": pytest.approx(0.9)}


def test_collectives_that_take_much_are_for_tuning() -> None:
    kind = a_kind("allreduce", 8, 1e-3)
    some = a_watch(collectives=(replace(kind, count=9000),))
    assert any(line.startswith("Not decided: slowpath tune --for") for line in lines(some))
    assert not any("tune" in line for line in lines(a_watch(collectives=(replace(kind, count=19, work_s=1.0),))))
    busy = a_watch(collectives=(replace(kind, count=9000),), accounts=(*ACCOUNTS, account("no processor", 0.2)))
    assert not any("tune" in line for line in lines(busy))


def test_a_kind_is_what_is_called_on_communicators_of_one_size(tmp_path: Path) -> None:
    job = Job(4)
    half = {rank: job.ranks[rank].communicator(7, size=2, rank=rank, members=[0, 1]) for rank in (0, 1)}
    for rank in range(4):
        for call in range(3):
            begin = 0.01 * call + 0.001 * rank  # the last rank comes 3 ms late
            job.ranks[rank].collective("MPI_Allreduce", start_s=begin, end_s=0.01 * call + 0.004, message_bytes=4096)
        job.ranks[rank].collective("MPI_Alltoall", start_s=0.05, end_s=0.052, message_bytes=4 * 1024)
        job.ranks[rank].icollective("MPI_Ibarrier", start_s=0.06, end_s=0.061)
    for rank in (0, 1):
        job.ranks[rank].collective(
            "MPI_Bcast", start_s=0.07, end_s=0.08, message_bytes=64, root=0, communicator=half[rank]
        )
    job.write(tmp_path / "ranks")
    by_collective = {use.collective: use for use in watched(described(tmp_path)).results.collectives or ()}
    assert set(by_collective) == {"allreduce", "alltoall", "bcast"}, "a nonblocking one has no time of its own"
    allreduce = by_collective["allreduce"]
    assert (allreduce.count, allreduce.ranks, allreduce.bytes) == (3, 4, 4096)
    assert allreduce.work_s == pytest.approx(0.001), "from the last entry on; the wait before it is the late rank's"
    assert by_collective["alltoall"].bytes == 1024, "a block, as the engine has it"
    assert (by_collective["bcast"].ranks, by_collective["bcast"].call) == (2, "MPI_Bcast")


QUIET_S = 20.0
STOPPED_S = 30.0  # since MPI_Init


def a_job(ranks: int, **fields: Any) -> Job:
    """One collective that went well: what comes next is number 1."""
    job = Job(ranks, **({"state": RecordState.RUNNING} | fields))
    for rank in job.ranks:
        rank.collective("MPI_Allreduce", start_s=1.0, end_s=1.1)
    return job


def now(rank: Rank, call: str, since_s: float, doing: Doing = Doing.IN_CALL, **fields: Any) -> None:
    """What its thread does now, or did last: fields by the names of the schema. Ticks are ns."""
    row = {
        "since_ticks": rank.base_ns + round(since_s * 1e9), "doing": int(doing), "call": rank.call(call), "peer": -1,
        "source": -1, "communicator": NONE_16, "ticks_per_s": 10**9,
    }  # fmt: skip
    rank.rows["current"].append(row | fields)


def at_barrier(job: Job, *ranks: int, number: int = 1, call: str = "MPI_Barrier", **fields: Any) -> None:
    for rank in ranks:
        now(job.ranks[rank], call, 10.0, sequence=number, **({"communicator": 0} | fields))


def outside(job: Job, *ranks: int) -> None:
    for rank in ranks:
        now(job.ranks[rank], "MPI_Allreduce", 1.0, Doing.OUTSIDE)


def standing(tmp_path: Path, job: Job, until_s: float | None = STOPPED_S) -> Standstill | None:
    job.write(tmp_path / "ranks")
    until = None if until_s is None else REALTIME_NS * 1e-9 + until_s
    return standstill(attributed(read_job(tmp_path)), until)


def must(tmp_path: Path, job: Job) -> Standstill:
    still = standing(tmp_path, job)
    assert still is not None
    assert still.quiet_s == pytest.approx(QUIET_S, abs=0.01)
    assert [rank.rank for rank in still.ranks] == list(range(job.size))
    return still


def test_ranks_that_do_not_come_to_a_barrier_are_named(tmp_path: Path) -> None:
    job = a_job(8)
    at_barrier(job, 0, 1, 2, 4, 5, 6, 7)
    outside(job, 3)
    still = must(tmp_path, job)
    assert still.text.startswith("ranks 0-2,4-7 in MPI_Barrier at ")
    assert " for 20.0 s; rank 3 outside MPI for 28.9 s, after MPI_Allreduce at " in still.text


def test_a_receive_without_a_send_waits_for_a_rank_that_has_ended(tmp_path: Path) -> None:
    job = a_job(3)
    now(job.ranks[1], "MPI_Recv", 10.0, communicator=0, source=0, tag=77)
    for rank in (0, 2):
        outside(job, rank)
        job.ranks[rank].state = RecordState.FINALIZED
    still = standing(tmp_path, job, 40.0)
    assert still is not None
    assert still.text.startswith("rank 1 in MPI_Recv from rank 0 (tag 77) at ")
    assert still.text.endswith(" for 30.0 s; ranks 0 and 2 in MPI_Finalize, or past it")


def test_sends_that_wait_for_each_other_are_one_group(tmp_path: Path) -> None:
    job = a_job(4)
    for rank in range(4):
        now(job.ranks[rank], "MPI_Send", 10.0, communicator=0, peer=(rank + 1) % 4, tag=5)
    still = must(tmp_path, job)
    assert still.text.startswith("ranks 0-3 in MPI_Send at ")
    assert [rank.text for rank in still.ranks] == [f"MPI_Send to rank {rank} (tag 5)" for rank in (1, 2, 3, 0)]


def test_different_collectives_with_one_number_are_two_groups(tmp_path: Path) -> None:
    job = a_job(4)
    at_barrier(job, 0, 1, 3)
    at_barrier(job, 2, call="MPI_Bcast", peer=0)
    still = must(tmp_path, job)
    assert still.text.startswith("ranks 0-1,3 in MPI_Barrier at ")
    assert "; rank 2 in MPI_Bcast at " in still.text


def test_polls_in_vain_move_nothing(tmp_path: Path) -> None:
    job = a_job(2)
    now(job.ranks[0], "MPI_Iprobe", 10.0, Doing.POLLING, communicator=0, source=1, tag=9)
    job.ranks[0].event(
        "MPI_Iprobe", 29.0, 29.1, EventKind.NOTHING, peer=1
    )  # the record's last call, which found nothing
    outside(job, 1)
    still = must(tmp_path, job)
    assert still.text.startswith("rank 0 polling in MPI_Iprobe from rank 1 (tag 9) at ")


def test_nothing_is_claimed_of_a_program_that_moves_or_waits_in_no_call(tmp_path: Path) -> None:
    moves = a_job(2)
    at_barrier(moves, 0)
    now(moves.ranks[1], "MPI_Send", STOPPED_S - LEAST_QUIET_S + 0.5, Doing.OUTSIDE)
    assert standing(tmp_path / "moves", moves) is None
    computes = a_job(2)
    outside(computes, 0, 1)
    assert standing(tmp_path / "computes", computes) is None
    old = a_job(2)
    assert standing(tmp_path / "old", old) is None
    unknown = a_job(2)
    at_barrier(unknown, 0)
    outside(unknown, 1)
    assert standing(tmp_path / "unknown", unknown, None) is None


def test_the_first_line_of_the_verdict_names_it_and_a_program_that_ended_well_has_none(tmp_path: Path) -> None:
    job = a_job(4)
    at_barrier(job, 0, 1, 2)
    outside(job, 3)
    job.write(tmp_path / "ranks")
    stopped = partial(described, tmp_path, wall_s=30.0, exit_code=9, until=REALTIME_NS * 1e-9 + STOPPED_S)
    first = verdict_of(watched(stopped(interrupted=True)).results)[0]
    assert first.startswith("app, 4 ranks, hung for 20.0 s: ranks 0-2 in MPI_Barrier at ")
    first = verdict_of(watched(stopped()).results)[0]
    assert first.startswith("app, 4 ranks, nothing moved for 20.0 s before it failed: ranks 0-2 in ")
    lines = live_lines(tmp_path, 30.0, REALTIME_NS * 1e-9 + STOPPED_S)
    assert lines[0].startswith("live, 30.0 s: ")
    assert lines[1].startswith("live, nothing moved for 20.0 s: ranks 0-2 in ")
    assert watched(stopped(exit_code=0)).results.standstill is None


def test_a_made_up_row_ends_nothing(tmp_path: Path) -> None:
    job = a_job(2)
    now(job.ranks[0], "MPI_Recv", 10.0, communicator=999, source=77, tag=3, site=888, request=5)
    row = job.ranks[0].rows["current"][0]
    now(job.ranks[1], "MPI_Barrier", 10.0, communicator=500, sequence=2**32 - 1)
    assert standing(tmp_path / "far", job) is not None
    row |= {"call": 60000, "doing": 7, "peer": -5000, "source": -(2**31), "since_ticks": 2**64 - 1}
    standing(tmp_path / "wild", job)
