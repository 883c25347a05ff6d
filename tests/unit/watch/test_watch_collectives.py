# SPDX-License-Identifier: Apache-2.0
"""A program's collectives: kinds of them, what one takes without waiting, and what other calls would save."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from slowpath.core.campaign_file import campaign_toml
from slowpath.core.results import Results
from slowpath.plan.campaign import decode
from slowpath.watch.analysis import watched
from slowpath.watch.collective_prices import collective_prices, collective_questions
from slowpath.watch.conclude import asking, concluded
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.prices import NOT_MEASURED, PriceSource
from slowpath.watch.replay import campaign_of
from slowpath.watch.results import CollectiveClass, WatchResults
from support import results as engine
from support import watch_results as program
from support.watch_record import Job

COUNT, WORK_S, RUN_S = 12_000, 100e-6, program.SPAN_S


def a_kind(**changes: Any) -> CollectiveClass:
    fields: dict[str, Any] = {
        "id": 0,
        "collective": "allreduce",
        "call": "MPI_Allreduce",
        "bytes": 65536,
        "ranks": 2,
        "count": COUNT,
        "work_s": WORK_S,
        "sites": (program.REDUCE,),
    }
    return CollectiveClass(**(fields | changes))


def a_program(*kinds: CollectiveClass) -> WatchResults:
    return program.results(collectives=kinds, findings=(), unpriced=())


def measured(own_s: float, others: dict[str, float], ranks: int = 2, rounds: int = 8, **parameters: str) -> PriceSource:
    """A replay of an allreduce of 64 KiB of doubles, each way's launches within 1 %."""
    cells = []
    for number, (way, value) in enumerate({"library": own_s, **others}.items()):
        launches = [value * (1 + 0.002 * (i % 4)) for i in range(rounds)]
        estimate = engine.an_estimate(value, launch_values=launches)
        asked = {"pattern": "calls", "collective": "allreduce", "message_bytes": "65536", "way": way}
        asked |= {"start": "blocking", "datatype": "double", "op": "sum", "in_place": "off", "members": "all"}
        asked |= {"shape": "elements", "arrival": "together", **parameters}
        metrics = {"collective_work_s": engine.a_metric(estimate)}
        cells.append(engine.a_cell(number, experiment="coll", parameters=asked, metrics=metrics))
    place = engine.a_placement("bound", ranks=ranks)
    found: Results = engine.results(cells, run=engine.a_run(placements=[place]))
    return PriceSource(found, "prices", "replay")


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
    write_watch(
        tmp_path,
        WatchInfo(slowpath="1", command=("./app",), started="now", working_folder="/", host="n1", library="/l.so"),
    )
    found = {one.collective: one for one in watched(tmp_path).results.collectives or ()}
    assert set(found) == {"allreduce", "alltoall", "bcast"}, "a nonblocking one has no time of its own"
    allreduce = found["allreduce"]
    assert (allreduce.count, allreduce.ranks, allreduce.bytes) == (3, 4, 4096)
    assert allreduce.work_s == pytest.approx(0.001), "from the last entry on; the wait before it is the late rank's"
    assert found["alltoall"].bytes == 1024, "a block, as the engine has it"
    assert (found["bcast"].ranks, found["bcast"].call) == (2, "MPI_Bcast")


def test_what_takes_a_hundredth_of_the_run_is_asked_and_held_against_all_that_is_known() -> None:
    few, unknown = a_kind(id=1, count=10), a_kind(id=2, collective="alltoallw", call="MPI_Alltoallw")
    found, left = collective_questions([a_kind(), few, unknown], RUN_S)
    (question,) = found
    assert question.share == pytest.approx(COUNT * WORK_S / RUN_S)
    assert "reduce+bcast" in question.ways
    assert question.parameters == {"collective": "allreduce", "message_bytes": "65536", "datatype": "double"}
    assert left == ["SP036, 12,000 MPI_Alltoallw of 64 KiB on 2 ranks: no equivalent built from other calls is known"]
    (odd,), _ = collective_questions([a_kind(bytes=65537)], RUN_S)
    assert odd.parameters["datatype"] == "byte"
    (barrier,), _ = collective_questions([a_kind(collective="barrier", call="MPI_Barrier", bytes=0)], RUN_S)
    assert barrier.parameters == {"collective": "barrier"}


def test_the_replay_has_a_cell_for_each_way_on_as_many_ranks() -> None:
    asked = asking(a_program(a_kind(), a_kind(id=1, ranks=4)), None, {})
    text = campaign_toml(campaign_of(asked.questions, asked.loads, {}, collectives=asked.collectives))
    decode(text.encode(), "replay")
    campaign = tomllib.loads(text)
    cells = {one["name"]: one for one in campaign["cells"]}
    first = cells["collective 1"]
    assert first["parameters"]["way"][0] == "library"
    assert len(first["parameters"]["way"]) > 4
    ranks = {one["name"]: one["ranks"] for one in campaign["placement"]}
    assert [ranks[cells[f"collective {n}"]["placement"][0]] for n in (1, 2)] == [2, 4]
    assert "# collective 1: 12,000 MPI_Allreduce of 64 KiB on 2 ranks" in text


def test_a_price_is_of_the_way_that_other_launches_chose() -> None:
    questions, _ = collective_questions([a_kind()], RUN_S)
    source = measured(90e-6, {"reduce+bcast": 30e-6, "split_2": 60e-6})
    (priced,), unpriced = collective_prices(questions, [source])
    assert not unpriced
    assert priced.way == "reduce+bcast"
    assert priced.saved_s == pytest.approx(60e-6, rel=0.02)
    assert priced.interval[0] <= priced.saved_s <= priced.interval[1]
    assert priced.seconds == pytest.approx(priced.saved_s * COUNT)
    assert "cell 0" in priced.source
    assert "MPI_SUM of double" in priced.source


def test_nothing_saves_more_than_the_program_pays() -> None:
    questions, _ = collective_questions([a_kind(work_s=40e-6)], RUN_S)
    (priced,), _ = collective_prices(questions, [measured(90e-6, {"reduce+bcast": 30e-6})])
    assert priced.saved_s == 40e-6
    assert priced.interval[1] == 40e-6


def test_no_price_without_a_measurement_or_a_difference() -> None:
    questions, _ = collective_questions([a_kind()], RUN_S)
    for source in ([], [measured(90e-6, {"reduce+bcast": 30e-6}, ranks=4)], [measured(90e-6, {}, rounds=8)]):
        priced, unpriced = collective_prices(questions, source)
        assert not priced
        assert not unpriced[0].is_measured
        assert unpriced[0].text.endswith(NOT_MEASURED)
    few = measured(90e-6, {"reduce+bcast": 30e-6}, rounds=3)
    assert collective_prices(questions, [few])[0] == []
    late = measured(90e-6, {"reduce+bcast": 30e-6}, arrival="one_late")
    assert collective_prices(questions, [late])[0] == [], "late ranks are no price of a collective"
    same = measured(30e-6, {"reduce+bcast": 30.1e-6})
    priced, unpriced = collective_prices(questions, [same])
    assert not priced
    assert "no faster by reduce+bcast" in unpriced[0].text


def test_a_slow_collective_is_a_finding_with_its_price_and_what_proves_it() -> None:
    source = measured(90e-6, {"reduce+bcast": 30e-6})
    found = concluded(a_program(a_kind()), None, [source], {})
    (finding,) = [one for one in found.findings if one.rule == "SP036"]
    assert "12,000 MPI_Allreduce of 64 KiB on 2 ranks" in finding.text
    assert "reduce+bcast would save " in finding.text
    assert " per call; the library's own call is 3.01x slower." in finding.text
    assert finding.seconds == pytest.approx(0.72, rel=0.02)
    assert finding.prove == "--remedy collectives"
    assert finding.saved_s is None
    assert "may save less" in (finding.saved_reason or "")
    (kind,) = found.collectives or ()
    assert (kind.way, kind.source) == ("reduce+bcast", finding.prices[0].source if finding.prices else kind.source)
    few = concluded(a_program(a_kind(count=5000)), None, [source], {})
    assert not any(one.rule == "SP036" for one in few.findings)
    assert any("reduce+bcast would save 301 ms, less than 1 % of the run" in one for one in few.unpriced)
