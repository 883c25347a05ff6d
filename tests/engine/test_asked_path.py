# SPDX-License-Identifier: Apache-2.0
"""What real libraries say carries their messages: as they are, and with another way forced."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ranks import Ranks

from slowpath.core.results import MessagePath
from slowpath.mpi.message_path import paths_of
from slowpath.record.witness import CONTROL_VARIABLES, read_variables
from slowpath.run.prepare import witness_variables

# A setting under which ranks of one node send by another way, and what then is said of it.
FORCED = {
    "mpich": ({"MPIR_CVAR_NOLOCAL": "1"}, "netmod"),
    "openmpi": ({"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"}, "btl tcp"),
    "intelmpi": ({"I_MPI_FABRICS": "ofi"}, "fabric ofi"),
}
OWN = {
    "mpich": ({}, "shared memory"),
    "openmpi": ({"OMPI_MCA_pml": "ob1"}, "pml ob1, btl sm"),
    "intelmpi": ({"I_MPI_FABRICS": "shm"}, "fabric shm"),
}


def on_node(ranks: Ranks, folder: Path, variables: Mapping[str, str]) -> list[MessagePath]:
    """What is reported of ranks of one node."""
    name = ranks.mpi.name
    asked = witness_variables(ranks.engine.program, folder, variables, os.environ, name)
    words = ["p2p", "--pattern", "ping_pong", "--message-bytes", "8,1048576", "--samples", "8", "--out", str(folder)]
    done = ranks.run_engine(*words, exported=asked)
    assert done.returncode == 0, done.stderr
    read, why = read_variables(folder / CONTROL_VARIABLES)
    assert read is not None, why
    values = {variable.name: variable.value for variable in read.variables}
    paths = paths_of(name, done.stdout + "\n" + done.stderr, values, "default")
    return [path for path in paths if path.scope == "on_node"]


def test_the_library_s_own_way_is_read(ranks: Ranks, tmp_path: Path) -> None:
    variables, said = OWN[ranks.mpi.name]
    (path,) = on_node(ranks, tmp_path, variables)
    assert path.layer == "library", path
    assert said in path.words


def test_a_way_that_is_forced_is_read(ranks: Ranks, tmp_path: Path) -> None:
    variables, said = FORCED[ranks.mpi.name]
    (path,) = on_node(ranks, tmp_path, variables)
    layers = ("library",) if ranks.mpi.name == "openmpi" else ("ucx", "ofi")
    assert path.layer in layers, path
    assert said in path.words
