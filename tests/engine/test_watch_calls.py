# SPDX-License-Identifier: Apache-2.0
"""Watched programs: what they compute is what they compute unwatched, and each of their own calls is seen once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from ranks import Ranks, finished

from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.watch.folder import RANKS_FOLDER, record_files
from slowpath.watch.record.layout import RecordState
from slowpath.watch.record.reader import LOCAL_FAMILY, RankRecord, read_rank
from slowpath.watch.results import read_watch_results
from slowpath.watch.start.environment import watched
from slowpath.watch.start.session import starts_that_failed, why_no_record
from watchdog import WATCHDOG_S

SOURCES = Path(__file__).resolve().parents[2] / "engine" / "watch" / "tests"
EXIT_CODE = 3  # of test_calls.c, so that the program's own is known from a launcher's
# Calls of test_calls.c on each rank. MPI calls those of the second line from within callbacks.
OWN = {"MPI_Init_thread": 1, "MPI_Allreduce": 2, "MPI_Alltoallw": 1, "MPI_Sendrecv": 201}
OWN |= {"MPI_Put": 1, "MPI_Win_flush": 1, "MPI_Mprobe": 1, "MPI_Comm_dup": 5, "MPI_Grequest_start": 1}
INNER = ("MPI_Type_get_true_extent", "MPI_Comm_test_inter", "MPI_Error_class", "MPI_Status_set_elements")


def compiled(wrapper: Path, source: str, program: Path, environ: Mapping[str, str], *words: str) -> Path:
    """By an MPI's wrapper."""
    argv = [wrapper, "-O1", "-o", program, SOURCES / source, *words]
    subprocess.run(argv, env=dict(environ), check=True, capture_output=True)
    return program


def written(folder: Path) -> dict[str, str]:
    """What the ranks wrote."""
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def calls_of(record: RankRecord) -> dict[str, int]:
    """Outermost calls by name, those that were made."""
    pairs = zip(record.call_names, record.calls["calls"].tolist(), strict=True)
    return {name: calls for name, calls in pairs if calls}


def timed_calls(record: RankRecord) -> int:
    """All but those that are only counted."""
    return int(record.calls["calls"][record.calls["family"] != LOCAL_FAMILY].sum())


@pytest.fixture
def ranks(mpi: Mpi) -> Ranks:
    """Without an engine: none is needed, so none is built."""
    return Ranks(mpi, None)  # type: ignore[arg-type]


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """Of an unwatched run's output, of a watched one's, and of its records."""
    made = {name: tmp_path / name for name in ("unwatched", "watched", "ranks")}
    for folder in made.values():
        folder.mkdir()
    return made


def of_watched(library: Path, folders: Mapping[str, Path], *before: Path) -> dict[str, str]:
    """Variables of a watched rank. before: preloaded before the library."""
    return {"LD_PRELOAD": ":".join(map(str, [*before, library])), "SLOWPATH_WATCH": str(folders["ranks"])}


@pytest.mark.parametrize("interface", ["own", "abi"])
def test_results_are_those_of_the_unwatched_program(
    interface: str, ranks: Ranks, watch_library: Path, folders: dict[str, Path], blankless: Path
) -> None:
    """In place, sentinels, large counts, windows, callbacks that call MPI, four threads; a tool of the classic kind."""
    assert ranks.mpi.mpicxx is not None
    wrapper = ranks.mpi.mpicxx.with_name("mpicc" if interface == "own" else "mpicc_abi")
    if not wrapper.exists() or (interface == "abi" and ranks.mpi.name != "mpich"):
        return  # comes without the standard's interface
    environ = ranks.environ()
    program = compiled(wrapper, "test_calls.c", blankless / "calls", environ, "-pthread")
    tool = compiled(wrapper, "tool.c", blankless / "tool.so", environ, "-shared", "-fPIC")
    library_path = {"LD_LIBRARY_PATH": str(wrapper.parent.parent / "lib")} if interface == "abi" else {}
    plain = ranks.start(str(program), "calls", str(folders["unwatched"]), of_ranks=library_path)
    assert plain.returncode == EXIT_CODE, plain.stderr
    # Underneath: its MPI_Allreduce is the next definition after the library's.
    below = {**of_watched(watch_library, folders), "TOOL_OUTPUT": str(blankless / "tool"), **library_path}
    below["LD_PRELOAD"] += f":{tool}"
    watched = ranks.start(str(program), "calls", str(folders["watched"]), of_ranks=below)
    assert watched.returncode == EXIT_CODE, watched.stderr
    assert "slowpath" not in watched.stderr
    assert written(folders["watched"]) == written(folders["unwatched"])
    assert (blankless / "tool").read_text().split() == ["2", "2"], "the other tool sees what it would have seen"
    records = [read_rank(path) for path in record_files(folders["ranks"].parent)]
    assert sorted(record.rank for record in records) == [0, 1]
    for record in records:
        assert record.state is RecordState.FINALIZED
        seen = calls_of(record)
        has_threads = "threads" in written(folders["watched"])["0"]
        wants = OWN if has_threads else {**OWN, "MPI_Sendrecv": 1, "MPI_Comm_dup": 1}
        assert {name: seen.get(name) for name in wants} == wants
        assert not set(INNER) & set(seen), "calls of callbacks are MPI's"
        # The lane of a thread that ended may be another's.
        assert 2 <= len(record.lanes) <= 5 if has_threads else len(record.lanes) == 1
        assert record.lanes["calls"].sum() == timed_calls(record)
        imported = dict(zip(record.call_names, record.calls["importers"].tolist(), strict=True))
        assert imported["MPI_Alltoallw"] == 1
        assert imported["MPI_Allreduce"] == 2, "the program, and the other tool by its profiling name"
        assert imported["MPI_Ssend"] == 0
        assert "unseen" not in record.text


def test_calls_after_a_jump_out_of_an_error_handler_are_seen(
    ranks: Ranks, watch_library: Path, folders: dict[str, Path], blankless: Path
) -> None:
    assert ranks.mpi.mpicxx is not None
    wrapper = ranks.mpi.mpicxx.with_name("mpicc")
    program = compiled(wrapper, "test_calls.c", blankless / "calls", ranks.environ(), "-pthread")
    variables = of_watched(watch_library, folders)
    done = ranks.start(str(program), "jump", str(folders["watched"]), ranks=1, of_ranks=variables)
    assert done.returncode == EXIT_CODE, done.stderr
    assert written(folders["watched"]) == {"0": "after a jump: 1\n"}
    (record,) = [read_rank(path) for path in record_files(folders["ranks"].parent)]
    assert calls_of(record)["MPI_Initialized"] == 1


def test_an_mpi_that_the_program_opens_itself(mpi: Mpi, watch_library: Path, folders: dict[str, Path]) -> None:
    """By dlopen in a local scope and dlsym; started alone, without a launcher."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None
    program = compiled(Path(compiler), "test_dlsym.c", folders["watched"] / "program", os.environ, "-ldl")
    assert mpi.mpicxx is not None
    library = next((mpi.mpicxx.parent.parent / "lib").glob("libmpi.so.[0-9]*"))
    environ = {**mpi.environ(os.environ), **of_watched(watch_library, folders)}
    done = finished([program, library], env=environ)
    assert done.returncode == 0, done.stderr
    (record,) = [read_rank(path) for path in record_files(folders["ranks"].parent)]
    assert calls_of(record)["MPI_Initialized"] == 2, "by either name"
    calls = dict(zip(record.call_names, record.calls["dlsym"].tolist(), strict=True))
    assert (calls["MPI_Initialized"], calls["MPI_Finalize"], calls["MPI_Send"]) == (2, 1, 0)


@pytest.mark.needs("gfortran")
def test_fortran_calls_are_seen_where_the_program_makes_them(
    ranks: Ranks, watch_library: Path, folders: dict[str, Path], blankless: Path
) -> None:
    """Of an MPI that has Fortran bindings: mpif.h, and mpi_f08 by the names of its library."""
    assert ranks.mpi.mpicxx is not None
    prefix = ranks.mpi.mpicxx.parent.parent
    if not (prefix / "lib" / "libmpifort.so").exists():
        return  # MPICH's and Open MPI's packages have no Fortran
    words = ["-fallow-argument-mismatch", f"-I{prefix / 'include'}", f"-L{prefix / 'lib'}", "-lmpifort", "-lmpi"]
    program = compiled(Path("gfortran"), "test_fortran.f90", blankless / "fortran", ranks.environ(), *words)
    variables = of_watched(watch_library, folders)
    done = ranks.start(str(program), f"{folders['watched']}/", of_ranks=variables)
    assert done.returncode == 0, done.stderr
    assert {name: text.split() for name, text in written(folders["watched"]).items()} == {
        "0": ["3", "1"],
        "1": ["3", "0"],
    }
    for record in [read_rank(path) for path in record_files(folders["ranks"].parent)]:
        seen = calls_of(record)
        assert [seen[f"MPI_{name}"] for name in ("Allreduce", "Sendrecv", "Barrier", "Comm_rank")] == [1, 1, 1, 1]
        assert "unseen" not in record.text


ITEM_BYTES = 3 * 4  # three ints, of test_intercommunicators.c
# What each rank gives in a collective between rank 0 and ranks 1 and 2, in units of three ints. Rooted ones are called
# twice: first rank 0 is the root, then rank 1. What arrives is negative; None: takes no part.
BETWEEN: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "MPI_Bcast": ((1, -1), (-1, 1), (-1, 0)),
    "MPI_Scatter": ((2, -1), (-1, 1), (-1, 0)),
    "MPI_Scatterv": ((2, -1), (-1, 1), (-1, 0)),
    "MPI_Gather": ((0, 1), (1, 0), (1, 0)),
    "MPI_Gatherv": ((0, 1), (1, 0), (1, 0)),
    "MPI_Reduce": ((0, 1), (1, 0), (1, 0)),
    "MPI_Allreduce": ((1,), (1,), (1,)),
    "MPI_Allgather": ((1,), (1,), (1,)),
    "MPI_Allgatherv": ((1,), (1,), (1,)),
    "MPI_Alltoall": ((2,), (1,), (1,)),
    "MPI_Alltoallv": ((2,), (1,), (1,)),
    "MPI_Alltoallw": ((2,), (1,), (1,)),
    "MPI_Reduce_scatter_block": ((2,), (2,), (2,)),
    "MPI_Reduce_scatter": ((2,), (2,), (2,)),
}
NO_RANK, RECEIVE = -4, 2  # of the record: Peer.proc_null, Kind.receive


def both_ways(ranks: Ranks, program: Path, library: Path, folder: Path, *words: str, count: int) -> list[RankRecord]:
    """Run a program unwatched and watched; its output has to be the same.

    Args: words: behind the folder for its output.  count: of ranks.
    Returns: the records by rank.
    """
    folders = {name: folder / name for name in ("unwatched", "watched", "ranks")}
    for made in folders.values():
        made.mkdir(parents=True)
    plain = ranks.start(str(program), str(folders["unwatched"]), *words, ranks=count)
    assert plain.returncode == 0, plain.stderr
    variables = {"LD_PRELOAD": str(library), "SLOWPATH_WATCH": str(folders["ranks"])}
    watched = ranks.start(str(program), str(folders["watched"]), *words, ranks=count, of_ranks=variables)
    assert watched.returncode == 0, watched.stderr
    assert written(folders["watched"]) == written(folders["unwatched"])
    records = [read_rank(path) for path in record_files(folders["ranks"].parent)]
    assert len(records) == count
    return sorted(records, key=lambda record: record.rank)


def test_collectives_between_groups(ranks: Ranks, watch_library: Path, tmp_path: Path, blankless: Path) -> None:
    """The root is who says MPI_ROOT; arrays are as long as the group that they are about; bytes go to the others."""
    assert ranks.mpi.mpicxx is not None
    wrapper = ranks.mpi.mpicxx.with_name("mpicc")
    program = compiled(wrapper, "test_intercommunicators.c", blankless / "between", ranks.environ())
    records = both_ways(ranks, program, watch_library, tmp_path, "all", count=3)
    for rank, record in enumerate(records):
        assert record.lanes["calls"].sum() == timed_calls(record)
        for call, units in BETWEEN.items():
            events = record.events[record.events["call"] == record.call_names.index(call)]
            given = [int(event["bytes"]) * (-1 if event["kind"] & RECEIVE else 1) for event in events]
            assert given == [unit * ITEM_BYTES for unit in units[rank]], (call, rank)
        scatters = record.events[record.events["call"] == record.call_names.index("MPI_Scatter")]
        assert scatters["peer"].tolist() == [0, NO_RANK if rank == 2 else 1]


def test_insignificant_arguments(ranks: Ranks, watch_library: Path, tmp_path: Path, blankless: Path) -> None:
    """In place, off the root, at the edge of a grid, of MPI_NO_OP, of no request; and waits that fail."""
    assert ranks.mpi.mpicxx is not None
    wrapper = ranks.mpi.mpicxx.with_name("mpicc")
    program = compiled(wrapper, "test_insignificant.c", blankless / "insignificant", ranks.environ())
    records = both_ways(ranks, program, watch_library, tmp_path, "all", count=2)
    for record in records:  # one int, to the one neighbour in the grid
        events = record.events[record.events["call"] == record.call_names.index("MPI_Neighbor_alltoallw")]
        assert events["bytes"].tolist() == [4]


def test_what_mpi_refuses(ranks: Ranks, watch_library: Path, tmp_path: Path, blankless: Path) -> None:
    """Null pointers have the library's own error class, and the error handler is called as often as unwatched."""
    assert ranks.mpi.mpicxx is not None
    wrapper = ranks.mpi.mpicxx.with_name("mpicc")
    program = compiled(wrapper, "test_insignificant.c", blankless / "refused", ranks.environ())
    both_ways(ranks, program, watch_library, tmp_path, "refused", count=1)


OVERFLOW = 1  # argument of test_sanitized.c: writes behind its buffer


def built(ranks: Ranks, folder: Path, *flags: str) -> Path:
    """test_sanitized.c by the MPI's wrapper."""
    assert ranks.mpi.mpicxx is not None
    argv = [
        ranks.mpi.mpicxx.with_name("mpicc"),
        *flags,
        "-o",
        folder / "sanitized",
        SOURCES / "test_sanitized.c",
    ]
    subprocess.run(argv, env=ranks.environ(), check=True, capture_output=True)
    return folder / "sanitized"


def test_a_program_with_address_sanitizer_runs(
    ranks: Ranks, watch_library: Path, tmp_path: Path, blankless: Path
) -> None:
    """Its runtime wants to be the first library, and is told not to ask; what it finds, it finds as unwatched."""
    program = built(ranks, blankless, "-fsanitize=address", "-g")
    (tmp_path / RANKS_FOLDER).mkdir()
    own = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    variables = dict(watched([str(program)], "", watch_library, tmp_path, own).variables)
    assert variables["ASAN_OPTIONS"] == "detect_leaks=0:verify_asan_link_order=0"
    done = ranks.start(str(program), of_ranks=variables)
    assert done.returncode == 0, done.stderr
    assert len(record_files(tmp_path)) == 2
    wrong = ranks.start(str(program), str(OVERFLOW), ranks=1, of_ranks=variables)
    assert wrong.returncode != 0
    assert "heap-buffer-overflow" in wrong.stderr + wrong.stdout


def test_a_start_that_fails_is_told_from_none(
    ranks: Ranks, watch_library: Path, tmp_path: Path, blankless: Path
) -> None:
    """MPI_Init ends the program where the library finds what it can't use; a note that it was called is left."""
    program = built(ranks, blankless)
    (tmp_path / RANKS_FOLDER).mkdir()
    broken = {"mpich": "PMI_FD", "openmpi": "OMPI_MCA_btl", "intelmpi": "PMI_FD"}.get(ranks.mpi.name, "PMI_FD")
    variables = dict(watched([str(program)], "", watch_library, tmp_path, os.environ).variables)
    done = ranks.start(str(program), ranks=1, of_ranks={**variables, broken: "99999"})
    assert done.returncode != 0
    assert not record_files(tmp_path)
    assert starts_that_failed(tmp_path) == 1
    line = why_no_record([program], watch_library, None, starts_that_failed(tmp_path), done.returncode)
    assert line == "MPI_Init failed in 1 process; see the program's own messages"


def test_truncated_records_end_no_program(ranks: Ranks, watch_library: Path, tmp_path: Path, blankless: Path) -> None:
    """Whatever handlers for SIGBUS the MPI library installs in MPI_Init."""
    assert ranks.mpi.mpicxx is not None
    wrapper = ranks.mpi.mpicxx.with_name("mpicc")
    program = compiled(wrapper, "test_truncated.c", blankless / "truncated", ranks.environ())
    records = tmp_path / RANKS_FOLDER
    records.mkdir()
    variables = {"LD_PRELOAD": str(watch_library), "SLOWPATH_WATCH": str(records)}
    done = ranks.start(str(program), str(records), of_ranks=variables)
    assert (done.returncode, done.stdout.split()) == (0, ["whole"]), done.stderr


def test_sessions_that_must_be_free_are_finalized(
    ranks: Ranks, watch_library: Path, tmp_path: Path, blankless: Path
) -> None:
    """The watch holds no group of them."""
    assert ranks.mpi.mpicxx is not None
    program = compiled(ranks.mpi.mpicxx.with_name("mpicc"), "test_session.c", blankless / "sessions", ranks.environ())
    (tmp_path / RANKS_FOLDER).mkdir()
    native = ranks.start(str(program))
    variables = dict(watched([str(program)], "", watch_library, tmp_path, dict(os.environ)).variables)
    done = ranks.start(str(program), of_ranks=variables)
    assert done.returncode == native.returncode, done.stderr
    if ranks.mpi.name != "mpich":  # Intel MPI 2021.18 and Open MPI 5.0.11 end such programs themselves
        return
    assert done.stdout == native.stdout == "errors: 0, wrong: 0\n" * 2
    assert len(record_files(tmp_path)) == 2


SOURCE = """#include <mpi.h>
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""
OTHERS = [option for option in os.environ.get("SLOWPATH_TEST_MPIS", "").split(":") if option]


def started_by(program_of: Mpi, launcher_of: Mpi, library: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Two processes of a program under a launcher; the verdict is what stderr ends with."""
    assert program_of.mpicxx is not None
    environ = launcher_of.environ(program_of.environ(os.environ))
    source, program = folder / "alone.c", folder / "alone"
    source.write_text(SOURCE)
    compiler = str(program_of.mpicxx.with_name("mpicc"))
    subprocess.run([compiler, "-o", program, source], env=environ, check=True, capture_output=True)
    own = ["--library", str(library), "-o", str(folder / "w"), "-q"]
    argv = [
        sys.executable,
        "-m",
        "slowpath.cli",
        "watch",
        *own,
        "--",
        str(launcher_of.mpiexec),
        "-n",
        "2",
        str(program),
    ]
    return subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)


def the(name: str) -> Mpi:
    """The MPI under test of this name."""
    return next(mpi for mpi in map(find_mpi, ["embedded", *OTHERS]) if mpi.name == name)


@pytest.mark.needs("other MPIs")
@pytest.mark.parametrize(("program", "launcher"), [("openmpi", "mpich"), ("intelmpi", "openmpi")])
def test_the_first_line_names_the_wrong_launcher_and_the_right_one(
    program: str, launcher: str, watch_library: Path, tmp_path: Path
) -> None:
    done = started_by(the(program), the(launcher), watch_library, tmp_path)
    assert done.returncode == 0, done.stderr
    first = read_watch_results(tmp_path / "w").verdict[0]
    assert any(
        line.startswith("Each of 2 processes ran alone as rank 0 of 1: this") for line in done.stderr.splitlines()
    )
    assert first.startswith("Each of 2 processes ran alone as rank 0 of 1: this mpiexec")
    assert f"({the(launcher).mpiexec}, " in first
    assert "does not belong to the program's library" in first
    assert f"Start it with {the(program).mpiexec.parent}/" in first


@pytest.mark.needs("other MPIs")
def test_where_the_library_refuses_the_other_launcher_that_is_said(watch_library: Path, tmp_path: Path) -> None:
    """MPICH 5 does not start where it meets PMIx."""
    done = started_by(the("mpich"), the("openmpi"), watch_library, tmp_path)
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert f"this mpiexec ({the('openmpi').mpiexec}, Open MPI) does not belong to the library that alone needs" in last


ENGINE = Path(__file__).resolve().parents[2] / "engine"
PARTS = [ENGINE / "watch" / f"{name}.cpp" for name in ("call", "library", "loader", "originals")]


def test_constants_are_those_of_mpi_h(mpi: Mpi, wrapped_calls: str, tmp_path: Path) -> None:
    """Of the MPI's own interface and, where it comes with one, of the ABI."""
    if mpi.mpicxx is None:
        pytest.skip("no compiler wrapper")
    own = "openmpi" if mpi.name == "openmpi" else "mpich"
    abi = mpi.mpicxx.with_name("mpicxx_abi")
    for wrapper, interface in ((mpi.mpicxx, own), *([(abi, "abi")] if abi.exists() else [])):
        program = tmp_path / interface
        source = ENGINE / "watch" / "tests" / "test_constants.cpp"
        words = [
            str(wrapper),
            "-std=c++20",
            "-O0",
            "-Wl,--no-as-needed",
            f"-I{ENGINE}",
            wrapped_calls,
            "-o",
            str(program),
            str(source),
            *map(str, PARTS),
        ]
        environ = mpi.environ(os.environ)
        subprocess.run([*words, "-ldl"], env=environ, check=True, capture_output=True)
        folder = {"LD_LIBRARY_PATH": str(mpi.mpicxx.parent.parent / "lib")}
        done = subprocess.run([program, interface], env={**environ, **folder}, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


TESTS = ENGINE / "watch" / "tests"
LAYOUT_PARTS = ("call", "datatypes", "library", "loader", "originals")
RANDOM_TYPES = 2000


@pytest.fixture(scope="session")
def layout_parts(tmp_path_factory: pytest.TempPathFactory, wrapped_calls: str) -> list[str]:
    """What knows no mpi.h, compiled once."""
    folder = tmp_path_factory.mktemp("parts")
    sources = [str(ENGINE / "watch" / f"{name}.cpp") for name in LAYOUT_PARTS] + [str(TESTS / "kept_rows.cpp")]
    subprocess.run(["c++", "-std=c++20", "-O0", f"-I{ENGINE}", wrapped_calls, "-c", *sources], cwd=folder, check=True)
    return sorted(map(str, folder.glob("*.o")))


def test_layouts_are_those_of_the_bytes_that_mpi_packs(
    mpi: Mpi, layout_parts: Sequence[str], wrapped_calls: str, tmp_path: Path
) -> None:
    """Under the MPI's own interface and, where it comes with one, the ABI; one rank without a launcher."""
    if mpi.mpicxx is None:
        pytest.skip("no compiler wrapper")
    environ = mpi.environ(os.environ)
    abi = mpi.mpicxx.with_name("mpicxx_abi")
    for wrapper in (mpi.mpicxx, *([abi] if abi.exists() else [])):
        program = tmp_path / wrapper.name
        words = ["-std=c++20", "-O0", "-Wl,--no-as-needed", f"-I{ENGINE}", wrapped_calls, "-o", str(program)]
        words = [str(wrapper), *words, str(TESTS / "test_datatypes.cpp"), *layout_parts, "-ldl"]
        subprocess.run(words, env=environ, check=True, capture_output=True)
        folder = {"LD_LIBRARY_PATH": str(mpi.mpicxx.parent.parent / "lib")}
        done = subprocess.run([program, str(RANDOM_TYPES)], env={**environ, **folder}, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
