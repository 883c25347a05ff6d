# SPDX-License-Identifier: Apache-2.0
"""Finding and identifying MPIs, with launchers that only print a version."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.mpi import find
from slowpath.mpi.find import find_mpi
from slowpath.mpi.launchers import identify, link_folders
from slowpath.mpi.libraries import abi_of
from slowpath.mpi.mpi import needed_variables

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
    found = identify(VERSIONS[text])
    assert (found.name, found.version, found.launcher) == expected


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
    found = {name: tmp_path / name for name in ("mpich", "openmpi", "intelmpi")}
    for name, prefix in found.items():
        install(prefix, VERSIONS[name])
    return {**found, "python": embedded}


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
    with pytest.raises(EnvironmentFailure, match="no openmpi found"):
        find_mpi("openmpi", without_system(path_of(places["mpich"])))


def test_an_mpi_of_the_path_goes_before_the_embedded_one_wherever_that_stands(places: dict[str, Path]) -> None:
    install(places["python"], VERSIONS["mpich"])
    chosen = find_mpi(None, path_of(places["python"], places["openmpi"]))
    assert (chosen.name, chosen.source) == ("openmpi", "PATH")
    assert find_mpi(None, without_system(path_of(places["python"]))).source == "embedded"
    assert find_mpi(None, {"PATH": ""}).source == "embedded"
    assert find_mpi("embedded", path_of(places["openmpi"])).name == "mpich"


def test_nothing_found_says_what_to_do(places: dict[str, Path]) -> None:
    with pytest.raises(EnvironmentFailure, match=r"pip install 'slowpath\[mpich\]'"):
        find_mpi(None, {"PATH": ""})
    with pytest.raises(EnvironmentFailure, match=r"pip install 'slowpath\[mpich\]'"):
        find_mpi("embedded", {"PATH": ""})


@pytest.mark.parametrize(
    ("given", "said"), [("mpch", "did you mean mpich"), ("/nowhere/mpiexec", "neither a known library")]
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
