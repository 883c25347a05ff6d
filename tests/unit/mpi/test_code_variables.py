# SPDX-License-Identifier: Apache-2.0
"""Which variables choose what is run: those of the table, and none that this program sets by itself."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest

from slowpath.core.files import data_folder
from slowpath.mpi.launchers import LAUNCHERS
from slowpath.mpi.own_settings import reader_of, why_code
from slowpath.mpi.settings import SETTINGS, SWITCHES, TUNINGS
from slowpath.slowpaths.registry import REMEDIES


def own() -> Iterator[tuple[str, str]]:
    """Every variable that settings, remedies, launchers and shipped campaigns set."""
    for row in (*SETTINGS, *TUNINGS):
        yield from row.variables.items()
    for remedy in REMEDIES:
        yield from (remedy.variables or {}).items()
    for switch in SWITCHES:
        yield switch.variable, "4096"
    for launcher in (launcher for launcher in LAUNCHERS if launcher.library):
        for given in (*launcher.bind_variables.values(), *launcher.spread_variables.values()):
            yield from given.items()
    for path in data_folder("campaigns").glob("*.toml"):
        for environment in tomllib.loads(path.read_text()).get("environment", []):
            yield from environment.get("variables", {}).items()


def test_nothing_that_this_program_sets_needs_trust() -> None:
    found = dict(own())
    assert len(found) > 20
    assert {name: why for name, value in found.items() if (why := why_code(name, value)) is not None} == {}


@pytest.mark.parametrize(
    "name",
    [
        *("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GCONV_PATH", "PATH", "HOME", "BASH_ENV", "BASH_FUNC_x%%"),
        *("PYTHONPATH", "PERL5LIB", "HYDRA_LAUNCHER_EXEC", "HYDRA_RMK", "HYDRA_USE_VALGRIND", "MPICH_QMPI_TOOL_LIST"),
        *("I_MPI_HYDRA_BOOTSTRAP_EXEC", "I_MPI_GTOOL", "I_MPI_OFI_LIBRARY", "I_MPI_JOB_TRACE_LIBS", "I_MPI_CKPOINTLIB"),
        *("I_MPI_PMI_LIBRARY", "I_MPI_ROOT", "I_MPI_TUNING_BIN_PATH", "OPAL_PREFIX", "OMPI_MCA_plm_rsh_agent"),
        *("OMPI_MCA_mca_base_component_path", "OMPI_MCA_mca_base_env_list", "OMPI_MCA_mca_base_param_files"),
        *("OMPI_MCA_mca_base_envar_file_prefix", "OMPI_MCA_orte_fork_agent", "OMPI_MCA_mpi_show_mca_params_file"),
        *("PRTE_MCA_plm_ssh_agent", "PRTE_MCA_prte_fork_agent", "PMIX_MCA_mca_base_component_path", "PMIX_PREFIX"),
        *("UCX_MODULE_DIR", "UCX_GDB_COMMAND", "UCX_CONFIG_DIR", "UCX_ERROR_MAIL_TO", "UCX_LOG_FILE"),
        *("UCC_COMPONENT_PATH", "FI_PROVIDER_PATH", "HWLOC_PLUGINS_PATH", "PSP_PLUGINDIR", "CUDA_INJECTION64_PATH"),
        *("ROCP_TOOL_LIBRARIES", "HSA_TOOLS_LIB", "NCCL_NET_PLUGIN", "OMP_TOOL_LIBRARIES", "SLURM_TASK_PROLOG"),
        *("SLOWPATH_ENGINE", "SLOWPATH_CUDA_DRIVER", "SLOWPATH_HIP_DRIVER", "CUDA_HOME"),
    ],
)
def test_known_ways_to_load_code(name: str) -> None:
    assert reader_of(name) is not None


@pytest.mark.parametrize(
    ("value", "refused"), [("/x", True), ("x/y", True), ("~", True), (".", True), ("sm,^tcp", False)]
)
def test_a_value_that_names_a_file_is_refused_under_any_name(value: str, refused: bool) -> None:
    assert (why_code("A_VARIABLE_OF_NOBODY", value) is not None) is refused
