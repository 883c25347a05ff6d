# SPDX-License-Identifier: Apache-2.0
"""The list of the user's own settings: what is on it, what can't be taken away, and the environment without some."""

from __future__ import annotations

import pytest

from slowpath.mpi.own_settings import (
    NO_FILES,
    ParameterFile,
    own_settings,
    removable,
    unset_in_ranks,
    without,
)

HOME_FILE = "/home/me/.openmpi/mca-params.conf"


def test_what_no_table_knows_is_on_the_list_and_what_is_not_a_setting_is_not() -> None:
    environ = {"UCX_NEW_THING": "7", "MPIR_CVAR_X": "1", "PATH": "/bin", "EDITOR": "vi", "OMP_NUM_THREADS": "2"}
    found = own_settings(environ)
    assert [(one.name, one.value, one.where) for one in found] == [
        ("MPIR_CVAR_X", "1", "your environment"),
        ("UCX_NEW_THING", "7", "your environment"),
    ]
    assert removable(found) == found


@pytest.mark.parametrize(
    "name",
    [
        *("MPICH_X", "MPIR_PARAM_X", "OMPI_MCA_btl", "I_MPI_FABRICS", "MV2_X", "FI_PROVIDER", "PSM3_X", "NCCL_DEBUG"),
        *(
            "CUDA_LAUNCH_BLOCKING",
            "HSA_ENABLE_SDMA",
            "HIP_X",
            "GDRCOPY_ENABLE_LOGGING",
            "MALLOC_ARENA_MAX",
            "GLIBC_TUNABLES",
        ),
        *("UCX_CONFIG_DIR", "MLX5_SINGLE_THREADED", "UCX_TLS"),
    ],
)
def test_it_can_be_taken_away(name: str) -> None:
    assert [one.name for one in removable(own_settings({name: "1"}))] == [name]


@pytest.mark.parametrize(
    "name",
    [
        *("PMI_RANK", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_SIZE", "OPAL_PREFIX", "HYDRA_LAUNCHER", "SLURM_MPI_TYPE"),
        *("I_MPI_ROOT", "I_MPI_HYDRA_BOOTSTRAP", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "FI_PROVIDER_PATH"),
        *("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_MCA_plm_rsh_agent", "CUDA_VERSION", "PMIX_MCA_gds", "UCX_MODULE_DIR"),
    ],
)
def test_what_a_launch_needs_is_left_in_with_the_reason(name: str) -> None:
    found = own_settings({name: "1"})
    assert [one.name for one in found] == [name]
    assert found[0].left_in
    assert not removable(found)


def test_what_this_mpi_needs_is_left_in() -> None:
    found = own_settings({"OMPI_MCA_pml": "ucx"}, needed=["OMPI_MCA_pml"])
    assert found[0].left_in == "this MPI does not start here without it"


def test_lines_of_a_file_are_settings_with_their_place() -> None:
    text = "# comment\n\nbtl_sm_eager_limit = 1234\n btl=self,tcp \nno setting here\n"
    found = own_settings({}, files=[ParameterFile(HOME_FILE, text, "OMPI_MCA_")])
    assert [(one.name, one.value, one.line) for one in found] == [
        ("OMPI_MCA_btl_sm_eager_limit", "1234", 3),
        ("OMPI_MCA_btl", "self,tcp", 4),
    ]
    assert found[1].words == f"OMPI_MCA_btl=self,tcp (line 4 of {HOME_FILE})"
    one, other = found
    assert without(found, [other]).variables == {"OMPI_MCA_btl_sm_eager_limit": "1234", **NO_FILES}
    bare = without(found, [one, other])
    assert (bare.unset, bare.variables) == (("OMPI_MCA_btl_sm_eager_limit", "OMPI_MCA_btl"), NO_FILES)
    assert unset_in_ranks("openmpi", bare.unset, bare.variables) == bare.unset


def test_a_variable_of_another_library_is_never_taken_away() -> None:
    environ = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", "MPIR_CVAR_CH4_CMA_ENABLE": "0"}
    found = own_settings(environ, library="mpich")
    assert [one.name for one in removable(found)] == ["MPIR_CVAR_CH4_CMA_ENABLE"]
    assert found[1].left_in == "Open MPI reads it, and this is MPICH"
    assert [one.name for one in removable(own_settings(environ, library="openmpi"))] == [
        "MPIR_CVAR_CH4_CMA_ENABLE",
        "OMPI_MCA_btl_vader_single_copy_mechanism",
    ]
