# SPDX-License-Identifier: Apache-2.0
"""The wheel with engines: built, audited, installed where no compiler is in sight, and measured with."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.pairing import interface_of
from watchdog import WATCHDOG_S

pytestmark = pytest.mark.needs("minutes", "other MPIs")
ROOT = Path(__file__).resolve().parents[2]
MPIS = [find_mpi(option) for option in ("embedded", *filter(None, os.environ.get("SLOWPATH_TEST_MPIS", "").split(":")))]
COMPILING = re.compile(
    r"(c\+\+|g\+\+|gcc|cpp|clang(\+\+)?|cc|c89|c99|cmake|ccache|make|ninja|ld|as)(-[\w.]+)?|.*-(g\+\+|gcc)(-\d+)?"
)
# What MPI_Get_library_version begins with.
ANSWERS = {"mpich": "MPICH Version", "openmpi": "Open MPI", "intelmpi": "Intel(R) MPI"}
CAMPAIGN = """
[campaign]
name = "small"
title = "A small one"
ranks = 2
rounds = 2
[[environment]]
name = "default"
[[placement]]
name = "bound"
[[cells]]
name = "latency"
experiment = "p2p"
[cells.parameters]
message_bytes = ["8", "1MiB"]
samples = "20"
time_limit_s = "0.02"
"""


def finished(argv: Sequence[str | Path], env: Mapping[str, str], cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(argv, env=env, cwd=cwd, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made by tools/build-wheel, with an engine for each interface of the MPIs under test."""
    by_interface = {mpi.abi: str(mpi.mpiexec) for mpi in reversed(MPIS) if mpi.name != "intelmpi"}
    asked = [word for mpiexec in by_interface.values() for word in ("--mpi", mpiexec)]
    tool = [sys.executable, str(ROOT / "tools" / "build-wheel"), *asked]
    return Path(finished([*tool, "--out", str(tmp_path_factory.mktemp("dist"))], os.environ).stdout.strip())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`slowpath` of a fresh environment that holds the wheel; what it depends on is read from this one."""
    folder = tmp_path_factory.mktemp("fresh")
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    finished([sys.executable, "-m", "venv", "--without-pip", str(folder)], environ)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    finished([*pip, str(wheel)], environ)
    site = folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "bin" / "slowpath"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment whose PATH has the system's programs, less all that compiles, and an empty cache."""
    folder = tmp_path_factory.mktemp("bin")
    for place in ("/bin", "/usr/bin"):
        for path in Path(place).iterdir():
            if not COMPILING.fullmatch(path.name) and not (folder / path.name).exists():
                (folder / path.name).symlink_to(path)
    cache = tmp_path_factory.mktemp("cache")
    return {"PATH": str(folder), "HOME": str(cache), "SLOWPATH_CACHE_DIR": str(cache), "LANG": "C.UTF-8"}


def test_the_wheel_is_named_by_what_it_needs(wheel: Path) -> None:
    assert re.fullmatch(r"slowpath-[\d.]+-py3-none-manylinux_2_\d+_\w+\.whl", wheel.name), wheel.name
    programs = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/slowpath-engine")}
    assert programs == {f"slowpath/_data/engines/{abi}/slowpath-engine" for abi in ("mpich", "openmpi", "mpi-5")}
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if "libmpi" in name or "openblas" in name]


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
def test_measured_without_a_compiler(mpi: Mpi, installed: Path, bare: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(CAMPAIGN)
    words = ["run", "small.toml", "--mpi", str(mpi.mpiexec), "--out", "r"]
    done = finished([installed, *words], bare, tmp_path)
    assert "engine of the wheel" in done.stderr
    assert "building" not in done.stderr
    info: dict[str, Any] = json.loads((tmp_path / "r" / "run.json").read_text())
    assert info["mpis"][0]["engine"]["origin"] == "wheel"
    results = json.loads((tmp_path / "r" / "results.json").read_text())
    assert results["run"]["mpi"]["library"].startswith(ANSWERS[mpi.name])
    assert {cell["status"] for cell in results["cells"]} == {"ok"}
    assert (tmp_path / "r" / "report.html").is_file()


def test_compiling_needs_a_compiler_and_says_so(installed: Path, bare: dict[str, str], tmp_path: Path) -> None:
    words = [installed, "engine", "build", "--mpi", str(MPIS[0].mpiexec)]
    done = subprocess.run(
        words, env=bare, cwd=tmp_path, capture_output=True, text=True, timeout=WATCHDOG_S, check=False
    )
    assert done.returncode == 4
    assert "no C++ compiler found" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_engine_of_the_standard_starts(installed: Path, bare: dict[str, str]) -> None:
    program = next(installed.parents[1].glob("lib/python*/site-packages/slowpath/_data/engines/mpi-5/slowpath-engine"))
    assert interface_of(program) == "mpi-5"
    where = {**bare, "LD_LIBRARY_PATH": str(MPIS[0].prefix / "lib")}
    described = json.loads(finished([program, "describe", "--json"], where).stdout)
    assert described == json.loads((ROOT / "schema" / "engine.json").read_text())
