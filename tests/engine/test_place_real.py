# SPDX-License-Identifier: Apache-2.0
"""Real ranks in real places that are wrong: a namespace each, a filter of system calls, a small /dev/shm, a quota."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from slowpath.mpi.launchers import RankPlacement, command, launcher_named
from slowpath.mpi.mpi import Mpi
from watchdog import WATCHDOG_S

SOURCE = """#include <mpi.h>
#include <stdlib.h>
#include <string.h>
enum { bytes = 1 << 20 };
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char* const buffer = malloc(bytes);
    memset(buffer, rank, bytes);
    for (int step = 0; step < 10; ++step)
        MPI_Sendrecv_replace(buffer, bytes, MPI_CHAR, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
"""
NO_COPY = (sys.executable, str(Path(__file__).parent.parent / "support" / "no_single_copy.py"))
NAMESPACE = ("unshare", "-Ur")


@pytest.fixture(scope="module")
def program(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten exchanges of 1 MiB, compiled."""
    folder = tmp_path_factory.mktemp("place")
    assert mpi.mpicxx is not None
    (folder / "swap.c").write_text(SOURCE)
    argv = [str(mpi.mpicxx.with_name("mpicc")), "-O1", "-o", folder / "swap", folder / "swap.c"]
    subprocess.run(argv, env=mpi.environ(os.environ), check=True, capture_output=True)
    return folder / "swap"


def verdict(
    mpi: Mpi, program: Path, library: Path, folder: Path, around: Sequence[str] = (), each: Sequence[str] = ()
) -> str:
    """All that a watch of two ranks says. Args: around: words before slowpath.  each: words before the program."""
    more = ["--oversubscribe"] if mpi.name == "openmpi" else []
    launched = [str(mpi.mpiexec), *more, "-n", "2", *each, str(program)]
    own = ["--library", str(library), "-o", str(folder), "-q"]
    done = subprocess.run(
        [*around, sys.executable, "-m", "slowpath.cli", "watch", *own, "--", *launched],
        env=mpi.environ(os.environ),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=WATCHDOG_S,
        check=False,
    )
    return done.stderr.replace("\n", " ")


def said_first(text: str, fault: str) -> bool:
    """Whether the fault stands before all else that the watch says."""
    rest = [text.find(word) for word in ("swap, 2 ranks, ", "no rank left a record") if word in text]
    return fault in text and all(text.find(fault) < place for place in rest)


@pytest.mark.needs("root")  # in a changed root others get no user namespace
def test_a_user_namespace_for_each_rank(mpi: Mpi, program: Path, watch_library: Path, tmp_path: Path) -> None:
    each = verdict(mpi, program, watch_library, tmp_path / "each", each=NAMESPACE)
    assert said_first(each, "The border of 2 user namespaces (EPERM) refuses copies between processes")
    assert "user namespaces" not in verdict(mpi, program, watch_library, tmp_path / "one", NAMESPACE)


def test_a_filter_that_refuses_the_copy(mpi: Mpi, program: Path, watch_library: Path, tmp_path: Path) -> None:
    around = verdict(mpi, program, watch_library, tmp_path / "around", NO_COPY)
    assert said_first(around, "A seccomp filter (EPERM) refuses copies between processes")
    if mpi.name == "mpich":  # Open MPI asks once, before the record begins
        each = verdict(mpi, program, watch_library, tmp_path / "each", each=NO_COPY)
        assert said_first(each, "A seccomp filter (EPERM) refuses copies between processes")


@pytest.fixture
def quota() -> Iterator[Path]:
    """A control group of version 1 or 2 that grants 3 % of a processor."""
    for folder, files in (
        ("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "3000"}),
        ("/sys/fs/cgroup", {"cpu.max": "3000 100000"}),
    ):
        group = Path(folder) / f"slowpath-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            for name, text in files.items():
                (group / name).write_text(text)
            yield group
            return
        except OSError:
            continue
        finally:
            group.rmdir()
    pytest.skip("no control group can be made here")


@pytest.mark.needs("root")
def test_a_quota_of_processor_time(quota: Path) -> None:
    """It is tried, too: processes that compute stand still. No ranks: they would need minutes."""
    code = (
        "import msgspec; from slowpath.run.machine import place_here as here; "
        f"open('{quota}/cgroup.procs', 'w').write('0'); print(msgspec.json.encode(here()).decode())"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=WATCHDOG_S, check=True)
    place = json.loads(done.stdout)
    assert place["processor_quota"] == pytest.approx(0.03)
    assert place["still_s"] > 0.1 * place["tried_s"]


def test_each_reason_of_a_refused_copy_is_distinguished() -> None:
    code = "from slowpath.run.machine import try_copies; one = try_copies(); print(one.plain, one.own)"
    for around, expected in (((), "0 None"), (NO_COPY, "1 1")):
        done = subprocess.run(
            [*around, sys.executable, "-c", code], capture_output=True, text=True, timeout=WATCHDOG_S, check=True
        )
        assert done.stdout.strip() == expected


def test_a_bound_rank_stays_on_the_processors_that_its_launcher_may_use(mpi: Mpi) -> None:
    """Launchers bind to the first core of the node although taskset kept it from them."""
    last = max(os.sched_getaffinity(0))
    status = ("grep", "Cpus_allowed_list", "/proc/self/status")
    place = RankPlacement(processors=(last,))
    made = command(launcher_named(mpi.launcher), str(mpi.mpiexec), mpi.name, 1, "core", {}, status, 1, place=place)
    argv = ["taskset", "-c", str(last), *made.argv]
    environ = mpi.environ({**os.environ, **mpi.env, **made.variables})
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=WATCHDOG_S, check=True)
    assert done.stdout.split() == ["Cpus_allowed_list:", str(last)]
