# SPDX-License-Identifier: Apache-2.0
"""Installed and loaded MPIs, and their headers."""

from __future__ import annotations

import itertools
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.doctor import registry
from slowpath.doctor.gpu import variables_without_ipc
from slowpath.mpi import find
from slowpath.mpi.batch_systems import BATCH_SYSTEMS, NodeAllocation, expand_hostlist, find_allocation, names_in_file
from slowpath.mpi.find import find_all, find_mpi
from slowpath.mpi.launchers import binding_line, identify, launcher_named, link_folders
from slowpath.mpi.libraries import abi_of, abi_of_soname, named_in
from slowpath.mpi.mpi import needed_variables
from slowpath.mpi.place import SYSTEM, processor_groups
from slowpath.mpi.settings import resolve, switches_of
from slowpath.run.engine.build import require_headers

VERSIONS = {
    "mpich": "HYDRA build details:\n    Version:                                 5.0.2\n    Release Date:  x\n",
    "openmpi": "mpiexec (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/\n",
    "openmpi4": "mpirun (Open MPI) 4.1.4\n",
    "openrte4": "mpiexec (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
    "intelmpi": "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)\nCopyright\n",
    "slurm": "slurm 22.05.8\n",
    "slurm-wlm": "slurm-wlm 22.05.8\n",
    "flux": "commands:    \t\t0.63.0\nlibflux-core:\t\t0.63.0\nFLUX_URI:\t\tlocal:///run/flux/local\n",
    "aprun": "aprun (ALPS) 6.6.59\n",
    "pals": "mpiexec version 1.8.0 revision 0a1b2c\n",
    "osc": "Version 0.84, configure options: --prefix=/x\n",
    "odd": "some launcher 3\n",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mpich", ("mpich", "5.0.2", "hydra")),
        ("openmpi", ("openmpi", "5.0.11", "prterun")),
        ("openmpi4", ("openmpi", "4.1.4", "orterun")),
        ("openrte4", ("openmpi", "4.1.4", "orterun")),
        ("intelmpi", ("intelmpi", "2021.18.1", "hydra-intel")),
        ("slurm", ("unknown", None, "srun")),
        ("flux", ("unknown", None, "flux")),  # flux-version(1)
        ("aprun", ("unknown", None, "aprun")),
        ("pals", ("unknown", None, "pals")),  # as E3SM's mache tells it
        ("osc", ("unknown", None, "mpiexec")),  # another mpiexec for PBS, which takes none of those options
        ("odd", ("unknown", None, "mpiexec")),
    ],
)
def test_identify(text: str, expected: tuple[str, str | None, str]) -> None:
    launcher = identify(VERSIONS[text])
    assert (launcher.name, launcher.version, launcher.launcher) == expected


def test_link_folders_of_both_spellings() -> None:
    mpich = "c++ -I/m/include -L/m/lib -Wl,-rpath -Wl,/m/lib -Wl,--enable-new-dtags -lmpi"
    intel = 'g++ -I"/i/include" -L"/i/lib/release" -L"/i/lib" -Xlinker -rpath -Xlinker "/i/lib/release" -lmpi'
    assert link_folders(mpich) == ["/m/lib"]
    assert link_folders(intel) == ["/i/lib/release", "/i/lib"]


def test_abi_by_the_library_that_programs_link() -> None:
    assert abi_of(["libmpi.so", "libmpi.so.12"], "mpich") == "mpich"
    assert abi_of(["libmpi.so.40"], "unknown") == "openmpi"
    assert abi_of([], "intelmpi") == "mpich"
    assert abi_of([], "unknown") == "unknown"


def install(prefix: Path, version: str, wrapper: bool = True, name: str = "mpiexec") -> Path:
    """A launcher that prints `version`, and a compiler wrapper beside it."""
    (prefix / "bin").mkdir(parents=True, exist_ok=True)
    launcher = prefix / "bin" / name
    launcher.write_text(f"#!/bin/sh\n/bin/cat <<'END'\n{version}END\n")
    launcher.chmod(0o755)
    if wrapper:
        (prefix / "bin" / "mpicxx").write_text(f"#!/bin/sh\necho c++ -L{prefix}/lib -lmpi\n")
        (prefix / "bin" / "mpicxx").chmod(0o755)
    return launcher


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """MPIs in folders of their own; the embedded one is elsewhere and empty until a test fills it."""
    embedded = tmp_path / "python"
    (embedded / "bin").mkdir(parents=True)
    monkeypatch.setattr(find, "embedded_folders", lambda: [embedded / "bin"])
    monkeypatch.setattr(find, "WELL_KNOWN", ())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(find, "_is_packaged", lambda: True)
    folders = {name: tmp_path / name for name in ("mpich", "openmpi", "intelmpi")}
    for name, prefix in folders.items():
        install(prefix, VERSIONS[name])
    return {**folders, "python": embedded}


def path_of(*prefixes: Path) -> dict[str, str]:
    return {"PATH": ":".join(str(prefix / "bin") for prefix in prefixes) + ":/usr/bin:/bin"}


def without_system(environ: Mapping[str, str]) -> dict[str, str]:
    """No /usr/bin, where a system MPI may lie."""
    return {"PATH": environ["PATH"].removesuffix(":/usr/bin:/bin")}


def test_variable_before_path_and_option_before_both(places: dict[str, Path]) -> None:
    environ = {**path_of(places["mpich"]), "SLOWPATH_MPI": str(places["openmpi"])}
    assert (find_mpi(None, environ).name, find_mpi(None, environ).source) == ("openmpi", "environment")
    mpi = find_mpi(str(places["intelmpi"] / "bin" / "mpiexec"), environ)
    assert (mpi.name, mpi.source) == ("intelmpi", "option")


def test_by_name(places: dict[str, Path]) -> None:
    environ = path_of(places["mpich"], places["openmpi"], places["intelmpi"])
    installed = ["mpich", "openmpi", "intelmpi"]
    assert [find_mpi(name, environ).name for name in installed] == installed
    with pytest.raises(EnvironmentFailure, match="--mpi openmpi: no such MPI here"):
        find_mpi("openmpi", without_system(path_of(places["mpich"])))


def test_the_first_on_the_path_is_taken_an_environments_own_included(places: dict[str, Path]) -> None:
    install(places["python"], VERSIONS["mpich"])
    activated = find_mpi(None, path_of(places["python"], places["openmpi"]))
    assert (activated.name, activated.source) == ("mpich", "embedded")
    loaded_later = find_mpi(None, path_of(places["openmpi"], places["python"]))
    assert (loaded_later.name, loaded_later.source) == ("openmpi", "PATH")
    assert find_mpi(None, path_of(places["openmpi"])).name == "openmpi"  # the environment is not activated
    assert find_mpi(None, without_system(path_of(places["python"]))).source == "embedded"
    assert find_mpi(None, {"PATH": ""}).source == "embedded"
    assert find_mpi("embedded", path_of(places["openmpi"])).name == "mpich"


def test_nothing_found_says_what_to_do(places: dict[str, Path]) -> None:
    with pytest.raises(EnvironmentFailure, match=r"pip install 'slowpath\[mpich\]'"):
        find_mpi(None, {"PATH": ""})
    with pytest.raises(EnvironmentFailure, match=r"pip install 'slowpath\[mpich\]'"):
        find_mpi("embedded", {"PATH": ""})


@pytest.mark.parametrize(
    ("given", "said"), [("mpch", "did you mean mpich"), ("/nowhere/mpiexec", "no such MPI here; name its mpiexec")]
)
def test_wrong_option(places: dict[str, Path], given: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        find_mpi(given, {"PATH": ""})


def test_the_launcher_of_the_allocation_counts_where_there_is_no_mpiexec(
    tmp_path: Path, places: dict[str, Path]
) -> None:
    """A Spectrum MPI's wrapper on the PATH and jsrun beside it, inside an LSF job."""
    (places["mpich"] / "bin" / "mpiexec").unlink()
    install(tmp_path / "jsm", "usage\n", wrapper=False, name="jsrun")
    environ = without_system(path_of(tmp_path / "jsm", places["mpich"])) | {
        "LSB_JOBID": "7",
        "LSB_MCPU_HOSTS": "b 1 a 40",
    }
    assert find_mpi(None, environ).launcher == "jsrun"
    with pytest.raises(EnvironmentFailure, match="no MPI found"):
        find_mpi(None, {"PATH": environ["PATH"]})


def test_launcher_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = install(tmp_path / "slow", VERSIONS["mpich"])
    launcher.write_text("#!/bin/sh\nexec sleep 1000\n")
    monkeypatch.setattr("slowpath.mpi.probe.output_of.__defaults__", (0.2,))
    assert find_mpi(str(launcher), {"PATH": "/usr/bin:/bin"}).name == "unknown"


def test_needed_variables() -> None:
    prefix = Path("/i")
    intel = needed_variables("intelmpi", prefix, {"LD_LIBRARY_PATH": "/x"}, uid=1000)
    assert intel == {"I_MPI_ROOT": "/i", "LD_LIBRARY_PATH": "/i/lib:/x"}
    assert needed_variables("intelmpi", prefix, intel, uid=1000) == {}
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    assert needed_variables("openmpi", prefix, {}, uid=0) == root
    assert needed_variables("openmpi", prefix, {}, uid=1000) == {}
    assert needed_variables("mpich", prefix, {}, uid=0) == {}


# An MPI that can run programs and compile none is the user's all the same: no other is measured in its place.


OPEN_MPI, MPICH = "mpiexec (OpenRTE) 4.1.4", "HYDRA build details:\n    Version: 5.0.2"


def install_of_mpi_headers(prefix: Path, version: str, has_header: bool) -> Path:
    """As a package leaves it: launcher, wrapper, and headers if the development package is there."""
    (prefix / "bin").mkdir(parents=True)
    (prefix / "include").mkdir()
    for name, text in (("mpiexec", f"cat <<'END'\n{version}\nEND"), ("mpicxx", f"echo c++ -I{prefix}/include -lmpi")):
        (prefix / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (prefix / "bin" / name).chmod(0o755)
    if has_header:
        (prefix / "include" / "mpi.h").touch()
    return prefix


@pytest.fixture(autouse=True)
def nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "embedded_folders", lambda: [tmp_path / "python" / "bin"])
    monkeypatch.setattr(find, "WELL_KNOWN", ())
    monkeypatch.setattr("slowpath.mpi.mpi._HEADERS", ())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("SLOWPATH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("SLOWPATH_MPI", raising=False)


def on_path(monkeypatch: pytest.MonkeyPatch, *prefixes: Path) -> None:
    monkeypatch.setenv("PATH", ":".join([*(str(prefix / "bin") for prefix in prefixes), "/usr/bin", "/bin"]))


def test_another_mpi_is_not_measured_in_place_of_one_without_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare, whole = (
        install_of_mpi_headers(tmp_path / "ompi", OPEN_MPI, False),
        install_of_mpi_headers(tmp_path / "mpich", MPICH, True),
    )
    on_path(monkeypatch, bare, whole)
    taken = find_mpi(None)
    assert taken.prefix == bare
    with pytest.raises(EnvironmentFailure, match=r"no mpi\.h; install it: apt-get .*libopenmpi-dev .*--mpi"):
        require_headers(taken)
    assert registry.engine().status == "missing"
    assert find_mpi(str(whole)).lacks is None


def test_one_with_headers_is_the_first_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (
        install_of_mpi_headers(tmp_path / "ompi", OPEN_MPI, True),
        install_of_mpi_headers(tmp_path / "mpich", MPICH, True),
    )
    on_path(monkeypatch, first, second)
    assert (find_mpi(None).prefix, find_mpi(None).doubt) == (first, "")
    assert registry.launcher().status == "ok"


# Groups of processors, from a made-up node.


def node(folder: Path) -> Path:
    """Two sockets of one NUMA node each, two core groups a socket, one core of two threads in each group."""
    for cpu in range(8):
        core, group, socket = cpu % 4, cpu % 4, (cpu % 4) // 2
        processor = folder / f"cpu{cpu}"
        for index, (level, shared) in enumerate([(1, f"{core},{core + 4}"), (3, f"{group},{group + 4}")]):
            (processor / f"cache/index{index}").mkdir(parents=True)
            (processor / f"cache/index{index}/level").write_text(f"{level}\n")
            (processor / f"cache/index{index}/shared_cpu_list").write_text(f"{shared}\n")
        (processor / "topology").mkdir()
        (processor / "topology/thread_siblings_list").write_text(f"{core},{core + 4}\n")
        (processor / "topology/package_cpus_list").write_text("0-1,4-5\n" if socket == 0 else "2-3,6-7\n")
        (processor / f"node{socket}").mkdir()
    return folder


def test_groups(tmp_path: Path) -> None:
    groups = processor_groups(range(8), node(tmp_path))
    assert groups["core"] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert groups["core_group"] == groups["core"]
    assert groups["socket"] == groups["numa"] == [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_this_machine() -> None:
    """Each processor that this process may use is in one group of each level that the kernel tells."""
    mine = sorted(os.sched_getaffinity(0))
    is_stated = all((SYSTEM / f"cpu{cpu}" / "topology" / "thread_siblings_list").exists() for cpu in mine)
    groups = processor_groups()
    assert ("core" in groups) == is_stated
    for level, parts in groups.items():
        assert sorted(itertools.chain(*parts)) == mine, level


# Which allocation an environment stands for.


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("n1", ["n1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10,2],login", ["n08", "n09", "n10", "n2", "login"]),
        ("r[1-2]n[1-2]-ib", ["r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"]),
    ],
)
def test_host_lists(text: str, names: list[str]) -> None:
    assert expand_hostlist(text) == names


def test_host_files() -> None:
    assert names_in_file(["# all", "n1:2", "n2 slots=1", "", "n2", "n3 # last"]) == ["n1", "n2", "n3"]
    assert names_in_file(["127.0.0.1:2", "n1", "localhost", "127.0.1.1", platform.node()]) == ["127.0.0.1", "n1"]


def test_slurm() -> None:
    environ = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_NUM_NODES": "2"}
    assert find_allocation(environ) == NodeAllocation("slurm", "7", 2, ("n1", "n2"), "srun")


def test_pbs(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("a\na\nb\nb\n")
    nodes = find_allocation({"PBS_JOBID": "7.server", "PBS_NODEFILE": str(tmp_path / "nodes")})
    assert nodes == NodeAllocation("pbs", "7.server", 2, ("a", "b"), "aprun")
    with pytest.raises(EnvironmentFailure, match="start slowpath on a node of the job"):
        find_allocation({"PBS_JOBID": "7", "PBS_NODEFILE": str(tmp_path / "gone")})


@pytest.mark.parametrize(
    ("hosts", "names"),
    [
        ("a 40 b 40", ("a", "b")),
        ("batch1 1 a 40 b 40", ("a", "b")),  # for jsrun, from a launch node (Summit user guide, OLCF)
        ("batch1 1 a 40", ("a",)),
        ("a 1", ("a",)),
        ("a 1 b 1 c 2", ("a", "b", "c")),  # of slots wherever they were free (bsub -n 4): all of them hold ranks
        ("a 1 b 2 c 4", ("a", "b", "c")),
    ],
)
def test_lsf_leaves_the_launch_node_out(hosts: str, names: tuple[str, ...]) -> None:
    """LSB_MCPU_HOSTS: IBM Spectrum LSF 10.1, "Environment variables set for job execution"."""
    nodes = find_allocation({"LSB_JOBID": "7", "LSB_MCPU_HOSTS": hosts, "LSB_HOSTS": "ignored"})
    assert nodes == NodeAllocation("lsf", "7", len(names), names, "jsrun")


def test_a_task_of_flux_inside_slurm_is_flux() -> None:
    environ = {"FLUX_URI": "local:///x", "FLUX_JOB_NNODES": "3", "FLUX_JOB_ID": "f2", "SLURM_JOB_ID": "7"}
    assert find_allocation(environ) == NodeAllocation("flux", "f2", 3, (), "flux")


def test_grid_engine(tmp_path: Path) -> None:
    """qsub(1): JOB_ID, NHOSTS, PE_HOSTFILE; sge_pe(5): a line for each host and queue."""
    (tmp_path / "hosts").write_text("a.site 8 all.q@a.site UNDEFINED\nb.site 8 all.q@b.site UNDEFINED\n")
    job = {"JOB_ID": "7", "SGE_TASK_ID": "undefined"}
    assert find_allocation(job) == NodeAllocation("grid engine", "7", 1)
    assert find_allocation({**job, "NHOSTS": "2"}) == NodeAllocation("grid engine", "7", 2)
    nodes = find_allocation({**job, "PE_HOSTFILE": str(tmp_path / "hosts")})
    assert nodes == NodeAllocation("grid engine", "7", 2, ("a.site", "b.site"))
    assert find_allocation({"JOB_ID": "7"}) is None


@pytest.mark.parametrize("size", ["COBALT_JOBSIZE", "COBALT_PARTSIZE"])
def test_cobalt(size: str, tmp_path: Path) -> None:
    """ALCF, "Running Jobs on XC40"."""
    assert find_allocation({"COBALT_JOBID": "7", size: "128"}) == NodeAllocation("cobalt", "7", 128, (), "aprun")
    (tmp_path / "nodes").write_text("cc001\ncc002\n")
    nodes = find_allocation({"COBALT_JOBID": "7", size: "9", "COBALT_NODEFILE": str(tmp_path / "nodes")})
    assert nodes == NodeAllocation("cobalt", "7", 2, ("cc001", "cc002"), "aprun")


def test_the_launcher_of_every_batch_system_is_known() -> None:
    for system in BATCH_SYSTEMS:
        assert system.launcher is None or launcher_named(system.launcher).batch


CRAY_8 = "MPI VERSION    : CRAY MPICH version 8.1.29.26 (ANL base 3.4a2)\nMPI BUILD INFO : Wed Mar 06  9:40 2024\n"
CRAY_9 = "MPI VERSION    : CRAY MPICH version 9.0.1.498 (ANL base 4.1.2)\nMPI BUILD INFO : Wed Jul 16  9:39 2025\n"
MVAPICH = "MVAPICH2 Version      :\t2.3.6\nMVAPICH2 Release date :\tMon March 29 22:00:00 EST 2021\n"
HYDRA = "HYDRA build details:\n    Version:                                 3.2.1\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CRAY_8, ("craympich", "8.1.29")),
        (CRAY_9, ("craympich", "9.0.1")),
        ("MPI VERSION    : CRAY MPICH version 7.7.14 (ANL base 3.2)\n", ("craympich", "7.7.14")),
        (MVAPICH, ("mvapich", "2.3.6")),
        ("MVAPICH Version:\t4.0\nMVAPICH Release date:\t02/08/2025\n", ("mvapich", "4.0")),
        (
            "MPICH Version:\t4.1.1\nMPICH Device:\tpsp\nMPICH CC:\tgcc\nMPICH Custom Information:\tpsmpi-5.9.2-1\n",
            ("parastation", "5.9.2"),
        ),
        ("MPICH Version:\t4.1.1\nMPICH Device:\tpsp\nMPICH CC:\tgcc\n", ("parastation", None)),
        ("FUJITSU MPI Library 4.0.0 (4.0.1fj4.0.0)\0", ("fujitsumpi", "4.0.0")),
        (
            "Open MPI v3.1.0, package: IBM Spectrum MPI, ident: 10.03.01.00rtm0, repo rev: "
            "IBM_SPECTRUM_MPI_10.03.01.00_2019.04.02, Apr 02, 2019\n",
            ("spectrummpi", "10.03.01.00"),
        ),
        ("MPICH Version:      5.0.2\nMPICH Device:       ch4:ucx ofi\n", ("mpich", "5.0.2")),
        ("Open MPI v5.0.11, package: Open MPI, ident: 5.0.11\n", ("openmpi", "5.0.11")),
        ("Intel(R) MPI Library 2021.18 for Linux* OS\n", ("intelmpi", "2021.18")),
        ("Some Other MPI 1.0\n", None),
        ("", None),
    ],
)
def test_a_library_by_its_own_words(text: str, expected: tuple[str, str | None] | None) -> None:
    library_and_version = named_in(text)
    assert (library_and_version and (library_and_version[0].name, library_and_version[1])) == expected


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o755)
    return path


class Machine:
    """Programs that print nothing but what is put into `says`: by the name of the program, and for the library."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.prefix = folder / "cray" / "mpich" / "8.1.29" / "ofi" / "gnu" / "12.3"
        (self.prefix / "lib").mkdir(parents=True)
        for name in ("libmpi_gnu_123.so.12", "libmpi_gnu_123.so", "libmpi.so", "libmpi_gtl_cuda.so.0"):
            (self.prefix / "lib" / name).touch()
        executable(folder / "craype" / "CC")
        executable(folder / "slurm" / "srun")
        self.says: dict[str, str] = {
            "srun": "slurm 23.02.7\n",
            "CC": f"-I{self.prefix}/include -L{self.prefix}/lib -Wl,--as-needed,-lmpi_gnu_123,-lmpi_gtl_cuda",
            "library": CRAY_8,
        }
        self.asked: list[str] = []

    @property
    def environ(self) -> dict[str, str]:
        path = [self.folder / "python" / "bin", self.folder / "craype", self.folder / "slurm"]
        return {
            "PATH": ":".join(map(str, path)),
            "CRAY_MPICH_VERSION": "8.1.29",
            "CRAY_MPICH_DIR": str(self.prefix),
            "CRAYPE_VERSION": "2.7.31",
            "PE_ENV": "GNU",
        }

    def ask(self, argv: list[str], environ: Mapping[str, str]) -> str | None:
        if argv[0] == sys.executable:
            self.asked = argv[argv.index("-c") + 2 :]
            return self.says.get("library") if self.asked else ""
        return self.says.get(Path(argv[0]).name)


@pytest.fixture
def cray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """An activated environment with the embedded MPICH comes first on the PATH."""
    for name in ("mpiexec", "mpicxx"):
        executable(tmp_path / "python" / "bin" / name)
    monkeypatch.setattr(find, "embedded_folders", lambda: [tmp_path / "python" / "bin"])
    monkeypatch.setattr(find, "_is_packaged", lambda: True)
    monkeypatch.setattr(find, "WELL_KNOWN", ())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Machine(tmp_path)


def test_the_loaded_cray_mpich_goes_before_the_embedded_one(cray: Machine) -> None:
    mpi = find_mpi(None, cray.environ, cray.ask)
    assert (mpi.identity, mpi.launcher, mpi.source) == ("craympich 8.1.29", "srun", "PATH")
    assert (mpi.prefix, mpi.mpicxx, mpi.abi) == (cray.prefix, cray.folder / "craype" / "CC", "mpich-cray")
    assert mpi.is_compiler
    assert mpi.vendor_line == CRAY_8.splitlines()[0]
    assert cray.asked[0] == "libmpi_gnu_123.so.12"  # by name first: CC leaves the folder to the dynamic linker
    assert not any("gtl" in name for name in cray.asked)
    assert [mpi.source for mpi in find_all(cray.environ, cray.ask)] == ["PATH", "embedded"]
    assert find_mpi("craympich", cray.environ, cray.ask).identity == "craympich 8.1.29"


def test_the_loaded_cray_mpich_goes_before_another_mpiexec_on_the_path(cray: Machine) -> None:
    other = cray.folder / "other" / "bin"
    for name in ("mpiexec", "mpicxx"):
        executable(other / name)
    cray.says["mpiexec"] = "mpiexec (OpenRTE) 4.1.6\n"
    environ = cray.environ | {"PATH": f"{other}:{cray.environ['PATH']}"}
    assert find_mpi(None, environ, cray.ask).identity == "craympich 8.1.29"
    assert [mpi.name for mpi in find_all(environ, cray.ask)][:2] == ["craympich", "openmpi"]
    assert find_mpi(str(other / "mpiexec"), environ, cray.ask).name == "openmpi"
    # The module of the library without its programming environment: mpiexec is what was loaded.
    plain = {key: value for key, value in environ.items() if key not in ("CRAYPE_VERSION", "PE_ENV")}
    assert find_mpi(None, plain, cray.ask).name == "openmpi"
    # Where nothing else starts programs, the other one is all there is.
    (cray.folder / "slurm" / "srun").unlink()
    assert find_mpi(None, environ, cray.ask).name == "openmpi"


def test_the_mpiexec_of_pals_starts_what_cc_links(cray: Machine) -> None:
    executable(cray.folder / "pals" / "bin" / "mpiexec")
    cray.says["mpiexec"] = "mpiexec version 1.2.12 revision 2\n"
    environ = cray.environ | {"PATH": f"{cray.folder / 'pals' / 'bin'}:{cray.environ['PATH']}"}
    mpi = find_mpi(None, environ, cray.ask)
    assert (mpi.identity, mpi.launcher) == ("craympich 8.1.29", "pals")


def test_an_engine_belongs_to_the_modules_that_the_wrapper_links(cray: Machine) -> None:
    plain = find_mpi(None, cray.environ, cray.ask)
    cray.says["CC"] = cray.says["CC"].removesuffix(",-lmpi_gtl_cuda")
    other = find_mpi(None, cray.environ, cray.ask)
    assert plain.build_identity != other.build_identity
    assert plain.identity == other.identity


def test_mvapich_comes_with_the_launcher_of_mpich(tmp_path: Path) -> None:
    mpiexec = executable(tmp_path / "mvapich" / "bin" / "mpiexec")
    executable(mpiexec.with_name("mpicxx"))
    (tmp_path / "mvapich" / "lib").mkdir()
    (tmp_path / "mvapich" / "lib" / "libmpi.so.12").touch()

    def ask(argv: list[str], environ: Mapping[str, str]) -> str | None:
        if argv[0] == sys.executable:
            return MVAPICH
        return HYDRA if argv[1] == "--version" else f"g++ -L{tmp_path}/mvapich/lib -lmpi"

    mpi = find_mpi(str(mpiexec), {"PATH": ""}, ask)
    assert (mpi.identity, mpi.launcher, mpi.abi) == ("mvapich 2.3.6", "hydra", "mpich")


def test_hpcx_is_open_mpi_over_ucx(tmp_path: Path) -> None:
    folder = tmp_path / "hpcx-v2.18.1-gcc-mlnx_ofed-redhat8-cuda12-x86_64" / "ompi"
    mpiexec = executable(folder / "bin" / "mpiexec")
    environ = {"PATH": "", "HPCX_MPI_DIR": str(folder)}
    mpi = find_mpi(str(mpiexec), environ, lambda *_: "mpirun (Open MPI) 4.1.7a1\n")
    assert (mpi.identity, mpi.transport) == ("openmpi 4.1.7a1 + HPC-X 2.18.1", "ucx")
    states = [resolve(name, mpi.name, mpi.version, mpi.transport) for name in ("single_copy_off", "network_path")]
    assert [reason for _, reason in states] == [None, None]
    assert find_mpi(str(mpiexec), {"PATH": ""}, lambda *_: "mpirun (Open MPI) 4.1.7a1\n").transport is None


@pytest.mark.parametrize("version", ["8.1.29", "9.0.1"])
def test_states_as_cray_mpich_spells_them(version: str) -> None:
    assert resolve("single_copy_off", "craympich", version) == ({"MPICH_SMP_SINGLE_COPY_MODE": "NONE"}, None)
    assert resolve("single_copy_cma", "craympich", version) == ({"MPICH_SMP_SINGLE_COPY_MODE": "CMA"}, None)
    assert resolve("network_path", "craympich", version, network=False) == ({"MPICH_NO_LOCAL": "1"}, None)
    assert "MPICH_GPU_IPC_THRESHOLD" in {switch.variable for switch in switches_of("craympich", version)}
    assert not {switch.variable for switch in switches_of("craympich", version)} & {
        switch.variable for switch in switches_of("mpich", "5.0.2")
    }
    assert variables_without_ipc("craympich", None, {}) == ({"MPICH_GPU_IPC_ENABLED": "0"}, None)


def test_binary_interfaces_by_soname() -> None:
    names = ("libmpi_gnu_123.so.12", "libmpi_cray.so.12", "libmpi_nvidia.so.12", "libmpi_amd.so.12")
    assert {abi_of_soname(name) for name in names} == {"mpich-cray"}
    assert abi_of_soname("libmpi.so.12") == "mpich"
    assert abi_of_soname("libmpi_gtl_cuda.so.0") is None
    assert abi_of_soname("libmpi_abi.so.1") is None


def test_binding_is_that_of_the_launcher_that_starts_the_library() -> None:
    assert binding_line("craympich", "core") == "srun --cpu-bind=cores"
    assert binding_line("mvapich", "core") == "mpiexec -bind-to core"
    assert binding_line("fujitsumpi", "core") is None
