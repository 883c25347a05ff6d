# SPDX-License-Identifier: Apache-2.0
"""Which MPIs a run uses, by option, variable and campaign."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.mpi import find
from slowpath.run.prepare import choose_mpis, require_job

VERSIONS = {
    "mpich": "HYDRA build details:\n    Version:                                 5.0.2\n",
    "openmpi": "mpiexec (Open MPI) 5.0.11\n",
    "intelmpi": "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626\n",
}


def ask(argv: list[str], environ: Mapping[str, str]) -> str | None:
    """A launcher prints the version of the library in whose folder it lies."""
    return VERSIONS.get(Path(argv[0]).parents[1].name.partition("-")[0]) if argv[1:] == ["--version"] else ""


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A machine with MPICH and Open MPI on its PATH, and a second MPICH that is not on it."""
    monkeypatch.setattr(find, "embedded_folders", lambda: [])
    monkeypatch.setattr(find, "WELL_KNOWN", ())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("mpich", "openmpi", "mpich-other"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "mpiexec").touch(0o755)
    return {"PATH": f"{tmp_path}/mpich/bin:{tmp_path}/openmpi/bin", "XDG_DATA_HOME": str(tmp_path / "data")}


def names(option: str | None, campaign: list[str] | None, environ: Mapping[str, str]) -> list[str]:
    return [mpi.name for mpi in choose_mpis(option, campaign, environ, ask).found]


def test_one_mpi_unless_several_are_asked_for(environ: dict[str, str]) -> None:
    assert names(None, None, environ) == ["mpich"]
    assert names("openmpi", None, environ) == ["openmpi"]


def test_the_option_goes_before_the_variable_and_that_before_the_campaign(environ: dict[str, str]) -> None:
    campaign = ["openmpi", "mpich"]
    assert names(None, campaign, environ) == ["openmpi", "mpich"]
    environ["SLOWPATH_MPI"] = "mpich"
    assert names(None, campaign, environ) == ["mpich"]
    assert names("openmpi", campaign, environ) == ["openmpi"]


def test_all_is_every_installation_once(environ: dict[str, str], tmp_path: Path) -> None:
    environ["PATH"] += f":{tmp_path}/mpich-other/bin"
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "mpiexec").symlink_to(tmp_path / "mpich" / "bin" / "mpiexec")
    environ["PATH"] += f":{tmp_path}/again"
    for chosen in (choose_mpis("all", None, environ, ask), choose_mpis(None, ["all"], environ, ask)):
        assert [mpi.name for mpi in chosen.found] == ["mpich", "openmpi", "mpich"]
        assert chosen.unbuilt == "leave out"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("mpich,intelmpi", "--mpi intelmpi: no intelmpi found"),
        ("intelmpi", "--mpi intelmpi: no intelmpi found"),
        ("mpich,opnmpi", "did you mean openmpi"),
        ("mpich,", "a name is empty"),
        ("mpich,all", "'all' already means every MPI"),
        ("mpich,mpich", "mpich and mpich are the same MPI"),
    ],
)
def test_what_the_option_names_must_be_there(environ: dict[str, str], option: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as error:
        choose_mpis(option, None, environ, ask)
    assert "\n" not in str(error.value)


def test_a_loaded_library_that_the_campaign_does_not_name_comes_first_and_the_embedded_one_stands_back(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cray MPICH, by its module, CC and srun; MPICH came with Python, and Open MPI is named by the campaign."""
    monkeypatch.setattr(find, "embedded_folders", lambda: [tmp_path / "mpich" / "bin"])
    monkeypatch.setattr(find, "_is_packaged", lambda: True)
    (tmp_path / "cray").mkdir()
    for name in ("CC", "srun"):
        (tmp_path / "cray" / name).touch(0o755)
    loaded = {"CRAY_MPICH_VERSION": "8.1.29", "PE_ENV": "GNU", "PATH": f"{tmp_path}/mpich/bin:{tmp_path}/cray"}
    plain = {**environ, "PATH": f"{tmp_path}/mpich/bin"}
    assert names(None, ["mpich", "openmpi"], plain) == ["mpich"]

    def ask_slurm(argv: list[str], variables: Mapping[str, str]) -> str | None:
        return "slurm 23.02.7\n" if argv[0].endswith("srun") else ask(argv, variables)

    chosen = choose_mpis(None, ["mpich", "openmpi"], environ | loaded, ask_slurm)
    assert [mpi.identity for mpi in chosen.found] == ["craympich 8.1.29"]
    assert "--mpi craympich,embedded" in chosen.missing["mpich"]
    both = choose_mpis("craympich,embedded", None, environ | loaded, ask_slurm)
    assert [mpi.name for mpi in both.found] == ["craympich", "mpich"]
    with pytest.raises(EnvironmentFailure, match="run it inside a job"):
        require_job(chosen.found, environ | loaded)
    require_job(chosen.found, environ | loaded | {"SLURM_JOB_ID": "7"})
    require_job(both.found, environ | loaded)  # asked for by name
