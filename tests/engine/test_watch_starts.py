# SPDX-License-Identifier: Apache-2.0
"""Programs with a sanitizer run under a watch; so do those with strict sessions, or whose record is truncated."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from ranks import Ranks
from test_watch_calls import SOURCES, compiled

from slowpath.mpi.mpi import Mpi
from slowpath.watch.folder import RANKS_FOLDER, record_files
from slowpath.watch.start.environment import watched
from slowpath.watch.start.session import starts_that_failed, truncated, why_no_record

OVERFLOW = 1  # argument of test_sanitized.c: writes behind its buffer


def built(ranks: Ranks, folder: Path, *flags: str) -> Path:
    """test_sanitized.c by the MPI's wrapper."""
    assert ranks.mpi.mpicxx is not None
    argv = [ranks.mpi.mpicxx.with_name("mpicc"), *flags, "-o", folder / "sanitized", SOURCES / "test_sanitized.c"]
    subprocess.run(argv, env=ranks.environ(), check=True, capture_output=True)
    return folder / "sanitized"


@pytest.fixture
def ranks(mpi: Mpi) -> Ranks:
    """Without an engine: none is needed, so none is built."""
    return Ranks(mpi, None)  # type: ignore[arg-type]


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
    assert starts_that_failed(tmp_path) == (1, 0)
    line = why_no_record([program], watch_library, None, starts_that_failed(tmp_path), done.returncode)
    assert line == "MPI_Init did not return in 1 process; the program's own messages tell why"


def test_truncated_records_end_no_program(ranks: Ranks, watch_library: Path, tmp_path: Path, blankless: Path) -> None:
    """Whatever handlers for SIGBUS the MPI library installs in MPI_Init; and the records are said to be truncated."""
    assert ranks.mpi.mpicxx is not None
    wrapper = ranks.mpi.mpicxx.with_name("mpicc")
    program = compiled(wrapper, "test_truncated.c", blankless / "truncated", ranks.environ())
    records = tmp_path / RANKS_FOLDER
    records.mkdir()
    variables = {"LD_PRELOAD": str(watch_library), "SLOWPATH_WATCH": str(records)}
    done = ranks.start(str(program), str(records), of_ranks=variables)
    assert (done.returncode, done.stdout.split()) == (0, ["whole"]), done.stderr
    line = truncated(tmp_path)
    assert line is not None
    assert line.startswith("2 of 2 records were truncated while the program ran")


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
