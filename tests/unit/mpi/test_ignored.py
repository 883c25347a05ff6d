# SPDX-License-Identifier: Apache-2.0
"""Settings that a library ignores: said where it is known, and nothing where it is not."""

from __future__ import annotations

import pytest

from slowpath.mpi.own_settings import OwnSetting, Value, unused_by_ucx, why_ignored

MPICH: dict[str, Value] = {
    "MPIR_CVAR_CH4_CMA_ENABLE": 1,
    "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": 8192,
    "MPIR_CVAR_ASYNC_PROGRESS": 0,
    "MPIR_CVAR_NOLOCAL": 1,
    "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "auto",
}
OPENMPI: dict[str, Value] = {"btl_sm_eager_limit": 4096, "btl_sm_max_send_size": 32768, "btl": "self,sm"}
# As UCX 1.20 prints it, from two ranks.
OUTPUT = """
[1795371021.063001] [vm:23627:0]          parser.c:2355 UCX  WARN  unused environment variable: UCX_TLZ (maybe: UCX_TLS?)
[1795371021.083555] [vm:23626:0]          parser.c:2355 UCX  WARN  unused environment variables: UCX_TLZ (maybe: UCX_TLS?); UCX_NOTHING
"""  # noqa: E501


def why(name: str, value: str | None, library: str = "mpich") -> str | None:
    known = MPICH if library == "mpich" else OPENMPI if library == "openmpi" else {}
    return why_ignored(OwnSetting(name, value), library, known, unused_by_ucx(OUTPUT))


def test_what_ucx_warns_of_with_its_own_guess() -> None:
    assert unused_by_ucx(OUTPUT) == {"UCX_TLZ": "UCX_TLS", "UCX_NOTHING": ""}
    assert unused_by_ucx("UCX  WARN  transport 'x' is not available") == {}
    assert why("UCX_TLZ", "tcp") == "ignored: nothing in UCX reads it here; nearest: UCX_TLS"
    assert why("UCX_NOTHING", "1") == "ignored: nothing in UCX reads it here"
    assert why("UCX_TLS", "tcp") is None


@pytest.mark.parametrize(
    ("library", "name", "near"),
    [
        ("mpich", "MPIR_CVAR_CH4_CMA_ENABEL", "; nearest: MPIR_CVAR_CH4_CMA_ENABLE"),
        ("mpich", "MPIR_PARAM_ASYNC_PROGRES", "; nearest: MPIR_CVAR_ASYNC_PROGRESS"),
        ("mpich", "MPIR_CVAR_SOMETHING_ELSE_ALTOGETHER", ""),
        ("openmpi", "OMPI_MCA_btl_sm_egaer_limit", "; nearest: OMPI_MCA_btl_sm_eager_limit"),
    ],
)
def test_what_mpi_t_does_not_list(library: str, name: str, near: str) -> None:
    title = {"mpich": "MPICH", "openmpi": "Open MPI"}[library]
    assert why(name, "1", library) == f"ignored: {title} has no such variable{near}"


@pytest.mark.parametrize(
    ("library", "name"),
    [
        ("mpich", "MPIR_CVAR_NO_LOCAL"),  # MPI_T lists it as MPIR_CVAR_NOLOCAL
        ("mpich", "MPIR_CVAR_PORT_RANGE"),
        ("mpich", "MPICH_SOMETHING"),  # MPICH reads more under this prefix than MPI_T lists
        ("openmpi", "OMPI_MCA_btl_tcp_egaer_limit"),  # the component was not opened, so that nothing of it is listed
        ("openmpi", "OMPI_MCA_btl_sm_eager_limit"),
        ("mpich", "MPIR_CVAR_CH4_CMA_ENABLE"),
        ("craympich", "MPICH_SMP_SINGLE_COPY_MODE"),
        ("unknown", "I_MPI_FABRICS"),
        ("intelmpi", "I_MPI_FABRICS"),
        ("mpich", "CUDA_LAUNCH_BLOCKING"),
    ],
)
def test_where_it_is_not_known_nothing_is_claimed(library: str, name: str) -> None:
    assert why(name, None, library) is None


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD", "65536", "not taken: the library reads it as 8192"),
        ("MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD", "8192", None),
        ("MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD", "8k", None),
        ("MPIR_CVAR_CH4_CMA_ENABLE", "no", "not taken: the library reads it as 1"),
        ("MPIR_CVAR_CH4_CMA_ENABLE", "Yes", None),
        ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "ring", None),
    ],
)
def test_what_is_read_back_as_something_else(name: str, value: str, text: str | None) -> None:
    assert why(name, value) == text
