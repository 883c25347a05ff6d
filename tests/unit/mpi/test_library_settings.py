# SPDX-License-Identifier: Apache-2.0
"""Settings of libraries and of the user: rows, what is read, what is idle."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from slowpath.core.files import data_folder
from slowpath.core.results import MessagePath
from slowpath.mpi.launchers import LAUNCHERS
from slowpath.mpi.message_path import Layer
from slowpath.mpi.mpi import Mpi, as_library_is, quick_start, settings_of
from slowpath.mpi.own_settings import (
    NO_FILES,
    OwnSetting,
    ParameterFile,
    Value,
    chooses_code,
    is_idle,
    layer_of,
    own_settings,
    removable,
    unset_in_ranks,
    unused_by_ucx,
    why_ignored,
    without,
)
from slowpath.mpi.settings import SETTINGS, SWITCHES, TUNINGS
from slowpath.slowpaths.registry import REMEDIES

HOME_FILE = "/home/me/.openmpi/mca-params.conf"


def test_what_no_table_knows_is_on_the_list_and_what_is_not_a_setting_is_not() -> None:
    environ = {"UCX_NEW_THING": "7", "MPIR_CVAR_X": "1", "PATH": "/bin", "EDITOR": "vi", "OMP_NUM_THREADS": "2"}
    settings = own_settings(environ)
    assert [(setting.name, setting.value, setting.where) for setting in settings] == [
        ("MPIR_CVAR_X", "1", "your environment"),
        ("UCX_NEW_THING", "7", "your environment"),
    ]
    assert removable(settings) == settings


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
    assert [setting.name for setting in removable(own_settings({name: "1"}))] == [name]


@pytest.mark.parametrize(
    "name",
    [
        *("PMI_RANK", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_SIZE", "OPAL_PREFIX", "HYDRA_LAUNCHER", "SLURM_MPI_TYPE"),
        *("I_MPI_ROOT", "I_MPI_HYDRA_BOOTSTRAP", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "FI_PROVIDER_PATH"),
        *("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_MCA_plm_rsh_agent", "CUDA_VERSION", "PMIX_MCA_gds", "UCX_MODULE_DIR"),
    ],
)
def test_what_a_launch_needs_is_left_in_with_the_reason(name: str) -> None:
    settings = own_settings({name: "1"})
    assert [setting.name for setting in settings] == [name]
    assert settings[0].left_in
    assert not removable(settings)


def test_what_this_mpi_needs_is_left_in() -> None:
    settings = own_settings({"OMPI_MCA_pml": "ucx"}, needed=["OMPI_MCA_pml"])
    assert settings[0].left_in == "this MPI does not start here without it"


def test_lines_of_a_file_are_settings_with_their_place() -> None:
    text = "# comment\n\nbtl_sm_eager_limit = 1234\n btl=self,tcp \nno setting here\n"
    settings = own_settings({}, files=[ParameterFile(HOME_FILE, text, "OMPI_MCA_")])
    assert [(setting.name, setting.value, setting.line) for setting in settings] == [
        ("OMPI_MCA_btl_sm_eager_limit", "1234", 3),
        ("OMPI_MCA_btl", "self,tcp", 4),
    ]
    assert settings[1].words == f"OMPI_MCA_btl=self,tcp (line 4 of {HOME_FILE})"
    first, other = settings
    assert without(settings, [other]).variables == {"OMPI_MCA_btl_sm_eager_limit": "1234", **NO_FILES}
    bare = without(settings, [first, other])
    assert (bare.unset, bare.variables) == (("OMPI_MCA_btl_sm_eager_limit", "OMPI_MCA_btl"), NO_FILES)
    assert unset_in_ranks("openmpi", bare.unset, bare.variables) == bare.unset


def test_a_variable_of_another_library_is_never_taken_away() -> None:
    environ = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", "MPIR_CVAR_CH4_CMA_ENABLE": "0"}
    settings = own_settings(environ, library="mpich")
    assert [setting.name for setting in removable(settings)] == ["MPIR_CVAR_CH4_CMA_ENABLE"]
    assert settings[1].left_in == "only Open MPI reads it, and this is MPICH"
    (own,) = removable(own_settings(environ, library="openmpi"))
    assert own.name == "OMPI_MCA_btl_vader_single_copy_mechanism"
    assert len(removable(own_settings({"MPIR_CVAR_CH4_CMA_ENABLE": "0"}, library="intelmpi"))) == 1  # made from MPICH


@pytest.mark.parametrize(("holds", "is_suspect"), [("libnccl.so.2", True), ("libucc.so.1", True), ("libucp.so", False)])
def test_what_nccl_reads_is_a_suspect_only_where_mpi_may_load_it(tmp_path: Path, holds: str, is_suspect: bool) -> None:
    (tmp_path / "lib" / "openmpi").mkdir(parents=True)
    (tmp_path / "lib" / "openmpi" / "mca_gone.so").symlink_to("nowhere")
    (tmp_path / "lib" / "libmpi.so.40").write_text(holds)
    mpi = Mpi("openmpi", "5.0.11", "option", tmp_path, tmp_path, None, "openmpi", False, "prterun", "")
    left = removable(settings_of(mpi, {"NCCL_NVLS_ENABLE": "0", "UCX_CUDA_IPC_CACHE": "n"}))
    assert [setting.name for setting in left] == ["NCCL_NVLS_ENABLE"] * is_suspect + ["UCX_CUDA_IPC_CACHE"]


# Settings that a library ignores: said where it is known, and nothing where it is not.


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
        ("MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD", "65536", "not applied: the library reports 8192"),
        ("MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD", "8192", None),
        ("MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD", "8k", None),
        ("MPIR_CVAR_CH4_CMA_ENABLE", "no", "not applied: the library reports 1"),
        ("MPIR_CVAR_CH4_CMA_ENABLE", "Yes", None),
        ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "ring", None),
    ],
)
def test_what_is_read_back_as_something_else(name: str, value: str, text: str | None) -> None:
    assert why(name, value) == text


# Settings of a layer that carries no message: named only where every path is known to be another layer's.


def path(layer: Layer | None) -> MessagePath:
    return MessagePath(
        environment="default",
        scope="on_node",
        pairs=None,
        layer=layer,
        module=None,
        transport=None,
        devices=[],
        single_copy=None,
        reason=None,
    )


def test_only_variables_that_steer_messages_are_of_a_layer() -> None:
    assert (layer_of("UCX_NET_DEVICES"), layer_of("FI_PROVIDER")) == ("ucx", "ofi")
    names = ("UCX_LOG_LEVEL", "UCX_MEM_MMAP_HOOK_MODE", "FI_LOG_LEVEL", "OMPI_MCA_btl", "UCXX", "UCX_PROTO_INFO")
    assert [name for name in names if layer_of(name)] == []


def test_a_layer_is_idle_only_where_all_paths_are_known() -> None:
    assert is_idle("ucx", [path("library")])
    assert not is_idle("ucx", [])
    assert not is_idle("ucx", [path("library"), path(None)])
    assert not is_idle("ucx", [path("library"), path("ucx")])
    assert is_idle("ofi", [path("library"), path("ucx")])
    assert not is_idle("ucx", [path("ofi")]), "a provider of libfabric may go through UCX"


# Which variables choose what is run: those of the table, and none that this program sets by itself.


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
    reasons = dict(own())
    assert len(reasons) > 20
    assert [name for name, value in reasons.items() if chooses_code(name, value)] == []


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
    assert chooses_code(name, "1")


@pytest.mark.parametrize(
    ("value", "refused"), [("/x", True), ("x/y", True), ("~", True), (".", True), ("sm,^tcp", False)]
)
def test_a_value_that_names_a_file_is_refused_under_any_name(value: str, refused: bool) -> None:
    assert chooses_code("A_VARIABLE_OF_NOBODY", value) is refused


LEFT_OUT = {"OMPI_MCA_btl": "^ofi"}


@pytest.fixture
def bare(tmp_path: Path) -> tuple[Path, ...]:
    """Folders of fabrics of a node that has none."""
    (tmp_path / "infiniband").mkdir()
    return tmp_path / "infiniband", tmp_path / "cxi"


def test_without_a_fabric_it_is_left_out(tmp_path: Path, bare: tuple[Path, ...]) -> None:
    assert quick_start("openmpi", "prterun", tmp_path, {}, bare) == LEFT_OUT
    assert quick_start("openmpi", "orterun", tmp_path, {"HOME": str(tmp_path)}, bare) == LEFT_OUT


@pytest.mark.parametrize("place", ["etc/openmpi-mca-params.conf", ".openmpi/mca-params.conf"])
@pytest.mark.parametrize(
    ("line", "chosen"), [("btl = self,tcp", True), ("btl_tcp_if_include = eth0", False), ("# btl = x", False)]
)
def test_a_parameter_file_that_names_btls_is_obeyed(
    tmp_path: Path, bare: tuple[Path, ...], place: str, line: str, chosen: bool
) -> None:
    file = tmp_path / place
    file.parent.mkdir()
    file.write_text(f"pml = ob1\n{line}\n")
    assert quick_start("openmpi", "prterun", tmp_path, {"HOME": str(tmp_path)}, bare) == ({} if chosen else LEFT_OUT)


def test_as_the_library_is_nothing_starts_it_quickly_and_what_else_it_needs_stays() -> None:
    needed = {"OPAL_PREFIX": "/opt/openmpi"}
    mpi = Mpi(
        "openmpi", "5.0.11", "option", Path("/opt"), Path("/opt/bin/mpiexec"), None, "openmpi", False, "prterun", ""
    )
    assert as_library_is(replace(mpi, env={**needed, **LEFT_OUT})).env == needed
    own = replace(mpi, env={**needed, "OMPI_MCA_btl": "self,sm"})
    assert as_library_is(own) is own
