# SPDX-License-Identifier: Apache-2.0
"""The prefix made of the real packages: its own UCX is the one that runs. SLOWPATH_TEST_CUDA_PARTS=DIR names wheels."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from slowpath.mpi.find import find_mpi
from slowpath.mpi.install import install_cuda
from slowpath.mpi.mpi import Mpi
from watchdog import WATCHDOG_S

PROGRAM = r"""
#include <mpi.h>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::vector<char> data(1 << 20, static_cast<char>(7));
    if (rank == 0) MPI_Send(data.data(), 1 << 20, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) {
        data.assign(data.size(), 0);
        MPI_Recv(data.data(), 1 << 20, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (data.back() == 7) std::cout << "arrived\n";
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);)
            if (line.find("libuc") != std::string::npos) std::cout << line << "\n";
    }
    MPI_Finalize();
}
"""


@pytest.fixture(scope="module")
def cuda_mpi(tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    """The MPI made of the real packages."""
    environ = {**os.environ, "SLOWPATH_DATA_DIR": str(tmp_path_factory.mktemp("data"))}
    install_cuda(environ, Path(os.environ["SLOWPATH_TEST_CUDA_PARTS"]))
    return find_mpi("cuda", environ)


@pytest.mark.needs("CUDA packages")
def test_the_ucx_with_cuda_is_the_one_that_runs(cuda_mpi: Mpi, tmp_path: Path) -> None:
    assert re.fullmatch(r"openmpi 5\.0\.\d+ \+ UCX 1\.\d+ \(CUDA\)", cuda_mpi.identity)
    environ = cuda_mpi.environ(os.environ)
    (tmp_path / "p.cpp").write_text(PROGRAM)
    build = [str(cuda_mpi.mpicxx), "-o", str(tmp_path / "p"), str(tmp_path / "p.cpp")]
    subprocess.run(build, env=environ, check=True, timeout=WATCHDOG_S)
    run = [str(cuda_mpi.mpiexec), "-n", "2", "--map-by", ":OVERSUBSCRIBE", str(tmp_path / "p")]
    done = subprocess.run(run, env=environ, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert done.returncode == 0, done.stderr
    assert "arrived" in done.stdout
    mapped = {Path(line.split(maxsplit=5)[-1]) for line in done.stdout.splitlines() if "libuc" in line}
    names = {path.name for path in mapped}
    assert {"libucp.so.0", "libuct.so.0", "libucs.so.0", "libucm.so.0"} <= names
    assert all(path.is_relative_to(cuda_mpi.prefix / "libucx") for path in mapped), mapped
