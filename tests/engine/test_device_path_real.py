# SPDX-License-Identifier: Apache-2.0
"""The proof with real MPIs over a stub of the CUDA driver, whose device memory is host memory: no IPC to find."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from slowpath.core.files import data_folder
from slowpath.doctor.gpu import gpu_count, gpus, prove_device_path
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("stub") / "libstub.so"
    source = data_folder("engine") / "memory" / "tests" / "stub_cuda.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source, "-lrt"], check=True)
    return library


def test_stub_memory_is_delivered_and_never_taken_for_ipc(mpi: Mpi, engine: Engine, stub: Path) -> None:
    path = prove_device_path(mpi, engine, {**os.environ, "SLOWPATH_CUDA_DRIVER": str(stub)})
    assert path.works, path.reason
    assert path.path != "ipc"
    assert path.host_bytes_per_s is not None
    assert path.device_bytes_per_s is not None


def test_a_library_that_touches_device_memory_itself_is_no(mpi: Mpi, engine: Engine, stub: Path) -> None:
    environ = {**os.environ, "SLOWPATH_CUDA_DRIVER": str(stub), "SLOWPATH_STUB_CUDA_PROTECT": "1"}
    path = prove_device_path(mpi, engine, environ)
    assert (path.works, path.path, path.device_bytes_per_s) == (False, None, None)
    assert path.reason


def test_without_a_driver_the_cells_reason_is_told(mpi: Mpi, engine: Engine) -> None:
    path = prove_device_path(mpi, engine, {**os.environ, "SLOWPATH_CUDA_DRIVER": "no-such-driver.so"})
    assert not path.works
    assert "no-such-driver.so" in (path.reason or "")


def test_devices_of_the_driver(stub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWPATH_CUDA_DRIVER", str(stub))
    monkeypatch.setenv("SLOWPATH_STUB_CUDA_DEVICES", "2")
    assert gpu_count() == (2, None)
    assert (gpus().value or "").startswith("2: ")
    monkeypatch.setenv("SLOWPATH_STUB_CUDA_DEVICES", "0")
    assert gpu_count()[0] == 0
    assert gpus().status == "missing"
    monkeypatch.setenv("SLOWPATH_CUDA_DRIVER", "no-such-driver.so")
    assert "no-such-driver.so" in gpus().means
