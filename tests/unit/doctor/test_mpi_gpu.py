# SPDX-License-Identifier: Apache-2.0
"""What the doctor concludes from the proofs, and how far it goes unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.doctor import gpu
from slowpath.doctor.gpu import DevicePath, conclusion, mpi_and_gpu_memory
from slowpath.mpi.mpi import Mpi

IPC = DevicePath(True, "ipc", 5.2e9, 394e9, None)
NO = DevicePath(False, None, None, None, "crashed: Segmentation fault")


def mpi(name: str, source: str = "PATH") -> Mpi:
    place = Path("/opt") / name
    return Mpi(name, "5", source, place, place / "mpiexec", None, "mpich", False, "hydra", "")


A, B, CUDA = mpi("mpich"), mpi("intelmpi"), mpi("openmpi", "installed")


def test_the_mpi_in_use_decides() -> None:
    assert conclusion([(A, IPC), (B, NO)]).status == "ok"
    other = conclusion([(A, NO), (CUDA, IPC)])
    assert (other.status, other.do) == ("warn", "slowpath run --mpi cuda")
    assert conclusion([(A, NO), (B, IPC)]).do == "slowpath run --mpi /opt/intelmpi/mpiexec"
    none = conclusion([(A, NO), (B, NO)])
    assert none.status == "missing"
    assert "slowpath mpi install cuda" in (none.do or "")
    assert conclusion([(A, None), (B, NO)]).status == "warn"
    assert conclusion([]).status == "missing"


def test_without_a_gpu_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "gpu_count", lambda: (0, "no CUDA driver"))
    monkeypatch.setattr(gpu, "find_all", lambda: pytest.fail("looked for MPIs"))
    assert mpi_and_gpu_memory("all").means == "not tried: no CUDA driver"


@pytest.mark.parametrize(("is_there", "value"), [(True, "none"), (False, None)])
def test_a_missing_driver_is_known_by_itself_not_by_what_is_said_of_it(
    monkeypatch: pytest.MonkeyPatch, is_there: bool, value: str | None
) -> None:
    def driver() -> None:
        if not is_there:
            raise OSError

    monkeypatch.setattr(gpu, "gpu_count", lambda: (0, "another sentence"))
    monkeypatch.setattr(gpu, "_driver", driver)
    found = gpu.gpus()
    assert (found.value, found.do is None) == (value, not is_there)


def test_how_far_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def prove(which: Mpi, engine: object) -> DevicePath:
        tried.append(which.name)
        return IPC

    monkeypatch.setattr(gpu, "gpu_count", lambda: (1, None))
    monkeypatch.setattr(gpu, "find_all", lambda: [A, CUDA])
    monkeypatch.setattr(gpu, "kept_engine", lambda mpi: object() if mpi.name == "openmpi" else None)
    monkeypatch.setattr(gpu, "engine_for", lambda mpi, tell: object())
    monkeypatch.setattr(gpu, "prove_device_path", prove)
    assert mpi_and_gpu_memory("none").status == "warn"
    assert tried == []
    said: list[str] = []
    assert mpi_and_gpu_memory("built", said.append).status == "warn"
    assert tried == ["openmpi"]
    assert "some seconds" in said[0]
    assert mpi_and_gpu_memory("all").status == "ok"
    assert tried == ["openmpi", "mpich", "openmpi"]


def test_what_fails_on_the_way_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_engine(mpi: Mpi, tell: object) -> object:
        raise EnvironmentFailure("no mpicxx")

    def no_mpi() -> list[Mpi]:
        raise UsageError("SLOWPATH_MPI x: nothing there")

    monkeypatch.setattr(gpu, "gpu_count", lambda: (1, None))
    monkeypatch.setattr(gpu, "find_all", lambda: [A])
    monkeypatch.setattr(gpu, "engine_for", no_engine)
    assert "no (no engine: no mpicxx)" in (mpi_and_gpu_memory("all").value or "")
    monkeypatch.setattr(gpu, "find_all", no_mpi)
    assert "nothing there" in mpi_and_gpu_memory("built").means
