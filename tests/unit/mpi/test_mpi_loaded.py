# SPDX-License-Identifier: Apache-2.0
"""The library behind a wrapper: by its own words, by its module; the Cray programming environment without mpiexec."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from slowpath.doctor.gpu import variables_without_ipc
from slowpath.mpi import find
from slowpath.mpi.find import find_all, find_mpi
from slowpath.mpi.launchers import binding_line
from slowpath.mpi.libraries import abi_of_soname, named_in
from slowpath.mpi.settings import resolve, switches_of

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
    found = named_in(text)
    assert (found and (found[0].name, found[1])) == expected


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
    assert [one.source for one in find_all(cray.environ, cray.ask)] == ["PATH", "embedded"]
    assert find_mpi("craympich", cray.environ, cray.ask).identity == "craympich 8.1.29"


def test_the_loaded_cray_mpich_goes_before_another_mpiexec_on_the_path(cray: Machine) -> None:
    other = cray.folder / "other" / "bin"
    for name in ("mpiexec", "mpicxx"):
        executable(other / name)
    cray.says["mpiexec"] = "mpiexec (OpenRTE) 4.1.6\n"
    environ = cray.environ | {"PATH": f"{other}:{cray.environ['PATH']}"}
    assert find_mpi(None, environ, cray.ask).identity == "craympich 8.1.29"
    assert [one.name for one in find_all(environ, cray.ask)][:2] == ["craympich", "openmpi"]
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
    assert "MPICH_GPU_IPC_THRESHOLD" in {one.variable for one in switches_of("craympich", version)}
    assert not {one.variable for one in switches_of("craympich", version)} & {
        one.variable for one in switches_of("mpich", "5.0.2")
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
