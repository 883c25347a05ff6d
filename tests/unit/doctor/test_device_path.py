# SPDX-License-Identifier: Apache-2.0
"""The proof, with real MPIs over a stub of the CUDA driver (its device memory is host memory) and with planted jobs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slowpath.doctor.device_path import DevicePath, judge, later_bandwidth, prove_device_path
from slowpath.doctor.gpu import gpu_count, gpus
from slowpath.engine.cache import Engine, EngineNote
from slowpath.launch.mpi import Mpi
from slowpath.resources import data_folder

NOTE = EngineNote("", "", "", "", "", "", "")
TABLE = "# p2p\n# Size  First one-way (us)  Later one-way (us)\n8  1.0  0.5\n67108864  {first}  {later}\n"


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("stub") / "libstub.so"
    source = data_folder("engine") / "memory" / "tests" / "stub_cuda.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source, "-lrt"], check=True)
    return library


def planted(folder: Path, body: str) -> tuple[Mpi, Engine]:
    """An engine that is a Python script, which finds `memory` set, under a launcher that starts it once."""
    launcher, program = folder / "mpiexec", folder / "engine"
    launcher.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    head = "import os, sys, time\nmemory = sys.argv[sys.argv.index('--memory') + 1]\n"
    program.write_text(f"#!{sys.executable}\n{head}{body}\n")
    for file in (launcher, program):
        file.chmod(0o755)
    mpi = Mpi("mpich", "5", "option", folder, launcher, None, "mpich", False, "mpiexec", "")
    return mpi, Engine(program, NOTE)


def test_stub_memory_is_delivered_at_the_pace_of_host_memory(mpi: Mpi, engine: Engine, stub: Path) -> None:
    found = prove_device_path(mpi, engine, {**os.environ, "SLOWPATH_CUDA_DRIVER": str(stub)})
    assert found.works, found.reason
    assert found.path != "ipc"
    assert found.host_bytes_per_s is not None
    assert found.device_bytes_per_s is not None


def test_a_library_that_touches_device_memory_itself_is_no(mpi: Mpi, engine: Engine, stub: Path) -> None:
    environ = {**os.environ, "SLOWPATH_CUDA_DRIVER": str(stub), "SLOWPATH_STUB_CUDA_PROTECT": "1"}
    found = prove_device_path(mpi, engine, environ)
    assert (found.works, found.path, found.device_bytes_per_s) == (False, None, None)
    assert found.reason


def test_without_a_driver_the_cells_reason_is_told(mpi: Mpi, engine: Engine) -> None:
    found = prove_device_path(mpi, engine, {**os.environ, "SLOWPATH_CUDA_DRIVER": "no-such-driver.so"})
    assert not found.works
    assert "no-such-driver.so" in (found.reason or "")


def test_a_job_that_hangs_is_ended(tmp_path: Path) -> None:
    found = prove_device_path(*planted(tmp_path, "time.sleep(1000)"), os.environ, limit_s=1.0)
    assert found == DevicePath(False, None, None, None, "hung: not done after 1 s")


def test_wrong_bytes_are_no(tmp_path: Path) -> None:
    wrong = "print('8 1.0 0.5'); print('# 67108864 failed: wrong payload: 3 of 8 bytes'); sys.exit(1)"
    found = prove_device_path(*planted(tmp_path, wrong))
    assert not found.works
    assert "wrong payload: 3 of 8 bytes" in (found.reason or "")


def test_a_crash_after_the_last_row_is_no(tmp_path: Path) -> None:
    body = f"print({TABLE!r}.format(first=1.0, later=1.0), flush=True); os.abort()"
    found = prove_device_path(*planted(tmp_path, body))
    assert (found.works, found.device_bytes_per_s) == (False, None)
    assert found.reason == "crashed by SIGABRT, without a message"


def test_a_crash_is_no(tmp_path: Path) -> None:
    found = prove_device_path(*planted(tmp_path, "os.kill(os.getpid(), 11)"))
    assert (found.works, found.reason) == (False, "crashed by SIGSEGV, without a message")


@pytest.mark.parametrize(
    ("device_us", "path"), [(1000.0, "ipc"), (5000.0, None), (9000.0, "staged"), (90000.0, "staged")]
)
def test_the_path_by_the_ratio(tmp_path: Path, device_us: float, path: str | None) -> None:
    body = f"print({TABLE!r}.format(first=1e5, later={device_us} if memory == 'device' else 10000.0))"
    found = prove_device_path(*planted(tmp_path, body))
    assert (found.works, found.path) == (True, path)
    assert found.device_bytes_per_s == pytest.approx(67108864 / (device_us * 1e-6))
    assert found.host_bytes_per_s == pytest.approx(67108864 / 0.01)
    assert (found.reason is None) == (path is not None)


def test_without_a_host_number_there_is_no_path(tmp_path: Path) -> None:
    body = f"memory == 'host' and sys.exit('no shared memory'); print({TABLE!r}.format(first=1.0, later=1.0))"
    found = prove_device_path(*planted(tmp_path, body))
    assert (found.works, found.path, found.host_bytes_per_s) == (True, None, None)
    assert "no shared memory" in (found.reason or "")


def test_a_table_without_all_its_rows_is_no_number() -> None:
    assert later_bandwidth("")[0] is None
    assert later_bandwidth("67108864 1.0 1.0\n")[0] is None
    assert later_bandwidth("8 1.0 1.0\n67108864 1.0 0.0\n")[0] is None
    assert later_bandwidth("8 1.0 1.0\n# 67108864 skipped: out of memory\n") == (None, "skipped: out of memory")


def test_limits_of_the_judgement() -> None:
    assert [judge(10.0, device) for device in (100.0, 99.0, 15.0, 1.0)] == ["ipc", None, "staged", "staged"]


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
