# SPDX-License-Identifier: Apache-2.0
"""The list of the user's own settings: what is on it, what can't be taken away, and the environment without some."""

from __future__ import annotations

import pytest

from slowpath.mpi.own_settings import (
    NO_FILES,
    OwnSetting,
    ParameterFile,
    own_settings,
    removable,
    unset_in_ranks,
    why_code,
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


def test_a_value_that_is_not_recorded_is_not_on_the_list() -> None:
    (found,) = own_settings({"NCCL_SOMETHING": "hidden words of mine"})
    assert (found.value, found.words) == (None, "NCCL_SOMETHING")
    assert found.why_no_value


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


def test_variables_alone_leave_files_as_they_are() -> None:
    found = own_settings({"OMPI_MCA_pml": "ob1", "UCX_TLS": "tcp"})
    bare = without(found, found[:1])
    assert (bare.unset, bare.variables) == (("OMPI_MCA_pml",), {})
    assert unset_in_ranks("openmpi", bare.unset, bare.variables) == ()
    assert unset_in_ranks("mpich", bare.unset, NO_FILES) == ()


def test_of_one_parameter_the_first_place_counts() -> None:
    files = [ParameterFile(path, "btl = self,tcp\npml = ob1\n", "OMPI_MCA_") for path in ("/a", "/b")]
    found = own_settings({"OMPI_MCA_pml": "cm"}, files=files)
    assert [(one.name, one.where) for one in removable(found)] == [
        ("OMPI_MCA_pml", "your environment"),
        ("OMPI_MCA_btl", "line 1 of /a"),
    ]
    assert [one.left_in for one in found if one.left_in] == [
        "your environment overrides it",
        "line 1 of /a overrides it",
        "your environment overrides it",
    ]


def test_a_line_that_has_to_stay_keeps_its_file() -> None:
    """All lines are given as variables in its place, and this one can't be."""
    text = "btl = self,tcp\nmca_base_component_path = /tmp/mine\n"
    found = own_settings({}, files=[ParameterFile("/a", text, "OMPI_MCA_")])
    assert not removable(found)
    assert "line 2 of the file can't be left out" in (found[0].left_in or "")


def test_to_read_no_file_is_no_choice_of_code() -> None:
    assert [why_code(name, value) for name, value in NO_FILES.items()] == [None]
    assert why_code("OMPI_MCA_mca_base_param_files", "/tmp/mine")


def test_a_line_in_words() -> None:
    assert OwnSetting("A", "1").words == "A=1"


def test_a_variable_of_another_library_is_never_taken_away() -> None:
    environ = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", "MPIR_CVAR_CH4_CMA_ENABLE": "0"}
    found = own_settings(environ, library="mpich")
    assert [one.name for one in removable(found)] == ["MPIR_CVAR_CH4_CMA_ENABLE"]
    assert found[1].left_in == "Open MPI reads it, and this is MPICH"
    assert [one.name for one in removable(own_settings(environ, library="openmpi"))] == [
        "MPIR_CVAR_CH4_CMA_ENABLE",
        "OMPI_MCA_btl_vader_single_copy_mechanism",
    ]


def test_variables_of_collectives_between_gpus_stay_in_where_no_gpu_memory_is_measured() -> None:
    """SP035 blamed NCCL_NVLS_ENABLE for messages of MPICH between memory of the host (docs/results/plants.md)."""
    environ = {"NCCL_NVLS_ENABLE": "0", "RCCL_MSCCL_ENABLE": "1", "UCX_TLS": "tcp"}
    with_none = own_settings(environ, library="mpich", has_gpus=False)
    assert [one.name for one in removable(with_none)] == ["UCX_TLS"]
    assert {one.left_in for one in with_none if one.name != "UCX_TLS"} == {
        "a library for GPU memory reads it, but no GPU memory is measured here"
    }
    assert [one.name for one in removable(own_settings(environ, library="mpich"))] == sorted(environ)
