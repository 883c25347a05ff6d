# SPDX-License-Identifier: Apache-2.0
"""What carries messages between two ranks, by what the libraries print."""

from __future__ import annotations

import pytest

from slowpath.core.results import MessagePath
from slowpath.mpi.message_path import paths_of

# Open MPI 5.0.11, two ranks on one node.
OB1 = """\
[vm:04272] mca_smsc_base_select: selected shared-memory single-copy component: cma
[vm:04272] select: initializing pml component ob1
[vm:04272] select: init returned failure for component ucx
[vm:04272] selected ob1 best priority 20
[vm:04272] select: component ob1 selected
[vm:04273] mca_smsc_base_select: selected shared-memory single-copy component: cma
[vm:04273] selected ob1 best priority 20
[vm:04272] mca: bml: Using self btl for send to [[13259,1],0] on node vm
[vm:04273] mca: bml: Using self btl for send to [[13259,1],1] on node vm
[vm:04273] mca: bml: Using sm btl for send to [[13259,1],0] on node vm
[vm:04272] mca: bml: Using sm btl for send to [[13259,1],1] on node vm
Connection summary: (pml)
  on-host:  all connections are sm
  off-host: all connections are n/a
"""
UCX = """\
[vm:04441] selected ucx best priority 19
[vm:04442] selected ucx best priority 19
Connection summary: (pml)
  on-host:  all connections are ucx=sysv;memory,cma;memory
  off-host: all connections are ucx=rc_mlx5;mlx5_0:1,dc_mlx5;mlx5_0:1
"""
# MPICH 5.0.2, netmods ucx and ofi.
MPICH_UCX = """\
==== UCX netmod Capability ====
MPIDI_UCX_CONTEXT_ID_BITS: 16
===============================
MPID: MPIDI_coll_generic_json
MPID/shm: MPIDI_POSIX_coll_generic_json
"""
MPICH_OFI = """\
provider: tcp, score = 4, pref = 0, FI_SOCKADDR_IN [16] 192.0.2.2
==== Capability set configuration ====
libfabric provider: sockets - 192.0.2.0/24
MPIDI_OFI_ENABLE_TAGGED: 1
MPID/shm: MPIDI_POSIX_coll_generic_json
"""
WHOLE_NODES = {"MPIR_CVAR_NOLOCAL": 0, "MPIR_CVAR_ODD_EVEN_CLIQUES": 0, "MPIR_CVAR_NUM_CLIQUES": 1}
# Intel MPI 2021.18.1.
INTEL_SHM = '[0] MPI startup(): Load tuning file: "/opt/mpi/etc/tuning_generic_shm.dat"\n'
INTEL_BOTH = """\
[0] MPI startup(): libfabric version: 2.4.0-impi
[0] MPI startup(): libfabric provider: tcp
[0] MPI startup(): Load tuning file: "/opt/mpi/etc/tuning_generic_shm-ofi.dat"
[0] MPI startup(): Number of NICs:  1
[0] MPI startup(): ===== NIC pinning on vm =====
[0] MPI startup(): Rank    Thread id  Pin nic
[0] MPI startup(): 0       0          eth0
[0] MPI startup(): 1       0          eth0
[0] MPI startup(): ===== CPU pinning =====
[0] MPI startup(): Rank    Pid      Node name  Pin cpu
[0] MPI startup(): 0       32520    vm         {0}
"""


def read(library: str, text: str, variables: dict[str, int] | None = None) -> list[MessagePath]:
    return paths_of(library, text, variables or {}, "default")


def read_path(library: str, text: str, variables: dict[str, int] | None = None) -> MessagePath:
    (path,) = read(library, text, variables)
    return path


def test_open_mpi_by_a_btl_for_each_pair() -> None:
    path = read_path("openmpi", OB1)
    assert path.pairs == [(0, 1), (1, 0)]
    assert (path.scope, path.layer, path.single_copy, path.reason) == ("on_node", "library", "cma", None)
    assert path.words == "messages between ranks 0 and 1 go by pml ob1, btl sm (single copy by cma)"


def test_open_mpi_by_ucx_names_transports_and_devices() -> None:
    near, far = read("openmpi", UCX)
    assert (near.layer, near.transport, near.devices) == ("ucx", "UCX sysv, cma", [])
    assert far.words == "messages between nodes go by pml ucx, UCX rc_mlx5, dc_mlx5 (on mlx5_0:1)"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "does not state"),
        ("[vm:1] select: component ucx selected\n", "does not state"),  # an MTL is reported in the same words
        (OB1 + "[vm:9] selected ucx best priority 51\n", "one PML for all ranks"),
        ("\n".join(line for line in OB1.splitlines() if "self btl" not in line), "rank of each process"),
        ("[vm:1] selected ob1 best priority 20\n", "a pair of ranks"),
        (OB1 + "[vm:04272] mca: bml: Using self btl for send to [[13259,1],5] on node vm\n", "rank of each process"),
        (OB1 + "[vm:04272] mca: bml: Using uct btl for send to [[13259,1],1] on node vm\n", "what each BTL carries"),
        ("[vm:1] selected ucx best priority 19\n", "its transports"),
        ("[vm:1] selected monitoring best priority 0\n  on-host:  all connections are monitoring\n", "its transports"),
    ],
)
def test_what_open_mpi_does_not_say_is_missing_with_a_reason(text: str, reason: str) -> None:
    unknown = [path for path in read("openmpi", text) if path.layer is None]
    assert unknown
    assert all(reason in str(path.reason) and "not known" in path.words for path in unknown)


def test_mpich_by_shared_memory_on_a_node_and_its_netmod_between_nodes() -> None:
    near, far = read("mpich", MPICH_UCX, WHOLE_NODES)
    assert (near.layer, near.transport) == ("library", "shared memory (posix)")
    assert (far.scope, far.layer, far.module) == ("between_nodes", "ucx", "ch4, netmod ucx")
    assert far.transport is None
    assert far.reason
    _, far = read("mpich", MPICH_OFI, WHOLE_NODES)
    assert far.words == "messages between nodes go by ch4, netmod ofi, provider sockets (on 192.0.2.0/24)"


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("", WHOLE_NODES),
        ("==== UCX netmod", WHOLE_NODES),
        (MPICH_UCX + MPICH_OFI, WHOLE_NODES),
        (MPICH_UCX, {}),
        (MPICH_UCX.replace("MPID/shm", "MPID/?"), WHOLE_NODES),
    ],
)
def test_what_mpich_does_not_say_is_missing_with_a_reason(text: str, variables: dict[str, int]) -> None:
    near = read("mpich", text, variables)[0]
    assert near.layer is None
    assert near.reason


def test_intel_mpi_by_the_fabrics_that_it_tuned_for() -> None:
    near, far = read("intelmpi", INTEL_SHM)
    assert (near.layer, near.module) == ("library", "fabric shm")
    assert (far.layer, far.reason) == (None, "the library's output does not state the network")
    near, far = read("intelmpi", INTEL_BOTH)
    assert (near.layer, far.layer, far.transport, far.devices) == ("library", "ofi", "provider tcp", ["eth0"])
    near, far = read("intelmpi", INTEL_BOTH.replace("shm-ofi", "ofi"))
    assert (near.layer, far.layer) == ("ofi", "ofi")
