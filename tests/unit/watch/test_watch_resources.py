# SPDX-License-Identifier: Apache-2.0
"""What ranks had to work with: read from their records, whatever is cut off or missing."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from slowpath.core.machine import PlaceFacts
from slowpath.findings.program_pattern import ProgramCalls, ProgramResources, RankShare, crowds
from slowpath.run.engine.cache import Engine, EngineNote
from slowpath.slowpaths import sp060_shared_processors
from slowpath.watch.analysis import concluded_watch
from slowpath.watch.analysis import watched as watched_folder
from slowpath.watch.folder import WatchLauncher
from slowpath.watch.resources import own_launcher, program_resources
from slowpath.watch.results import WatchFinding, WatchResults
from slowpath.watch.start import library
from slowpath.watch.start.environment import launcher_in
from slowpath.watch.start.session import troubles
from support.watch_record import BASE_NS, REALTIME_NS, Job, Rank
from support.watched_program import described

MIB = 2**20
BEGIN = (
    f"begin ns={BASE_NS} threads=1 processors=0-1 busy_threads=1 threads_ran_ns=100 threads_waited_ns=50 ran_ns=100 "
    "waited_ns=50 voluntary_switches=3 involuntary_switches=1 resident_bytes=1000000 processor=0 "
    "user_namespace=4026531837 shm_bytes=67108864 processor_quota=1.500"
)
END = (
    f"end ns={BASE_NS + 2 * 10**9} threads=4 processors=0-2 busy_threads=2 threads_ran_ns=3000000100 "
    "threads_waited_ns=1000000050 ran_ns=1500000100 waited_ns=500000050 voluntary_switches=13 involuntary_switches=201 "
    "resident_bytes=3000000 most_resident_bytes=4000000 processor=2 shm_free_bytes=1024"
)


def watched(tmp_path: Path, *lines: tuple[str, str]) -> WatchResults:
    job = Job(2)
    for rank in job.ranks:
        rank.collective("MPI_Barrier", start_s=0.1, end_s=2.0)
    for key, value in lines:
        job.ranks[0].say(key, value)
    job.write(tmp_path / "ranks")
    return watched_folder(described(tmp_path)).results


def test_what_a_rank_had(tmp_path: Path) -> None:
    watch = watched(tmp_path, ("started_by", "/usr/bin/prted"), ("at", BEGIN), ("at", END))
    assert watch.resources is not None
    (rank,) = watch.resources  # rank 1 is of an older version
    assert (rank.rank, rank.processors, rank.processor_quota) == (0, "0-2", 1.5)
    assert rank.busy_threads == 2
    assert (rank.ran_s, rank.waited_s, rank.threads_waited_s) == pytest.approx((1.5, 0.5, 1.0))
    assert (rank.grown_bytes, rank.user_namespace) == (2_000_000, 4026531837)
    assert (rank.shm_bytes, rank.shm_free_bytes) == (64 * MIB, 1024)
    shared = program_resources(watch)
    assert shared is not None
    assert (shared.ranks[0].waited_s, shared.ranks[0].busy_waited_s) == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize(
    "lines",
    [
        (("at", ""),),
        (("at", "begin"), ("at", "end")),
        (("at", "begin ns=x threads=-1 processors=9-1 waited_ns=1e9 processor_quota=nan"),),
        (("at", BEGIN), ("at", "end waited_ns=1")),  # counts don't fall
        (("at", BEGIN.replace("0-1", "0-999999999999")), ("launch", "=== PMI_RANK")),
        (("at", f"begin ns={10**17} threads={'9' * 18}"),),
    ],
)
def test_what_can_not_be_read_is_missing(tmp_path: Path, lines: tuple[tuple[str, str], ...]) -> None:
    for rank in watched(tmp_path, *lines).resources or ():
        assert rank.waited_s is None


RANKS, SPAN_S = 4, 4.0


def sharing(
    folder: Path,
    masks: Sequence[str],
    waited_s: float = 0.0,
    busy: int = 1,
    threads_waited_s: float = 0.0,
    others_ran_s: float = 0.0,
    command_ran_s: float | None = None,
    **of_rank: str,
) -> WatchResults:
    """A program of a rank for each mask, all of whose ranks had to wait for a processor so long."""
    job = Job(len(masks))
    for rank, mask in zip(job.ranks, masks, strict=True):
        for number in range(40):
            rank.collective("MPI_Barrier", start_s=0.1 * number + 0.02, end_s=0.1 * number + 0.05)
        counts = f"threads={busy} busy_threads={busy}"
        more = "".join(f" {name}={value}" for name, value in of_rank.items())
        rank.say("at", f"begin ns={BASE_NS} processors={mask} threads_waited_ns=0 waited_ns=0 ran_ns=0 used_ns=0 "
                 f"online=16{more}")  # fmt: skip
        rank.say("at", f"end ns={BASE_NS + 4 * 10**9} {counts} processors={mask} waited_ns={round(waited_s * 1e9)} "
                 f"threads_waited_ns={round((threads_waited_s or waited_s) * 1e9)} ran_ns={10**9} "
                 f"used_ns={round((1 + others_ran_s) * 1e9)}")  # fmt: skip
    job.write(folder / "ranks", SPAN_S)
    return concluded_watch(described(folder, wall_s=SPAN_S, ran_s=command_ran_s))


def named(*arguments: object, **more: object) -> list[WatchFinding]:
    return list(sharing(*arguments, **more).findings)  # type: ignore[arg-type]


def test_ranks_on_one_processor_are_named_with_what_they_lost(tmp_path: Path) -> None:
    (finding,) = named(tmp_path, ["0-1"] * RANKS, waited_s=2.0)
    assert finding.rule == "SP060"
    assert "4 ranks on 2 processors (0-1 of node1): ranks 0, 1, 2 and 3 were ready to run" in finding.text
    assert "had no processor for 2.00 s of 4.00 s each" in finding.text
    assert "yield-when-idle" in (finding.change or "")
    assert "bind each to its own core" in (finding.change or "")  # the node has 16
    low, high = finding.saved_interval or finding.interval
    assert 1.0 <= low <= 2.0 <= high <= SPAN_S
    assert finding.status == "estimated"


def test_more_ranks_than_the_node_has_processors_are_told_to_be_fewer(tmp_path: Path) -> None:
    (finding,) = named(tmp_path, ["0-15"] * 20, waited_s=1.0)
    assert "20 ranks share the 16 processors of node1: start at most 16 there" in (finding.change or "")


def test_ranks_that_launchers_bind_to_few_processors_each_use_all_of_these(tmp_path: Path) -> None:
    """Not one processor for all of them: eight ranks on each of 16, or on one of 16."""
    results = sharing(tmp_path / "all", [str(i % 16) for i in range(32)], waited_s=1.0)
    assert results.place == ()
    (finding,) = results.findings
    assert "32 ranks share the 16 processors of node1, 2 on each: start at most 16 there" in (finding.change or "")
    (fault,) = sharing(tmp_path / "few", [str(i % 2) for i in range(32)], waited_s=1.0).place
    assert "32 ranks may use only processors 0-1 of 16" in fault.text


@pytest.mark.parametrize(("worked_s", "value_s"), [(0.4, 1.5), (1.5, 1.0), (1.9, 0.5)])
def test_sharing_costs_no_more_than_the_accounts_have_without_a_processor(worked_s: float, value_s: float) -> None:
    """Four ranks on two processors that are in MPI for all of their 4 s: what they copy there remains."""
    ranks = tuple(
        RankShare(i, "a", frozenset({0, 1}), 2, 4.0, 4.0, 2.0, 1, 2.0, ran_s=2.0, worked_s=worked_s, without_s=1.5)
        for i in range(4)
    )
    calls = cast(ProgramCalls, SimpleNamespace(resources=ProgramResources(ranks, 4.0)))
    (pattern,) = sp060_shared_processors.see(calls)
    assert pattern.more_s == pytest.approx((value_s, value_s / 2, min(3 * value_s, 4.0)))


def test_ranks_that_compute_lose_no_more_than_fewer_ranks_would_take() -> None:
    """Four on two processors, each of which computes for half of the run and then waits for its turn."""
    for mpi_s, is_named in ((0.0, False), (0.05, False), (1.0, True)):
        ranks = tuple(RankShare(i, "a", frozenset({0, 1}), 2, 4.0, mpi_s, 2.0, 1, 2.0, ran_s=2.0) for i in range(4))
        calls = cast(ProgramCalls, SimpleNamespace(resources=ProgramResources(ranks, 4.0)))
        patterns = sp060_shared_processors.see(calls)
        assert len(patterns) == is_named  # they end some slices of the scheduler apart in any case
        for pattern in patterns:
            value_s, low_s, high_s = pattern.more_s
            assert 0.0 <= low_s <= value_s <= high_s <= mpi_s + 0.6


def test_threads_that_exceed_the_processors_of_their_rank(tmp_path: Path) -> None:
    (finding,) = named(tmp_path, ["0", "1"], busy=4, threads_waited_s=8.0)
    assert finding.name == "threads share processors"
    assert "4 busy threads of rank 0 on 1 processor (0 of node1)" in finding.text
    assert "OMP_NUM_THREADS" in (finding.change or "")
    assert finding.interval[0] <= finding.seconds <= finding.interval[1]


def test_threads_that_only_ran_before_the_run_share_no_processor(tmp_path: Path) -> None:
    (finding,) = named(tmp_path, ["0", "1"], busy=4, waited_s=1.0)
    assert finding.name.startswith("other")


@pytest.mark.parametrize(("command_ran_s", "name"), [(2.5, "other"), (4.0, "the launcher"), (None, "other")])
def test_who_takes_the_processors_is_another_job_or_the_own_launcher(
    tmp_path: Path, command_ran_s: float | None, name: str
) -> None:
    """Two ranks of 1 s of processor time each, which waited 1 s each: the rest of the command's time is not theirs."""
    (finding,) = named(tmp_path, ["0", "1"], waited_s=1.0, command_ran_s=command_ran_s)
    assert finding.rule == "SP060"
    assert finding.name.startswith(name)
    assert ("file" in (finding.change or "")) == (name == "the launcher")


@pytest.mark.parametrize(("masks", "is_lost"), [(("0", "1"), True), (("0", "0"), False)])
def test_the_queue_beside_other_processes_is_lost_also_while_a_rank_waits(
    tmp_path: Path, masks: tuple[str, str], is_lost: bool
) -> None:
    """The finding and the accounts name one time; to a rank that waits for the other on its processor none is lost."""
    job = Job(2)
    job.ranks[1].send(0, start_s=3.0, end_s=3.001)
    job.ranks[0].receive(1, start_s=0.0, end_s=3.001)
    for rank, mask in zip(job.ranks, masks, strict=True):
        rank.say("at", f"begin ns={BASE_NS} processors={mask} online=16 waited_ns=0")
        rank.say("at", f"end ns={BASE_NS + 4 * 10**9} processors={mask} waited_ns=2000000000")
    job.write(tmp_path / "ranks", SPAN_S)
    results = concluded_watch(described(tmp_path, wall_s=SPAN_S))
    by_name = {account.name: account.by_rank[0] for account in results.accounts}
    assert by_name["late sender"] == pytest.approx(1.0 if is_lost else 3.0, rel=0.02)
    if is_lost:
        assert by_name["no processor"] == pytest.approx(2.0, rel=0.02)
        (finding,) = results.findings
        assert finding.saved_s == pytest.approx(2.0, rel=0.02)


def share(rank: int, processors: Sequence[int], host: str = "a") -> RankShare:
    return RankShare(rank, host, frozenset(processors), 16, 1.0, 0.5, 0.1, 1, 0.1)


def test_crowds_are_found_on_each_host_and_inside_larger_sets() -> None:
    ranks = [share(0, [0]), share(1, [0]), share(2, [1, 2]), share(3, [0], "b")]
    (crowd,) = crowds(ranks)
    assert (crowd.host, [rank.rank for rank in crowd.ranks], crowd.processors) == ("a", [0, 1], frozenset({0}))
    assert crowds([share(0, []), share(1, [])]) == []  # not recorded


PLACE_S = 4.0
FINE = f"processors=0-1 online=2 user_namespace=7 seccomp=2 shm_bytes={64 * MIB} shm_free_bytes=1 processor_quota=2.000"


def placed(
    folder: Path, words: list[str], place: PlaceFacts | None = None, waited_s: float = 0.0, refused: str = ""
) -> WatchResults:
    """Two ranks with these words at their begin. Args: refused: line copy_refused of the first."""
    job = Job(len(words))
    for rank, said in zip(job.ranks, words, strict=True):
        for number in range(40):
            rank.collective("MPI_Barrier", start_s=0.1 * number + 0.02, end_s=0.1 * number + 0.05)
        rank.say("at", f"begin ns={BASE_NS} waited_ns=0 throttled_ns=0 {said}")
        waited = f"waited_ns={round(waited_s * 1e9)} throttled_ns=2000000000"
        rank.say("at", f"end ns={BASE_NS + 4 * 10**9} {waited} {said}")
    if refused:
        job.ranks[0].say("copy_refused", refused)
    job.write(folder / "ranks", PLACE_S)
    return concluded_watch(described(folder, wall_s=PLACE_S, place=place))


def first_line(results: WatchResults) -> str:
    return results.verdict[0]


WRONG = [
    ([FINE, FINE.replace("namespace=7", "namespace=8")], "The border of 2 user namespaces"),
    ([FINE, FINE.replace(str(64 * MIB), "65536")], "/dev/shm has 64 KiB"),
    ([FINE.replace("2.000", "1.500")] * 2, "A CPU quota of 1.5 processors for 2 ranks: 2 processes"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=["namespaces", "shm", "quota"])
def test_what_ranks_recorded_speaks(tmp_path: Path, words: list[str], said: str) -> None:
    assert first_line(placed(tmp_path, words)).startswith(said)


@pytest.mark.parametrize(("seccomp", "by"), [("2", "a seccomp filter"), ("0", "possibly a security module")])
def test_a_copy_that_the_library_was_refused_speaks(tmp_path: Path, seccomp: str, by: str) -> None:
    words = [FINE.replace("seccomp=2", f"seccomp={seccomp}")] * 2
    said = first_line(placed(tmp_path, words, refused=str(errno.EPERM)))
    assert said.startswith(f"{by[0].upper()}{by[1:]}")
    assert "(EPERM) refuses copies between processes: " in said


def test_it_speaks_where_no_rank_left_a_record(tmp_path: Path) -> None:
    placed(tmp_path, [FINE, FINE], PlaceFacts(shm_bytes=65536))
    for record in (tmp_path / "ranks").iterdir():
        record.unlink()
    for number in range(2):
        (tmp_path / "ranks" / f"node1-{number}.begun").touch()
    has_record, lines = troubles(tmp_path, {})
    assert not has_record
    assert lines[0].startswith("/dev/shm has 64 KiB and 2 ranks of MPI need")


S = 1_000_000_000
OPEN_MPI = {"library": b"Open MPI v5.0.5, package: Open MPI"}
MPICH = WatchLauncher(path="/venv/bin/mpiexec", name="hydra", library="mpich", version="4.2.3")


def runs(
    folder: Path, *starts_s: int, size: int = 1, seconds: int = 2, lines: Sequence[str] = (), **header: object
) -> None:
    """A record for each start: rank 0 of `size`, from then on. told: what each one's launcher said."""
    (folder / "ranks").mkdir(parents=True, exist_ok=True)
    for number, start_s in enumerate(starts_s):
        begun = REALTIME_NS + start_s * S
        times = {"process_start_realtime_ns": begun, "start_realtime_ns": begun, "end_realtime_ns": begun + seconds * S}
        rank = Rank(0, size, header={**times, "pid": number, **header})
        if lines:
            rank.say("started_by", "/usr/bin/hydra_pmi_proxy")
            rank.say("launch", lines[number])
        rank.collective("MPI_Barrier", start_s=0.1, end_s=0.2)
        (folder / "ranks" / f"node1-{number}.watch").write_bytes(rank.content(seconds))


def results(folder: Path, launcher: WatchLauncher | None) -> WatchResults:
    return concluded_watch(described(folder, command=("mpiexec", "-n", "3", "./app"), launcher=launcher))


def test_a_launcher_of_another_library_is_the_first_line(tmp_path: Path) -> None:
    own = tmp_path / "openmpi" / "bin" / "mpiexec"
    own.parent.mkdir(parents=True)
    own.touch(0o755)
    path = tmp_path / "openmpi" / "lib" / "libmpi.so.40"
    runs(tmp_path / "w", 0, 0, 0, **OPEN_MPI, library_path=str(path).encode())
    made = results(tmp_path / "w", MPICH)
    assert made.verdict[0] == (
        "Each of 3 processes ran alone as rank 0 of 1: this mpiexec (/venv/bin/mpiexec, MPICH 4.2.3) does not belong "
        f"to the program's library ({path}, Open MPI 5.0.5). Start it with {own}."
    )


@pytest.mark.parametrize(
    ("starts_s", "size", "header"),
    [
        ((0,), 1, {}),  # one process may be meant so
        ((0, 5, 10), 1, {}),  # one after the other, as in a loop of a script
        ((0,), 2, {}),  # a job that lost a record
        ((0, 0), 1, {"parent_rank_hint": 1}),  # spawned
    ],
)
def test_what_is_meant_so_is_left_alone(
    tmp_path: Path, starts_s: tuple[int, ...], size: int, header: dict[str, int]
) -> None:
    runs(tmp_path, *starts_s, size=size, **header)
    made = results(tmp_path, MPICH)
    assert made.program.misstart is None
    assert made.verdict[0].startswith("app, ")


def test_the_launcher_of_a_library_by_where_it_lies(tmp_path: Path) -> None:
    for name in ("mpiexec", "mpiexec.openmpi"):
        (tmp_path / "some" / "bin").mkdir(parents=True, exist_ok=True)
        (tmp_path / "some" / "bin" / name).touch(0o755)
    library = tmp_path / "some" / "lib" / "x86_64-linux-gnu" / "libmpi.so.40"
    assert own_launcher(library, "openmpi") == tmp_path / "some" / "bin" / "mpiexec.openmpi"
    assert own_launcher(library, "mpich") == tmp_path / "some" / "bin" / "mpiexec"
    assert own_launcher(Path("/lib/libmpi.so.40"), "openmpi") is None


def test_the_launcher_of_a_command(tmp_path: Path) -> None:
    launcher = tmp_path / "mpiexec"
    launcher.write_text("#!/bin/sh\necho 'mpiexec (OpenRTE) 4.1.4'\n")
    launcher.chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    wanted = WatchLauncher(path=str(launcher), name="orterun", library="openmpi", version="4.1.4")
    assert launcher_in([str(launcher), "-n", "2", "true"], environ) == wanted
    assert launcher_in(["env", "A=1", str(launcher), "-n", "2", "true"], environ) == wanted
    assert launcher_in(["true", str(launcher)], environ) is None
    assert launcher_in([], environ) is None


def test_the_engine_that_the_user_names_comes_first_where_it_is_for_this_mpi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if " " in str(tmp_path):
        tmp_path = Path("/nowhere")
    program = tmp_path / "mine" / "slowpath-engine"
    note = EngineNote("k", "mpich 5.0.2", "mpich", "mpicxx", "c++", "0", "2026-01-31T12:00:00+00:00")
    monkeypatch.setattr(library, "engine_at", lambda path: Engine(path, note))
    monkeypatch.setattr(library, "usable_engines", lambda *_: [])
    monkeypatch.setattr(library, "_ready", lambda _: [])
    environ = {"SLOWPATH_ENGINE": str(program)}
    assert library.library_folders(environ, "mpich 5.0.2") == [program.parent]
    assert library.library_folders(environ, "openmpi 5.0.11") == []
