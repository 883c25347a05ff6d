# SPDX-License-Identifier: Apache-2.0
"""Watched programs: what they compute is what they compute unwatched, and each of their own calls is seen once."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from ranks import Ranks, finished

from slowpath.mpi.mpi import Mpi
from slowpath.watch.folder import record_files
from slowpath.watch.record.layout import RecordState
from slowpath.watch.record.reader import RankRecord, read_rank

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
        assert record.lanes["calls"].sum() == sum(seen.values())
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
    found = dict(zip(record.call_names, record.calls["dlsym"].tolist(), strict=True))
    assert (found["MPI_Initialized"], found["MPI_Finalize"], found["MPI_Send"]) == (2, 1, 0)


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
        assert record.sites["fortran"][1:].all()
        assert "unseen" not in record.text
