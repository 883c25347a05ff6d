# SPDX-License-Identifier: Apache-2.0
"""doctor in an allocation of two nodes: its two ranks are on one, whatever srun would do by itself."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from cluster import Cluster

from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine
from watchdog import WATCHDOG_S

pytestmark = pytest.mark.needs("root", "slurm", "iproute2")
OVER_TCP = {"UCX_TLS": "tcp,self", "FI_PROVIDER": "tcp", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self,sm"}
ASK = """
import json, os, sys
from pathlib import Path
from types import SimpleNamespace
from slowpath.doctor.registry import asked
from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import as_library_is

mpi = as_library_is(find_mpi(sys.argv[1]))
answer = asked(mpi, SimpleNamespace(program=Path(sys.argv[2])), os.environ)
print(json.dumps([mpi.launcher, answer if isinstance(answer, str) else [path.words for path in answer]]))
"""


@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
def test_the_path_inside_a_node_is_that_of_two_ranks_of_one_node(
    slurm: Cluster, mpi: Mpi, engine: Engine, tmp_path: Path
) -> None:
    program = tmp_path / "engine"
    program.write_text(f'#!/bin/sh\necho "$SLURMD_NODENAME" >> {tmp_path}/nodes\nexec {engine.program} "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(mpi.mpiexec.parent), os.environ["PATH"]])
    env = {**mpi.environ({}), **OVER_TCP, "PATH": path}
    ask = [sys.executable, "-c", ASK, str(shutil.which("srun")), str(program)]
    job = ["salloc", "-N", "2", "--ntasks-per-node=2", "--exclusive", *ask]
    done = slurm.run(job, env=env, cwd=tmp_path, limit_s=WATCHDOG_S)
    assert done.returncode == 0, done.stdout + done.stderr
    launcher, answer = json.loads(done.stdout.splitlines()[-1])
    assert launcher == "srun"
    assert isinstance(answer, list), answer
    nodes = (tmp_path / "nodes").read_text().split()
    assert (len(nodes), len(set(nodes))) == (2, 1), nodes
